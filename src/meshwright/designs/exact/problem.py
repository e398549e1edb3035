"""The instance as the exact design sees it, what is known of its optimum so far, and the time left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from meshwright.errors import InputError
from meshwright.jit.announce import working_seconds
from meshwright.measure import components, contributions
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.interest import Interest

    Pairs: TypeAlias = NDArray[np.int64]
    Chosen: TypeAlias = NDArray[np.bool_]
    Values: TypeAlias = NDArray[np.float64]


class Clock:
    """A time limit in seconds, running from now on."""

    def __init__(self, seconds: float) -> None:
        self._end = working_seconds() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left, never below 0."""
        return max(0.0, self._end - working_seconds())

    @property
    def struck(self) -> bool:
        """Whether the time is up."""
        return self.left == 0.0


MOST_PAIRS = 5_000_000
"""So many pairs of subscribers, over all topics: more do not fit into any time worth waiting for."""


@dataclass(frozen=True, eq=False)
class Group:
    """A set of nodes that must be connected within itself: the subscribers of one or more topics.

    Its pairs are numbered as in the problem; pair i joins its members number `a[i] < b[i]`.
    """

    members: Ids
    pairs: Pairs
    a: Pairs
    b: Pairs

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, eq=False)
class Problem:
    """Pairs (u, v) that share a topic, ascending, and the distinct sets of two subscribers or more.

    `forced` pairs are all the subscribers of some topic, so that every solution links them.
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
        """How many links it takes to join all nodes that share topics, directly or by way of others."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        nodes = self.interest.num_nodes
        pairs = coo_array((np.ones(len(self), dtype=np.int8), (self.u, self.v)), shape=(nodes, nodes))
        return nodes - int(connected_components(pairs, directed=False)[0]) if nodes else 0

    def overlay(self, chosen: Chosen) -> Overlay:
        """Return the overlay of the chosen pairs, in ascending order."""
        u, v = self.u[chosen], self.v[chosen]
        return Overlay(self.interest, u, v, contributions(self.interest, u, v))

    def connects(self, chosen: Chosen) -> bool:
        """Say whether the chosen pairs connect every topic."""
        return int(components(self.overlay(chosen)).of_topic.max(initial=0)) <= 1

    def chosen(self, overlay: Overlay) -> Chosen:
        """Mark the pairs that an overlay links; links between nodes that share nothing are left out."""
        nodes = self.interest.num_nodes
        links = overlay.u.astype(np.int64) * nodes + overlay.v
        return np.isin(self.u.astype(np.int64) * nodes + self.v, links)


def problem_of(interest: Interest) -> Problem:
    """Lay the problem out: only pairs that share a topic, equal sets of subscribers once, no set of one."""
    sizes = np.diff(interest.topic_ptr)
    if int((sizes * (sizes - 1) // 2).sum()) > MOST_PAIRS:
        raise InputError(
            f"exact is for small instances: the topics have more than {MOST_PAIRS:,} pairs of subscribers in "
            "all; take a sample, or another design such as gm"
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
"""Values that differ by less are equal: the solver works to a tenth of it."""


class Standing:
    """The best pairs found for a problem, at most `cap` of them at a node, and the fewest there can be.

    `limit` is the most links that can be worth looking at; a `lower` bound above it means that the cap allows
    no solution at all.
    """

    def __init__(self, problem: Problem, best: Chosen | None, cap: int | None = None) -> None:
        self.problem, self.best, self.cap = problem, best, cap
        self.limit = len(problem) if cap is None else min(len(problem), problem.interest.num_nodes * cap // 2)
        self.lower = problem.connected_links

    @property
    def upper(self) -> int:
        """The fewest links found; one more than the limit if there is no solution yet."""
        return self.limit + 1 if self.best is None else int(np.count_nonzero(self.best))

    @property
    def closed(self) -> bool:
        """Whether nothing better can be found."""
        return self.lower >= self.upper

    def offer(self, chosen: Chosen | None) -> None:
        """Take pairs that connect everything within the cap, if they are fewer."""
        if chosen is not None and np.count_nonzero(chosen) < self.upper:
            self.best = chosen

    def raise_lower(self, bound: float) -> None:
        """Note that no solution has fewer links than this."""
        self.lower = min(max(self.lower, math.ceil(bound - CLOSE)), self.limit + 1)
