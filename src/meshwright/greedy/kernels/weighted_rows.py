"""The window of a row u: its best pairs by contribution over cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.greedy.kernels.state import WORK
from meshwright.jit.compiler import inlined, inner

if TYPE_CHECKING:
    from meshwright.arrays import Floats, Ids, Int, Offsets
    from meshwright.greedy.kernels.state import State


SIZE, PLACE, COUNT, PHASE = 0, 1, 2, 3
"""The fields of `Rows.cursor`."""


class Costs(NamedTuple):
    """What links cost: by a table of pairs u < v, in order, or else by the places of the nodes."""

    ptr: Offsets
    """By node u: where its partners v > u begin in `partners`."""
    partners: Ids
    cost: Floats
    """By partner: what the pair costs."""
    x: Floats
    """By node: its place; empty where a table counts."""
    y: Floats
    least: float
    """No two places are nearer than this."""


class Rows(NamedTuple):
    """For each node u what is known of its pairs (u, v), u < v: of all, or of those that spare the degree.

    The window of a row holds its best pairs, by value and then by node. What it says of a pair's value is an
    upper bound: what was true when it was last looked at.
    """

    bound: Floats
    """By row: no pair is worth more."""
    outside: Floats
    """By row: no pair outside the window is worth more."""
    outside_node: Ids
    """By row: no pair outside the window that is worth as much has a smaller node."""
    length: Ids
    node: Ids
    """By row and entry of its window."""
    cost: Floats
    value: Floats
    taken: Ids
    """By row: the phase in which its window was taken over from all pairs."""
    heap: Ids
    """The rows that may have a pair left, by bound, then by number: the one at i before 2i + 1 and 2i + 2."""
    cursor: Offsets
    """How many rows are in the heap; the best pair's place in its window; its contribution; the phase."""


class Scratch(NamedTuple):
    """Working memory."""

    counts: Ids
    """By node: zero between calls."""
    found: Ids


ROUNDING = 1e-9
"""Estimates are off by less."""


@inlined
def comes_before(value: float, node: Int, other_value: float, other_node: Int) -> bool:
    """Say whether one pair of a row is better than another: worth more, or as much with a smaller node."""
    return bool(value > other_value or (value == other_value and node < other_node))


@inlined
def count_row(state: State, scratch: Scratch, u: Int) -> int:
    """Count for each v > u the topics that (u, v) would merge; return how many nodes have been found."""
    counts, nodes = scratch.counts, scratch.found
    found = walked = 0
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        topic = state.node_topics[i]
        if state.components[topic] > 1:
            mine, last = state.node_label[i], state.topic_ptr[topic + 1] - 1
            slot = last
            while state.topic_nodes[slot] > u:  # ends at u itself
                v = state.topic_nodes[slot]
                apart = int(state.node_label[state.entry[slot]] != mine)
                nodes[found] = v  # without a branch, which would be mispredicted half of the time
                found += apart & int(counts[v] == 0)
                counts[v] += apart
                slot -= 1
            walked += last - slot
    state.tally[WORK] += walked
    return found


@inlined
def offer(rows: Rows, u: Int, node: Int, cost: float, value: float) -> None:
    """Put a pair into row u's window, in order, if it is good enough."""
    last = rows.length[u]
    if last < rows.node.shape[1]:
        rows.length[u] = last + 1
    else:
        last -= 1
        if not comes_before(value, node, rows.value[u, last], rows.node[u, last]):
            return
    while last > 0 and comes_before(value, node, rows.value[u, last - 1], rows.node[u, last - 1]):
        rows.value[u, last], rows.node[u, last] = rows.value[u, last - 1], rows.node[u, last - 1]
        rows.cost[u, last] = rows.cost[u, last - 1]
        last -= 1
    rows.value[u, last], rows.node[u, last], rows.cost[u, last] = value, node, cost


@inlined
def offer_by_place(
    state: State, costs: Costs, rows: Rows, scratch: Scratch, u: Int, limit: Int, found: int
) -> None:
    """Offer what has been found, each at its distance."""
    counts, last = scratch.counts, rows.node.shape[1] - 1
    x, y, worst = costs.x[u], costs.y[u], 0.0
    for i in range(found):
        v = scratch.found[i]
        count = counts[v]
        counts[v] = 0
        east, north = x - costs.x[v], y - costs.y[v]
        squared = east * east + north * north
        # Most are too far away, which is known without a root or a quotient.
        if worst * squared <= count * count and state.degree[v] < limit:
            cost = max(np.sqrt(squared), costs.least)
            offer(rows, u, v, cost, count / cost)
            if rows.length[u] > last:
                worst = rows.value[u, last] * rows.value[u, last] * (1.0 - ROUNDING)


@inlined
def offer_by_table(
    state: State, costs: Costs, rows: Rows, scratch: Scratch, u: Int, limit: Int, found: int
) -> None:
    """Offer what has been found, each at its cost in the table."""
    counts = scratch.counts
    for i in range(costs.ptr[u], costs.ptr[u + 1]):
        v = costs.partners[i]
        if counts[v] > 0 and state.degree[v] < limit:
            offer(rows, u, v, costs.cost[i], counts[v] / costs.cost[i])
    state.tally[WORK] += costs.ptr[u + 1] - costs.ptr[u]
    for i in range(found):
        counts[scratch.found[i]] = 0


@inner
def rebuild(state: State, costs: Costs, rows: Rows, scratch: Scratch, u: Int, limit: Int) -> None:
    """Make row u's window anew, of pairs whose ends have less than `limit` links; its values are exact."""
    rows.length[u] = 0
    found = count_row(state, scratch, u)
    if len(costs.x) > 0:
        offer_by_place(state, costs, rows, scratch, u, limit, found)
    else:
        offer_by_table(state, costs, rows, scratch, u, limit, found)
    last = rows.length[u] - 1
    rows.outside[u], rows.outside_node[u] = 0.0, 0
    if last + 1 == rows.node.shape[1]:  # what was left out comes after the last
        rows.outside[u], rows.outside_node[u] = rows.value[u, last], rows.node[u, last]


@inlined
def best_entry(rows: Rows, u: Int) -> Int:
    """Return the place of the best entry in row u's window, or −1 if that is empty."""
    best: Int = np.int64(-1)
    value, node = 0.0, np.int64(0)
    for i in range(rows.length[u]):
        if best < 0 or comes_before(rows.value[u, i], rows.node[u, i], value, node):
            best, value, node = i, rows.value[u, i], np.int64(rows.node[u, i])
    return best


@inlined
def remove(rows: Rows, u: Int, place: Int) -> None:
    """Take an entry out of row u's window."""
    last = rows.length[u] - 1
    rows.length[u] = last
    rows.value[u, place], rows.node[u, place] = rows.value[u, last], rows.node[u, last]
    rows.cost[u, place] = rows.cost[u, last]


@inlined
def take_over(whole: Rows, calm: Rows, u: Int) -> None:
    """Let row u's window be that of all pairs: what holds of all holds of calm ones."""
    calm.outside[u], calm.outside_node[u] = whole.outside[u], whole.outside_node[u]
    calm.length[u] = whole.length[u]
    for i in range(whole.length[u]):
        calm.node[u, i], calm.cost[u, i] = whole.node[u, i], whole.cost[u, i]
        calm.value[u, i] = whole.value[u, i]
