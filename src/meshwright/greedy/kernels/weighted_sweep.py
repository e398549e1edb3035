"""The best pair by contribution over cost, and the main loop of the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy.kernels.components import contribution, link
from meshwright.greedy.kernels.state import BROKEN, EDGES, EXHAUSTED, FOUND, FULL, PAUSED, TOP_DEGREE, WORK
from meshwright.greedy.kernels.weighted_rows import (
    COUNT,
    PHASE,
    PLACE,
    SIZE,
    best_entry,
    comes_before,
    rebuild,
    remove,
    take_over,
)
from meshwright.jit.compiler import inlined, inner, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Int
    from meshwright.greedy.kernels.state import State
    from meshwright.greedy.kernels.weighted_rows import Costs, Rows, Scratch


@inlined
def leads(rows: Rows, a: Int, b: Int) -> bool:
    """Say whether row a comes before row b."""
    return bool(rows.bound[a] > rows.bound[b] or (rows.bound[a] == rows.bound[b] and a < b))


@inner
def settle(rows: Rows, at: Int) -> None:
    """Let the row at a place of the heap sink to where it belongs: its bound may have fallen."""
    heap, size = rows.heap, rows.cursor[SIZE]
    row = heap[at]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and leads(rows, heap[below + 1], heap[below]):
            below += 1
        if not leads(rows, heap[below], row):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = row


@inlined
def drop_first(rows: Rows) -> None:
    """Take the first row out of the heap."""
    size = rows.cursor[SIZE] - 1
    rows.cursor[SIZE] = size
    rows.heap[0] = rows.heap[size]
    if size > 1:
        settle(rows, np.int64(0))


@inlined
def order(rows: Rows) -> None:
    """Make a heap of rows that are in it in any order."""
    for at in range(rows.cursor[SIZE] // 2 - 1, -1, -1):
        settle(rows, np.int64(at))


ROUNDING = 1e-9
"""By so much a calm pair's bound may be too low before it is known to be too low."""
LOOK = 64
"""The work of looking at a row once."""


@inner
def advance(
    state: State, costs: Costs, rows: Rows, whole: Rows, scratch: Scratch, limit: Int, floor: float, work: Int
) -> int:
    """Bring the best pair whose ends have less than `limit` links to the top, if it is worth `floor`.

    Each turn looks at the first row and lowers what is too high: the value of its best entry, its bound, or
    all of its window. When nothing of it is too high, it is the best: other rows are worth no more, and no
    earlier row is worth as much. Pauses after some work, but one turn at least. BROKEN would be a bound that
    was too low.
    """
    tally, turns = state.tally, 0
    while rows.cursor[SIZE] > 0:
        u = np.int64(rows.heap[0])
        if rows.bound[u] < floor:
            return EXHAUSTED
        if turns > 0 and tally[WORK] > work:
            return PAUSED
        turns += 1
        tally[WORK] += LOOK
        if state.degree[u] >= limit:
            drop_first(rows)
            continue
        if rows.taken[u] != rows.cursor[PHASE]:
            rows.taken[u] = rows.cursor[PHASE]
            take_over(whole, rows, u)
        best, bound = best_entry(rows, u), rows.outside[u]
        if best >= 0:
            v, value = np.int64(rows.node[u, best]), rows.value[u, best]
            if not comes_before(bound, rows.outside_node[u], value, v):
                if value == rows.bound[u]:
                    count = contribution(state, u, v, np.int64(1)) if state.degree[v] < limit else 0
                    if count / rows.cost[u, best] == value:
                        rows.cursor[PLACE], rows.cursor[COUNT] = best, count
                        return FOUND
                    rows.value[u, best] = count / rows.cost[u, best]
                    if count == 0:
                        remove(rows, u, best)
                    continue
                bound = value
        if bound == 0.0:
            rows.bound[u] = 0.0
            drop_first(rows)
        elif bound < rows.bound[u]:
            rows.bound[u] = bound
            settle(rows, np.int64(0))
        else:
            rebuild(state, costs, rows, scratch, u, limit)
            if rows.length[u] > 0 and rows.value[u, 0] > rows.bound[u]:
                return BROKEN
    return EXHAUSTED


@kernel
def begin_phase(state: State, whole: Rows, calm: Rows) -> None:
    """Begin a phase of calm pairs: the maximum degree has risen, so that nodes are open again."""
    limit, size = state.tally[TOP_DEGREE], 0  # never above what a budget allows
    calm.cursor[PHASE] += 1
    for u in range(len(state.degree)):
        if whole.bound[u] > 0.0 and state.degree[u] < limit:
            calm.bound[u] = whole.bound[u]
            calm.heap[size] = u
            size += 1
    calm.cursor[SIZE] = size
    order(calm)


@kernel
def run(
    state: State, costs: Costs, whole: Rows, calm: Rows, scratch: Scratch, k: float, max_edges: Int,
    work: Int, us: Ids, vs: Ids, gains: Ids,
) -> int:  # fmt: skip
    """Add edges by the rule until none contributes, a budget ends, or it is time to pause.

    `k` is Low-ODA's; 0 stands for GM, which never asks for calm pairs.
    """
    tally = state.tally
    while tally[EDGES] < max_edges:
        if tally[EDGES] == len(us):
            return FULL
        status = advance(state, costs, whole, whole, scratch, state.max_degree, 0.0, work)
        if status != FOUND:
            return status
        chosen = whole
        if k > 0.0:
            first, place = whole.heap[0], whole.cursor[PLACE]
            floor = whole.bound[first] / k * (1.0 - ROUNDING)
            status = advance(state, costs, calm, whole, scratch, tally[TOP_DEGREE], floor, work)
            if status in (PAUSED, BROKEN):
                return status
            if status == FOUND:
                # Costs are compared first: where they are equal, contributions alone decide.
                dearer = calm.cost[calm.heap[0], calm.cursor[PLACE]] / whole.cost[first, place]
                if calm.cursor[COUNT] * k >= whole.cursor[COUNT] * dearer:
                    chosen = calm
        u = np.int64(chosen.heap[0])
        v = np.int64(chosen.node[u, chosen.cursor[PLACE]])
        edge = tally[EDGES]
        us[edge], vs[edge] = u, v
        gains[edge] = link(state, u, v)
        tally[EDGES] = edge + 1
        if gains[edge] != chosen.cursor[COUNT]:
            return BROKEN  # a fault of ours: better no overlay than a wrong one
        highest = max(state.degree[u], state.degree[v])
        if highest > tally[TOP_DEGREE]:
            tally[TOP_DEGREE] = highest
            if k > 0.0:
                begin_phase(state, whole, calm)
    return EXHAUSTED
