"""Synthetic workloads and social graphs, and logs of raw events that end in an interest.

A workload is a popularity for the topics, a size for each node, and a seed. `zipf`, `expo` and `unif` differ
in how popular topics are. `social` draws who follows whom: each user is a subscriber and a topic at once
(icdcs16). Raw events are as they occur in practice: out of order, repeated, undone, and partly broken.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from meshwright.arrays import MOST_SUBSCRIPTIONS, is_whole, settled
from meshwright.arrow import MOST_BYTES
from meshwright.errors import InputError, first_five
from meshwright.files.atomic import new_file
from meshwright.interest import Interest, unchecked_interest
from meshwright.workloads.distributions import (
    Sizes,
    below,
    check_count,
    choose,
    draw,
    draw_independently,
    exponential_popularity,
    fixed_point,
    uniform_popularity,
    zipf_popularity,
)


def check_seed(seed: object) -> None:
    """Raise an InputError unless a seed is a whole number of at least 0."""
    if not is_whole(seed) or seed < 0:  # type: ignore[operator]
        raise InputError(f"a seed of {seed!r}: give an integer of at least 0")


def synthetic(
    nodes: int, popularity: ArrayLike, sizes: Sizes, *, seed: int = 0, independent: bool = False
) -> Interest:
    """Let each node draw its number of distinct topics, topic i with probability ∝ popularity[i].

    Repeats are drawn again (podc07, section 8). With `independent` each node takes each topic or not,
    whatever else it takes (icdcs10, section VI), and sizes are means: topic i is taken with probability ∝
    popularity[i], or 1 where that would be more. A node may then be without topics.

    Nodes are named b0, b1, … and topics t0, t1, …, padded with zeros so that names sort as numbers. The same
    call gives the same interest on every platform; `meshwright.workloads.distributions` explains how,
    and the methods of drawing.
    """
    weights = np.asarray(popularity, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise InputError(
            f"the popularity of topics {first_five(bad.tolist())} is negative or not a number: "
            "give probabilities, or weights, of at least 0"
        )
    drawable = int(np.count_nonzero(weights))
    check_count(nodes, "nodes")
    if sizes.maximum > drawable:
        raise InputError(
            f"up to {sizes.maximum} distinct topics for each node, but only {drawable} topics can be drawn: "
            "give a smaller size or more topics"
        )
    check_seed(seed)
    if nodes * sizes.minimum > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{nodes} nodes of {sizes.minimum} topics or more: at most 2³¹ − 1 subscriptions fit"
        )
    stream = np.random.PCG64(seed)
    drawn = np.full(nodes, sizes.minimum, dtype=np.int64)
    if sizes.maximum > sizes.minimum:
        drawn += choose(stream.random_raw(nodes), fixed_point(sizes.probabilities))
    units = fixed_point(weights)
    if independent:
        topics, drawn = draw_independently(stream, units, drawn)
    pointers = np.concatenate(([0], np.cumsum(drawn)))
    if pointers[-1] > MOST_SUBSCRIPTIONS:
        raise InputError(f"{pointers[-1]} subscriptions: at most 2³¹ − 1 fit; give fewer nodes or topics")
    if not independent:
        topics = draw(stream, units, drawn)
    return unchecked_interest(
        numbered("b", nodes), numbered("t", len(weights)), settled(pointers), settled(topics)
    )


def zipf(
    nodes: int,
    topics: int,
    *,
    alpha: float = 0.5,
    size: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    exponent: float = 1.5,
    independent: bool = False,
    seed: int = 0,
) -> Interest:
    """Topic i is drawn with probability ∝ i^−alpha.

    Each node has `size` topics (10 by default), or between `min_size` and `max_size` topics by a power law
    with the given `exponent`. With `independent` these are means: a node takes each topic on its own.

    >>> interest = zipf(1000, 100, size=10, seed=1)
    >>> interest, interest.topics_of("b007")[:3]
    (Interest(1,000 nodes, 100 topics, 10,000 subscriptions), ['t00', 't04', 't21'])
    """
    sizes = Sizes.of(size, min_size, max_size, exponent)
    return synthetic(nodes, zipf_popularity(topics, alpha), sizes, seed=seed, independent=independent)


def expo(
    nodes: int,
    topics: int,
    *,
    size: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    exponent: float = 1.5,
    independent: bool = False,
    seed: int = 0,
) -> Interest:
    """Popularity falls exponentially: the first 10% of the topics carry 0.55. Sizes as in `zipf`."""
    sizes = Sizes.of(size, min_size, max_size, exponent)
    return synthetic(nodes, exponential_popularity(topics), sizes, seed=seed, independent=independent)


def unif(
    nodes: int,
    topics: int,
    *,
    size: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    exponent: float = 1.5,
    independent: bool = False,
    seed: int = 0,
) -> Interest:
    """All topics are equally popular. Sizes as in `zipf`."""
    sizes = Sizes.of(size, min_size, max_size, exponent)
    return synthetic(nodes, uniform_popularity(topics), sizes, seed=seed, independent=independent)


WORKLOADS: dict[str, Callable[..., Interest]] = {"zipf": zipf, "expo": expo, "unif": unif}
"""The synthetic workloads by name."""


def numbered(letter: str, count: int) -> pa.Array:
    """Return the names letter0 … letter(count − 1), padded with zeros to one width.

    >>> numbered("t", 11)[:2].to_pylist()
    ['t00', 't01']
    """
    digits = len(str(count - 1))
    number = np.arange(count)
    text = np.empty((count, digits + 1), dtype=np.uint8)
    text[:, 0] = ord(letter)
    for place in range(digits, 0, -1):
        text[:, place] = ord("0") + number % 10
        number //= 10
    large = text.size > MOST_BYTES
    offsets = np.arange(0, text.size + 1, digits + 1, dtype=np.int64 if large else np.int32)
    buffers: list[Any] = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.large_string() if large else pa.string(), count, buffers)


COMMUNITY = 100
"""Users of a community: they mostly follow each other."""


def social(
    users: int,
    *,
    alpha: float = 1.0,
    size: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    exponent: float = 1.5,
    locality: float = 0.5,
    both_ways: bool = False,
    seed: int = 0,
) -> Interest:
    """Let every user follow others: node u subscribes to topic v if u follows v.

    A user makes between `min_size` and `max_size` choices, by a power law with the given `exponent`, or
    exactly `size` choices (10 by default). On average, the share `locality` of the choices falls on the
    user's community of a hundred users with neighbouring numbers. The others fall on anyone: on the i-th most
    popular user with probability ∝ i^−alpha, where popularity is assigned at random. A user chosen twice is
    followed once, so a user may follow slightly fewer users than it made choices. Nobody follows itself. With
    `both_ways` everybody follows back, as friends do. Names are u0, u1, …, padded with zeros.

    >>> interest = social(1000, min_size=5, max_size=100, seed=1)
    >>> interest, interest.topics_of("u007")[:3]
    (Interest(1,000 nodes, 1,000 topics, 18,159 subscriptions), ['u030', 'u061', 'u073'])
    """
    sizes = Sizes.of(size, min_size, max_size, exponent)
    if users < 2:
        raise InputError(f"{users} users: give at least 2, so that each user has somebody to follow")
    check_count(users, "users")
    if sizes.maximum >= users:
        raise InputError(
            f"up to {sizes.maximum} choices for each of {users} users: give a smaller size or more users"
        )
    if not 0 <= locality <= 1:
        raise InputError(f"a locality of {locality}: give a share from 0 to 1")
    check_seed(seed)
    stream = np.random.PCG64(seed)
    popular = np.argsort(stream.random_raw(users), kind="stable")  # the most popular user first
    asked = sizes.minimum + choose(stream.random_raw(users), fixed_point(sizes.probabilities))
    choices = int(asked.sum())
    if choices * (1 + both_ways) > MOST_SUBSCRIPTIONS:
        raise InputError(f"{choices} choices: at most 2³¹ − 1 subscriptions fit; give fewer users")
    follower = np.repeat(np.arange(users), asked)
    near = below(stream.random_raw(choices), np.int64(1_000_000)) < round(locality * 1_000_000)
    first = follower // COMMUNITY * COMMUNITY
    neighbour = first + below(stream.random_raw(choices), np.minimum(COMMUNITY, users - first))
    anyone = popular[choose(stream.random_raw(choices), fixed_point(zipf_popularity(users, alpha)))]
    followed = np.where(near, neighbour, anyone)
    followed = np.where(followed == follower, (followed + 1) % users, followed)
    pairs = follower * users + followed
    if both_ways:
        pairs = np.concatenate((pairs, followed * users + follower))
    pairs.sort()  # then drop repeats; np.unique hashes and takes ten times as long
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    pointers = np.searchsorted(pairs, np.arange(users + 1) * users)
    names = numbered("u", users)
    return unchecked_interest(names, names, settled(pointers), settled((pairs % users).astype(np.int32)))


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
