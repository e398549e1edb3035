"""What became of a federation under churn: change by change, and outside of all changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from meshwright.churn.events import JOIN
from meshwright.deploy.federation.verdict import Verdict, judge

if TYPE_CHECKING:
    from meshwright.deploy.config.routed import Routed, Way
    from meshwright.deploy.federation.traffic import Message


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
        """Whether all is as the order of changes promises.

        Calm and final traffic is exact, nothing leaked, and no join took anything from anybody or brought it
        twice. In windows nothing whose way nothing disturbed is missing or came twice, and each was over in
        time.
        """
        joins = [window for window in self.windows if window.event == JOIN]
        return (
            self.calm.passed
            and self.final.passed
            and not self.leaked
            and not self.faults
            and not any(it.cut_off or it.restarts or it.missing or it.duplicate for it in joins)
            and not any(it.unexcused or not it.in_time for it in self.windows)
        )


def sorted_out(
    sent: Sequence[tuple[Message, int]], versions: Sequence[Routed], windows: Sequence[Window]
) -> tuple[Verdict, int]:
    """Judge calm messages by the ways of their time, and count what became of the others."""
    calm: list[Verdict] = []
    by_version: dict[int, list[Message]] = {}
    paths = Paths(versions)
    leaked = 0
    for message, version in sent:
        held = [number for number, window in enumerate(windows) if window.holds(message)]
        if not held:
            by_version.setdefault(_version(message, version, windows), []).append(message)
            continue
        # Sent shortly before a change, it may have begun before the last one was over.
        began, ended = min(version, held[0]), held[-1] + 1
        spanned = [v for v in range(began, ended + 1) if message.topic in versions[v].ways]
        ways = [versions[v].ways[message.topic] for v in spanned]
        due = frozenset.intersection(*(way.subscribers for way in ways)) | {message.origin}
        allowed = frozenset().union(*(way.carriers for way in ways))
        window = max((windows[number] for number in held), key=lambda it: (it.event != JOIN, it.began))
        missing = due - set(message.seen)
        doubled = {broker for broker, times in message.seen.items() if times > 1}
        changed = any(message.topic in windows[number].changed for number in held)
        count = window.of_changed if changed else window.of_restarted
        count.published += 1
        count.expected += len(due)
        count.missing += len(missing)
        count.duplicate += len(doubled)
        leaked += len(set(message.seen) - allowed - {message.origin})
        disturbed = frozenset().union(*(windows[number].disturbed for number in held))
        renewed = frozenset().union(*(windows[number].renewed for number in held))
        # What waited for a link that is gone still comes over it, and goes on over the one in its place.
        for broker in missing if changed and window.durable else missing | doubled:
            found = {paths.between(v, message.topic, message.origin, broker) for v in spanned}
            same = found.pop() if len(found) == 1 else None
            window.unexcused += same is not None and not _excused(same, disturbed, renewed)
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


def _excused(path: Sequence[str], disturbed: Collection[str], renewed: Collection[frozenset[str]]) -> bool:
    """Say whether a broker of a way, or one of its links, was disturbed."""
    links = {frozenset(link) for link in pairwise(path)}
    return not (links.isdisjoint(renewed) and set(path).isdisjoint(disturbed))


def _version(message: Message, version: int, windows: Sequence[Window]) -> int:
    """Return by which ways a calm message went: the new ones too, if its topic's last wave was over."""
    if version < len(windows):
        spans = windows[version].spans
        if message.topic in spans and message.sent > spans[message.topic][1]:
            return version + 1
    return version


class Paths:
    """Ways from broker to broker in the trees of all versions, each tree searched once for each origin."""

    def __init__(self, versions: Sequence[Routed]) -> None:
        self.versions = versions
        self._before: dict[tuple[int, str, str], dict[str, str]] = {}

    def between(self, version: int, topic: str, origin: str, broker: str) -> tuple[str, ...] | None:
        """Return the brokers on the way, both ends included; None if there is none."""
        key = (version, topic, origin)
        if key not in self._before:
            self._before[key] = _searched(self.versions[version].ways[topic], origin)
        before, path = self._before[key], [broker]
        while path[-1] in before and path[-1] != origin:
            path.append(before[path[-1]])
        return tuple(path) if path[-1] == origin else None


def _searched(way: Way, origin: str) -> dict[str, str]:
    """Return from which neighbour each carrier gets what is published at a broker."""
    near: dict[str, list[str]] = {}
    for a, b in way.links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    before, queue = {origin: origin}, [origin]
    for here in queue:
        for there in near.get(here, []):
            if there not in before:
                before[there] = here
                queue.append(there)
    return before
