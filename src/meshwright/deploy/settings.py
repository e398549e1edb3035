"""How a federation is set up beyond who dials whom."""

from __future__ import annotations

from dataclasses import dataclass

from meshwright.errors import InputError

PROFILES = ("plain", "durable")
VERSIONS = ("2.0", "2.1")


@dataclass(frozen=True)
class Settings:
    """What an operator chooses for all brokers at once."""

    profile: str = "plain"
    """`plain`: exactly once while links are up. `durable`: both ends queue while a link is down, or a broker
    restarts."""
    version: str = "2.0"
    """The oldest Mosquitto there is: from 2.1 on, `plain` bridges change without a restart."""
    secret: bytes | None = None
    """What all passwords are derived from; without, there are neither passwords nor access lists."""

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise InputError(f"no profile {self.profile!r}: choose one of {', '.join(PROFILES)}")
        if self.version not in VERSIONS:
            raise InputError(f"no Mosquitto {self.version!r}: choose one of {', '.join(VERSIONS)}")
        if self.secret is not None and len(self.secret) < 16:
            raise InputError("the secret is shorter than 16 bytes: make one with openssl rand -hex 32")

    @property
    def durable(self) -> bool:
        """Whether sessions last: brokers keep them, and what is queued in them, while somebody is away."""
        return self.profile == "durable"

    @property
    def reloads(self) -> bool:
        """Whether bridges change by a reload: from 2.1 on, but not where sessions last: it loses queues."""
        return self.version == "2.1" and not self.durable

    @property
    def qos(self) -> int:
        """The quality of service of bridges: who queues must know what has come, or it comes twice."""
        return 2 if self.durable else 1
