"""What light topics contribute to each pair of nodes: one byte per pair, exact at any time.

MinMax-ODA and Low-ODA rebuild every row in every phase. Where topics are many and have few subscribers,
summing their bit rows each time takes longer than maintaining these counts.

Invariant: the byte of (u, v), u < v, is the number of light topics in which u and v are in different
components. Two subscribers of a topic are counted once and uncounted once, when their components merge, so
all updates together cost O(Σ n_t²) over the light topics, and one pair is read in O(1).

Row u holds its counts from the word of node u + 1 on, so that 64 bytes of it match a word of the bit rows.

`count_shared` stands on its own: it counts how many topics a few nodes share with all others, to estimate how
long lists of pairs would be.
"""

from __future__ import annotations

import numpy as np

from meshwright.arrays import SIX, Bits, Ids, Int, Offsets
from meshwright.greedy.kernels.state import WORK, State
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import bits_of_bytes

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
