"""Parts of the nodes, each planned by itself, and who stands for a part when parts are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from meshwright.greedy import grow
from meshwright.interest import Interest, frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.greedy.rules import Rule
    from meshwright.interest import Ids

BULK = 4.0
"""A node with more than this many times the average number of topics belongs to no part."""


class Division(NamedTuple):
    """Which nodes belong to no part, and which to each part; all ascending."""

    bulk: Ids
    parts: list[Ids]


class Part(NamedTuple):
    """The links of one part with their contributions, in ids of the part, and its representatives."""

    u: Ids
    v: Ids
    contribution: Ids
    representatives: Ids


Solver: TypeAlias = Callable[[list[Interest], "Rule", int], Iterable[Part]]
"""What plans the parts: one after the other, or on a cluster. Takes the coverage too."""


def split(interest: Interest, parts: int, seed: int) -> Division:
    """Deal the nodes out at random into parts of equal size, bulk nodes apart."""
    sizes = np.diff(interest.node_ptr)
    heavy = sizes > BULK * max(float(sizes.mean()), 1.0) if len(sizes) else np.zeros(0, dtype=bool)
    light = np.flatnonzero(~heavy).astype(np.int32)
    dealt = np.random.Generator(np.random.PCG64(seed)).permutation(light)
    return Division(np.flatnonzero(heavy).astype(np.int32), [np.sort(dealt[i::parts]) for i in range(parts)])


def among(interest: Interest, nodes: NDArray[Any]) -> Interest:
    """Return the interest of some nodes, numbered by their position; topics keep their ids."""
    begin, sizes = interest.node_ptr[nodes], np.diff(interest.node_ptr)[nodes]
    node_ptr = np.concatenate(([0], np.cumsum(sizes)))
    at = np.repeat(begin - node_ptr[:-1], sizes) + np.arange(node_ptr[-1])
    return Interest(pa.nulls(len(nodes)), pa.nulls(interest.num_topics), node_ptr, interest.node_topics[at])


def representatives(interest: Interest, coverage: int) -> Ids:
    """Return few nodes that have each topic `coverage` times, or as often as it is there."""
    from meshwright.pipeline.kernels.covering import cover

    subscribers = np.bincount(interest.node_topics, minlength=interest.num_topics)
    demand = np.minimum(subscribers, coverage).astype(np.int32)
    chosen = cover(frozen(interest.node_ptr, np.int64), frozen(interest.node_topics, np.int32), demand)
    return np.flatnonzero(chosen).astype(np.int32)


def solve(interest: Interest, rule: Rule, coverage: int) -> Part:
    """Plan one part."""
    overlay = grow(interest, rule)
    return Part(overlay.u, overlay.v, overlay.contribution, representatives(interest, coverage))


def solve_here(interests: list[Interest], rule: Rule, coverage: int) -> Iterable[Part]:
    """Plan parts one after the other, in this process."""
    for interest in interests:
        yield solve(interest, rule, coverage)
