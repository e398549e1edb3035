"""The engine's numba code: component labels, row rebuilds, the level sweep and the rules' main loop.

The idea is the **level sweep**. Contributions only fall as edges are added. So the greedy order with ties to
the smallest (u, v) is: for w from the largest contribution down to 1, for u ascending, for v > u ascending,
take (u, v) if its contribution is exactly w now; a pair passed over at level w can never be w again. What
remains is to skip almost all pairs, by an upper bound for each row and a small window of its best pairs.

Everything here works on plain arrays. Loop indices over bit rows are uint64: signed ones stop vectorisation.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from llvmlite import ir
from numba import config, njit
from numba.core import types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

FOUND, EXHAUSTED, PAUSED, FULL = 0, 1, 2, 3
LEVEL, ROW, INDEX, NODE = 0, 1, 2, 3  # the fields of a sweep's cursor
EDGES, TOP_DEGREE, FREE_ROWS, MERGES, WORK = 0, 1, 2, 3, 4  # the fields of `State.tally`
FRESH = -1  # a cursor's index before its row has been visited
NO_LABEL = np.int32(-1)

ONE, SIX, SIXTY_THREE, NOTHING = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(0)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


def kernel(function: Function) -> Function:
    """Compile a function with numba, cached on disk, without the interpreter lock.

    Kernels allocate nothing, so they do without numba's reference counts (`_nrt`), whose atomic updates on
    every array of the state would take half of the time.
    """
    compiled: Function = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)
    return compiled


if config.DISABLE_JIT:

    def popcount(word: Any) -> Any:
        """Count the set bits of a word."""
        return np.int64(int(word).bit_count())

    def lowest_bit(word: Any) -> Any:
        """Return the position of the lowest set bit of a word that is not zero."""
        return np.uint64((int(word) & -int(word)).bit_length() - 1)

else:

    @intrinsic  # type: ignore[untyped-decorator]
    def popcount(typingctx: Any, word: Any) -> Any:
        """Count the set bits of a word."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def lowest_bit(typingctx: Any, word: Any) -> Any:
        """Return the position of the lowest set bit of a word that is not zero."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.uint64(types.uint64), generate


class State(NamedTuple):
    """The interest, and for each topic the components of its subscribers, as edges are added.

    A *slot* is a position in `topic_nodes`, an *entry* one in `node_topics`; each subscription has one of
    both. A component is named by the slot of one of its members, and its members form a circular list.
    """

    node_ptr: Any
    node_topics: Any
    topic_ptr: Any
    topic_nodes: Any
    node_label: Any  # by entry: the component
    label: Any  # by slot: the same
    entry: Any  # by slot: the entry of the same subscription
    following: Any  # by slot: the next member of the component
    size: Any  # by component: how many members
    components: Any  # by topic: how many components
    giant: Any  # by topic: the component that `node_bits` speaks of, or −1
    node_bits: Any  # by node, as bits: its topics, those in whose giant it is, those where it is alone
    rank: Any  # by node and word of its topics: how many of them come before
    giant_size: int  # the size from which a component may be its topic's giant
    bits: Any  # bit rows over nodes; row 0 is empty
    topic_row: Any  # by topic: the bit row of its subscribers, or −1 for a light topic
    component_row: Any  # by component: the bit row "topic minus component", or −1 for a small component
    free_rows: Any  # a stack of unused bit rows
    large: int  # the size from which a component owns a bit row
    degree: Any
    max_degree: int
    allowed_nodes: Any  # bits: the nodes that may be linked at all
    barred_ptr: Any  # by node u: where its barred partners v > u begin in `barred`
    barred: Any
    tally: Any


class Sweep(NamedTuple):
    """One descent through the levels: over all pairs, or over those that spare the maximum degree.

    No pair of row u contributes more than `bound[u]`; pairs outside its window contribute less than
    `threshold[u]`. Window entries are in order of their node, their counts are upper bounds.
    """

    bound: Any
    threshold: Any
    built: Any  # the level at which the window was last rebuilt
    window_ptr: Any
    length: Any
    window_node: Any
    window_count: Any
    open_nodes: Any  # bits: the nodes that may take an edge in this sweep
    cursor: Any
    fixed: bool  # the windows hold all candidates and are never rebuilt


class Scratch(NamedTuple):
    """Working memory of one thread."""

    slices: Any  # bit-sliced counters over nodes
    carry: Any
    mask: Any
    above: Any
    allowed: Any
    rows: Any


# -- components ---------------------------------------------------------------------------------------


@kernel
def contribution(state, u, v, level):
    """Count the topics of both u and v in which they are in different components.

    If the count is below `level`, an upper bound below `level` may be returned instead.
    """
    if len(state.node_bits) == 0:
        return contribution_by_lists(state, u, v)
    return contribution_by_bits(state, u, v, level)


@kernel
def contribution_by_lists(state, u, v):
    """Count by walking both sorted lists of topics."""
    i, j, count = state.node_ptr[u], state.node_ptr[v], 0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second:
            count += state.node_label[i] != state.node_label[j]
        i += first <= second
        j += second <= first
    return count


@kernel
def contribution_by_bits(state, u, v, level):
    """Count by words of topics; labels are compared only where the bits do not tell.

    A node that is alone in a topic differs from every other; two nodes in the giant do not differ; one in it
    and one outside do.
    """
    mine, yours = state.node_bits[u], state.node_bits[v]
    words = np.uint64(state.rank.shape[1])
    certain = open_ = 0
    for j in range(words):
        common, alone = mine[j] & yours[j], mine[words + words + j] | yours[words + words + j]
        my_giants, your_giants = mine[words + j], yours[words + j]
        certain += popcount(common & (alone | (my_giants ^ your_giants)))
        open_ += popcount(common & ~(alone | my_giants | your_giants))
    if open_ == 0 or certain + open_ < level:
        return certain + open_
    for j in range(words):
        rest = mine[j] & yours[j]
        rest &= ~(mine[words + j] | yours[words + j] | mine[words + words + j] | yours[words + words + j])
        if rest != NOTHING:
            my_first = np.uint64(state.node_ptr[u]) + np.uint64(state.rank[u, j])
            your_first = np.uint64(state.node_ptr[v]) + np.uint64(state.rank[v, j])
            while rest != NOTHING:
                before = (rest & (NOTHING - rest)) - ONE  # the bits below the lowest one
                i = my_first + np.uint64(popcount(mine[j] & before))
                k = your_first + np.uint64(popcount(yours[j] & before))
                certain += state.node_label[i] != state.node_label[k]
                rest &= rest - ONE
    return certain


@kernel
def fill_node_bits(state):
    """Set each node's bits over topics, all alone at first, and the ranks that lead from a bit to its entry."""
    words = np.uint64(state.rank.shape[1])
    for v in range(len(state.node_bits)):
        for i in range(state.node_ptr[v], state.node_ptr[v + 1]):
            topic = np.uint64(state.node_topics[i])
            state.node_bits[v, topic >> SIX] |= ONE << (topic & SIXTY_THREE)
        before = 0
        for j in range(words):
            state.node_bits[v, words + words + j] = state.node_bits[v, j]
            state.rank[v, j] = before
            before += popcount(state.node_bits[v, j])


@kernel
def enter_giant(state, topic, a):
    """Note that the members of a component are in their topic's giant."""
    word = np.uint64(state.rank.shape[1]) + (np.uint64(topic) >> SIX)
    bit = ONE << (np.uint64(topic) & SIXTY_THREE)
    slot = a
    while True:
        state.node_bits[state.topic_nodes[slot], word] |= bit
        slot = state.following[slot]
        if slot == a:
            break


@kernel
def give_row(state, topic, a):
    """Give a component that has become large its bit row "topic minus component", if one is free."""
    free = state.tally[FREE_ROWS]
    if free == 0:
        return
    row = state.free_rows[free - 1]
    state.tally[FREE_ROWS] = free - 1
    state.component_row[a] = row
    source, target = state.bits[state.topic_row[topic]], state.bits[row]
    for j in range(np.uint64(len(target))):
        target[j] = source[j]
    slot = a
    while True:
        v = np.uint64(state.topic_nodes[slot])
        state.bits[row, v >> SIX] &= ~(ONE << (v & SIXTY_THREE))
        slot = state.following[slot]
        if slot == a:
            break


@kernel
def take_row(state, a):
    """Take a component's bit row away."""
    state.free_rows[state.tally[FREE_ROWS]] = state.component_row[a]
    state.tally[FREE_ROWS] += 1
    state.component_row[a] = -1


@kernel
def join_bits(state, topic, a, b):
    """Keep the nodes' bits right when the components a and b, a the larger, are about to become one, a."""
    for component in (a, b):
        if state.size[component] == 1:
            words, bit = np.uint64(state.rank.shape[1]), ONE << (np.uint64(topic) & SIXTY_THREE)
            word = words + words + (np.uint64(topic) >> SIX)
            state.node_bits[state.topic_nodes[component], word] &= ~bit
    giant = state.giant[topic]
    if giant == a:
        enter_giant(state, topic, b)
    elif giant == b:
        enter_giant(state, topic, a)
        state.giant[topic] = a
    elif giant < 0 and state.size[a] + state.size[b] >= state.giant_size:
        enter_giant(state, topic, a)
        enter_giant(state, topic, b)
        state.giant[topic] = a


@kernel
def merge(state, topic, a, b):
    """Merge two components of a topic: the smaller one is relabelled."""
    if state.size[a] < state.size[b]:
        a, b = b, a
    if len(state.node_bits) > 0:
        join_bits(state, topic, a, b)
    row = state.component_row[a]
    slot = b
    while True:
        state.label[slot] = a
        state.node_label[state.entry[slot]] = a
        if row >= 0:
            v = np.uint64(state.topic_nodes[slot])
            state.bits[row, v >> SIX] &= ~(ONE << (v & SIXTY_THREE))
        slot = state.following[slot]
        if slot == b:
            break
    state.following[a], state.following[b] = state.following[b], state.following[a]
    state.size[a] += state.size[b]
    state.components[topic] -= 1
    state.tally[MERGES] += 1
    if state.component_row[b] >= 0:
        take_row(state, b)
    if row >= 0:
        if state.components[topic] == 1:
            take_row(state, a)
    elif state.topic_row[topic] >= 0 and state.size[a] >= state.large and state.components[topic] > 1:
        give_row(state, topic, a)


@kernel
def link(state, u, v):
    """Add the edge (u, v) and return its contribution."""
    i, j, count = state.node_ptr[u], state.node_ptr[v], 0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second and state.node_label[i] != state.node_label[j]:
            merge(state, first, state.node_label[i], state.node_label[j])
            count += 1
        i += first <= second
        j += second <= first
    state.degree[u] += 1
    state.degree[v] += 1
    return count


@kernel
def link_all(state, us, vs):
    """Add the edges of a starting overlay."""
    for i in range(len(us)):
        link(state, us[i], vs[i])


# -- rebuilding a row: count, for all v at once, the topics that (u, v) would merge ----------------------


@kernel
def add_four(bits, rows, i, slices, carry, low, high):
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


@kernel
def add_eight(bits, rows, i, slices, carry, low, high):
    """Add eight bit rows to the counters by carry-save adders, up to a carry into slice 3."""
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


@kernel
def ripple(slices, carry, k, top, low, high):
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


@kernel
def count_row(state, scratch, u, first):
    """Fill the bit-sliced counters of row u for the nodes from `first` on; return how many slices are used.

    Counts may be too high by the members of u's own small components, never too low.
    """
    low, high = np.uint64(first >> 6), np.uint64(state.bits.shape[1])
    rows, slices, carry = scratch.rows, scratch.slices, scratch.carry
    heavy = light = 0
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        topic = state.node_topics[i]
        if state.components[topic] > 1:
            row = state.topic_row[topic]
            if row < 0:
                light += 1
            else:
                own_row = state.component_row[state.node_label[i]]
                rows[heavy] = own_row if own_row >= 0 else row
                heavy += 1
    top, total = 0, heavy + light
    while total > 0:
        top += 1
        total >>= 1
    if top == 0:
        return 0
    top = max(top, 4)
    for k in range(top):
        digits = slices[k]
        for j in range(low, high):
            digits[j] = NOTHING
    for i in range(heavy, heavy + 8):
        rows[i] = 0
    done = 0
    while heavy - done > 4:
        add_eight(state.bits, rows, done, slices, carry, low, high)
        ripple(slices, carry, 3, top, low, high)
        done += 8
    if done < heavy:
        add_four(state.bits, rows, done, slices, carry, low, high)
        ripple(slices, carry, 2, top, low, high)
    if light > 0:
        add_light_topics(state, slices, u, first)
    state.tally[WORK] += (heavy + 16) * np.int64(high - low)
    return top


@kernel
def add_light_topics(state, slices, u, first):
    """Add the subscribers of u's light topics to the counters, one by one."""
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        topic = state.node_topics[i]
        if state.topic_row[topic] < 0 and state.components[topic] > 1:
            mine = state.node_label[i]
            for slot in range(state.topic_ptr[topic + 1] - 1, state.topic_ptr[topic] - 1, -1):
                if state.topic_nodes[slot] < first:
                    break
                if state.label[slot] != mine:
                    v = np.uint64(state.topic_nodes[slot])
                    word, carry, k = v >> SIX, ONE << (v & SIXTY_THREE), 0
                    while carry != NOTHING:
                        digit = slices[k, word]
                        slices[k, word] = digit ^ carry
                        carry &= digit
                        k += 1


@kernel
def allow(state, sweep, scratch, u, first):
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


@kernel
def select(scratch, top, low, high, wanted):
    """Find the (wanted + 1)-th largest count among the allowed nodes, by radix.

    Afterwards `above` marks the nodes with a larger count, at most `wanted`, and `mask` those with just
    this one. Returns the count, how many are above and how many have it.
    """
    mask, above, slices = scratch.mask, scratch.above, scratch.slices
    for j in range(low, high):
        mask[j] = scratch.allowed[j]
        above[j] = NOTHING
    value = larger = 0
    for k in range(top - 1, -1, -1):
        digits = slices[k]
        count = 0
        for j in range(low, high):
            count += popcount(mask[j] & digits[j])
        if larger + count > wanted:
            value |= 1 << k
            for j in range(low, high):
                mask[j] &= digits[j]
        elif count > 0:
            larger += count
            for j in range(low, high):
                above[j] |= mask[j] & digits[j]
                mask[j] &= ~digits[j]
    equal = 0
    for j in range(low, high):
        equal += popcount(mask[j])
    return value, larger, equal


@kernel
def at_least(scratch, top, low, high, level):
    """Mark in `above` the allowed nodes whose count is `level` or more."""
    mask, above, slices = scratch.mask, scratch.above, scratch.slices
    for j in range(low, high):
        mask[j] = scratch.allowed[j]
        above[j] = NOTHING
    for k in range(top - 1, -1, -1):
        digits = slices[k]
        if (level >> k) & 1:
            for j in range(low, high):
                mask[j] &= digits[j]
        else:
            for j in range(low, high):
                above[j] |= mask[j] & digits[j]
                mask[j] &= ~digits[j]
    for j in range(low, high):
        above[j] |= mask[j]


@kernel
def fill_window(sweep, scratch, u, top, low, high, level):
    """Put the nodes marked in `above` into row u's window, as many as fit; return the largest count."""
    begin, room = sweep.window_ptr[u], sweep.window_ptr[u + 1] - sweep.window_ptr[u]
    length = largest = 0
    for j in range(low, high):
        word = scratch.above[j]
        while word != NOTHING and length < room:
            bit = lowest_bit(word)
            word &= word - ONE
            count = 0
            for k in range(top):
                count |= np.int64((scratch.slices[k, j] >> bit) & ONE) << k
            count = min(count, level)
            sweep.window_node[begin + length] = np.int64((j << SIX) | bit)
            sweep.window_count[begin + length] = count
            largest = max(largest, count)
            length += 1
    sweep.length[u] = length
    return largest


@kernel
def rebuild(state, sweep, scratch, u, first, level):
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
        sweep.threshold[u] = min(level, 1)
        sweep.bound[u] = 0
        return
    low, high = np.uint64(first >> 6), np.uint64(state.bits.shape[1])
    allow(state, sweep, scratch, u, first)
    room = sweep.window_ptr[u + 1] - sweep.window_ptr[u]
    value, larger, equal = select(scratch, top, low, high, room)
    if value == 0:
        threshold = 1
    elif larger + equal <= room:
        threshold = value
        for j in range(low, high):
            scratch.above[j] |= scratch.mask[j]
    else:
        threshold = value + 1
    if threshold > level:
        at_least(scratch, top, low, high, level)
        fill_window(sweep, scratch, u, top, low, high, level)
        sweep.threshold[u] = level + 1
        sweep.bound[u] = level
    else:
        largest = fill_window(sweep, scratch, u, top, low, high, level)
        sweep.threshold[u] = threshold
        sweep.bound[u] = max(largest, threshold - 1)


@kernel
def fill_bits(state):
    """Set the bit rows of the heavy topics, and those of components that are large from the start."""
    for topic in range(len(state.topic_row)):
        row = state.topic_row[topic]
        if row >= 0:
            begin, end = state.topic_ptr[topic], state.topic_ptr[topic + 1]
            for slot in range(begin, end):
                v = np.uint64(state.topic_nodes[slot])
                state.bits[row, v >> SIX] |= ONE << (v & SIXTY_THREE)
            for slot in range(begin, end):
                if state.label[slot] == slot and state.size[slot] >= state.large and state.size[slot] < end - begin:
                    give_row(state, topic, slot)


@kernel
def rebuild_rows(state, sweep, scratch, rows, level):
    """Rebuild many rows against the state as it is: a wave, on one of several threads or machines."""
    for u in rows:
        rebuild(state, sweep, scratch, u, u + 1, level)


# -- the level sweep --------------------------------------------------------------------------------------


@kernel
def is_open(nodes, v):
    """Say whether node v's bit is set."""
    word = np.uint64(v)
    return (nodes[word >> SIX] >> (word & SIXTY_THREE)) & ONE != NOTHING


@kernel
def visit_row(state, sweep, scratch, u, level):
    """Look for the next pair of row u that contributes exactly `level`, from the cursor on."""
    cursor = sweep.cursor
    if cursor[INDEX] == FRESH:
        if sweep.threshold[u] > level and sweep.built[u] != level and not sweep.fixed:
            rebuild(state, sweep, scratch, u, u + 1, level)
            if sweep.bound[u] < level:
                return EXHAUSTED
        cursor[INDEX] = 0
    while True:
        begin, i = sweep.window_ptr[u], cursor[INDEX]
        while i < sweep.length[u]:
            if sweep.window_count[begin + i] >= level:
                v = sweep.window_node[begin + i]
                count = contribution(state, u, v, level) if is_open(sweep.open_nodes, v) else 0
                state.tally[WORK] += state.node_ptr[v + 1] - state.node_ptr[v]
                sweep.window_count[begin + i] = count
                if count == level:
                    cursor[INDEX] = i
                    cursor[NODE] = v
                    return FOUND
            i += 1
        if sweep.threshold[u] <= level:
            largest = sweep.threshold[u] - 1
            for i in range(begin, begin + sweep.length[u]):
                largest = max(largest, sweep.window_count[i])
            sweep.bound[u] = largest
            return EXHAUSTED
        last = sweep.window_node[begin + sweep.length[u] - 1]
        rebuild(state, sweep, scratch, u, last + 1, level)
        if sweep.threshold[u] <= level:
            # What lies before `last` has just been seen to contribute less than the level.
            sweep.threshold[u] = level
        cursor[INDEX] = 0


@kernel
def advance(state, sweep, scratch, floor, work, by_level):
    """Move a sweep's cursor to the next pair that contributes exactly its level, not below level `floor`.

    Pauses after some work, or before each new level if asked, so that the caller can show progress or
    rebuild many rows at once.
    """
    cursor = sweep.cursor
    rows = len(sweep.bound)
    while cursor[LEVEL] >= floor:
        level, u = cursor[LEVEL], cursor[ROW]
        while u < rows:
            if sweep.bound[u] >= level and is_open(sweep.open_nodes, u):
                cursor[ROW] = u
                if state.tally[WORK] > work:
                    return PAUSED
                if visit_row(state, sweep, scratch, u, level) == FOUND:
                    return FOUND
            cursor[INDEX] = FRESH
            u += 1
        highest = 0
        for u in range(rows):
            highest = max(highest, sweep.bound[u])
        cursor[LEVEL] = min(level - 1, highest)
        cursor[ROW] = 0
        cursor[INDEX] = FRESH
        if by_level and cursor[LEVEL] >= floor:
            return PAUSED
    return EXHAUSTED


# -- the rules' main loop -----------------------------------------------------------------------------------


@kernel
def close_full(state, sweep, v, limit):
    """Close node v in a sweep once its degree has reached the limit."""
    if state.degree[v] >= limit:
        word = np.uint64(v)
        sweep.open_nodes[word >> SIX] &= ~(ONE << (word & SIXTY_THREE))


@kernel
def begin_phase(state, whole, calm, level):
    """Begin a phase of the calm sweep: the maximum degree has risen, so that nodes are open again."""
    limit = min(state.tally[TOP_DEGREE], state.max_degree)
    for j in range(len(calm.open_nodes)):
        calm.open_nodes[j] = state.allowed_nodes[j]
    for v in range(len(state.degree)):
        close_full(state, calm, v, limit)
        calm.bound[v] = min(whole.bound[v], level)
        calm.threshold[v] = calm.bound[v] + 1
        calm.built[v] = 0
        if calm.fixed:
            calm.threshold[v] = 0
    if calm.fixed:
        for i in range(len(calm.window_count)):
            calm.window_count[i] = level
    calm.cursor[LEVEL] = level + 1  # one above, so that a pause comes before the first level too
    calm.cursor[ROW] = 0
    calm.cursor[INDEX] = FRESH


@kernel
def run(state, whole, calm, scratch, k, max_edges, work, by_level, us, vs, gains):
    """Add edges by the rule until none contributes, a budget ends, or it is time to pause.

    `k` is Low-ODA's; 0 stands for GM, which never looks at the calm sweep, infinity for MinMax-ODA.
    """
    tally = state.tally
    while tally[EDGES] < max_edges:
        if tally[EDGES] == len(us):
            return FULL
        chosen = whole
        if k == 0.0 or k != np.inf:
            status = advance(state, whole, scratch, 1, work, by_level)
            if status != FOUND:
                return status
        if k != 0.0:
            floor = 1
            if k != np.inf:
                best = whole.cursor[LEVEL]
                floor = int(np.ceil(best / k))
                while floor > 1 and (floor - 1) * k >= best:
                    floor -= 1
                while floor * k < best:
                    floor += 1
            status = advance(state, calm, scratch, floor, work, by_level)
            if status == PAUSED:
                return status
            if status == FOUND:
                chosen = calm
            elif k == np.inf:
                status = advance(state, whole, scratch, 1, work, by_level)
                if status != FOUND:
                    return status
        u, v, level = chosen.cursor[ROW], chosen.cursor[NODE], chosen.cursor[LEVEL]
        edge = tally[EDGES]
        us[edge], vs[edge] = u, v
        gains[edge] = link(state, u, v)
        tally[EDGES] = edge + 1
        for end in (u, v):
            close_full(state, whole, end, state.max_degree)
        if k != 0.0:
            highest = max(state.degree[u], state.degree[v])
            if highest > tally[TOP_DEGREE]:
                tally[TOP_DEGREE] = highest
                begin_phase(state, whole, calm, level)
            else:
                for end in (u, v):
                    close_full(state, calm, end, min(tally[TOP_DEGREE], state.max_degree))
    return EXHAUSTED
