"""The parameters of a migration: how agents behave, what they publish, and which brokers crash."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from meshwright.errors import InputError


class Crash(NamedTuple):
    """A broker crashes as the n-th replicate is sent: the user's home broker, or the foreign one."""

    replicate: int
    side: str = "foreign"


class CrashAt(NamedTuple):
    """A broker crashes at a given time."""

    seconds: float
    broker: int


@dataclass(frozen=True)
class Terms:
    """The parameters of a migration; times are in seconds.

    Attributes
    ----------
    publications, seconds
        The number of publications, and the time over which they are spread.
    decline
        The probability that a user declines a request to move.
    ttl
        How long a home broker forwards what arrives for a user that has moved away. After that, it returns
        such messages to their origin, with the user's new broker.
    requests
        How many requests to move a broker has open at a time.
    delay
        The smallest and the largest delay of a message on a link (asyncio transport).
    pause
        How long a broker holds the token when it has no move to log.
    patience
        After this time, a user publishes again what is not settled.
    gather
        How long acknowledgements are collected before they are sent together.
    crashes
        Which brokers crash, and when.
    limit
        The run stops after this time, even if moves are left.
    """

    publications: int = 1000
    seconds: float = 5.0
    decline: float = 0.0
    ttl: float = 0.5
    requests: int = 4
    delay: tuple[float, float] = (0.0005, 0.01)
    pause: float = 0.005
    patience: float = 2.0
    gather: float = 0.03
    crashes: tuple[Crash | CrashAt, ...] = field(default=())
    limit: float = 600.0

    def __post_init__(self) -> None:
        """Check that every value is in its range."""
        if not 0 <= self.decline <= 1:
            raise InputError(f"users decline with probability {self.decline}: give 0 to 1")
        if self.publications < 0:
            raise InputError(f"{self.publications} publications: give 0 or more")
        if self.requests < 1:
            raise InputError(f"{self.requests} requests at a time: give 1 or more")
        shortest, longest = self.delay
        if not 0 <= shortest <= longest:
            raise InputError(
                f"delays from {shortest} to {longest} seconds: give two numbers in ascending order, 0 or more"
            )
        for name in ("seconds", "ttl", "gather"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} of {getattr(self, name)} seconds: give 0 or more")
        for name in ("pause", "patience", "limit"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} of {getattr(self, name)} seconds: give more than 0")
        for crash in self.crashes:
            if isinstance(crash, Crash) and crash.side not in ("home", "foreign"):
                raise InputError(f"a crash on side {crash.side!r} of a replicate: choose home or foreign")
