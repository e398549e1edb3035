"""Rebuilding the window of a row u: count, for all v at once, the topics that the edge (u, v) would merge.

Each heavy topic has a bit row over the nodes, and each of its large components one more, "topic minus
component". The rows of u's topics are summed by carry-save adders into bit-sliced counters; light topics are
added subscriber by subscriber. The best pairs are then selected by radix on the counters.

Loops from the highest slice down go by the bit, not by the slice's number: where rows are seen to follow each
other backwards, the compiled check for overlapping arrays always fails, and words are worked on one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import inlined, inner, kernel, lowest_bit, popcount
from meshwright.greedy.kernels.components import give_row
from meshwright.greedy.kernels.pairs import slice_pairs
from meshwright.greedy.kernels.state import ALL_ONES, LEVEL, NOTHING, ONE, ROW, SIX, SIXTY_THREE, WORK

if TYPE_CHECKING:
    from meshwright.greedy.kernels.state import Bits, Int, Rows, Scratch, State, Sweep
    from meshwright.interest import Ids


@inner
def add_four(
    bits: Bits, rows: Rows, i: Int, slices: Bits, carry: Bits, low: np.uint64, high: np.uint64
) -> None:
    """Add four bit rows to the counters, up to a carry into slice 2."""
    r0, r1, r2, r3 = bits[rows[i]], bits[rows[i + 1]], bits[rows[i + 2]], bits[rows[i + 3]]
    ones, twos = slices[0], slices[1]
    for j in range(low, high):
        one, x, y = ones[j], r0[j], r1[j]
        half = one ^ x
        two_a = (one & x) | (half & y)
        one = half ^ y
        x, y = r2[j], r3[j]
        half = one ^ x
        two_b = (one & x) | (half & y)
        ones[j] = half ^ y
        two = twos[j]
        half = two ^ two_a
        carry[j] = (two & two_a) | (half & two_b)
        twos[j] = half ^ two_b


@inner
def add_eight(
    bits: Bits, rows: Rows, i: Int, slices: Bits, carry: Bits, low: np.uint64, high: np.uint64
) -> None:
    """Add eight bit rows to the counters, up to a carry into slice 3."""
    r0, r1, r2, r3 = bits[rows[i]], bits[rows[i + 1]], bits[rows[i + 2]], bits[rows[i + 3]]
    r4, r5, r6, r7 = bits[rows[i + 4]], bits[rows[i + 5]], bits[rows[i + 6]], bits[rows[i + 7]]
    ones, twos, fours = slices[0], slices[1], slices[2]
    for j in range(low, high):
        one, x, y = ones[j], r0[j], r1[j]
        half = one ^ x
        two_a = (one & x) | (half & y)
        one = half ^ y
        x, y = r2[j], r3[j]
        half = one ^ x
        two_b = (one & x) | (half & y)
        one = half ^ y
        two = twos[j]
        half = two ^ two_a
        four_a = (two & two_a) | (half & two_b)
        two = half ^ two_b
        x, y = r4[j], r5[j]
        half = one ^ x
        two_a = (one & x) | (half & y)
        one = half ^ y
        x, y = r6[j], r7[j]
        half = one ^ x
        two_b = (one & x) | (half & y)
        ones[j] = half ^ y
        half = two ^ two_a
        four_b = (two & two_a) | (half & two_b)
        twos[j] = half ^ two_b
        four = fours[j]
        half = four ^ four_a
        carry[j] = (four & four_a) | (half & four_b)
        fours[j] = half ^ four_b


@inlined
def add_three(x: np.uint64, y: np.uint64, z: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Add three words bit by bit: return the sum's ones and its twos."""
    half = x ^ y
    return half ^ z, (x & y) | (half & z)


@inner
def set_eight(bits: Bits, rows: Rows, slices: Bits, low: np.uint64, high: np.uint64) -> None:
    """Set the lowest four counters to the sum of the first eight bit rows, whatever they were."""
    r0, r1, r2, r3 = bits[rows[0]], bits[rows[1]], bits[rows[2]], bits[rows[3]]
    r4, r5, r6, r7 = bits[rows[4]], bits[rows[5]], bits[rows[6]], bits[rows[7]]
    ones, twos, fours, eights = slices[0], slices[1], slices[2], slices[3]
    for j in range(low, high):
        one, two_a = add_three(r0[j], r1[j], r2[j])
        one, two_b = add_three(one, r3[j], r4[j])
        one, two_c = add_three(one, r5[j], r6[j])
        ones[j], two_d = one ^ r7[j], one & r7[j]
        two, four_a = add_three(two_a, two_b, two_c)
        twos[j], four_b = two ^ two_d, two & two_d
        fours[j], eights[j] = four_a ^ four_b, four_a & four_b


@inner
def ripple(slices: Bits, carry: Bits, k: Int, top: Int, low: np.uint64, high: np.uint64) -> None:
    """Add the carry into slice k and on, as far as it goes."""
    while k < top:
        digits = slices[k]
        left = NOTHING
        for j in range(low, high):
            digit, more = digits[j], carry[j]
            digits[j] = digit ^ more
            more &= digit
            carry[j] = more
            left |= more
        if left == NOTHING:
            return
        k += 1


@inlined
def count_one(slices: Bits, v: np.uint64) -> None:
    """Add 1 to the count of one node."""
    word, carry, k = v >> SIX, ONE << (v & SIXTY_THREE), 0
    while carry != NOTHING:
        digit = slices[k, word]
        slices[k, word] = digit ^ carry
        carry &= digit
        k += 1


@inner
def add_light_topics(state: State, slices: Bits, u: Int, first: Int) -> None:
    """Add the subscribers of u's light topics to the counters, one by one."""
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        topic = state.node_topics[i]
        if state.topic_row[topic] < 0 and state.components[topic] > 1:
            mine = state.node_label[i]
            for slot in range(state.topic_ptr[topic + 1] - 1, state.topic_ptr[topic] - 1, -1):
                if state.topic_nodes[slot] < first:
                    break
                if state.node_label[state.entry[slot]] != mine:
                    count_one(slices, np.uint64(state.topic_nodes[slot]))


@inlined
def count_row(state: State, scratch: Scratch, u: Int, first: Int) -> int:
    """Fill the counters of row u for the nodes from `first` on; return how many slices are used.

    Counts may be too high by the members of u's own small components, never too low.
    """
    low, high = np.uint64(first >> 6), np.uint64(state.bits.shape[1])
    rows, slices, carry = scratch.rows, scratch.slices, scratch.carry
    heavy = light = 0
    bound: Int = 0
    filled: Int = 0
    end = state.node_ptr[u + 1]
    if len(state.pairs) > 0:
        bound, filled = slice_pairs(state, slices, u, low, high)
        end = state.node_ptr[u] + state.rank[u, state.rank.shape[1] - 1]
    for i in range(state.node_ptr[u], end):
        topic = state.node_topics[i]
        if state.components[topic] > 1:
            row = state.topic_row[topic]
            if row < 0:
                light += 1
            else:
                own_row = state.component_row[state.node_label[i]]
                rows[heavy] = own_row if own_row >= 0 else row
                heavy += 1
    top, total = 0, heavy + light + bound
    while total > 0:
        top += 1
        total >>= 1
    if top == 0:
        return 0
    if heavy > 0:
        top = max(top, 4)
    for i in range(heavy, heavy + 8):
        rows[i] = 0
    done = np.int64(0)
    if filled == 0 and heavy > 0:
        set_eight(state.bits, rows, slices, low, high)
        filled, done = 4, np.int64(8)
    for k in range(filled, top):
        digits = slices[k]
        for j in range(low, high):
            digits[j] = NOTHING
    while heavy - done > 4:
        add_eight(state.bits, rows, done, slices, carry, low, high)
        ripple(slices, carry, np.int64(3), top, low, high)
        done += 8
    if done < heavy:
        add_four(state.bits, rows, done, slices, carry, low, high)
        ripple(slices, carry, np.int64(2), top, low, high)
    if light > 0:
        add_light_topics(state, slices, u, first)
    state.tally[WORK] += (heavy + 16) * np.int64(high - low)
    return top


@inlined
def allow(state: State, sweep: Sweep, scratch: Scratch, u: Int, first: Int) -> None:
    """Set `allowed` to the nodes from `first` on that row u may be linked to in this sweep."""
    low, high = np.uint64(first >> 6), np.uint64(state.bits.shape[1])
    allowed = scratch.allowed
    for j in range(low, high):
        allowed[j] = sweep.open_nodes[j]
    allowed[low] &= ALL_ONES << (np.uint64(first) & SIXTY_THREE)
    for i in range(state.barred_ptr[u], state.barred_ptr[u + 1]):
        v = np.uint64(state.barred[i])
        if v >= np.uint64(first):
            allowed[v >> SIX] &= ~(ONE << (v & SIXTY_THREE))


@inlined
def select(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64, wanted: Int) -> Int:
    """Return the (wanted + 1)-th largest count among the allowed nodes, by radix; 0 if there are fewer.

    Afterwards `above` marks the nodes with a larger count, at most `wanted` of them.
    """
    mask, above = scratch.mask, scratch.above
    bit = ONE << np.uint64(top)
    digits, count = scratch.slices[top - 1], 0
    for j in range(low, high):
        above[j] = NOTHING
        mask[j] = scratch.allowed[j]
        count += popcount(mask[j] & digits[j])
    value, larger = NOTHING, 0
    while bit > ONE:
        bit >>= ONE
        # Narrow the mask by this slice, and count at once how many of the rest have the next bit.
        digits, following = scratch.slices[lowest_bit(bit)], scratch.slices[lowest_bit(max(bit >> ONE, ONE))]
        ahead = 0
        if larger + count > wanted:
            value |= bit
            for j in range(low, high):
                left = mask[j] & digits[j]
                mask[j] = left
                ahead += popcount(left & following[j])
        else:
            larger += count
            for j in range(low, high):
                left, gone = mask[j] & ~digits[j], mask[j] & digits[j]
                above[j] |= gone
                mask[j] = left
                ahead += popcount(left & following[j])
        count = ahead
    return np.int64(value)


@inlined
def keep_largest(mask: Bits, slices: Bits, top: Int, low: np.uint64, high: np.uint64) -> Int:
    """Narrow a mask to its nodes with the largest count, and return that; 0 narrows nothing."""
    value, bit = NOTHING, ONE << np.uint64(top)
    while bit > ONE:
        bit >>= ONE
        digits, some = slices[lowest_bit(bit)], NOTHING
        for j in range(low, high):
            some |= mask[j] & digits[j]
        if some != NOTHING:
            value |= bit
            for j in range(low, high):
                mask[j] &= digits[j]
    return np.int64(value)


@inner
def largest_count(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64) -> Int:
    """Return the largest count of all nodes, allowed or not."""
    for j in range(low, high):
        scratch.mask[j] = ALL_ONES
    return keep_largest(scratch.mask, scratch.slices, top, low, high)


@inner
def at_least(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64, level: Int) -> None:
    """Mark in `above` the allowed nodes whose count is `level` or more."""
    mask, above = scratch.mask, scratch.above
    for j in range(low, high):
        mask[j] = scratch.allowed[j]
        above[j] = NOTHING
    bit = ONE << np.uint64(top)
    while bit > ONE:
        bit >>= ONE
        digits = scratch.slices[lowest_bit(bit)]
        if np.uint64(level) & bit:
            for j in range(low, high):
                mask[j] &= digits[j]
        else:
            for j in range(low, high):
                above[j] |= mask[j] & digits[j]
                mask[j] &= ~digits[j]
    for j in range(low, high):
        above[j] |= mask[j]


@inlined
def fill_window(
    sweep: Sweep, scratch: Scratch, u: Int, top: Int, low: np.uint64, high: np.uint64, level: Int
) -> Int:
    """Put the nodes marked in `above` into row u's window, as many as fit; return the largest count."""
    at, end = sweep.window_ptr[u], sweep.window_ptr[u + 1]
    largest: Int = 0
    for j in range(low, high):
        word = scratch.above[j]
        while word != NOTHING and at < end:
            bit = lowest_bit(word)
            word &= word - ONE
            count = NOTHING
            for k in range(np.uint64(top)):
                count |= ((scratch.slices[k, j] >> bit) & ONE) << k
            capped = min(np.int64(count), level)
            sweep.window_node[at] = np.int64((j << SIX) | bit)
            sweep.window_count[at] = capped
            largest = max(largest, capped)
            at += 1
    sweep.length[u] = at - sweep.window_ptr[u]
    return largest


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
    begin = whole.window_ptr[u]
    calm.threshold[u] = whole.threshold[u]
    calm.bound[u] = min(whole.bound[u], level)
    calm.length[u] = whole.length[u]
    for i in range(begin, begin + whole.length[u]):
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


@kernel
def fill_bits(state: State) -> None:
    """Set the bit rows of the heavy topics, and those of components that are large from the start."""
    for topic in range(len(state.topic_row)):
        row = state.topic_row[topic]
        if row >= 0:
            begin, end = state.topic_ptr[topic], state.topic_ptr[topic + 1]
            for slot in range(begin, end):
                v = np.uint64(state.topic_nodes[slot])
                state.bits[row, v >> SIX] |= ONE << (v & SIXTY_THREE)
            for slot in range(begin, end):
                is_component = state.node_label[state.entry[slot]] == slot
                if is_component and state.large[topic] <= state.size[slot] < end - begin:
                    give_row(state, topic, slot)
