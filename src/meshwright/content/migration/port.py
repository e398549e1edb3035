"""What an agent needs of the world: to send, to wait and to know the time. Each transport has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from meshwright.content.migration.verbs import Message


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
