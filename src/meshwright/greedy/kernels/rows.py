"""Rebuilding the window of a row u: count, for all v at once, the topics that the edge (u, v) would merge.

Each heavy topic has a bit row over the nodes, and each of its large components one more, "topic minus
component". The rows of u's topics are summed by carry-save adders into bit-sliced counters; light topics are
added subscriber by subscriber. The best pairs are then selected by radix on the counters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import ALL_ONES, NOTHING, ONE, SIX, SIXTY_THREE
from meshwright.greedy.kernels.bit_counters import (
    add_rows,
    at_least,
    block_of,
    count_one,
    largest_count,
    list_marked,
    select,
)
from meshwright.greedy.kernels.pair_counts import slice_pairs
from meshwright.greedy.kernels.state import LEVEL, ROW, WORK
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import popcount

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Ids, Int
    from meshwright.greedy.kernels.state import Rows, Scratch, State, Sweep


@inner
def add_light_topics(state: State, slices: Bits, u: Int, first: Int) -> None:
    """Add the subscribers of u's light topics to the counters, one by one."""
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        if state.node_row[i] < 0:
            topic, mine = state.node_topics[i], state.node_label[i]
            for slot in range(state.topic_ptr[topic + 1] - 1, state.topic_ptr[topic] - 1, -1):
                if state.topic_nodes[slot] < first:
                    break
                if state.node_label[state.entry[slot]] != mine:
                    count_one(slices, np.uint64(state.topic_nodes[slot]))


@inlined
def gather_rows(state: State, rows: Rows, u: Int, end: Int) -> tuple[Int, Int]:
    """List the bit rows to be summed for u's open topics up to entry `end`; count these, and light topics.

    It goes without branches, as these could not be foreseen.
    """
    heavy = light = NOTHING
    for i in range(np.uint64(state.node_ptr[u]), np.uint64(end)):
        row = state.node_row[i]
        rows[heavy] = row
        heavy += np.uint64(row > 0)
        light += np.uint64(row < 0)
    return np.int64(heavy), np.int64(light)


@inlined
def count_row(state: State, scratch: Scratch, u: Int, first: Int) -> int:
    """Fill the counters of row u for the nodes from `first` on; return how many slices are used.

    Counts may be too high by the members of u's own small components, never too low.
    """
    low, high = np.uint64(first >> 6), np.uint64(state.bits.shape[1])
    rows, slices = scratch.rows, scratch.slices
    bound: Int = 0
    filled: Int = 0
    end = state.node_ptr[u + 1]
    if len(state.pairs) > 0:
        bound, filled = slice_pairs(state, slices, u, low, high)
        end = state.node_ptr[u] + state.rank[u, state.rank.shape[1] - 1]
    heavy, light = gather_rows(state, rows, u, end)
    top, total = 0, heavy + light + bound
    while total > 0:
        top += 1
        total >>= 1
    if top == 0:
        return 0
    fresh = bool(filled == 0 and heavy > 0)
    top = max(top, 4) if heavy > 0 else top
    for k in range(4 if fresh else filled, top):
        digits = slices[k]
        for j in range(block_of(low), high):
            digits[j] = NOTHING
    if heavy > 0:
        for i in range(heavy, heavy + 8):
            rows[i] = 0
        add_rows(state.bits, rows, heavy, slices, top, low, high, fresh)
    if light > 0:
        add_light_topics(state, slices, u, first)
    state.tally[WORK] += (heavy + 16) * np.int64(high - low)
    return top


@inlined
def allow(state: State, sweep: Sweep, scratch: Scratch, u: Int, first: Int) -> None:
    """Set `allowed` to the nodes from `first` on that row u may be linked to in this sweep."""
    low, high = np.uint64(first >> 6), np.uint64(state.bits.shape[1])
    allowed = scratch.allowed
    for j in range(block_of(low), low):
        allowed[j] = NOTHING
    for j in range(low, high):
        allowed[j] = sweep.open_nodes[j]
    allowed[low] &= ALL_ONES << (np.uint64(first) & SIXTY_THREE)
    for i in range(state.barred_ptr[u], state.barred_ptr[u + 1]):
        v = np.uint64(state.barred[i])
        if v >= np.uint64(first):
            allowed[v >> SIX] &= ~(ONE << (v & SIXTY_THREE))


@inlined
def fill_window(
    sweep: Sweep, scratch: Scratch, u: Int, top: Int, low: np.uint64, high: np.uint64, level: Int
) -> Int:
    """Put the nodes marked in `above` into row u's window, as many as fit; return the largest count."""
    begin, slices = np.uint64(sweep.window_ptr[u]), scratch.slices
    length = list_marked(scratch.above, scratch.marked, low, high, np.uint64(sweep.window_ptr[u + 1]) - begin)
    most: Int = 0
    for i in range(length):
        v = np.uint64(scratch.marked[i])
        word, bit, count = v >> SIX, v & SIXTY_THREE, NOTHING
        for k in range(top - 1, -1, -1):
            count = (count << ONE) | ((slices[np.uint64(k), word] >> bit) & ONE)
        capped = min(np.int64(count), level)
        sweep.window_node[begin + i] = np.int64(v)
        sweep.window_count[begin + i] = capped
        most = max(most, capped)
    sweep.length[u] = np.int64(length)
    return most


@inlined
def mostly_open(open_nodes: Bits, nodes: Int) -> bool:
    """Say whether at least half of the nodes are open."""
    count = 0
    for j in range(np.uint64(len(open_nodes))):
        count += popcount(open_nodes[j])
    return bool(2 * count >= nodes)


@inlined
def refresh(
    state: State, whole: Sweep, scratch: Scratch, u: Int, top: Int, low: np.uint64, high: np.uint64
) -> None:
    """Renew row u's window in the whole sweep, whose counters the calm one has just filled."""
    level = whole.cursor[LEVEL]
    allow(state, whole, scratch, u, u + 1)
    threshold = select(scratch, top, low, high, whole.window_ptr[u + 1] - whole.window_ptr[u]) + 1
    if threshold <= min(whole.threshold[u], level):
        largest = fill_window(whole, scratch, u, top, low, high, level)
        whole.threshold[u] = threshold
        whole.bound[u] = min(whole.bound[u], max(largest, threshold - 1))


@inlined
def adopt(whole: Sweep, calm: Sweep, u: Int, level: Int) -> None:
    """Let row u's window be that of the whole sweep: what holds of all pairs holds of calm ones."""
    begin = np.uint64(whole.window_ptr[u])
    calm.threshold[u] = whole.threshold[u]
    calm.bound[u] = min(whole.bound[u], level)
    calm.length[u] = whole.length[u]
    for i in range(begin, begin + np.uint64(whole.length[u])):
        calm.window_node[i] = whole.window_node[i]
        calm.window_count[i] = min(whole.window_count[i], level)


@inner
def rebuild(
    state: State, sweep: Sweep, whole: Sweep, scratch: Scratch, u: Int, first: Int, level: Int
) -> None:
    """Rebuild row u's window from the nodes v ≥ `first`, knowing that no pair contributes more than `level`.

    If more nodes than fit may contribute `level`, the window takes the first of them and `threshold` stays
    above `level`: the row *overflows*, and goes on behind its last entry when the window is used up.
    """
    sweep.built[u] = level
    sweep.length[u] = 0
    top = 0
    if first < len(state.degree):
        top = count_row(state, scratch, u, first)
    if top == 0:
        sweep.threshold[u] = 1
        sweep.bound[u] = 0
        return
    low, high = np.uint64(first >> 6), np.uint64(state.bits.shape[1])
    if sweep.calm and first == u + 1:
        if mostly_open(sweep.open_nodes, len(state.degree)) and whole.cursor[ROW] != u:
            refresh(state, whole, scratch, u, top, low, high)
            state.limit[u] = min(state.limit[u], whole.bound[u])
            if whole.threshold[u] <= level:
                adopt(whole, sweep, u, level)
                return
        else:
            state.limit[u] = min(state.limit[u], largest_count(scratch, top, low, high))
    allow(state, sweep, scratch, u, first)
    room = sweep.window_ptr[u + 1] - sweep.window_ptr[u]
    threshold = select(scratch, top, low, high, room) + 1
    overflows = threshold > level
    if overflows:
        at_least(scratch, top, low, high, level)
    largest = fill_window(sweep, scratch, u, top, low, high, level)
    sweep.threshold[u] = level + 1 if overflows else threshold
    sweep.bound[u] = level if overflows else max(largest, threshold - 1)


@kernel
def rebuild_rows(state: State, sweep: Sweep, whole: Sweep, scratch: Scratch, rows: Ids, level: Int) -> None:
    """Rebuild many rows against the state as it is: a part of a wave, on one of several threads."""
    for i in range(len(rows)):
        u = np.int64(rows[i])
        rebuild(state, sweep, whole, scratch, u, u + 1, level)
