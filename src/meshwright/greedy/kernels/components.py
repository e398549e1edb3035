"""The components of every topic: what a link would merge (`contribution`), and merging it (`link`).

This is the only union of components that the pickers have. Each subscription carries the label of its
component; a merge relabels the smaller component, so a label is read in one step and a subscription is
relabelled O(log n) times at most. Members form a circular list, and exchanging two successors joins two
lists.

Invariants after every link, for each topic:

- two entries have the same label exactly when the links so far connect them;
- `components` counts the labels, and `size` the members of each;
- a node's bits over topics say where it is alone and where it is in the giant component;
- an entry's bit row is its topic's, or "topic minus its component" where that component is large;
- `pairs`, where used, counts for each pair the light topics whose labels differ.

`contribution` costs O(|T|/64) words with bits, else O(|T(u)| + |T(v)|). `link` costs the same, plus the
members of the smaller components that it merges.

A state is laid out in plain Python with its bits empty. `fill_bits` fills them in O(subscriptions), for some
nodes and topics at a time; then `link_start` adds the links of a starting overlay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meshwright.arrays import NOTHING, ONE, SIX, SIXTY_THREE, Bits, Ids, Int
from meshwright.greedy.kernels.bit_rows import close, fill_topic_bits, free_row, give_row, hold
from meshwright.greedy.kernels.row_windows import uncount_pairs
from meshwright.greedy.kernels.state import HOLDING, MERGES, State
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import popcount, prefetch

IN_CACHE = 2**17
"""Up to this many subscriptions, the arrays of components are about as large as a cache."""


@inlined
def is_open(nodes: Bits, v: Int) -> bool:
    """Return whether node v's bit is set."""
    word = np.uint64(v)
    return bool((nodes[word >> SIX] >> (word & SIXTY_THREE)) & ONE)


@inlined
def contribution(state: State, u: Int, v: Int, level: Int) -> Int:
    """Count the topics of both u and v, u < v, in which they are in different components.

    Below `level` the exact count does not matter: then an upper bound that is also below `level` may be
    returned instead.
    """
    light: Int = 0
    # Where light topics are counted for each pair, exactly the heavy ones have bits.
    if len(state.pairs) > 0:
        light = np.int64(state.pairs[state.pair_begin[u] + np.uint64(v)])
    elif state.covered == 0:
        return contribution_by_lists(state, u, v)
    return light if state.covered == 0 else light + contribution_by_bits(state, u, v, level - light)


@inner
def contribution_by_lists(state: State, u: Int, v: Int) -> int:
    """Count by walking both sorted lists of topics, as in a merge sort."""
    i, j, count = state.node_ptr[u], state.node_ptr[v], 0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second:
            count += int(state.node_label[i] != state.node_label[j])
        # Both may advance; without branches, since which one does is unpredictable.
        i += int(first <= second)
        j += int(second <= first)
    return count


@inlined
def compare_words(mine: Bits, yours: Bits, words: np.uint64, j: Int) -> tuple[Any, Any]:
    """Return, of the common topics in word j, those in which two nodes differ for sure, and those unclear.

    A node that is alone in a topic differs from every other. Two nodes in the giant component do not differ;
    one inside and one outside do. What remains are two nodes in components of medium size.
    """
    common, alone = mine[j] & yours[j], mine[words + words + j] | yours[words + words + j]
    my_giants, your_giants = mine[words + j], yours[words + j]
    return common & (alone | (my_giants ^ your_giants)), common & ~(alone | my_giants | your_giants)


@inlined
def contribution_by_bits(state: State, u: Int, v: Int, level: Int) -> int:
    """Count by words of topics; labels are compared only where the bits do not decide."""
    mine, yours = state.node_bits[u], state.node_bits[v]
    words = np.uint64(state.rank.shape[1] - 1)
    # First pass: popcounts only. `certain` topics differ for sure, `unclear` ones may.
    certain = unclear = 0
    for j in range(words):
        differing, rest = compare_words(mine, yours, words, j)
        certain += popcount(differing)
        unclear += popcount(rest)
    # Most pairs end here: the upper bound is already below the level.
    if unclear == 0 or certain + unclear < level:
        return certain + unclear
    # Second pass: compare the labels of the unclear topics, bit by bit. It counts all topics again: where
    # another thread links, a topic that was unclear in the first pass may be certain by now.
    certain = 0
    for j in range(words):
        differing, rest = compare_words(mine, yours, words, j)
        certain += popcount(differing)
        if rest != NOTHING:
            my_first = np.uint64(state.node_ptr[u]) + np.uint64(state.rank[u, j])
            your_first = np.uint64(state.node_ptr[v]) + np.uint64(state.rank[v, j])
            while rest != NOTHING:
                # The rank of a topic among a node's topics is the number of the node's bits below it.
                before = (rest & (~rest + ONE)) - ONE
                i = my_first + np.uint64(popcount(mine[j] & before))
                k = your_first + np.uint64(popcount(yours[j] & before))
                certain += int(state.node_label[i] != state.node_label[k])
                rest &= rest - ONE
    return certain


@inner
def enter_giant(state: State, topic: Int, component: Int) -> None:
    """Count each member of a component as inside its topic's giant, and set its bit."""
    word = np.uint64(state.rank.shape[1] - 1) + (np.uint64(topic) >> SIX)
    bit = ONE << (np.uint64(topic) & SIXTY_THREE)
    covered, counted = topic < state.covered, len(state.outside) > 0
    slot = component
    while True:
        node = state.topic_nodes[slot]
        if covered:
            state.node_bits[node, word] |= bit
        if counted:
            state.outside[node] -= 1
        slot = state.following[slot]
        if slot == component:
            break


@inner
def join_bits(state: State, topic: Int, a: Int, b: Int) -> None:
    """Update bits and counts of nodes before the components a and b, a the larger, become one, named a."""
    # A component of one was a node alone: no longer.
    for component in (a, b):
        if topic < state.covered and state.size[component] == 1:
            words, bit = np.uint64(state.rank.shape[1] - 1), ONE << (np.uint64(topic) & SIXTY_THREE)
            word = words + words + (np.uint64(topic) >> SIX)
            state.node_bits[state.topic_nodes[component], word] &= ~bit
    # The giant grows by what it merges with. A topic gets one as soon as a component is large enough, and
    # keeps it: a second large component stays unclear until both merge.
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


@inlined
def merge(state: State, first: Int, second: Int) -> None:
    """Merge the components of two entries of a topic: the smaller one, b, is relabelled to a.

    Of two components of one size, that of the first entry keeps its label.
    """
    topic = state.node_topics[first]
    if state.size[state.node_label[first]] < state.size[state.node_label[second]]:
        first, second = second, first
    a, b = state.node_label[first], state.node_label[second]
    # These two need the components as they were.
    if topic < state.covered or len(state.outside) > 0:
        join_bits(state, topic, a, b)
    topic_row = state.topic_row[topic]
    row = other_row = topic_row
    # In an open light topic no entry has another row: do not read what lies anywhere in memory.
    if topic_row >= 0:
        row, other_row = state.node_row[first], state.node_row[second]
    if len(state.pairs) > 0 and topic_row < 0:
        uncount_pairs(state, a, b)
    # One walk over b's members does it all: label, bit row to sum, and the bits of a's own row.
    slot = b
    while True:
        entry = state.entry[slot]
        state.node_label[entry] = a
        if other_row != row:
            state.node_row[entry] = row
        if row != topic_row:
            # The row of a is "topic minus a": what joins a leaves the row.
            v = np.uint64(state.topic_nodes[slot])
            state.bits[row, v >> SIX] &= ~(ONE << (v & SIXTY_THREE))
        slot = state.following[slot]
        if slot == b:
            break
    # Exchanging the successors of one member each makes one circle of two.
    state.following[a], state.following[b] = state.following[b], state.following[a]
    state.size[a] += state.size[b]
    state.components[topic] -= 1
    state.tally[MERGES] += 1
    if other_row != topic_row:
        free_row(state, other_row)
    if state.components[topic] == 1:
        if row != topic_row:
            free_row(state, row)
        close(state, a)
    # A component that owns no bit row gets one when it becomes large.
    elif row == topic_row and topic_row >= 0 and state.size[a] >= state.large[topic]:
        if state.tally[HOLDING]:
            hold(state, a)
        else:
            give_row(state, np.int64(topic), np.int64(a))


@inlined
def fetch_components(state: State, i: Int, j: Int) -> None:
    """Fetch the components of two entries into the cache: they are anywhere in memory, and about to merge."""
    for component in (np.int64(state.node_label[i]), np.int64(state.node_label[j])):
        prefetch(state.size, component)
        prefetch(state.following, component)
        prefetch(state.entry, component)
        prefetch(state.topic_nodes, component)


@inlined
def link(state: State, u: Int, v: Int) -> int:
    """Add the link (u, v), merge what it connects, and return its contribution."""
    count = 0
    if state.covered > 0:
        count = link_by_bits(state, u, v)
    if state.covered < len(state.components):
        count += link_by_lists(state, u, v)
    state.degree[u] += 1
    state.degree[v] += 1
    return count


@inner
def link_by_lists(state: State, u: Int, v: Int) -> int:
    """Merge what the link (u, v) connects in topics without bits, and return how many topics that are.

    Note where u has each topic, then look up v's topics there. `noted` needs no clearing: what earlier links
    left there lies outside of u's entries, or is right.
    """
    words, count = state.rank.shape[1] - 1, 0
    begin, end = state.node_ptr[u] + state.rank[u, words], state.node_ptr[u + 1]
    for i in range(begin, end):
        state.noted[state.node_topics[i]] = i
    # Components are anywhere in memory: fetch all that merge before the first does.
    for j in range(state.node_ptr[v] + state.rank[v, words], state.node_ptr[v + 1]):
        i = state.noted[state.node_topics[j]]
        if begin <= i < end and state.node_label[i] != state.node_label[j]:
            fetch_components(state, np.int64(i), np.int64(j))
    for j in range(state.node_ptr[v] + state.rank[v, words], state.node_ptr[v + 1]):
        topic = state.node_topics[j]
        i = state.noted[topic]
        if begin <= i < end and state.node_label[i] != state.node_label[j]:
            merge(state, np.int64(i), np.int64(j))
            count += 1
    return count


@inner
def link_by_bits(state: State, u: Int, v: Int) -> int:
    """Merge what the link (u, v) connects in topics with bits, and return how many topics that are.

    Go through common topics word by word, without those where both ends are in the giant. Merging changes
    the giant bits of this topic only, and each topic is taken from `rest` before that.
    """
    mine, yours = state.node_bits[u], state.node_bits[v]
    words, count = np.uint64(state.rank.shape[1] - 1), 0
    # Two rounds: where components do not fit into the cache, the first one fetches all that merge.
    for merges in range(int(len(state.size) <= IN_CACHE), 2):
        for j in range(words):
            rest = mine[j] & yours[j] & ~(mine[words + j] & yours[words + j])
            if rest != NOTHING:
                my_first = np.uint64(state.node_ptr[u]) + np.uint64(state.rank[u, j])
                your_first = np.uint64(state.node_ptr[v]) + np.uint64(state.rank[v, j])
                while rest != NOTHING:
                    before = (rest & (~rest + ONE)) - ONE
                    i = my_first + np.uint64(popcount(mine[j] & before))
                    k = your_first + np.uint64(popcount(yours[j] & before))
                    if state.node_label[i] != state.node_label[k]:
                        if merges:
                            merge(state, np.int64(i), np.int64(k))
                            count += 1
                        else:
                            fetch_components(state, np.int64(i), np.int64(k))
                            prefetch(state.node_row, np.int64(i))
                            prefetch(state.node_row, np.int64(k))
                    rest &= rest - ONE
    return count


@kernel
def fill_bits(state: State, first_node: Int, end_node: Int, first_topic: Int, end_topic: Int) -> None:
    """Fill the bits of some nodes and of some heavy topics, before any link."""
    fill_node_bits(state, first_node, end_node)
    fill_topic_bits(state, first_topic, end_topic)


@kernel
def link_start(state: State, us: Ids, vs: Ids) -> None:
    """Add the links of a starting overlay to a state whose bits have just been filled."""
    for i in range(len(us)):
        link(state, np.int64(us[i]), np.int64(vs[i]))


@inner
def fill_node_bits(state: State, first: Int, end: Int) -> None:
    """Set the bits over topics of the nodes in a range, all alone, and the ranks that lead to entries."""
    words = np.uint64(state.rank.shape[1] - 1)
    for v in range(first, end):
        for i in range(state.node_ptr[v], state.node_ptr[v + 1]):
            # Topics ascend: the rest has no bit either.
            if state.node_topics[i] >= state.covered:
                break
            topic = np.uint64(state.node_topics[i])
            state.node_bits[v, topic >> SIX] |= ONE << (topic & SIXTY_THREE)
        before = 0
        for j in range(words):
            state.node_bits[v, words + words + j] = state.node_bits[v, j]
            state.rank[v, j] = before
            before += popcount(state.node_bits[v, j])
        state.rank[v, words] = before
