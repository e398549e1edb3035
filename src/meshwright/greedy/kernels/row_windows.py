"""Rebuild the window of a row u for the level sweep: count, for all v at once, what (u, v) would merge.

Each heavy topic has a bit row over the nodes, and each of its large components one more, "topic minus
component". The rows of u's topics are summed by carry-save adders into bit-sliced counters; light topics are
added subscriber by subscriber, or read from the counts of pairs. The best pairs are then selected by radix.

Invariant: counts are upper bounds of contributions. They are too high only by members of u's own components
that are too small to own a bit row. So a window may be too high, never too low, and the sweep, which checks
each pair before it takes it, stays exact.

A rebuild costs O(|T(u)|·|V|/512) block additions, plus the subscribers of light topics.

The counts of pairs say what light topics contribute: one byte per pair, exact at any time. MinMax-ODA and
Low-ODA rebuild every row in every phase; where topics are many and have few subscribers, summing their bit
rows each time takes longer than maintaining these counts. Invariant: the byte of (u, v), u < v, is the number
of light topics in which u and v are in different components. Two subscribers of a topic are counted once and
uncounted once, when their components merge, so all updates together cost O(Σ n_t²) over the light topics, and
one pair is read in O(1). Row u holds its counts from the word of node u + 1 on, so that 64 bytes of it match
a word of the bit rows.

`count_shared` stands on its own: it counts how many topics a few nodes share with all others, to estimate how
long lists of pairs would be.
"""

from __future__ import annotations

import numpy as np

from meshwright.arrays import ALL_ONES, NOTHING, ONE, SIX, SIXTY_THREE, Bits, Ids, Int, Offsets
from meshwright.greedy.kernels.bit_rows import (
    add_rows,
    at_least,
    block_of,
    count_one,
    largest_count,
    list_marked,
    select,
)
from meshwright.greedy.kernels.state import LEVEL, ROW, WORK, Rows, Scratch, State, Sweep
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import bits_of_bytes, popcount

LARGEST = 255
"""The largest count that a byte holds."""


@kernel
def count_pairs(state: State) -> bool:
    """Count the light topics of every pair, before any link; return False if a byte is too small for one."""
    for u in range(len(state.degree)):
        begin = state.pair_begin[u]
        for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
            topic = state.node_topics[i]
            if state.topic_row[topic] < 0:
                # Subscribers ascend: from the last one down to u, they are all partners v > u.
                for slot in range(state.topic_ptr[topic + 1] - 1, state.topic_ptr[topic] - 1, -1):
                    if state.topic_nodes[slot] <= u:
                        break
                    place = begin + np.uint64(state.topic_nodes[slot])
                    count = np.int64(state.pairs[place])
                    if count == LARGEST:
                        return False
                    state.pairs[place] = count + 1
    return True


@inner
def uncount_pairs(state: State, a: Int, b: Int) -> None:
    """Count one topic less for each pair across two components of a light topic that are about to merge."""
    # Both components are circular lists: for each member of b, go around a.
    slot = b
    while True:
        mine, other = np.uint64(state.topic_nodes[slot]), a
        while True:
            yours = np.uint64(state.topic_nodes[other])
            state.pairs[state.pair_begin[min(mine, yours)] + max(mine, yours)] -= np.uint8(1)
            other = state.following[other]
            if other == a:
                break
        slot = state.following[slot]
        if slot == b:
            break


@inlined
def slice_pairs(state: State, slices: Bits, u: Int, low: np.uint64, high: np.uint64) -> tuple[Int, Int]:
    """Set the lowest counters to row u's counts; return a bound of these and how many slices are set.

    Slice k is bit k of 64 bytes at a time; slices above the highest bit of any count are not set.
    """
    begin = state.pair_begin[u]
    # The OR of all counts has the highest bit of the largest one, so it bounds them all.
    seen = np.uint8(0)
    for place in range(begin + (low << SIX), begin + (high << SIX)):
        seen |= state.pairs[place]
    bound, top = np.int64(seen), 0
    while bound >> top > 0:
        digits = slices[top]
        for j in range(low, high):
            digits[j] = bits_of_bytes(state.pairs, begin + (j << SIX), np.uint8(top))
        top += 1
    state.tally[WORK] += 8 * np.int64(high - low)
    return bound, top


@kernel
def count_shared(
    node_ptr: Offsets,
    topic_ptr: Offsets,
    node_topics: Ids,
    topic_nodes: Ids,
    drawn: Ids,
    shared: Ids,
    met: Ids,
    pairs: Offsets,
) -> None:
    """Add to `pairs[c]` the pairs of a drawn node and another one that share c ≥ 1 topics.

    `shared` and `met` are working memory by node; `shared` is 0 between nodes. Each subscription of a drawn
    node costs the subscribers of its topic.
    """
    for number in range(len(drawn)):
        u = np.int64(drawn[number])
        others = 0
        for i in range(node_ptr[u], node_ptr[u + 1]):
            topic = np.int64(node_topics[i])
            for slot in range(topic_ptr[topic], topic_ptr[topic + 1]):
                v = np.int64(topic_nodes[slot])
                # Written in any case, kept if v is met for the first time: without a branch.
                met[others] = v
                others += int((shared[v] == 0) & (v != u))
                shared[v] += int(v != u)
        for i in range(others):
            pairs[shared[met[i]]] += 1
            shared[met[i]] = 0


@inner
def add_light_topics(state: State, slices: Bits, u: Int, first: Int) -> None:
    """Add the subscribers of u's light topics, from node `first` on, to the counters, one by one."""
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        if state.node_row[i] < 0:
            topic, mine = state.node_topics[i], state.node_label[i]
            # Subscribers ascend: walk back from the last one until before `first`.
            for slot in range(state.topic_ptr[topic + 1] - 1, state.topic_ptr[topic] - 1, -1):
                if state.topic_nodes[slot] < first:
                    break
                if state.node_label[state.entry[slot]] != mine:
                    count_one(slices, np.uint64(state.topic_nodes[slot]))


@inlined
def gather_rows(state: State, rows: Rows, u: Int, end: Int) -> tuple[Int, Int]:
    """List the bit rows to sum for u's open topics up to entry `end`; count these, and the light topics.

    Connected topics have row 0 and count as neither. There are no branches, since they are unpredictable:
    each row is written, and overwritten by the next one if it does not count.
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

    Counts may be too high by the members of u's own small components, never too low. 0 slices: no pair
    contributes.
    """
    low, high = np.uint64(first >> 6), np.uint64(state.bits.shape[1])
    rows, slices = scratch.rows, scratch.slices
    bound: Int = 0
    filled: Int = 0
    end = state.node_ptr[u + 1]
    # Counts of pairs, where they exist, replace the light topics. The heavy ones are u's first entries then,
    # as topics are in order of popularity; `rank` knows how many.
    if len(state.pairs) > 0:
        bound, filled = slice_pairs(state, slices, u, low, high)
        end = state.node_ptr[u] + state.rank[u, state.rank.shape[1] - 1]
    heavy, light = gather_rows(state, rows, u, end)
    # As many slices as the largest possible sum has binary digits.
    top, total = 0, heavy + light + bound
    while total > 0:
        top += 1
        total >>= 1
    if top == 0:
        return 0
    # `add_rows` works on four slices at least, and takes the lowest four as empty if nothing filled them. All
    # other slices must be emptied here.
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
    """Set `allowed` to the nodes from `first` on that u may be linked to in this sweep: open, not barred."""
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
    """Put the nodes marked in `above` into row u's window, as many as fit; return the largest count.

    Counts are gathered from the slices, and capped at the level, which no pair exceeds.
    """
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
    """Return whether at least half of the nodes are open."""
    count = 0
    for j in range(np.uint64(len(open_nodes))):
        count += popcount(open_nodes[j])
    return bool(2 * count >= nodes)


@inlined
def refresh(
    state: State, whole: Sweep, scratch: Scratch, u: Int, top: Int, low: np.uint64, high: np.uint64
) -> None:
    """Renew row u's window in the whole sweep by the counters that the sparing sweep has just filled.

    Only if the new window reaches at least as far down as the old one.
    """
    level = whole.cursor[LEVEL]
    allow(state, whole, scratch, u, u + 1)
    threshold = select(scratch, top, low, high, whole.window_ptr[u + 1] - whole.window_ptr[u]) + 1
    if threshold <= min(whole.threshold[u], level):
        largest = fill_window(whole, scratch, u, top, low, high, level)
        whole.threshold[u] = threshold
        whole.bound[u] = min(whole.bound[u], max(largest, threshold - 1))


@inlined
def adopt(whole: Sweep, sparing: Sweep, u: Int, level: Int) -> None:
    """Copy row u's window from the whole sweep: what bounds all pairs bounds the degree-sparing ones too."""
    begin = np.uint64(whole.window_ptr[u])
    sparing.threshold[u] = whole.threshold[u]
    sparing.bound[u] = min(whole.bound[u], level)
    sparing.length[u] = whole.length[u]
    for i in range(begin, begin + np.uint64(whole.length[u])):
        sparing.window_node[i] = whole.window_node[i]
        sparing.window_count[i] = min(whole.window_count[i], level)


@inner
def rebuild(
    state: State, sweep: Sweep, whole: Sweep | None, scratch: Scratch, u: Int, first: Int, level: Int
) -> None:
    """Rebuild row u's window from the nodes v ≥ `first`, given that no pair contributes more than `level`.

    `whole` is the sweep that a sparing sweep shares its counts with; None if there is no sparing sweep.

    If more nodes than fit may contribute `level`, the row *overflows*: the window takes the first of them and
    `threshold` stays above `level`. When the window is used up, the sweep rebuilds from after its last
    entry.
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
    # A sparing sweep shares what it has just counted, if it counted the whole row: it tightens the limit of
    # u, and, while most nodes are open, also the window of the whole sweep, which it then takes over. It
    # leaves the row alone that the whole sweep is in the middle of.
    if whole is not None and sweep.sparing and first == u + 1:
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
    # On overflow, take the nodes that reach the level in order of v, not those with the largest counts:
    # counts above the level are too high anyway.
    overflows = threshold > level
    if overflows:
        at_least(scratch, top, low, high, level)
    largest = fill_window(sweep, scratch, u, top, low, high, level)
    sweep.threshold[u] = level + 1 if overflows else threshold
    sweep.bound[u] = level if overflows else max(largest, threshold - 1)
