"""What became of messages: missing, duplicate, leaked, and how long they took by hops."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meshwright.deploy.config.routed import Way
    from meshwright.deploy.federation.traffic import Message

Event = tuple[str, str, str]
"""Topic, where it was published, where it was or was not seen."""


@dataclass(frozen=True)
class Verdict:
    """The count of a check. A leak is a broker that carries what it did not ask for."""

    published: int
    expected: int
    """Deliveries that there should be, each publisher's own broker included."""
    missing: tuple[Event, ...]
    duplicate: tuple[Event, ...]
    leaked: tuple[Event, ...]
    latency: Mapping[int, tuple[int, float, float]]
    """By hops: deliveries, mean and 95th percentile in seconds."""

    @property
    def passed(self) -> bool:
        """Whether every message came once to everyone who asked for it, and to nobody else."""
        return not (self.missing or self.duplicate or self.leaked)

    def described(self) -> dict[str, Any]:
        """Return the figures for a JSON answer."""
        return {
            "published": self.published,
            "expected": self.expected,
            "missing": len(self.missing),
            "duplicate": len(self.duplicate),
            "leaked": len(self.leaked),
            "latency": [
                {"hops": hops, "deliveries": count, "mean_ms": 1000 * mean, "usual_ms": 1000 * usual}
                for hops, (count, mean, usual) in self.latency.items()
            ],
        }


def judge(messages: Iterable[Message], ways: Mapping[str, Way]) -> Verdict:
    """Compare where messages were seen with the ways they should take."""
    missing: list[Event] = []
    duplicate: list[Event] = []
    leaked: list[Event] = []
    times: dict[int, list[float]] = {}
    published = expected = 0
    far: dict[tuple[str, str], dict[str, int]] = {}
    for message in messages:
        way, origin = ways[message.topic], message.origin
        wanted = way.subscribers | {origin}
        published += 1
        expected += len(wanted)
        missing += [(message.topic, origin, broker) for broker in sorted(wanted - set(message.seen))]
        for broker, count in sorted(message.seen.items()):
            if count > 1:
                duplicate.append((message.topic, origin, broker))
            if broker not in wanted | way.relays:
                leaked.append((message.topic, origin, broker))
        key = (message.topic, origin)
        if key not in far:
            far[key] = hops_from(way, origin)
        for broker, when in message.first.items():
            if broker in far[key]:
                times.setdefault(far[key][broker], []).append(when - message.sent)
    latency = {
        hops: (len(took), sum(took) / len(took), sorted(took)[max(0, -(-95 * len(took) // 100) - 1)])
        for hops, took in sorted(times.items())
    }
    return Verdict(published, expected, tuple(missing), tuple(duplicate), tuple(leaked), latency)


def hops_from(way: Way, origin: str) -> dict[str, int]:
    """Return how many links each carrier is away from where a message is published."""
    near: dict[str, list[str]] = {}
    for a, b in way.links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    found, queue = {origin: 0}, deque([origin])
    if origin in way.publishers:
        found[way.publishers[origin]] = 1
        queue.append(way.publishers[origin])
    while queue:
        here = queue.popleft()
        for there in near.get(here, []):
            if there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return found
