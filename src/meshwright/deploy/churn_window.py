"""The window of one change: when which topic may lose messages, and what became of those sent meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meshwright.deploy.traffic import Message

UNDER_WAY = 1.0
"""Seconds: what was sent so shortly before a wave begins may not have come everywhere by then.

Twice as long where messages wait: with QoS 2 every link takes two rounds.
"""
WAVE = 10.0
"""Seconds that a wave may take: a bridge tries again within 5, and as long for a machine that is busy."""


@dataclass
class Count:
    """Messages, the deliveries due to those who asked before and after, and what became of these."""

    published: int = 0
    expected: int = 0
    missing: int = 0
    duplicate: int = 0


@dataclass
class Window:
    """One change, and the messages on topics that it touches, from a topic's first wave to its last."""

    event: str
    broker: str
    began: float
    changed: frozenset[str] = frozenset()
    """Topics whose tree changes."""
    disturbed: frozenset[str] = frozenset()
    """Brokers that end, or restart and keep nothing: what goes through them may be lost."""
    restarts: list[str] = field(default_factory=list)
    reloads: list[str] = field(default_factory=list)
    renewed: frozenset[frozenset[str]] = frozenset()
    """Links that a reload breaks for a moment: what is under way there may be lost."""
    waves: int = 1
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)
    """When each touched topic may lose messages: as long as the waves last that touch it."""
    ended: float = float("inf")
    of_changed: Count = field(default_factory=Count)
    """On topics whose tree changes."""
    of_restarted: Count = field(default_factory=Count)
    """On topics whose tree stays, but a broker of it restarts, or a reload renews a link of it."""
    unexcused: int = 0
    """Deliveries missing or made twice though their way stayed, and no broker or link of it was disturbed.

    Where messages wait, those made twice only if the whole tree stayed.
    """
    cut_off: int = 0
    """Clients whose connection broke, but for those of a broker that left or crashed."""
    durable: bool = False
    """Whether messages wait for who restarts."""

    def touch(self, topics: Iterable[str], began: float, ended: float) -> None:
        """Note that a wave touches topics while it lasts."""
        for topic in topics:
            first, last = self.spans.get(topic, (began, ended))
            self.spans[topic] = min(first, began), max(last, ended)

    def holds(self, message: Message) -> bool:
        """Say whether a message falls into it."""
        if message.topic not in self.spans:
            return False
        first, last = self.spans[message.topic]
        return first - UNDER_WAY * (1 + self.durable) <= message.sent <= last

    @property
    def in_time(self) -> bool:
        """Whether it was over when its waves should have been."""
        return self.ended - self.began <= WAVE * self.waves

    @property
    def missing(self) -> int:
        """Deliveries that are missing, on all topics that it touches."""
        return self.of_changed.missing + self.of_restarted.missing

    @property
    def duplicate(self) -> int:
        """Deliveries made twice or more: a bridge that was cut off sends again what nobody acknowledged."""
        return self.of_changed.duplicate + self.of_restarted.duplicate

    def described(self) -> dict[str, Any]:
        """Return what a JSON answer says of it."""
        return {
            "event": self.event,
            "broker": self.broker,
            "seconds": self.ended - self.began,
            "waves": self.waves,
            "in_time": self.in_time,
            "restarts": self.restarts,
            "reloads": self.reloads,
            "changed_topics": len(self.changed & self.spans.keys()),
            "changed": vars(self.of_changed),
            "restarted_topics": len(self.spans.keys() - self.changed),
            "restarted": vars(self.of_restarted),
            "unexcused": self.unexcused,
            "cut_off": self.cut_off,
        }
