"""Bit rows over nodes: which topics and components own one, and their sums in bit-sliced counters.

There is a row for each heavy topic, and one for what is outside each of its large components. A component
gets its row when it becomes large. While other threads read bit rows it has to wait for it: a row that got a
new owner meanwhile would say too little of the old one.

Rows are summed by carry-save adders. The count of node v is spread over *slices*: bit v of slice k has the
value 2^k. So one instruction works on the counters of 512 nodes, a block of eight words. Adding r bit rows of
w words costs about r·w/8 block additions, selecting the largest counts one pass over the slices.

Sums work on the words from `low` to `high`, in whole blocks: from the block of `low` on. So a mask must be
empty between the beginning of that block and `low`; counters there may hold anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meshwright.arrays import ALL_ONES, NOTHING, ONE, SIX, SIXTY_THREE, Bits, Ids, Int
from meshwright.greedy.kernels.state import FREE_ROWS, HELD, HOLDING, Rows, Scratch, State
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import EIGHT, any_of, load, lowest_bit, nothing, ones, store, total


@inlined
def block_of(low: np.uint64) -> np.uint64:
    """Return the word at which the block of a word begins."""
    return low & ~(EIGHT - ONE)


@inlined
def add_three(x: Any, y: Any, z: Any) -> tuple[Any, Any]:
    """Add three blocks bit by bit (a full adder): return the ones and the twos of the sum."""
    half = x ^ y
    return half ^ z, x ^ (half & (x ^ z))


@inlined
def block(bits: Bits, rows: Rows, i: Int, j: Any) -> Any:
    """Return the block at word j of the i-th of some rows."""
    return load(bits, np.uint64(rows[np.uint64(i)]) * np.uint64(bits.shape[1]) + j)


@inlined
def add_eight(
    bits: Bits, rows: Rows, i: Int, j: Any, one: Any, two: Any, four: Any
) -> tuple[Any, Any, Any, Any]:
    """Add the blocks at word j of eight rows to a sum's ones, twos and fours; return these, and the eights.

    A Harley-Seal tree of carry-save adders: seven full adders for eight rows, and one carry out.
    """
    one, two_a = add_three(one, block(bits, rows, i, j), block(bits, rows, i + 1, j))
    one, two_b = add_three(one, block(bits, rows, i + 2, j), block(bits, rows, i + 3, j))
    two, four_a = add_three(two, two_a, two_b)
    one, two_a = add_three(one, block(bits, rows, i + 4, j), block(bits, rows, i + 5, j))
    one, two_b = add_three(one, block(bits, rows, i + 6, j), block(bits, rows, i + 7, j))
    two, four_b = add_three(two, two_a, two_b)
    four, eight = add_three(four, four_a, four_b)
    return one, two, four, eight


@inner
def add_rows(
    bits: Bits, rows: Rows, count: Int, slices: Bits, top: Int, low: np.uint64, high: np.uint64, fresh: bool
) -> None:
    """Add the first `count` of `rows` to the counters; after them, `rows` must list eight empty rows.

    With `fresh`, the lowest four slices count as empty, whatever they hold.
    """
    width = np.uint64(slices.shape[1])
    fours, eights = width + width, width + width + width
    # Sixteen rows at a time, along the rows: the machine prefetches long rows.
    for i in range(0, count, 16):
        for j in range(block_of(low), high, EIGHT):
            one, two, four, eight = nothing(), nothing(), nothing(), nothing()
            if i > 0 or not fresh:
                one, two = load(slices, j), load(slices, j + width)
                four, eight = load(slices, j + fours), load(slices, j + eights)
            one, two, four, eight_a = add_eight(bits, rows, i, j, one, two, four)
            # A second eight only if there are any; the first eight may include empty rows.
            eight_b = nothing()
            if count - i > 8:
                one, two, four, eight_b = add_eight(bits, rows, i + 8, j, one, two, four)
            eight, more = add_three(eight, eight_a, eight_b)
            # Carry the sixteens through all higher slices: cheaper than testing whether a carry is left.
            place = j + eights
            for _ in range(4, top):
                place += width
                digit = load(slices, place)
                store(slices, place, digit ^ more)
                more = more & digit
            store(slices, j, one)
            store(slices, j + width, two)
            store(slices, j + fours, four)
            store(slices, j + eights, eight)


@inlined
def digits_of(count: Int) -> Int:
    """Return how many binary digits a count has."""
    digits = np.int64(0)
    while count > 0:
        digits += 1
        count >>= 1
    return digits


@inner
def add_carry(carry: Bits, counters: Bits, top: Int) -> None:
    """Add a row of bits, which is used up, to counters of `top` slices."""
    words = np.uint64(len(carry))
    for k in range(top):
        digits, left = counters[k], nothing()
        for j in range(NOTHING, words, EIGHT):
            digit, more = load(digits, j), load(carry, j)
            store(digits, j, digit ^ more)
            more = more & digit
            store(carry, j, more)
            left = left | more
        # No count has a carry into the next slice.
        if any_of(left) == NOTHING:
            return


@inlined
def count_one(slices: Bits, v: np.uint64) -> None:
    """Add 1 to the count of one node."""
    word, carry, k = v >> SIX, ONE << (v & SIXTY_THREE), 0
    while carry != NOTHING:
        digit = slices[k, word]
        slices[k, word] = digit ^ carry
        carry &= digit
        k += 1


@inlined
def select(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64, wanted: Int) -> Int:
    """Return the (wanted + 1)-th largest count among the allowed nodes, or 0 if there are fewer.

    Afterwards `above` marks the nodes with a larger count, at most `wanted` of them. Selection by radix, from
    the highest slice down: `mask` holds the nodes whose higher bits equal those of the answer, `larger`
    counts those already known to be above it.
    """
    mask, above, low = scratch.mask, scratch.above, block_of(low)
    digits, counts = scratch.slices[top - 1], nothing()
    for j in range(low, high, EIGHT):
        left = load(scratch.allowed, j)
        store(above, j, nothing())
        store(mask, j, left)
        counts = counts + ones(left & load(digits, j))
    value = larger = np.int64(0)
    for k in range(top - 1, -1, -1):
        # Narrow the mask by this slice, and count in the same pass how many of the rest have the next bit.
        digits, following = scratch.slices[k], scratch.slices[max(k - 1, 0)]
        count, counts = total(counts), nothing()
        if larger + count > wanted:
            # More than wanted have this bit: so has the answer.
            value |= np.int64(1) << k
            for j in range(low, high, EIGHT):
                left = load(mask, j) & load(digits, j)
                store(mask, j, left)
                counts = counts + ones(left & load(following, j))
        else:
            # All that have this bit are above the answer.
            larger += count
            for j in range(low, high, EIGHT):
                some, digit = load(mask, j), load(digits, j)
                left = some & ~digit
                store(above, j, load(above, j) | (some & digit))
                store(mask, j, left)
                counts = counts + ones(left & load(following, j))
    return value


@inlined
def list_marked(marks: Bits, marked: Ids, low: np.uint64, high: np.uint64, room: np.uint64) -> np.uint64:
    """List the marked nodes, ascending, up to `room` of them, and return how many were listed.

    `marked` needs room for one more block of nodes.
    """
    count = NOTHING
    for block in range(block_of(low), high, EIGHT):
        if any_of(load(marks, block)) != NOTHING:
            for j in range(block, block + EIGHT):
                # Write two bits of each word whether it has them or not; what it has not is overwritten next.
                # Whether a word has a bit is unpredictable, so testing would cost more.
                word = marks[j]
                for _ in range(2):
                    marked[count] = np.int64((j << SIX) | lowest_bit(word))
                    one = np.uint64(word != NOTHING)
                    count += one
                    word &= word - one
                while word != NOTHING:
                    marked[count] = np.int64((j << SIX) | lowest_bit(word))
                    count += ONE
                    word &= word - ONE
            if count >= room:
                return room
    return count


@inlined
def keep_largest(mask: Bits, slices: Bits, top: Int, low: np.uint64, high: np.uint64) -> Int:
    """Narrow a mask to its nodes with the largest count, and return that count; 0 narrows nothing."""
    value, low = np.int64(0), block_of(low)
    # From the highest slice down: if any node left has the bit, only those that have it stay.
    for k in range(top - 1, -1, -1):
        digits, some = slices[k], nothing()
        for j in range(low, high, EIGHT):
            some = some | (load(mask, j) & load(digits, j))
        if any_of(some) != NOTHING:
            value |= np.int64(1) << k
            for j in range(low, high, EIGHT):
                store(mask, j, load(mask, j) & load(digits, j))
    return value


@inner
def largest_count(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64) -> Int:
    """Return the largest count of all nodes, allowed or not."""
    for j in range(block_of(low), low):
        scratch.mask[j] = NOTHING
    for j in range(low, high):
        scratch.mask[j] = ALL_ONES
    return keep_largest(scratch.mask, scratch.slices, top, low, high)


@inner
def at_least(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64, level: Int) -> None:
    """Mark in `above` the allowed nodes whose count is `level` or more.

    Compares bit by bit from the highest: `same` equals the level so far, `more` is already larger.
    """
    slices = scratch.slices
    for j in range(block_of(low), high, EIGHT):
        same, more = load(scratch.allowed, j), nothing()
        for k in range(top - 1, -1, -1):
            digit = load(slices[k], j)
            if (level >> k) & 1:
                same = same & digit
            else:
                more = more | (same & digit)
                same = same & ~digit
        store(scratch.above, j, more | same)


@inner
def give_row(state: State, topic: Int, component: Int) -> None:
    """Give a component that has become large its bit row "topic minus component", if one is free.

    Without one, the rows of its members count the component's own members too: counts are then upper bounds.
    """
    free = state.tally[FREE_ROWS]
    if free == 0:
        return
    row = state.free_rows[free - 1]
    state.tally[FREE_ROWS] = free - 1
    source, target = state.bits[state.topic_row[topic]], state.bits[row]
    for j in range(np.uint64(len(target))):
        target[j] = source[j]
    slot = component
    while True:
        v = np.uint64(state.topic_nodes[slot])
        target[v >> SIX] &= ~(ONE << (v & SIXTY_THREE))
        state.node_row[state.entry[slot]] = row
        slot = state.following[slot]
        if slot == component:
            break


@inlined
def hold(state: State, component: Int) -> None:
    """Let a component that has become large wait for its bit row: threads read bit rows now."""
    held = state.tally[HELD]
    if held < len(state.held):
        state.held[held] = component
        state.tally[HELD] = held + 1


@kernel
def give_held_rows(state: State, holding: bool) -> None:
    """Give the components that wait for a bit row theirs, and say whether others must wait from now on."""
    for i in range(state.tally[HELD]):
        component = np.int64(state.held[i])
        entry = state.entry[component]
        topic = np.int64(state.node_topics[entry])
        # It may have been merged since, have its row by now, or be all of its topic.
        if state.node_label[entry] == component and state.node_row[entry] == state.topic_row[topic]:
            give_row(state, topic, component)
    state.tally[HELD] = 0
    state.tally[HOLDING] = holding


@inner
def free_row(state: State, row: Int) -> None:
    """Put a bit row back on the stack: its component was merged into another, or is all of its topic."""
    state.free_rows[state.tally[FREE_ROWS]] = row
    state.tally[FREE_ROWS] += 1


@inner
def close(state: State, component: Int) -> None:
    """Give all entries of a connected topic the empty bit row: it contributes nothing any more."""
    slot = component
    while True:
        state.node_row[state.entry[slot]] = 0
        slot = state.following[slot]
        if slot == component:
            break


@inner
def fill_topic_bits(state: State, first: Int, end: Int) -> None:
    """Set the bit rows of the heavy topics in a range."""
    for topic in range(first, end):
        row = state.topic_row[topic]
        if row >= 0:
            for slot in range(state.topic_ptr[topic], state.topic_ptr[topic + 1]):
                v = np.uint64(state.topic_nodes[slot])
                state.bits[row, v >> SIX] |= ONE << (v & SIXTY_THREE)
