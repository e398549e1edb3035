"""What a transport offers to agents, and what it expects of them.

Messages on one link arrive in the order they were sent, and only a crash loses any. When a broker crashes,
every other agent hears of it, after everything from that broker that still arrives.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from meshwright.content.migration.protocol.messages import Message

CHECK_INTERVAL = 0.05
"""Seconds between two checks whether a run is over."""


class Agent(Protocol):
    """A user or a broker, as a transport sees it."""

    def handle(self, sender: int, message: Message) -> None:
        """Handle a message."""

    def broker_down(self, broker: int) -> None:
        """Learn that a broker has crashed."""


class Transport(ABC):
    """All links between agents; `on_send` is called with the sender, receiver and message of each send."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_send: Callable[[int, int, Message], None]) -> None:
        self._loop, self._on_send = loop, on_send
        self._start = loop.time()
        self._agents: dict[int, Agent] = {}
        self.dead: set[int] = set()
        """The brokers that have crashed."""
        self.counts: Counter[type] = Counter()
        """How many messages of each type have been sent."""
        self.unnotified = 0
        """How many agents have yet to hear of a crash."""

    def join(self, address: int, agent: Agent) -> None:
        """Add an agent."""
        self._agents[address] = agent

    def time(self) -> float:
        """Return the seconds since the run began."""
        return self._loop.time() - self._start

    def call_later(self, address: int, seconds: float, call: Callable[[], None]) -> None:
        """Call an agent back after some time, unless it is dead by then."""
        self._loop.call_later(seconds, self._call_if_alive, address, call)

    def send(self, sender: int, to: int, message: Message) -> None:
        """Send a message; it is lost if either end is dead."""
        if sender not in self.dead:
            self.counts[type(message)] += 1
            self._transmit(sender, to, message)
            self._on_send(sender, to, message)

    @abstractmethod
    def kill(self, broker: int) -> None:
        """Crash a broker."""

    @abstractmethod
    def _transmit(self, sender: int, to: int, message: Message) -> None:
        """Put a message on its link."""

    def _call_if_alive(self, address: int, call: Callable[[], None]) -> None:
        if address not in self.dead:
            call()


class Connection:
    """One agent's access to the transport."""

    def __init__(self, transport: Transport, address: int) -> None:
        self._transport, self._address = transport, address

    def send(self, to: int, message: Message) -> None:
        """Send a message to an agent; a message to a dead broker is lost."""
        self._transport.send(self._address, to, message)

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back after some time, unless this agent is dead by then."""
        self._transport.call_later(self._address, seconds, call)

    def now(self) -> float:
        """Return the seconds since the run began."""
        return self._transport.time()
