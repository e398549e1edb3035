"""The terms of a migration: how agents behave, what flows, what fails, and the transport they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from meshwright.content.migration.messages import Message
from meshwright.errors import InputError


class Crash(NamedTuple):
    """A broker dies as the n-th replicate is sent: the user's home, or the foreign broker it is to go to."""

    replicate: int
    side: str = "foreign"


class CrashAt(NamedTuple):
    """A broker dies at a time."""

    seconds: float
    broker: int


@dataclass(frozen=True)
class Terms:
    """How a migration is run; times are in seconds.

    Attributes
    ----------
    publications, seconds
        So many publications, spread over so long.
    decline
        With this probability a user declines a request to move.
    ttl
        For so long a home broker forwards by itself what comes for a user that has moved away; after that it
        returns it to where it came from, with the new address.
    requests
        How many users a broker has asked at a time.
    delay
        The least and most that a message takes on a link (asyncio transport).
    pause
        How long a broker keeps the baton when it has nothing to write.
    patience
        After so long a user publishes again what nobody has confirmed.
    gather
        How long acknowledgements are gathered before they are sent together.
    crashes
        Which brokers die when.
    limit
        The run is given up after so long.
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
        """Refuse terms that cannot be."""
        if not 0 <= self.decline <= 1:
            raise InputError(f"users decline with probability {self.decline}: give 0 to 1")
        if self.publications < 0 or self.requests < 1:
            raise InputError(
                f"{self.publications} publications and {self.requests} requests at a time: give none or "
                "more of the former, and some of the latter"
            )
        least, most = self.delay
        if not 0 <= least <= most:
            raise InputError(
                f"delays from {least} to {most} seconds: give two numbers in order, from zero on"
            )
        for name in ("seconds", "ttl", "gather"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} of {getattr(self, name)} seconds: give zero or more")
        for name in ("pause", "patience", "limit"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} of {getattr(self, name)} seconds: give more than zero")
        if any(isinstance(crash, Crash) and crash.side not in ("home", "foreign") for crash in self.crashes):
            raise InputError("a crash on no side of a replicate: choose home or foreign")


class Port(Protocol):
    """The way out of one agent. Messages on one link arrive in order; only a crash loses any."""

    def send(self, to: int, message: Message) -> None:
        """Send a message to an agent; one to a dead broker is lost."""

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back after a while, unless the agent has died by then."""

    def now(self) -> float:
        """Return the time in seconds since the run began."""


class Agent(Protocol):
    """A user or a broker, as transports see it."""

    def handle(self, sender: int, message: Message) -> None:
        """Take a message."""

    def down(self, broker: int) -> None:
        """Learn that a broker is dead; all that it has sent, and that arrives at all, has arrived."""
