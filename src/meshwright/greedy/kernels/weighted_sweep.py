"""The picker by contribution over cost: find the best pair, and the main loop of the rules.

Values are real numbers, so there are no levels to descend by. Instead the rows are in a heap by their bounds,
and what is too high at its top is lowered until nothing is (lazy evaluation: values only fall). Ties go to
the smallest (u, v), since the heap and the windows break theirs by node.

Each look at a row costs a scan of its window and O(log |V|) in the heap; a rebuild, the subscribers of its
open topics. As in `sweep`, Low-ODA and MinMax-ODA have two sets of rows over one state: for all pairs, and
for the degree-sparing ones, which start over each time the maximum degree rises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy.kernels.components import contribution, link
from meshwright.greedy.kernels.heap import build, drop_first, sink
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
)
from meshwright.greedy.kernels.weighted_rows import (
    COUNT,
    PHASE,
    PLACE,
    ROUNDING,
    SIZE,
    adopt,
    best_entry,
    comes_before,
    rebuild,
    remove,
)
from meshwright.jit.compiler import inner, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Int
    from meshwright.greedy.kernels.state import Goal, Links, State
    from meshwright.greedy.kernels.weighted_rows import Costs, RowCounts, ValueRows

A_LOOK = 64 * A_SUBSCRIBER
"""The work of looking at a row once."""


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
def run(
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
