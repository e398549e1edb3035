"""Synthetic workloads: a popularity for the topics, a size for each node, a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from meshwright.arrays import settled
from meshwright.errors import InputError, first_five
from meshwright.interest import MOST_SUBSCRIPTIONS, Interest
from meshwright.workloads.distributions import (
    Sizes,
    check_count,
    exponential_popularity,
    uniform_popularity,
    zipf_popularity,
)
from meshwright.workloads.draw import choose, draw, fixed_point

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MOST_BYTES = 2**31 - 1
"""Bytes that offsets of Arrow's `string` can address; `large_string` has no such limit."""


def synthetic(nodes: int, popularity: ArrayLike, sizes: Sizes, *, seed: int = 0) -> Interest:
    """Let each node draw its number of distinct topics, topic i with probability ∝ popularity[i].

    Repeats are drawn again (podc07, section 8). Nodes are named b0, b1, … and topics t0, t1, …, padded with
    zeros so that names sort as numbers. The same call gives the same interest on every platform;
    `meshwright.workloads.draw` explains how, and the two methods of drawing.
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
    if seed < 0:
        raise InputError(f"a seed of {seed}: give an integer of at least 0")
    if nodes * sizes.minimum > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{nodes} nodes of {sizes.minimum} topics or more: at most 2³¹ − 1 subscriptions fit"
        )
    stream = np.random.PCG64(seed)
    drawn = np.full(nodes, sizes.minimum, dtype=np.int64)
    if sizes.maximum > sizes.minimum:
        drawn += choose(stream.random_raw(nodes), fixed_point(sizes.probabilities))
    pointers = np.concatenate(([0], np.cumsum(drawn)))
    if pointers[-1] > MOST_SUBSCRIPTIONS:
        raise InputError(f"{pointers[-1]} subscriptions: at most 2³¹ − 1 fit; give fewer nodes or topics")
    topics = draw(stream, fixed_point(weights), drawn)
    return Interest(numbered("b", nodes), numbered("t", len(weights)), settled(pointers), settled(topics))


def zipf(
    nodes: int,
    topics: int,
    *,
    alpha: float = 0.5,
    size: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    exponent: float = 1.5,
    seed: int = 0,
) -> Interest:
    """Topic i is drawn with probability ∝ i^−alpha.

    Each node has `size` topics (10 by default), or between `min_size` and `max_size` topics by a power law
    with the given `exponent`.

    >>> interest = zipf(1000, 100, size=10, seed=1)
    >>> interest, interest.topics_of("b007")[:3]
    (Interest(1000 nodes, 100 topics, 10000 subscriptions), ['t00', 't04', 't21'])
    """
    sizes = Sizes.of(size, min_size, max_size, exponent)
    return synthetic(nodes, zipf_popularity(topics, alpha), sizes, seed=seed)


def expo(
    nodes: int,
    topics: int,
    *,
    size: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    exponent: float = 1.5,
    seed: int = 0,
) -> Interest:
    """Popularity falls exponentially: the first 10% of the topics carry 0.55. Sizes as in `zipf`."""
    sizes = Sizes.of(size, min_size, max_size, exponent)
    return synthetic(nodes, exponential_popularity(topics), sizes, seed=seed)


def unif(
    nodes: int,
    topics: int,
    *,
    size: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    exponent: float = 1.5,
    seed: int = 0,
) -> Interest:
    """All topics are equally popular. Sizes as in `zipf`."""
    sizes = Sizes.of(size, min_size, max_size, exponent)
    return synthetic(nodes, uniform_popularity(topics), sizes, seed=seed)


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
