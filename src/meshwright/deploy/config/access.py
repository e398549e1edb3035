"""Passwords and access lists: at its listener, a bridge may use the planned topics and no others.

All passwords are derived from one secret, so the same plan always gives the same files. Brokers store only
hashes of them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING

from meshwright.deploy.config.wiring import BOTH, OUT, client_id

if TYPE_CHECKING:
    from meshwright.deploy.config.wiring import Wiring

CLIENT_USER = "client"
"""The user name of a broker's own clients."""
PASSWORD_ITERATIONS = 101
"""Iterations of the password hash, as in Mosquitto 2.0."""
FINGERPRINT_ITERATIONS = 200_000
"""Iterations of the secret's fingerprint, which anybody may read: many, against guessing."""


def password(secret: bytes, user: str) -> str:
    """Derive a user's password from the secret."""
    digest = hmac.new(secret, b"password\0" + user.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def fingerprint(secret: bytes | None) -> str | None:
    """Return a digest that identifies a secret; slow to compute, so that the secret cannot be guessed."""
    if secret is None:
        return None
    return hashlib.pbkdf2_hmac("sha256", secret, b"meshwright fingerprint", FINGERPRINT_ITERATIONS).hex()[:32]


def client_password(secret: bytes, broker: str) -> str:
    """Derive the password of a broker's own clients."""
    return password(secret, f"{CLIENT_USER} of {broker}")


def _password_line(secret: bytes, user: str, word: str) -> str:
    """Return a line of a password file, in the format `$7$` of Mosquitto 2.0 and later."""
    salt = hmac.new(secret, b"salt\0" + word.encode(), hashlib.sha256).digest()[:12]
    digest = hashlib.pbkdf2_hmac("sha512", word.encode(), salt, PASSWORD_ITERATIONS)
    encoded_salt, encoded_digest = (base64.b64encode(part).decode() for part in (salt, digest))
    return f"{user}:$7${PASSWORD_ITERATIONS}${encoded_salt}${encoded_digest}\n"


def password_file(wiring: Wiring, broker: str, secret: bytes) -> str:
    """Return the users that may connect to a broker: its own clients, and the bridges that dial it."""
    lines = [_password_line(secret, CLIENT_USER, client_password(secret, broker))]
    for dialler in wiring.dialled_to(broker):
        user = client_id(dialler, broker)
        lines.append(_password_line(secret, user, password(secret, user)))
    return "".join(lines)


def access_file(wiring: Wiring, broker: str) -> str:
    """Return the access list of a broker: every topic for its clients, the planned ones for bridges."""
    parts = [f"user {CLIENT_USER}\ntopic readwrite #\n"]
    for dialler, topics in wiring.dialled_to(broker).items():
        rights = {BOTH: "readwrite", OUT: "write"}
        allowed = [f"topic {rights.get(direction, 'read')} {topic}\n" for topic, direction in topics.items()]
        parts.append(f"user {client_id(dialler, broker)}\n{''.join(allowed)}")
    return "\n".join(parts)
