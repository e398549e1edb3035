"""The descent through the levels, and the rules' main loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.arrays import ALL_ONES, NOTHING, ONE, SIX, SIXTY_THREE
from meshwright.greedy.kernels.components import contribution, link
from meshwright.greedy.kernels.rows import adopt, rebuild
from meshwright.greedy.kernels.state import (
    BROKEN,
    EDGES,
    EXHAUSTED,
    FOUND,
    FRESH,
    FULL,
    INDEX,
    LEVEL,
    NODE,
    PAUSED,
    ROW,
    TOP_DEGREE,
    WORK,
)
from meshwright.jit.compiler import inlined, inner, kernel, spliced
from meshwright.jit.simd import SIXTEEN, largest, lowest_bit, reaching

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Ids, Int
    from meshwright.greedy.kernels.state import Scratch, State, Sweep


@inlined
def is_open(nodes: Bits, v: Int) -> bool:
    """Say whether node v's bit is set."""
    word = np.uint64(v)
    return bool((nodes[word >> SIX] >> (word & SIXTY_THREE)) & ONE)


@inlined
def next_row(sweep: Sweep, u: Int, level: Int) -> Int:
    """Return the first open row from u on that may have a pair of the level, or how many rows there are."""
    at = np.uint64(u) & ~(SIXTEEN - ONE)
    ahead = ALL_ONES << (np.uint64(u) - at)
    while at < np.uint64(len(sweep.bound)):
        marks = reaching(sweep.bound, at, level) & open_ones(sweep, at) & ahead
        if marks != NOTHING:
            return np.int64(at + lowest_bit(marks))
        at, ahead = at + SIXTEEN, ALL_ONES
    return np.int64(len(sweep.bound))


@inlined
def highest_bound(sweep: Sweep) -> Int:
    """Return the highest bound of an open row."""
    highest = np.int64(0)
    for at in range(NOTHING, np.uint64(len(sweep.bound)), SIXTEEN):
        highest = max(highest, largest(sweep.bound, at, open_ones(sweep, at)))
    return highest


@inlined
def open_ones(sweep: Sweep, at: Any) -> Any:
    """Mark which of the sixteen nodes from `at` on, a multiple of sixteen, are open; marks go on behind."""
    return sweep.open_nodes[at >> SIX] >> (at & SIXTY_THREE)


@inlined
def first_ones(count: np.uint64) -> Any:
    """Mark the first `count` of sixteen, or all."""
    return (ONE << min(count, SIXTEEN)) - ONE


@spliced
def advance(
    state: State, sweep: Sweep, whole: Sweep, scratch: Scratch, floor: Int, work: Int, by_level: bool
) -> int:
    """Move a sweep's cursor to the next pair that contributes exactly its level, not below level `floor`.

    Pauses after some work, but one row at least, or before each new level if asked, so that the caller can
    show progress or rebuild many rows at once.
    """
    cursor, visited = sweep.cursor, False
    while cursor[LEVEL] >= floor:
        level = cursor[LEVEL]
        u = next_row(sweep, cursor[ROW], level)
        while u < len(sweep.bound):
            if u != cursor[ROW]:
                cursor[ROW], cursor[INDEX] = u, FRESH
            if visited and state.tally[WORK] > work:
                return PAUSED
            visited = going = True
            closed = False
            first = u + 1  # from where on a rebuild must look
            begin = np.uint64(sweep.window_ptr[u])
            stale = cursor[INDEX] == FRESH and sweep.threshold[u] > level and sweep.built[u] != level
            while going:
                if stale:
                    rebuild(state, sweep, whole, scratch, u, first, level)
                    cursor[INDEX] = FRESH
                    if first > u + 1 and sweep.threshold[u] <= level:
                        # What lies before has just been seen to contribute less than the level.
                        sweep.threshold[u] = level
                    elif sweep.bound[u] < level:
                        break
                end = begin + np.uint64(sweep.length[u])
                for at in range(begin + np.uint64(max(cursor[INDEX], 0)), end, SIXTEEN):
                    marks = reaching(sweep.window_count, at, level) & first_ones(end - at)
                    while marks != NOTHING:
                        i = at + lowest_bit(marks)
                        marks &= marks - ONE
                        v = sweep.window_node[i]
                        count: Int = 0
                        if is_open(sweep.open_nodes, v):
                            count = contribution(state, u, v, level)
                        else:
                            closed = True
                        state.tally[WORK] += state.rank.shape[1] + 8
                        sweep.window_count[i] = count
                        if count == level:
                            cursor[INDEX] = np.int64(i - begin)
                            cursor[NODE] = v
                            return FOUND
                stale = sweep.threshold[u] > level  # the row overflowed: go on behind its last entry
                if stale:
                    first = sweep.window_node[end - ONE] + 1
                else:
                    going = False
                    if closed:  # others likely are, too
                        for i in range(begin, end):
                            sweep.window_count[i] *= np.int32(is_open(sweep.open_nodes, sweep.window_node[i]))
                    highest = np.int64(sweep.threshold[u] - 1)
                    for at in range(begin, end, SIXTEEN):
                        highest = max(highest, largest(sweep.window_count, at, first_ones(end - at)))
                    sweep.bound[u] = highest
            cursor[INDEX] = FRESH
            u = next_row(sweep, u + 1, level)
        cursor[LEVEL] = min(level - 1, highest_bound(sweep))
        cursor[ROW], cursor[INDEX] = 0, FRESH
        if by_level and cursor[LEVEL] >= floor:
            return PAUSED
    return EXHAUSTED


@inlined
def close_full(state: State, sweep: Sweep, v: Int, limit: Int) -> None:
    """Close node v in a sweep once its degree has reached the limit."""
    if state.degree[v] >= limit:
        word = np.uint64(v)
        sweep.open_nodes[word >> SIX] &= ~(ONE << (word & SIXTY_THREE))


@inner
def begin_phase(state: State, whole: Sweep, calm: Sweep, level: Int) -> None:
    """Begin a phase of the calm sweep: the maximum degree has risen, so that nodes are open again."""
    limit = min(state.tally[TOP_DEGREE], state.max_degree)
    for j in range(len(calm.open_nodes)):
        calm.open_nodes[j] = state.allowed_nodes[j]
    for v in range(len(state.degree)):
        close_full(state, calm, v, limit)
        calm.built[v] = 0
        adopt(whole, calm, v, level)
        calm.bound[v] = min(calm.bound[v], state.limit[v])
        calm.threshold[v] = min(calm.threshold[v], calm.bound[v] + 1)
    calm.cursor[LEVEL] = level + 1  # one above, so that a pause comes before the first level too
    calm.cursor[ROW] = 0
    calm.cursor[INDEX] = FRESH


@inlined
def lowest_calm_level(best: Int, k: float) -> Int:
    """Return the lowest contribution w of a calm edge that is taken, w·k ≥ best (icdcs10, Alg. 1)."""
    level = int(np.ceil(best / k))
    while level > 1 and (level - 1) * k >= best:
        level -= 1
    while level * k < best:
        level += 1
    return np.int64(max(level, 1))


@kernel
def run(
    state: State,
    whole: Sweep,
    calm: Sweep,
    scratch: Scratch,
    k: float,
    max_edges: Int,
    work: Int,
    by_level: bool,
    us: Ids,
    vs: Ids,
    gains: Ids,
) -> int:
    """Add edges by the rule until none contributes, a budget ends, or it is time to pause.

    `k` is Low-ODA's; 0 stands for GM, which never asks the calm sweep, infinity for MinMax-ODA, which asks it
    first. Low-ODA asks the whole sweep first, to know how good the best edge is.
    """
    tally = state.tally
    while tally[EDGES] < max_edges:
        if tally[EDGES] == len(us):
            return FULL
        chosen = whole
        floor: Int = np.int64(1)
        for turn in range(1 if k == 0.0 else 2):
            ask_calm = (k == np.inf) == (turn == 0)
            sweep = calm if ask_calm else whole
            status = advance(state, sweep, whole, scratch, floor, work, by_level)
            if status == PAUSED:
                return PAUSED
            if ask_calm:
                if status == FOUND:
                    chosen = calm
                    break
            elif status == EXHAUSTED:
                return EXHAUSTED
            elif 0.0 < k < np.inf:
                floor = lowest_calm_level(whole.cursor[LEVEL], k)
        u, v, level = chosen.cursor[ROW], chosen.cursor[NODE], chosen.cursor[LEVEL]
        edge = tally[EDGES]
        us[edge], vs[edge] = u, v
        gains[edge] = link(state, u, v)
        tally[EDGES] = edge + 1
        if gains[edge] != level:
            return BROKEN  # a fault of ours: better no overlay than a wrong one
        for end in (u, v):
            close_full(state, whole, end, state.max_degree)
        if k > 0.0:
            highest = max(state.degree[u], state.degree[v])
            if highest > tally[TOP_DEGREE]:
                tally[TOP_DEGREE] = highest
                begin_phase(state, whole, calm, level)
            else:
                for end in (u, v):
                    close_full(state, calm, end, min(tally[TOP_DEGREE], state.max_degree))
    return EXHAUSTED
