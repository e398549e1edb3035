"""The picker by contribution, in levels, with ties to the smallest (u, v); the main loop of the rules.

Contributions only fall as links are added. So the greedy order, with ties to the smallest (u, v), is: for
each level w from the largest contribution down to 1, for u ascending, for v > u ascending, take (u, v) if it
contributes exactly w now. A pair passed over at level w can never contribute w again.

Invariant of a sweep at level w, row u: no pair contributes more than w, and none before (u, v) contributes w.
Bounds and windows (see `Sweep`) skip almost all pairs: a row is visited only if its bound reaches the level,
and rebuilt only if pairs outside its window may. Scanning the bounds costs |V|/16 steps a level.

MinMax-ODA and Low-ODA run two sweeps over one state: the *whole* one over all pairs, and the *sparing* one
over the pairs that do not raise the maximum degree, which starts over each time the maximum degree rises (a
phase).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meshwright.arrays import ALL_ONES, NOTHING, ONE, SIX, SIXTY_THREE, Ids, Int
from meshwright.greedy.kernels.components import contribution, is_open, link
from meshwright.greedy.kernels.row_windows import adopt, rebuild
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
    STOP,
    TOP_DEGREE,
    WORK,
    Goal,
    Links,
    Scratch,
    State,
    Sweep,
)
from meshwright.jit.compiler import inlined, inner, kernel, spliced
from meshwright.jit.simd import SIXTEEN, largest, lowest_bit, prefetch, reaching


@inlined
def next_row(sweep: Sweep, u: Int, level: Int) -> Int:
    """Return the first open row from u on whose bound reaches the level, or the number of rows."""
    # Sixteen rows at a time; `ahead` hides those before u in the first sixteen.
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
    """Mark which of the sixteen nodes from `at` on, a multiple of sixteen, are open; ignore higher bits."""
    return sweep.open_nodes[at >> SIX] >> (at & SIXTY_THREE)


@inlined
def first_ones(count: np.uint64) -> Any:
    """Mark the first `count` of sixteen, at most all."""
    return (ONE << min(count, SIXTEEN)) - ONE


@inlined
def fetch_bits(state: State, v: Int) -> None:
    """Fetch a node's bits over topics into the cache: the node of the next entry is anywhere in memory."""
    words = np.int64(state.node_bits.shape[1])
    for word in range(0, words, 8):
        prefetch(state.node_bits, v * words + word)


@inlined
def is_stale(sweep: Sweep, u: Int, level: Int) -> bool:
    """Return whether pairs outside row u's window may contribute the level.

    A window that was rebuilt at this very level overflowed: it is used up first.
    """
    return bool((sweep.threshold[u] > level) & (sweep.built[u] != level))


@inlined
def lower_bound(sweep: Sweep, u: Int) -> None:
    """Lower row u's bound to the best that its window, or what is outside of it, may still contribute."""
    begin, highest = np.uint64(sweep.window_ptr[u]), np.int64(sweep.threshold[u] - 1)
    end = begin + np.uint64(sweep.length[u])
    for at in range(begin, end, SIXTEEN):
        highest = max(highest, largest(sweep.window_count, at, first_ones(end - at)))
    sweep.bound[u] = highest


@spliced
def advance(
    state: State, sweep: Sweep, whole: Sweep | None, scratch: Scratch, floor: Int, work: Int, by_level: bool
) -> int:
    """Move a sweep's cursor to the next pair that contributes exactly its level, not below level `floor`.

    `whole` is for `rebuild`.

    Pauses at the row STOP, when the work exceeds `work`, but not before one row is visited, and, with
    `by_level`, before each new level, so that the caller can report progress or rebuild many rows at once.
    """
    cursor, visited = sweep.cursor, False
    while cursor[LEVEL] >= floor:
        level = cursor[LEVEL]
        u = next_row(sweep, cursor[ROW], level)
        while u < len(sweep.bound):
            # Back in the same row, go on at the entry found last: whichever link was taken since, checking
            # that entry again says whether it still contributes the level.
            if u != cursor[ROW]:
                cursor[ROW], cursor[INDEX] = u, FRESH
            if u >= cursor[STOP] or (visited and state.tally[WORK] > work):
                return PAUSED
            visited = going = True
            closed = False
            # From where on a rebuild must look.
            first = u + 1
            begin = np.uint64(sweep.window_ptr[u])
            stale = cursor[INDEX] == FRESH and is_stale(sweep, u, level)
            while going:
                if stale:
                    rebuild(state, sweep, whole, scratch, u, first, level)
                    cursor[INDEX] = FRESH
                    if first > u + 1 and sweep.threshold[u] <= level:
                        # The entries before `first` were checked: they contribute less than the level, but
                        # maybe more than the threshold of the new window, which does not hold them.
                        sweep.threshold[u] = level
                    elif sweep.bound[u] < level:
                        break
                end = begin + np.uint64(sweep.length[u])
                # Check the entries whose count reaches the level, found sixteen at a time.
                for at in range(begin + np.uint64(max(cursor[INDEX], 0)), end, SIXTEEN):
                    marks = reaching(sweep.window_count, at, level) & first_ones(end - at)
                    while marks != NOTHING:
                        i = at + lowest_bit(marks)
                        marks &= marks - ONE
                        v = sweep.window_node[i]
                        if marks != NOTHING:
                            fetch_bits(state, np.int64(sweep.window_node[at + lowest_bit(marks)]))
                        count: Int = 0
                        # A closed partner counts as 0 from now on: nodes only open again in a new phase,
                        # which replaces all windows of the sweep.
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
                # The row overflowed: rebuild it from after its last entry.
                stale = sweep.threshold[u] > level
                if stale:
                    first = sweep.window_node[end - ONE] + 1
                else:
                    going = False
                    # One closed partner was met, so others are likely: drop them all, which lowers the bound.
                    if closed:
                        for i in range(begin, end):
                            sweep.window_count[i] *= np.int32(is_open(sweep.open_nodes, sweep.window_node[i]))
                    # The row is done at this level.
                    lower_bound(sweep, u)
            cursor[INDEX] = FRESH
            u = next_row(sweep, u + 1, level)
        # Skip levels that no row reaches.
        cursor[LEVEL] = min(level - 1, highest_bound(sweep))
        cursor[ROW], cursor[INDEX] = 0, FRESH
        if by_level and cursor[LEVEL] >= floor:
            return PAUSED
    return EXHAUSTED


@inner
def check_window(state: State, sweep: Sweep, u: Int, level: Int) -> None:
    """Count exactly what the pairs in row u's window contribute, where they may contribute the level."""
    begin = np.uint64(sweep.window_ptr[u])
    end = begin + np.uint64(sweep.length[u])
    for at in range(begin, end, SIXTEEN):
        marks = reaching(sweep.window_count, at, level) & first_ones(end - at)
        while marks != NOTHING:
            i = at + lowest_bit(marks)
            marks &= marks - ONE
            v = sweep.window_node[i]
            if marks != NOTHING:
                fetch_bits(state, np.int64(sweep.window_node[at + lowest_bit(marks)]))
            if is_open(sweep.open_nodes, v):
                sweep.window_count[i] = contribution(state, u, v, level)
    if sweep.threshold[u] <= level:
        lower_bound(sweep, u)


@kernel
def rows_to_visit(sweep: Sweep, first: Int, level: Int, most_stale: Int, rows: Ids) -> int:
    """Note the next rows, from `first` on, that a sweep visits at a level, and return how many they are.

    They end where there is no more room for them, or where `most_stale` of them have to be rebuilt.
    """
    count = stale = 0
    u = next_row(sweep, first, level)
    while u < len(sweep.bound) and count < len(rows) and stale < most_stale:
        rows[count] = u
        count += 1
        stale += int(is_stale(sweep, u, level))
        u = next_row(sweep, u + 1, level)
    return count


@kernel
def prepare_rows(
    state: State, sweep: Sweep, whole: Sweep | None, scratch: Scratch, rows: Ids, level: Int
) -> None:
    """Rebuild the stale ones of these rows, and check the windows of all: a part of a wave."""
    for i in range(len(rows)):
        u = np.int64(rows[i])
        if is_stale(sweep, u, level):
            rebuild(state, sweep, whole, scratch, u, u + 1, level)
        check_window(state, sweep, u, level)


@inlined
def close_full(state: State, sweep: Sweep, v: Int, limit: Int) -> None:
    """Close node v in a sweep once its degree has reached the limit."""
    if state.degree[v] >= limit:
        word = np.uint64(v)
        sweep.open_nodes[word >> SIX] &= ~(ONE << (word & SIXTY_THREE))


@inner
def begin_phase(state: State, whole: Sweep, sparing: Sweep, level: Int) -> None:
    """Start the sparing sweep over: the maximum degree has risen, so nodes below it are open again.

    No pair contributes more than `level`, the contribution of the link that raised the maximum degree.
    """
    limit = min(state.tally[TOP_DEGREE], state.max_degree)
    for j in range(len(sparing.open_nodes)):
        sparing.open_nodes[j] = state.allowed_nodes[j]
    for v in range(len(state.degree)):
        close_full(state, sparing, v, limit)
        sparing.built[v] = 0
        # The windows of the whole sweep bound these pairs too. `limit` is often tighter: earlier phases have
        # counted the row more recently.
        adopt(whole, sparing, v, level)
        sparing.bound[v] = min(sparing.bound[v], state.limit[v])
        sparing.threshold[v] = min(sparing.threshold[v], sparing.bound[v] + 1)
    # One above the first level, so that a pause comes before that level too.
    sparing.cursor[LEVEL] = level + 1
    sparing.cursor[ROW] = 0
    sparing.cursor[INDEX] = FRESH


@kernel
def begin(state: State, whole: Sweep, sparing: Sweep | None) -> None:
    """Open the sweeps over a state."""
    for v in range(len(whole.bound)):
        close_full(state, whole, v, state.max_degree)
    if sparing is not None:
        begin_phase(state, whole, sparing, whole.cursor[LEVEL])


@kernel
def run(
    state: State,
    whole: Sweep,
    sparing: Sweep | None,
    scratch: Scratch,
    floors: Ids,
    by_level: bool,
    goal: Goal,
    links: Links,
) -> int:
    """Add links by the rule until none contributes, a budget is used up, or it is time to pause.

    GM has no sparing sweep. numba leaves out what None decides, so a first GM plan compiles only what GM
    needs. `floors` says, by the contribution of the best link, from which one on Low-ODA takes a sparing
    link: it asks the whole sweep first, to know how good the best link is. MinMax-ODA has no floors and asks
    the sparing sweep first.
    """
    tally = state.tally
    while tally[EDGES] < goal.max_edges:
        if tally[EDGES] == len(links.u):
            return FULL
        chosen = whole
        if sparing is None:
            status = advance(state, whole, None, scratch, np.int64(1), goal.work, by_level)
            if status != FOUND:
                return status
        else:
            floor: Int = np.int64(1)
            # One loop for both sweeps, so that the large `advance` is spliced in once. A pause in between
            # loses nothing: a sweep that has found its pair finds it again at once.
            for turn in range(2):
                ask_sparing = (len(floors) == 0) == (turn == 0)
                sweep = sparing if ask_sparing else whole
                status = advance(state, sweep, whole, scratch, floor, goal.work, by_level)
                if status == PAUSED:
                    return PAUSED
                if ask_sparing:
                    if status == FOUND:
                        chosen = sparing
                        break
                elif status == EXHAUSTED:
                    return EXHAUSTED
                elif len(floors) > 0:
                    floor = np.int64(floors[whole.cursor[LEVEL]])
        u, v, level = chosen.cursor[ROW], chosen.cursor[NODE], chosen.cursor[LEVEL]
        edge = tally[EDGES]
        links.u[edge], links.v[edge] = u, v
        links.contribution[edge] = link(state, u, v)
        tally[EDGES] = edge + 1
        # `link` counts on its own, so this checks the sweep: better no overlay than a wrong one.
        if links.contribution[edge] != level:
            return BROKEN
        for end in (u, v):
            close_full(state, whole, end, state.max_degree)
        if sparing is not None:
            highest = max(state.degree[u], state.degree[v])
            if highest > tally[TOP_DEGREE]:
                tally[TOP_DEGREE] = highest
                begin_phase(state, whole, sparing, level)
            else:
                for end in (u, v):
                    close_full(state, sparing, end, min(tally[TOP_DEGREE], state.max_degree))
    return EXHAUSTED
