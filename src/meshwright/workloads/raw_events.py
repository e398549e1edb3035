"""Raw event logs as they occur in practice: out of order, repeated, undone, and partly broken."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from meshwright.files.atomic import new_file
from meshwright.interest import Interest

BROKEN = (
    b'{"node": "',
    b'{"topic": "t", "operation": "subscribe", "time": 1}',
    b'{"node": "  ", "topic": "t", "operation": "subscribe", "time": 1}',
    b'{"node": "b\xff", "topic": "t", "operation": "subscribe", "time": 1}',
    b'{"node": "b", "topic": "t", "operation": "dance", "time": 1}',
    b'{"node": "b", "topic": "t", "operation": "subscribe", "time": "noon"}',
    b'["b", "t"]',
)
"""Unusable lines, each for a different reason."""
DAY = 86_400
BEGIN = 1_767_225_600
"""The first second of 2026."""


def write_raw_events(interest: Interest, folder: Path, *, files: int = 4, seed: int = 0) -> list[Path]:
    """Write compressed JSON-lines of a day's subscribes and unsubscribes that end in an interest.

    10% of the subscriptions were cancelled once and renewed, 5% appear twice, as many others were cancelled
    for good, and 0.5% of the lines are broken.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    relation = interest.canonical()
    nodes, topics = relation.node_names.to_pylist(), relation.topic_names.to_pylist()
    events: list[tuple[str, str, str, int]] = []
    for v, t in zip(relation.node_of_slot.tolist(), relation.node_topics.tolist(), strict=True):
        at = int(rng.integers(DAY // 2, DAY))
        events.append((nodes[v], topics[t], "subscribe", at))
        chance = rng.random()
        if chance < 0.1:
            earlier = int(rng.integers(1, at))
            events += [
                (nodes[v], topics[t], "subscribe", earlier - 1),
                (nodes[v], topics[t], "unsubscribe", earlier),
            ]
        elif chance < 0.15:
            events.append((nodes[v], topics[t], "subscribe", at + 1))
    held = set(zip(relation.node_of_slot.tolist(), relation.node_topics.tolist(), strict=True))
    for _ in range(len(held) // 20):
        v, t = int(rng.integers(len(nodes))), int(rng.integers(len(topics)))
        if (v, t) not in held:
            at = int(rng.integers(1, DAY))
            events += [(nodes[v], topics[t], "unsubscribe", at), (nodes[v], topics[t], "subscribe", at - 1)]
    lines = [_line(*event) for event in events]
    lines += [BROKEN[i % len(BROKEN)] for i in range(len(lines) // 200)]
    order = rng.permutation(len(lines))
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, part in enumerate(np.array_split(order, files)):
        file = folder / f"events-{number}.jsonl.gz"
        with new_file(file) as beside:
            beside.write_bytes(gzip.compress(b"".join(lines[i] + b"\n" for i in part), mtime=0))
        written.append(file)
    return written


def _line(node: str, topic: str, operation: str, at: int) -> bytes:
    return json.dumps({"node": node, "topic": topic, "operation": operation, "time": BEGIN + at}).encode()
