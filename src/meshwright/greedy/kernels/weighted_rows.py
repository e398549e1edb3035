"""Windows of rows for weighted growth: the best pairs of each row by contribution over cost.

Invariant of row u: no pair is worth more than `bound[u]`; pairs outside its window come after (`outside[u]`,
`outside_node[u]`); values in the window are upper bounds, exact when they were last checked. As contributions
only fall and costs stay, upper bounds stay upper bounds.

A row is counted subscriber by subscriber, not by bit rows as in `row_windows`: each pair has its own cost,
so there is no order of counts to select by. It costs Σ over u's open topics of their subscribers v > u.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import Floats, Ids, Int, Offsets
from meshwright.greedy.kernels.state import A_SUBSCRIBER, WORK, State
from meshwright.jit.compiler import inlined, inner

if TYPE_CHECKING:
    from meshwright.costs.cost_tables import PairTable, Places


SIZE, PLACE, COUNT, PHASE = 0, 1, 2, 3
"""The fields of `ValueRows.cursor`: rows in the heap; place and contribution of the best pair; the phase."""


class Costs(NamedTuple):
    """What links cost: by a table of pairs, or, if that is empty, by the places of the nodes."""

    table: PairTable
    """Each pair u < v with its cost, in order; empty where places count."""
    places: Places
    """The place of each node; empty where the table counts."""


class ValueRows(NamedTuple):
    """For each node u what is known of its pairs (u, v), u < v: of all, or of the degree-sparing ones.

    A window holds the best pairs of its row, by value and then by node.
    """

    bound: Floats
    """By row: no pair is worth more."""
    outside: Floats
    """By row: no pair outside the window is worth more."""
    outside_node: Ids
    """By row: no pair outside the window that is worth as much as `outside` has a smaller node."""
    length: Ids
    """By row: how many entries its window has."""
    node: Ids
    """By row and entry of its window: v."""
    cost: Floats
    """By row and entry of its window: what the pair costs."""
    value: Floats
    """By row and entry of its window: the pair is worth no more."""
    adopted: Ids
    """By row: the phase in which its window was copied from the rows of all pairs."""
    heap: Ids
    """The rows that may have a pair left, by bound and then by number; see `heap`."""
    cursor: Offsets
    """SIZE, PLACE, COUNT, PHASE."""


class RowCounts(NamedTuple):
    """Working memory of a row that is counted subscriber by subscriber."""

    counts: Ids
    """By node v: how much (u, v) counts; zero between calls in weighted growth."""
    found: Ids
    """The nodes that count, as a list."""


ROUNDING = 1e-9
"""Estimates of values are off by less than this, relatively."""


@inlined
def comes_before(value: float, node: Int, other_value: float, other_node: Int) -> bool:
    """Return whether one pair of a row is better than another: worth more, or as much with a smaller node."""
    return bool(value > other_value or (value == other_value and node < other_node))


@inlined
def count_row(state: State, scratch: RowCounts, u: Int) -> int:
    """Count for each v > u the topics that (u, v) would merge; return how many nodes have been found."""
    counts, nodes = scratch.counts, scratch.found
    found = walked = 0
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        topic = state.node_topics[i]
        if state.components[topic] > 1:
            mine, last = state.node_label[i], state.topic_ptr[topic + 1] - 1
            # Subscribers ascend, and u is one of them: the walk back from the last one ends at u.
            slot = last
            while state.topic_nodes[slot] > u:
                v = state.topic_nodes[slot]
                apart = int(state.node_label[state.entry[slot]] != mine)
                # No branch, as half of them would be mispredicted: v is always written, and kept if it counts
                # here for the first time.
                nodes[found] = v
                found += apart & int(counts[v] == 0)
                counts[v] += apart
                slot -= 1
            walked += last - slot
    state.tally[WORK] += A_SUBSCRIBER * walked
    return found


@inlined
def offer(rows: ValueRows, u: Int, node: Int, cost: float, value: float) -> None:
    """Insert a pair into row u's window, in order, if it is good enough; the last one drops out."""
    last = rows.length[u]
    if last < rows.node.shape[1]:
        rows.length[u] = last + 1
    else:
        last -= 1
        if not comes_before(value, node, rows.value[u, last], rows.node[u, last]):
            return
    # Insertion sort: the window is short.
    while last > 0 and comes_before(value, node, rows.value[u, last - 1], rows.node[u, last - 1]):
        rows.value[u, last], rows.node[u, last] = rows.value[u, last - 1], rows.node[u, last - 1]
        rows.cost[u, last] = rows.cost[u, last - 1]
        last -= 1
    rows.value[u, last], rows.node[u, last], rows.cost[u, last] = value, node, cost


@inlined
def offer_by_place(
    state: State, places: Places, rows: ValueRows, scratch: RowCounts, u: Int, limit: Int, found: int
) -> None:
    """Offer the nodes found with fewer than `limit` links, each at its distance; clear their counts."""
    counts, last = scratch.counts, rows.node.shape[1] - 1
    # `worst` is the squared value of the last entry of a full window, a little less for rounding.
    x, y, worst = places.x[u], places.y[u], 0.0
    for i in range(found):
        v = scratch.found[i]
        count = counts[v]
        counts[v] = 0
        east, north = x - places.x[v], y - places.y[v]
        squared = east * east + north * north
        # count / distance ≥ value, squared and multiplied out: most nodes are too far away, which is known
        # without a root or a quotient.
        if worst * squared <= count * count and state.degree[v] < limit:
            cost = max(np.sqrt(squared), places.least)
            offer(rows, u, v, cost, count / cost)
            if rows.length[u] > last:
                worst = rows.value[u, last] * rows.value[u, last] * (1.0 - ROUNDING)


@inlined
def offer_by_table(
    state: State, table: PairTable, rows: ValueRows, scratch: RowCounts, u: Int, limit: Int, found: int
) -> None:
    """Offer the nodes found with fewer than `limit` links, each at its table cost; clear their counts."""
    counts = scratch.counts
    # Every pair that shares a topic is in the table, so its row lists all nodes that count.
    for i in range(table.ptr[u], table.ptr[u + 1]):
        v = table.partners[i]
        if counts[v] > 0 and state.degree[v] < limit:
            offer(rows, u, v, table.cost[i], counts[v] / table.cost[i])
    state.tally[WORK] += A_SUBSCRIBER * (table.ptr[u + 1] - table.ptr[u])
    for i in range(found):
        counts[scratch.found[i]] = 0


@inner
def rebuild(state: State, costs: Costs, rows: ValueRows, scratch: RowCounts, u: Int, limit: Int) -> None:
    """Rebuild row u's window from pairs whose ends have fewer than `limit` links; its values are exact."""
    rows.length[u] = 0
    found = count_row(state, scratch, u)
    if len(costs.places.x) > 0:
        offer_by_place(state, costs.places, rows, scratch, u, limit, found)
    else:
        offer_by_table(state, costs.table, rows, scratch, u, limit, found)
    last = rows.length[u] - 1
    rows.outside[u], rows.outside_node[u] = 0.0, 0
    # What did not fit into a full window comes after its last entry.
    if last + 1 == rows.node.shape[1]:
        rows.outside[u], rows.outside_node[u] = rows.value[u, last], rows.node[u, last]


@inlined
def best_entry(rows: ValueRows, u: Int) -> Int:
    """Return the place of the best entry in row u's window, or −1 if that is empty.

    Values fall one by one, so the window does not stay in order.
    """
    best: Int = np.int64(-1)
    value, node = 0.0, np.int64(0)
    for i in range(rows.length[u]):
        if best < 0 or comes_before(rows.value[u, i], rows.node[u, i], value, node):
            best, value, node = i, rows.value[u, i], np.int64(rows.node[u, i])
    return best


@inlined
def remove(rows: ValueRows, u: Int, place: Int) -> None:
    """Remove an entry from row u's window: the last one takes its place."""
    last = rows.length[u] - 1
    rows.length[u] = last
    rows.value[u, place], rows.node[u, place] = rows.value[u, last], rows.node[u, last]
    rows.cost[u, place] = rows.cost[u, last]


@inlined
def adopt(whole: ValueRows, sparing: ValueRows, u: Int) -> None:
    """Copy row u's window from that of all pairs: what bounds all pairs bounds the sparing ones too."""
    sparing.outside[u], sparing.outside_node[u] = whole.outside[u], whole.outside_node[u]
    sparing.length[u] = whole.length[u]
    for i in range(whole.length[u]):
        sparing.node[u, i], sparing.cost[u, i] = whole.node[u, i], whole.cost[u, i]
        sparing.value[u, i] = whole.value[u, i]
