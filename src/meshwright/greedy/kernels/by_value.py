"""The pickers by value: contribution over cost for any pair, and weighted topics for listed pairs.

Values are real numbers, so there are no levels to descend by. Instead a heap holds upper bounds, and what is
too high at its top is lowered until nothing is (lazy evaluation). This is exact because values only fall as
links are added. Ties go to the smallest (u, v), or to the pair listed first.

**The heap** is a binary heap of indices, the largest value first, ties by the smaller index. Values lie
outside, by index. Invariant: the entry at place i precedes those at 2i + 1 and 2i + 2. As values only fall,
an entry only ever sinks: O(log n); building the heap takes O(n).

**By contribution over cost**, the heap holds rows by their bounds. Each look at a row costs a scan of its
window and O(log |V|) in the heap; a rebuild, the subscribers of its open topics. As in `sweep`, Low-ODA and
MinMax-ODA have two sets of rows over one state: for all pairs, and for the degree-sparing ones, which start
over each time the maximum degree rises.

**By prices**, the heap holds the listed pairs. A pair is worth the sum, over the topics that it would merge,
of the larger weight of its two ends; weights do not change. An evaluation costs O(|T(u)| + |T(v)|) and
O(log pairs) in the heap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Floats, Ids, Int, Offsets
from meshwright.greedy.kernels.components import contribution, link
from meshwright.greedy.kernels.state import (
    A_SUBSCRIBER,
    BROKEN,
    EDGES,
    EXHAUSTED,
    FOUND,
    FULL,
    PAUSED,
    TOP_DEGREE,
    WORK,
    Goal,
    Links,
    State,
)
from meshwright.greedy.kernels.weighted_rows import (
    COUNT,
    PHASE,
    PLACE,
    ROUNDING,
    SIZE,
    Costs,
    RowCounts,
    ValueRows,
    adopt,
    best_entry,
    comes_before,
    rebuild,
    remove,
)
from meshwright.jit.compiler import inlined, inner, kernel

A_LOOK = 64 * A_SUBSCRIBER
"""The work of looking at a row once."""
AN_EVALUATION = 128
"""The work of evaluating a pair."""


@inlined
def precedes(value: Floats, a: Int, b: Int) -> bool:
    """Say whether index a comes before index b."""
    return bool(value[a] > value[b] or (value[a] == value[b] and a < b))


@inner
def sink(heap: Ids, value: Floats, at: Int, size: Int) -> None:
    """Move the entry at a place down to where it belongs, after its value has fallen."""
    entry = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        # The child that comes first moves up, so the order of the two stays right.
        if child + 1 < size and precedes(value, heap[child + 1], heap[child]):
            child += 1
        if not precedes(value, heap[child], entry):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = entry


@inlined
def build(heap: Ids, value: Floats, size: Int) -> None:
    """Put the first `size` entries, in any order, in heap order."""
    # Places from size // 2 on have no children; the others sink from the bottom up.
    for at in range(size // 2 - 1, -1, -1):
        sink(heap, value, np.int64(at), size)


@inlined
def drop_first(heap: Ids, value: Floats, size: Int) -> Int:
    """Remove the first entry and return the new size."""
    size -= 1
    heap[0] = heap[size]
    if size > 1:
        sink(heap, value, np.int64(0), size)
    return size


@inner
def advance(
    state: State,
    costs: Costs,
    rows: ValueRows,
    whole: ValueRows,
    scratch: RowCounts,
    limit: Int,
    floor: float,
    work: Int,
) -> int:
    """Bring the best pair whose ends have fewer than `limit` links to the top, if it is worth `floor`.

    Each turn looks at the first row and lowers what is too high: the value of its best entry, its bound, or
    its whole window. When nothing of it is too high, its best entry is the best pair: other rows are worth no
    more, and no earlier row is worth as much. Pauses when the work exceeds `work`, but not before one turn.
    BROKEN would be a bound that was too low.
    """
    tally, turns = state.tally, 0
    while rows.cursor[SIZE] > 0:
        u = np.int64(rows.heap[0])
        if rows.bound[u] < floor:
            return EXHAUSTED
        if turns > 0 and tally[WORK] > work:
            return PAUSED
        turns += 1
        tally[WORK] += A_LOOK
        # A full node has no pair left. It returns only with a new phase, which fills the heap from scratch.
        if state.degree[u] >= limit:
            rows.cursor[SIZE] = drop_first(rows.heap, rows.bound, rows.cursor[SIZE])
            continue
        # The first look at a sparing row in a phase copies its window from all pairs.
        if rows.adopted[u] != rows.cursor[PHASE]:
            rows.adopted[u] = rows.cursor[PHASE]
            adopt(whole, rows, u)
        best, bound = best_entry(rows, u), rows.outside[u]
        if best >= 0:
            v, value = np.int64(rows.node[u, best]), rows.value[u, best]
            # Only if nothing outside the window may come before the best entry.
            if not comes_before(bound, rows.outside_node[u], value, v):
                if value == rows.bound[u]:
                    # Bound and value agree: check the pair itself.
                    count = contribution(state, u, v, np.int64(1)) if state.degree[v] < limit else 0
                    if count / rows.cost[u, best] == value:
                        rows.cursor[PLACE], rows.cursor[COUNT] = best, count
                        return FOUND
                    rows.value[u, best] = count / rows.cost[u, best]
                    if count == 0:
                        remove(rows, u, best)
                    continue
                bound = value
        # `bound` is now the best that the row may have.
        if bound == 0.0:
            rows.bound[u] = 0.0
            rows.cursor[SIZE] = drop_first(rows.heap, rows.bound, rows.cursor[SIZE])
        elif bound < rows.bound[u]:
            rows.bound[u] = bound
            sink(rows.heap, rows.bound, np.int64(0), rows.cursor[SIZE])
        else:
            # Pairs outside the window may be as good as the bound: only a rebuild decides.
            rebuild(state, costs, rows, scratch, u, limit)
            if rows.length[u] > 0 and rows.value[u, 0] > rows.bound[u]:
                return BROKEN
    return EXHAUSTED


@inner
def begin_phase(state: State, whole: ValueRows, sparing: ValueRows) -> None:
    """Start the sparing rows over: the maximum degree has risen, so nodes below it are open again."""
    # The maximum degree never exceeds the budget, so it is the limit.
    limit, size = state.tally[TOP_DEGREE], 0
    sparing.cursor[PHASE] += 1
    for u in range(len(state.degree)):
        if whole.bound[u] > 0.0 and state.degree[u] < limit:
            sparing.bound[u] = whole.bound[u]
            sparing.heap[size] = u
            size += 1
    sparing.cursor[SIZE] = size
    build(sparing.heap, sparing.bound, sparing.cursor[SIZE])


@kernel
def run_by_cost(
    state: State,
    costs: Costs,
    whole: ValueRows,
    sparing: ValueRows,
    scratch: RowCounts,
    k: float,
    goal: Goal,
    links: Links,
) -> int:
    """Add links by the rule until none contributes, a budget is used up, or it is time to pause.

    `k` is Low-ODA's; 0 stands for GM, which never asks for sparing pairs, infinity for MinMax-ODA.
    """
    tally = state.tally
    while tally[EDGES] < goal.max_edges:
        if tally[EDGES] == len(links.u):
            return FULL
        status = advance(state, costs, whole, whole, scratch, state.max_degree, 0.0, goal.work)
        if status != FOUND:
            return status
        chosen = whole
        if k > 0.0:
            first, place = whole.heap[0], whole.cursor[PLACE]
            # A sparing pair needs 1/k of the best value (icdcs10, Alg. 1): stop well below that, as the
            # quotient is rounded, and compare exactly what is found.
            floor = whole.bound[first] / k * (1.0 - ROUNDING)
            status = advance(state, costs, sparing, whole, scratch, tally[TOP_DEGREE], floor, goal.work)
            if status in (PAUSED, BROKEN):
                return status
            if status == FOUND:
                # The ratio of the costs comes first: where costs are equal it is 1, and contributions alone
                # decide, as in the unweighted rule.
                ratio = sparing.cost[sparing.heap[0], sparing.cursor[PLACE]] / whole.cost[first, place]
                if sparing.cursor[COUNT] * k >= whole.cursor[COUNT] * ratio:
                    chosen = sparing
        u = np.int64(chosen.heap[0])
        v = np.int64(chosen.node[u, chosen.cursor[PLACE]])
        edge = tally[EDGES]
        links.u[edge], links.v[edge] = u, v
        links.contribution[edge] = link(state, u, v)
        tally[EDGES] = edge + 1
        # `link` counts on its own, so this checks the search: better no overlay than a wrong one.
        if links.contribution[edge] != chosen.cursor[COUNT]:
            return BROKEN
        highest = max(state.degree[u], state.degree[v])
        if highest > tally[TOP_DEGREE]:
            tally[TOP_DEGREE] = highest
            if k > 0.0:
                begin_phase(state, whole, sparing)
    return EXHAUSTED


class PricedPairs(NamedTuple):
    """The pairs that may be linked, and what they are worth."""

    weight: Floats
    """By entry of `node_topics`: what connecting this subscription is worth."""
    u: Ids
    """By pair: the smaller end."""
    v: Ids
    """By pair: the larger end."""
    cost: Floats
    """By pair: what a link costs; it is worth what it merges, divided by that."""
    value: Floats
    """By pair: it is worth no more."""
    heap: Ids
    """The pairs that may be worth something, by value and then by number; see `heap`."""
    size: Offsets
    """One number: how many pairs are in the heap."""


@inlined
def value_of(state: State, weight: Floats, u: Int, v: Int) -> float:
    """Return what a link merges: for each topic that it would, the larger weight of its ends."""
    i, j, value = state.node_ptr[u], state.node_ptr[v], 0.0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second and state.node_label[i] != state.node_label[j]:
            value += max(weight[i], weight[j])
        i += np.int64(first <= second)
        j += np.int64(second <= first)
    return value


@kernel
def begin_by_price(state: State, pairs: PricedPairs) -> None:
    """Evaluate all pairs and put them in the heap."""
    for i in range(len(pairs.u)):
        pairs.heap[i] = i
        u, v = np.int64(pairs.u[i]), np.int64(pairs.v[i])
        pairs.value[i] = value_of(state, pairs.weight, u, v) / pairs.cost[i]
    pairs.size[0] = len(pairs.u)
    build(pairs.heap, pairs.value, pairs.size[0])


@kernel
def run_by_price(state: State, pairs: PricedPairs, goal: Goal, links: Links) -> int:
    """Take the pair of the largest value, again and again, until no pair is worth anything.

    A pair that would push an end over the state's `max_degree` is worth nothing.
    """
    tally, size = state.tally, pairs.size[0]
    status = EXHAUSTED
    while size > 0 and tally[EDGES] < goal.max_edges:
        if tally[EDGES] == len(links.u):
            status = FULL
            break
        if tally[WORK] > goal.work:
            status = PAUSED
            break
        pair = pairs.heap[0]
        u, v = np.int64(pairs.u[pair]), np.int64(pairs.v[pair])
        now = value_of(state, pairs.weight, u, v) / pairs.cost[pair]
        tally[WORK] += AN_EVALUATION
        if max(state.degree[u], state.degree[v]) >= state.max_degree:
            now = 0.0
        if now == pairs.value[pair] and now > 0.0:
            edge = tally[EDGES]
            links.u[edge], links.v[edge] = u, v
            links.contribution[edge] = link(state, u, v)
            tally[EDGES] = edge + 1
            # A linked pair merges nothing any more.
            now = 0.0
        pairs.value[pair] = now
        if now == 0.0:
            size = drop_first(pairs.heap, pairs.value, size)
        else:
            sink(pairs.heap, pairs.value, np.int64(0), size)
    pairs.size[0] = size
    return status
