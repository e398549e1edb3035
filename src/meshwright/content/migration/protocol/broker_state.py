"""The state of one broker that its parts share: its users, those that left, and where all others are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from meshwright.content.migration.protocol.messages import Envelope, Message
from meshwright.content.migration.protocol.move_log import MoveLog
from meshwright.content.migration.terms import Terms
from meshwright.content.migration.transports.transport import Connection
from meshwright.content.model.workload import Workload


@dataclass
class LocalUser:
    """A user that this broker serves, or expects."""

    home: int | None = None
    """The home broker that it comes from; None once that broker has handed it over."""
    connected: bool = False
    """Whether it has connected to this broker."""
    version: int = 0
    """The version of the move by which it came."""
    unsettled: dict[int, tuple[int, set[int]]] = field(default_factory=dict)
    """Its unsettled publications: number → channel, and the users that have not acknowledged it."""
    settled: list[int] = field(default_factory=list)
    """The numbers of settled publications that have not been reported to it."""
    waiting: list[Envelope] = field(default_factory=list)
    """What has arrived for it before it did."""

    @property
    def handover_complete(self) -> bool:
        """Whether it is connected and its home broker has handed over its publications."""
        return self.connected and self.home is None


@dataclass
class DepartedUser:
    """A user that has moved to a foreign broker."""

    foreign: int
    """The foreign broker."""
    forward_until: float
    """The time until which messages are forwarded to it: the departure plus the TTL."""


class BrokerState:
    """The shared state of one broker, and its connection to the other agents."""

    def __init__(self, me: int, num_brokers: int, connection: Connection, terms: Terms) -> None:
        self.me, self.num_brokers, self.connection, self.terms = me, num_brokers, connection, terms
        self.alive = set(range(num_brokers))
        self.users: dict[int, LocalUser] = {}
        self.departed: dict[int, DepartedUser] = {}
        self.directory: dict[int, tuple[int, int]] = {}
        """The latest known broker of each user, and the version of the move that brought it there."""
        self.stranded: set[int] = set()
        """Users that no broker has room for."""
        self.events: Counter[str] = Counter()
        self.subscribers: list[list[int]] = []
        """The subscribers of each channel."""
        self._known: tuple[Workload, MoveLog] | None = None

    def initialize(self, workload: Workload, broker_of: dict[int, int]) -> None:
        """Take the workload and the initial assignment, once all brokers have sent their summaries."""
        ptr, users = workload.audience
        self.subscribers = [users[ptr[c] : ptr[c + 1]].tolist() for c in range(workload.num_channels)]
        self.directory = {user: (broker, 0) for user, broker in broker_of.items()}
        start = np.array([broker_of[user] for user in range(workload.num_users)], dtype=np.int32)
        self._known = workload, MoveLog(workload, start)

    @property
    def initialized(self) -> bool:
        """Whether the broker knows all users."""
        return self._known is not None

    @property
    def workload(self) -> Workload:
        """All users."""
        assert self._known is not None
        return self._known[0]

    @property
    def log(self) -> MoveLog:
        """The broker's copy of the move log."""
        assert self._known is not None
        return self._known[1]

    @property
    def dead(self) -> list[int]:
        """The brokers known to be dead."""
        return [broker for broker in range(self.num_brokers) if broker not in self.alive]

    def broker_of(self, user: int) -> int:
        """Return the latest known broker of a user; the log may be ahead of it while a user moves."""
        return self.directory[user][0]

    def forwards_to(self, user: int) -> int | None:
        """Return the foreign broker that messages for a user are redirected to, within the TTL."""
        departed = self.departed.get(user)
        if departed is None or departed.foreign not in self.alive:
            return None
        return departed.foreign if self.connection.now() < departed.forward_until else None

    def send_to_user(self, user: int, message: Message) -> None:
        """Send a message to a user."""
        self.connection.send(self.num_brokers + user, message)

    def send_to_brokers(self, message: Message) -> None:
        """Send a message to all other brokers that are alive."""
        for broker in sorted(self.alive):
            if broker != self.me:
                self.connection.send(broker, message)
