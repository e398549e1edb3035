"""Settings that an operator chooses for all brokers of a federation: profile, Mosquitto version, secret.

Settings that would leave brokers open beyond this machine are refused unless the operator accepts that. All
passwords are derived from the secret, so the same plan always gives the same files.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import stat
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from meshwright.deploy.inventory import Inventory

PROFILES = ("plain", "durable")
VERSIONS = ("2.0", "2.1")
SHORTEST_SECRET = 16
IDENTITY = 24
"""Hexadecimal digits that a bridge's id ends with: 96 bits that nobody guesses."""
CLIENT_USER = "client"
"""The user name of a broker's own clients."""
SCRYPT_COST = 2**15
"""The cost of deriving a key from the secret: a tenth of a second and 32 MB, against guessing."""


@dataclass(frozen=True)
class BrokerSettings:
    """How all brokers of a federation are set up."""

    profile: str = "plain"
    """`plain`: exactly once while links are up. `durable`: while a link is down or a broker restarts,
    messages queue at both ends."""
    version: str = "2.0"
    """The oldest Mosquitto in use; from 2.1 on, `plain` bridges change without a restart."""
    secret: bytes | None = None
    """Passwords and access lists are derived from it; None for a federation without them."""
    identity: str | None = None
    """The key of the bridges' ids, if it is not that of the secret: ids outlive a change of the secret, as
    the sessions do that carry them."""
    fragment: bool = False
    """Whether brokers have a configuration of their own, which includes a file with the bridges only."""
    fingerprint: str | None = None
    """Identifies the secret, also where the secret itself is unknown; None for a federation without it."""

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise InputError(f"no profile {self.profile!r}: choose one of {', '.join(PROFILES)}")
        if self.version not in VERSIONS:
            raise InputError(f"no Mosquitto {self.version!r}: choose one of {', '.join(VERSIONS)}")
        if self.fragment and self.secret is not None:
            raise InputError(
                "a fragment has no passwords of its own: omit the secret, and give users in the inventory"
            )
        if self.secret is not None and len(self.secret) < SHORTEST_SECRET:
            raise InputError(
                f"the secret is shorter than {SHORTEST_SECRET} bytes: make one with openssl rand -hex 32"
            )
        if self.secret is not None:
            object.__setattr__(self, "fingerprint", fingerprint(self.secret))

    @property
    def identity_key(self) -> str | None:
        """The key that the ids of bridges are derived from, or None without passwords."""
        if self.identity is not None or self.secret is None:
            return self.identity
        return derive(self.secret, "identity", "").hex()

    @property
    def secured(self) -> bool:
        """Whether there are passwords and access lists."""
        return self.fingerprint is not None

    @property
    def durable(self) -> bool:
        """Whether brokers keep sessions, and the messages queued in them, while the other end is away."""
        return self.profile == "durable"

    @property
    def reloads(self) -> bool:
        """Whether bridges change by a reload: from 2.1 on, except in durable sessions, which lose queues."""
        return self.version == "2.1" and not self.durable

    @property
    def qos(self) -> int:
        """The quality of service of bridges: 2 in durable sessions, where QoS 1 repeats queued messages."""
        return 2 if self.durable else 1


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


def bridge_identity(key: str | None, client: str) -> str:
    """Return the id and user name of a bridge: with a key, one that clients of a broker cannot guess.

    A client that connects with the id of a bridge takes its place.
    """
    if key is None:
        return client
    return f"{client}.{hmac.new(key.encode(), client.encode(), hashlib.sha256).hexdigest()[:IDENTITY]}"


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


def exposures(inventory: Inventory, settings: BrokerSettings) -> list[str]:
    """Return what is open to everybody who reaches the brokers over a network; empty if nothing is."""
    beyond = {name: endpoint for name, endpoint in inventory.endpoints.items() if not endpoint.loopback}
    bare = sorted(name for name, endpoint in beyond.items() if not endpoint.tls)
    if settings.fragment:
        # What brokers let others do is in their own configuration; the passwords of bridges are ours.
        named = [name for name in bare if beyond[name].user is not None]
        rest = [name for name in bare if beyond[name].user is None]
        return [
            f"{what}, since they have no TLS"
            for what, names in (
                (f"brokers {first_five(named)} get the passwords of bridges in clear text", named),
                (f"messages at brokers {first_five(rest)} can be read and changed", rest),
            )
            if names
        ]
    found = []
    if beyond and settings.secret is None:
        found.append(
            f"brokers {first_five(sorted(beyond))} take messages from everybody, since there is no --secret"
        )
    if bare and settings.secret is not None:
        found.append(f"brokers {first_five(bare)} get passwords in clear text, since they have no TLS")
    if bare and settings.secret is None:
        found.append(
            f"messages at brokers {first_five(bare)} can be read and changed, since they have no TLS"
        )
    return found


def require_protected(inventory: Inventory, settings: BrokerSettings, *, insecure: bool) -> list[str]:
    """Refuse a federation that is open beyond this machine, unless that is wanted; return what is open.

    Raises
    ------
    InputError
        If something is open and `insecure` is false.
    """
    found = exposures(inventory, settings)
    if found and not insecure:
        raise InputError(
            f"{'; '.join(found)}: give --secret, and tls in the inventory, or accept this with --insecure"
        )
    return [f"INSECURE: {line}" for line in found]
