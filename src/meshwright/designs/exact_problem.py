"""The instance of the exact design, the best solution and bound so far, and the time left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids
from meshwright.bounds import pair_topics
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.measure import components, contributions
from meshwright.overlay import Overlay, unchecked_overlay

Pairs: TypeAlias = NDArray[np.int64]
Chosen: TypeAlias = NDArray[np.bool_]
Values: TypeAlias = NDArray[np.float64]


MOST_PAIRS = 5_000_000
"""Maximum number of pairs of subscribers over all topics; more would take too long."""


@dataclass(frozen=True, eq=False)
class Group:
    """A set of nodes that must be connected: the subscribers of one or more topics.

    `pairs` are numbers of pairs of the problem; pair i joins the members at positions `a[i] < b[i]`.
    """

    members: Ids
    pairs: Pairs
    a: Pairs
    b: Pairs

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, eq=False)
class Problem:
    """Pairs (u, v) that share a topic, ascending, and the distinct sets of at least two subscribers.

    A `forced` pair is the whole set of subscribers of some topic, so every solution links it.
    """

    interest: Interest
    u: Ids
    v: Ids
    groups: tuple[Group, ...]
    forced: Chosen

    def __len__(self) -> int:
        return len(self.u)

    @cached_property
    def connected_links(self) -> int:
        """The number of links of a spanning forest of all pairs that share a topic."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        nodes = self.interest.num_nodes
        pairs = coo_array((np.ones(len(self), dtype=np.int8), (self.u, self.v)), shape=(nodes, nodes))
        return nodes - int(connected_components(pairs, directed=False)[0]) if nodes else 0

    def overlay(self, chosen: Chosen) -> Overlay:
        """Return the overlay of the chosen pairs, in ascending order."""
        u, v = self.u[chosen], self.v[chosen]
        return unchecked_overlay(self.interest, u, v, contributions(self.interest, u, v))

    def connects(self, chosen: Chosen) -> bool:
        """Return whether the chosen pairs connect every topic."""
        return int(components(self.overlay(chosen)).of_topic.max(initial=0)) <= 1

    def chosen(self, overlay: Overlay) -> Chosen:
        """Return a mask of the pairs that an overlay links; links between strangers are left out."""
        nodes = self.interest.num_nodes
        links = overlay.u.astype(np.int64) * nodes + overlay.v
        return np.isin(self.u.astype(np.int64) * nodes + self.v, links)


def problem_of(interest: Interest) -> Problem:
    """Return the problem of an interest: pairs that share a topic, and distinct sets of subscribers."""
    if pair_topics(interest) > MOST_PAIRS:
        raise InputError(
            f"exact is for small instances: the topics have more than {MOST_PAIRS:,} pairs of subscribers; "
            "take a sample, or another design such as gm"
        )
    parts = np.split(interest.topic_nodes, interest.topic_ptr[1:-1])
    distinct = sorted({tuple(part.tolist()) for part in parts if len(part) > 1})
    nodes = interest.num_nodes
    ends = [np.triu_indices(len(members), 1) for members in distinct]
    keys = [
        np.array(members, dtype=np.int64)[a] * nodes + np.array(members, dtype=np.int64)[b]
        for members, (a, b) in zip(distinct, ends, strict=True)
    ]
    known = np.unique(np.concatenate(keys)) if keys else np.zeros(0, dtype=np.int64)
    groups = tuple(
        Group(np.array(members, dtype=np.int32), np.searchsorted(known, own), a, b)
        for members, own, (a, b) in zip(distinct, keys, ends, strict=True)
    )
    forced = np.zeros(len(known), dtype=np.bool_)
    forced[[group.pairs[0] for group in groups if len(group) == 2]] = True
    width = max(nodes, 1)
    return Problem(
        interest, (known // width).astype(np.int32), (known % width).astype(np.int32), groups, forced
    )


CLOSE = 1e-6
"""Values that differ by less are equal; the tolerance of the solver is a tenth of it."""


class Incumbent:
    """The best solution found so far, with at most `cap` links per node, and a lower bound on links.

    `limit` is the largest number of links worth considering. A `lower` bound above it means that the cap
    allows no solution.
    """

    def __init__(self, problem: Problem, best: Chosen | None, cap: int | None = None) -> None:
        self.problem, self.best, self.cap = problem, best, cap
        self.limit = len(problem) if cap is None else min(len(problem), problem.interest.num_nodes * cap // 2)
        self.lower = problem.connected_links

    @property
    def upper(self) -> int:
        """The fewest links found, or one more than the limit without a solution."""
        return self.limit + 1 if self.best is None else int(np.count_nonzero(self.best))

    @property
    def closed(self) -> bool:
        """Whether no better solution exists."""
        return self.lower >= self.upper

    def offer(self, chosen: Chosen | None) -> None:
        """Keep pairs that connect everything within the cap, if they are fewer than the best."""
        if chosen is not None and np.count_nonzero(chosen) < self.upper:
            self.best = chosen

    def raise_lower(self, bound: float) -> None:
        """Record that no solution has fewer links than this bound."""
        self.lower = min(max(self.lower, math.ceil(bound - CLOSE)), self.limit + 1)
