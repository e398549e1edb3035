"""The verdict on messages: which are missing, duplicate or leaked, and how long they took by hops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from meshwright.deploy.named_trees import TopicTree
from meshwright.deploy.proof.prediction import Prediction, paths_from, predict
from meshwright.deploy.proof.traffic import Message
from meshwright.formatting import counted, duration

Fault = tuple[str, str, str]
"""A topic, the broker where the message was published, and the broker where it is missing or too much."""


@dataclass(frozen=True)
class Verdict:
    """What became of some messages."""

    published: int
    expected: int
    """Due deliveries, including one at each publisher's own broker."""
    missing: tuple[Fault, ...]
    duplicate: tuple[Fault, ...]
    leaked: tuple[Fault, ...]
    """Deliveries at brokers that neither want the message nor lie on its way to others."""
    latency: Mapping[int, tuple[int, float, float]]
    """By hops: the number of deliveries, their mean and their 95th percentile in seconds."""
    relayed: int = 0
    """Deliveries at brokers that do not want the message and pass it on to others."""
    predicted_relayed: int = 0
    """As many were predicted from the trees."""

    @property
    def passed(self) -> bool:
        """Whether every message reached every broker that wants it once, and others only as predicted."""
        return not (self.missing or self.duplicate or self.leaked) and self.relayed == self.predicted_relayed

    @property
    def lines(self) -> list[str]:
        """Lines for people: the counts, the first five faults of each kind, and latency by hops."""
        lines = [
            f"{counted(self.published, 'message')}, {self.expected:,} deliver"
            f"{'y' if self.expected == 1 else 'ies'} due: "
            f"{len(self.missing):,} missing, {len(self.duplicate):,} duplicate, "
            f"{len(self.leaked):,} leaked" + (f"; {self.relayed:,} relayed" if self.relayed else "")
        ]
        if self.relayed != self.predicted_relayed:
            lines.append(f"  relayed: {self.predicted_relayed:,} were predicted")
        for kind, faults in (
            ("missing", self.missing), ("duplicate", self.duplicate), ("leaked", self.leaked)
        ):  # fmt: skip
            for topic, origin, broker in faults[:5]:
                lines.append(f"  {kind}: {topic!r} published at {origin!r}, at {broker!r}")
        for hops, (count, mean, usual) in self.latency.items():
            distance = f"{hops} hop{'' if hops == 1 else 's'}"
            lines.append(
                f"  {distance}: {duration(mean)} on average, {duration(usual)} for 95 % "
                f"({count:,} deliveries)"
            )
        return lines

    def figures(self) -> dict[str, Any]:
        """Return the figures for a JSON answer."""
        return {
            "published": self.published,
            "expected": self.expected,
            "missing": len(self.missing),
            "duplicate": len(self.duplicate),
            "leaked": len(self.leaked),
            "relayed": self.relayed,
            "predicted_relayed": self.predicted_relayed,
            "latency": [
                {"hops": hops, "deliveries": count, "mean_ms": 1000 * mean, "usual_ms": 1000 * usual}
                for hops, (count, mean, usual) in self.latency.items()
            ],
        }


def judge(messages: Iterable[Message], trees: Mapping[str, TopicTree]) -> Verdict:
    """Compare where messages arrived with where the trees of their topics lead them."""
    missing: list[Fault] = []
    duplicate: list[Fault] = []
    leaked: list[Fault] = []
    times: dict[int, list[float]] = {}
    published = expected = relayed = predicted_relayed = 0
    predictions: dict[tuple[str, str, str], Prediction] = {}
    hops: dict[tuple[str, str], dict[str, int]] = {}
    for message in messages:
        topic, origin = message.topic, message.origin
        tree = trees[topic]
        key = topic, origin, message.name
        if key not in predictions:
            predictions[key] = predict(tree, origin, message.name)
        due, relays = predictions[key]
        predicted_relayed += len(relays)
        relayed += len(relays & message.seen.keys())
        published += 1
        expected += len(due)
        missing += [(topic, origin, broker) for broker in sorted(due - set(message.seen))]
        for broker, count in sorted(message.seen.items()):
            if count > 1:
                duplicate.append((topic, origin, broker))
            if broker not in due and broker not in relays:
                leaked.append((topic, origin, broker))
        if (topic, origin) not in hops:
            hops[topic, origin] = hops_from(tree, origin)
        for broker, when in message.first.items():
            if broker in hops[topic, origin]:
                times.setdefault(hops[topic, origin][broker], []).append(when - message.sent)
    latency = {distance: _latency(seconds) for distance, seconds in sorted(times.items())}
    return Verdict(
        published,
        expected,
        tuple(missing),
        tuple(duplicate),
        tuple(leaked),
        latency,
        relayed,
        predicted_relayed,
    )


def _latency(seconds: list[float]) -> tuple[int, float, float]:
    """Return count, mean and 95th percentile: the least value that 95% of all do not exceed."""
    count = len(seconds)
    rank = -(-95 * count // 100)
    return count, sum(seconds) / count, sorted(seconds)[rank - 1]


def hops_from(tree: TopicTree, origin: str) -> dict[str, int]:
    """Return the number of links from the broker where a message is published to each carrier."""
    hops: dict[str, int] = {}
    # Brokers come after the one before them.
    for broker, previous in paths_from(tree, origin).items():
        hops[broker] = 0 if broker == previous else hops[previous] + 1
    return hops
