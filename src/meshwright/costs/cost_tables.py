"""What link costs are made of: a table of pairs, or the places of nodes; checked and sorted."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Floats, Ids, Offsets, frozen
from meshwright.errors import InputError, first_five
from meshwright.interest import Interest

SMALLEST, LARGEST = 1e-100, 1e100
"""Costs must lie between these, so that a contribution over a cost is always a finite number."""


class PairTable(NamedTuple):
    """The cost of each pair u < v, in order of u and then v."""

    ptr: Offsets
    """By node u: where its partners v > u begin; one more at the end."""
    partners: Ids
    """By pair: v."""
    cost: Floats
    """By pair: what it costs."""

    @property
    def kind(self) -> str:
        """What a plan calls such costs."""
        return "pairs"

    def of(self, low: Ids, high: Ids) -> Floats:
        """Return the costs of pairs, the smaller node first; NaN for pairs that the table lacks."""
        u = self._owners()
        nodes = np.int64(len(self.ptr))
        keys, wanted = u * nodes + self.partners, low * nodes + high
        at = np.searchsorted(keys, wanted)
        there = np.concatenate((keys, [-1]))[at] == wanted
        return np.where(there, np.concatenate((self.cost, [np.nan]))[at], np.nan)

    def columns(self, rank: Ids) -> list[NDArray[Any]]:
        """Return the columns to digest, with nodes numbered by `rank`."""
        a, b = rank[self._owners()], rank[self.partners]
        low, high = np.minimum(a, b), np.maximum(a, b)
        order = np.lexsort((high, low))
        return [low[order].astype("<i4"), high[order].astype("<i4"), self.cost[order].astype("<f8")]

    def _owners(self) -> Offsets:
        """Return the smaller node of each pair."""
        return np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int64), np.diff(self.ptr))


def pair_table(interest: Interest, u: Ids, v: Ids, cost: Floats) -> PairTable:
    """Check the costs of pairs, given in either direction or both, and sort them."""
    itself = u == v
    _refuse(
        interest, itself & (cost != 0), (u, v), (cost,),
        "nodes {} have a cost to themselves that is not 0: drop these rows",
    )  # fmt: skip
    u, v, cost = u[~itself], v[~itself], cost[~itself]
    _refuse(
        interest, ~((cost > 0) & np.isfinite(cost)), (u, v), (cost,),
        "link costs {} are not finite numbers above zero: correct them",
    )  # fmt: skip
    _refuse(
        interest, (cost < SMALLEST) | (cost > LARGEST), (u, v), (cost,),
        f"link costs {{}} are not between {SMALLEST} and {LARGEST}: choose another unit",
    )  # fmt: skip
    low, high = np.minimum(u, v), np.maximum(u, v)
    keys = low.astype(np.int64) * max(interest.num_nodes, 1) + high
    order = np.argsort(keys, kind="stable")
    low, high, cost, keys = low[order], high[order], cost[order], keys[order]
    again = np.concatenate((keys[1:] == keys[:-1], [False])) if len(keys) else np.zeros(0, dtype=bool)
    other = np.roll(cost, -1)
    _refuse(
        interest, again & (cost != other), (low, high), (cost, other),
        "pairs {} have two different costs: give one cost for both directions",
    )  # fmt: skip
    low, high, cost = low[~again], high[~again], cost[~again]
    ptr = np.searchsorted(low, np.arange(interest.num_nodes + 1))
    table = PairTable(frozen(ptr, np.int64), frozen(high, np.int32), frozen(cost, np.float64))
    _refuse_missing(interest, table)
    return table


def _refuse(
    interest: Interest,
    bad: NDArray[np.bool_],
    pairs: tuple[Ids, Ids],
    figures: tuple[Floats, ...],
    message: str,
) -> None:
    """Raise for bad rows, naming their pairs with the figures."""
    if bad.any():
        names = interest.node_names
        ends = ([names[node].as_py() for node in end[bad].tolist()] for end in pairs)
        rows = list(zip(*ends, *(figure[bad].tolist() for figure in figures), strict=True))
        raise InputError(message.format(first_five(rows)))


def _refuse_missing(interest: Interest, table: PairTable) -> None:
    """Raise if a pair that shares a topic has no cost."""
    from meshwright.costs.table_checks import Subscriptions, missing_pairs

    held = Subscriptions(interest.node_ptr, interest.node_topics, interest.topic_ptr, interest.topic_nodes)
    named = np.zeros((5, 2), dtype=np.int32)
    missing = missing_pairs(held, table, np.zeros(interest.num_nodes, dtype=np.int64), named)
    if missing:
        names = interest.node_names
        pairs = [(names[a].as_py(), names[b].as_py()) for a, b in named[:missing].tolist()]
        raise InputError(
            f"no cost for {first_five(pairs, missing)}, which share a topic: add a row for each such pair"
        )


TOLERANCE = 1e-9
"""A detour may be cheaper than the direct link by this much, relatively: costs are rounded."""
TRIPLES_AT_ONCE = 300_000_000
"""Triples between two looks at Ctrl-C: some tenths of a second."""


def refuse_detours(interest: Interest, table: PairTable) -> None:
    """Raise if costs break the triangle inequality: a detour is cheaper than the direct link."""
    from scipy.sparse import csr_array

    from meshwright.costs.table_checks import find_detour

    nodes = interest.num_nodes
    upper = csr_array((table.cost, table.partners, table.ptr), shape=(nodes, nodes))
    both = (upper + upper.T).tocsr()
    both.sort_indices()
    symmetric = PairTable(
        frozen(both.indptr, np.int64), frozen(both.indices, np.int32), frozen(both.data, np.float64)
    )
    triple, direct = np.zeros(3, dtype=np.int32), np.zeros(nodes)
    rows = max(1, TRIPLES_AT_ONCE // max(1, int(np.diff(symmetric.ptr).max(initial=0)) ** 2))
    for first in range(0, nodes, rows):
        last = min(first + rows, nodes)
        if find_detour(symmetric, np.int64(first), np.int64(last), 1 - TOLERANCE, direct, triple):
            a, b, via = triple.tolist()
            names = [interest.node_names[node].as_py() for node in (a, b, via)]
            direct_cost, out, on = (float(both[ends]) for ends in ((a, b), (a, via), (via, b)))
            raise InputError(
                f"link costs break the triangle inequality: {names[0]!r} to {names[1]!r} costs "
                f"{direct_cost}, by way of {names[2]!r} only {out} + {on}: correct them, or leave this "
                "check out"
            )


NEAREST = 1e-6
"""No two nodes count as nearer than this part of the map's diagonal."""


class Places(NamedTuple):
    """The place of each node."""

    x: Floats
    """By node: how far east."""
    y: Floats
    """By node: how far north."""
    least: float
    """No two nodes count as nearer than this."""

    @property
    def kind(self) -> str:
        """What a plan calls such costs."""
        return "coordinates"

    def of(self, low: Ids, high: Ids) -> Floats:
        """Return the costs of pairs: their distances."""
        east, north = self.x[low] - self.x[high], self.y[low] - self.y[high]
        return np.maximum(np.sqrt(east * east + north * north), self.least)

    def columns(self, rank: Ids) -> list[NDArray[Any]]:
        """Return the columns to digest, with nodes numbered by `rank`."""
        order = np.argsort(rank)
        return [self.x[order].astype("<f8"), self.y[order].astype("<f8")]


def places(interest: Interest, nodes: Ids, x: Floats, y: Floats) -> Places:
    """Check coordinates, one pair of them for each node, and sort them by node."""
    names = interest.node_names
    times = np.bincount(nodes, minlength=interest.num_nodes)
    for bad, message in (
        (times > 1, "nodes {} have more than one place: keep one of each"),
        (times == 0, "no place for nodes {}: add a row for each"),
    ):
        if bad.any():
            named = [names[node].as_py() for node in np.flatnonzero(bad).tolist()]
            raise InputError(message.format(first_five(named)))
    unfit = ~((np.abs(x) <= LARGEST) & (np.abs(y) <= LARGEST))
    if unfit.any():
        rows = zip(nodes[unfit].tolist(), x[unfit].tolist(), y[unfit].tolist(), strict=True)
        named = [(names[node].as_py(), east, north) for node, east, north in rows]
        raise InputError(f"places {first_five(named)} are not finite numbers up to {LARGEST}: correct them")
    east, north = np.empty(len(nodes)), np.empty(len(nodes))
    # Adding 0.0 turns −0.0 into 0.0, which has another digest.
    east[nodes], north[nodes] = x + 0.0, y + 0.0
    return Places(frozen(east, np.float64), frozen(north, np.float64), _least(east, north))


def _least(x: Floats, y: Floats) -> float:
    """Return the least cost of a link: a small part of the diagonal, or 1 if all nodes are at one place."""
    if not len(x):
        return 1.0
    width, height = float(x.max() - x.min()), float(y.max() - y.min())
    diagonal = math.sqrt(width * width + height * height)
    return max(diagonal * NEAREST, SMALLEST) if diagonal else 1.0
