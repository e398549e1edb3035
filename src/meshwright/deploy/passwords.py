"""Passwords and ids that nobody guesses, all derived from one secret: the same plan gives the same files."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import stat
from functools import cache
from pathlib import Path

from meshwright.errors import InputError

SHORTEST_SECRET = 16
CLIENT_USER = "client"
"""The user name of a broker's own clients."""
SCRYPT_COST = 2**15
"""The cost of deriving a key from the secret: a tenth of a second and 32 MB, against guessing."""


@cache
def _master_key(secret: bytes) -> bytes:
    """Return a key that is slow to compute: a password does not reveal the secret."""
    return hashlib.scrypt(secret, salt=b"meshwright", n=SCRYPT_COST, r=8, p=1, maxmem=2**26, dklen=32)


def derive(secret: bytes, purpose: str, name: str) -> bytes:
    """Derive 32 bytes from the secret; those of one purpose and name say nothing about any others."""
    return hmac.new(_master_key(secret), f"{purpose}\0{name}".encode(), hashlib.sha256).digest()


def password(secret: bytes, user: str) -> str:
    """Derive a user's password from the secret."""
    return base64.urlsafe_b64encode(derive(secret, "password", user)).decode().rstrip("=")


def fingerprint(secret: bytes | None) -> str | None:
    """Return a digest that identifies a secret; anybody may read it."""
    return None if secret is None else derive(secret, "fingerprint", "").hex()[:32]


def client_password(secret: bytes, broker: str) -> str:
    """Derive the password of a broker's own clients."""
    return password(secret, f"{CLIENT_USER} of {broker}")


def read_secret(file: Path) -> bytes:
    """Read a secret from a file that nobody else can read.

    Raises
    ------
    InputError
        If there is no such file, or group or others can read it.
    """
    if not file.is_file():
        raise InputError(f"no secret {file}: make one with (umask 077; openssl rand -hex 32 > {file})")
    with file.open("rb") as opened:
        mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
        if mode & 0o077:
            raise InputError(f"others can read the secret {file}, mode {mode:04o}: chmod 600 {file}")
        return opened.read().strip()
