"""Passwords and access lists: a bridge may read and write at the other end what is planned, and no more.

Passwords are derived from one secret, so that the same plan gives the same files; brokers keep only hashes.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING

from meshwright.deploy.config.wiring import BOTH, OUT, client_id

if TYPE_CHECKING:
    from meshwright.deploy.config.wiring import Wiring

CLIENT = "client"
"""The user that a broker's own clients are."""
ROUNDS = 101
"""As often does Mosquitto 2.0 stretch a password."""
SLOW = 200_000
"""As often do we stretch the secret, for what anybody may read."""


def password(secret: bytes, user: str) -> str:
    """Return the password of a user: the same for the same secret."""
    mixed = hmac.new(secret, b"password\0" + user.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(mixed).decode().rstrip("=")


def fingerprint(secret: bytes | None) -> str | None:
    """Return what tells one secret from another; slow to make, so that nobody finds the secret by trying."""
    if secret is None:
        return None
    return hashlib.pbkdf2_hmac("sha256", secret, b"meshwright fingerprint", SLOW).hex()[:32]


def client_password(secret: bytes, broker: str) -> str:
    """Return the password of a broker's own clients."""
    return password(secret, f"{CLIENT} of {broker}")


def _hashed(secret: bytes, user: str, word: str) -> str:
    """Return a line of a password file, in the form $7$ that Mosquitto 2.0 and later read."""
    salt = hmac.new(secret, b"salt\0" + word.encode(), hashlib.sha256).digest()[:12]
    digest = hashlib.pbkdf2_hmac("sha512", word.encode(), salt, ROUNDS)
    return f"{user}:$7${ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}\n"


def password_file(wiring: Wiring, broker: str, secret: bytes) -> str:
    """Return who may connect to a broker: its own clients, and the bridges that dial it."""
    lines = [_hashed(secret, CLIENT, client_password(secret, broker))]
    for dialler in wiring.heard_by(broker):
        user = client_id(dialler, broker)
        lines.append(_hashed(secret, user, password(secret, user)))
    return "".join(lines)


def access_file(wiring: Wiring, broker: str) -> str:
    """Return what each user may do at a broker: clients everything, bridges what is planned."""
    parts = [f"user {CLIENT}\ntopic readwrite #\n"]
    for dialler, lines in wiring.heard_by(broker).items():
        rights = {BOTH: "readwrite", OUT: "write"}
        allowed = [f"topic {rights.get(way, 'read')} {topic}\n" for topic, way in lines.items()]
        parts.append(f"user {client_id(dialler, broker)}\n{''.join(allowed)}")
    return "\n".join(parts)
