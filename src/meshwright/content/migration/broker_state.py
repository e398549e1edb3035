"""What the parts of a broker share: its users, those who left, where the others are, and who is alive."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meshwright.content.migration.ledger import Ledger
from meshwright.content.migration.messages import Message, Parcel
from meshwright.content.migration.terms import Port, Terms
from meshwright.content.model.workload import Workload


@dataclass
class Guest:
    """A user that is here, or on its way."""

    home: int | None = None
    """The broker that it comes from, as long as that has not handed it over."""
    connected: bool = False
    version: int = 0
    unsettled: dict[int, tuple[int, set[int]]] = field(default_factory=dict)
    """Its publications that somebody lacks: number → channel and who."""
    settled: list[int] = field(default_factory=list)
    """Numbers that it has not been told of yet."""
    waiting: list[Parcel] = field(default_factory=list)
    """What has come for it before itself."""

    @property
    def settled_in(self) -> bool:
        """Whether it is here with all that belongs to it."""
        return self.connected and self.home is None


@dataclass
class Departed:
    """A user that has left for another broker, and until when its mail is forwarded."""

    broker: int
    until: float


class Desk:
    """The state of one broker, and its way out."""

    def __init__(self, me: int, brokers: int, port: Port, terms: Terms) -> None:
        self.me, self.brokers, self.port, self.terms = me, brokers, port, terms
        self.alive = set(range(brokers))
        self.guests: dict[int, Guest] = {}
        self.departed: dict[int, Departed] = {}
        self.directory: dict[int, tuple[int, int]] = {}
        """Each user's broker, and the version of that."""
        self.lost: set[int] = set()
        """Users that have found room nowhere."""
        self.counts: Counter[str] = Counter()
        self._known: tuple[Workload, Ledger] | None = None
        self.audience: list[list[int]] = []

    def learn(self, workload: Workload, broker_of: dict[int, int]) -> None:
        """Begin, with all users known."""
        ptr, users = workload.audience
        self.audience = [users[ptr[c] : ptr[c + 1]].tolist() for c in range(workload.num_channels)]
        self.directory = {user: (broker, 0) for user, broker in broker_of.items()}
        start = np.array([broker_of[user] for user in range(workload.num_users)], dtype=np.int32)
        self._known = workload, Ledger(workload, start)

    @property
    def ready(self) -> bool:
        """Whether all users are known."""
        return self._known is not None

    @property
    def workload(self) -> Workload:
        """All users."""
        assert self._known is not None
        return self._known[0]

    @property
    def ledger(self) -> Ledger:
        """Who has moved where."""
        assert self._known is not None
        return self._known[1]

    def to_user(self, user: int, message: Message) -> None:
        """Send a message to a user."""
        self.port.send(self.brokers + user, message)

    def to_all(self, message: Any) -> None:
        """Send a message to all other brokers that are alive."""
        for broker in sorted(self.alive):
            if broker != self.me:
                self.port.send(broker, message)
