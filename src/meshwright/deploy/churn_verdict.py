"""What became of a federation under churn: change by change, and outside of all changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meshwright.churn.events import JOIN
from meshwright.deploy.verdict import Verdict, judge

if TYPE_CHECKING:
    from meshwright.deploy.routed import Routed
    from meshwright.deploy.traffic import Message

UNDER_WAY = 1.0
"""Seconds: what was sent so shortly before a change begins may not have come everywhere by then."""


@dataclass
class Window:
    """One change: when it began and ended, what it touched, and what became of messages meanwhile."""

    event: str
    broker: str
    began: float
    touched: set[str]
    restarts: list[str]
    ended: float = float("inf")
    published: int = 0
    expected: int = 0
    """Deliveries to those who asked for the topic before and after."""
    missing: int = 0
    duplicate: int = 0
    cut_off: int = 0
    """Clients whose connection broke, but for those of a broker that left or crashed."""

    def holds(self, message: Message) -> bool:
        """Say whether a message falls into it."""
        before = 0.0 if self.event == JOIN else UNDER_WAY  # a join takes nothing away from anybody
        return message.topic in self.touched and self.began - before <= message.sent <= self.ended

    def described(self) -> dict[str, Any]:
        """Return what a JSON answer says of it."""
        return {
            "event": self.event,
            "broker": self.broker,
            "seconds": self.ended - self.began,
            "touched_topics": len(self.touched),
            "restarts": self.restarts,
            "published": self.published,
            "expected": self.expected,
            "missing": self.missing,
            "duplicate": self.duplicate,
            "cut_off": self.cut_off,
        }


@dataclass(frozen=True)
class Churned:
    """What became of a federation under churn."""

    calm: Verdict
    """Messages outside of every window: none may be missing, duplicate or leaked."""
    windows: Sequence[Window]
    leaked: int
    """Messages that a broker carried that asked for them neither before nor after, windows included."""
    final: Verdict
    """Published everywhere at the end."""
    faults: Sequence[str]
    """What the audit of the live overlay finds at the end."""
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether calm and final traffic is exact, nothing leaked, and no join took anything from anybody."""
        joins = [window for window in self.windows if window.event == JOIN]
        return (
            self.calm.passed
            and self.final.passed
            and not self.leaked
            and not self.faults
            and not any(it.cut_off or it.restarts or it.missing or it.duplicate for it in joins)
        )


def sorted_out(
    sent: Sequence[tuple[Message, int]], versions: Sequence[Routed], windows: Sequence[Window]
) -> tuple[Verdict, int]:
    """Judge calm messages by the ways of their time, and count what became of the others."""
    calm: list[Verdict] = []
    by_version: dict[int, list[Message]] = {}
    leaked = 0
    for message, version in sent:
        around = [number for number, window in enumerate(windows) if window.holds(message)]
        if not around:
            by_version.setdefault(version, []).append(message)
            continue
        first, last = versions[around[0]].ways, versions[around[-1] + 1].ways
        ways = [ways[message.topic] for ways in (first, last) if message.topic in ways]
        due = frozenset.intersection(*(way.subscribers for way in ways)) | {message.origin}
        allowed = frozenset().union(
            *(
                versions[v].ways[message.topic].carriers
                for v in range(around[0], around[-1] + 2)
                if message.topic in versions[v].ways
            )
        )
        window = max((windows[number] for number in around), key=lambda it: (it.event != JOIN, it.began))
        window.published += 1
        window.expected += len(due)
        window.missing += len(due - set(message.seen))
        window.duplicate += sum(count > 1 for count in message.seen.values())
        leaked += len(set(message.seen) - allowed - {message.origin})
    for version, messages in sorted(by_version.items()):
        calm.append(judge(messages, versions[version].ways))
    joined = Verdict(
        sum(part.published for part in calm),
        sum(part.expected for part in calm),
        tuple(event for part in calm for event in part.missing),
        tuple(event for part in calm for event in part.duplicate),
        tuple(event for part in calm for event in part.leaked),
        {},
    )
    return joined, leaked + len(joined.leaked)
