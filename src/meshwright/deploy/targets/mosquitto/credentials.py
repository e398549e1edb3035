"""Bridge passwords and access lists: a bridge may use the planned topics and nothing else."""

from __future__ import annotations

import base64
import hashlib
import re

from meshwright.brokers.mosquitto import CONFIGURATION
from meshwright.deploy.passwords import derive, password
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import BOTH, OUT, Wiring, bridge_identity, client_id

PASSWORD_ITERATIONS = 101
"""Iterations of the password hash, as in Mosquitto 2.0."""
PASSWORD = re.compile(r"^(\s*(?:remote_password|bridge_psk)\s).*", re.MULTILINE)
ACCESS_FILES = ("passwords", "access", "bridges.passwords", "bridges.access")
"""Files that a broker reads again on a reload."""
SECRET_FILES = ("passwords", "bridges.passwords", "client.password", CONFIGURATION)
"""Files that hold passwords if there is a secret."""


def mask(text: str) -> str:
    """Return a configuration without passwords, where they cannot be compared, or would be shown."""
    return PASSWORD.sub(r"\1…", text)


def password_line(secret: bytes, user: str, word: str) -> str:
    """Return a line of a password file, in the format `$7$` of Mosquitto 2.0 and later."""
    salt = derive(secret, "salt", word)[:12]
    digest = hashlib.pbkdf2_hmac("sha512", word.encode(), salt, PASSWORD_ITERATIONS)
    encoded_salt, encoded_digest = (base64.b64encode(part).decode() for part in (salt, digest))
    return f"{user}:$7${PASSWORD_ITERATIONS}${encoded_salt}${encoded_digest}\n"


def bridge_users(wiring: Wiring, broker: str, settings: BrokerSettings) -> str:
    """Return the lines of a password file for the bridges that dial a broker."""
    lines = []
    for dialler in wiring.dialled_to(broker):
        assert settings.secret is not None
        user = bridge_identity(settings.identity_key, client_id(dialler, broker))
        lines.append(password_line(settings.secret, user, password(settings.secret, user)))
    return "".join(lines)


def bridge_access(wiring: Wiring, broker: str, settings: BrokerSettings) -> str:
    """Return the access list of the bridges that dial a broker: the planned topics and nothing else."""
    parts = []
    for dialler, topics in wiring.dialled_to(broker).items():
        rights = {BOTH: "readwrite", OUT: "write"}
        allowed = [f"topic {rights.get(direction, 'read')} {topic}\n" for topic, direction in topics.items()]
        user = bridge_identity(settings.identity_key, client_id(dialler, broker))
        parts.append(f"\nuser {user}\n{''.join(allowed)}")
    return "".join(parts)
