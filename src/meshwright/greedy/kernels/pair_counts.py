"""What light topics contribute to each pair of nodes: a byte for a pair, exact at any time.

Rules that look at degrees rebuild every row in every phase. Where topics are many and have few subscribers,
summing their bit rows again and again takes longer than keeping such counts: two subscribers of a topic are
counted once, and uncounted when their components become one.

Row u holds its counts from the word of node u + 1 on, so that 64 bytes of it meet a word of the bit rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import SIX
from meshwright.greedy.kernels.state import WORK
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import bits_of_bytes

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Int
    from meshwright.greedy.kernels.state import State

LARGEST = 255
"""The largest count that a byte holds."""


@kernel
def count_pairs(state: State) -> bool:
    """Count the light topics of every pair, before any edge; give up, and say so, if a byte is too small."""
    for u in range(len(state.degree)):
        begin = state.pair_begin[u]
        for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
            topic = state.node_topics[i]
            if state.topic_row[topic] < 0:
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
    """Let each pair across two components of a light topic, about to become one, contribute one less."""
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
    """Set the lowest counters to row u's counts; return a bound of these and how many slices are set."""
    begin = state.pair_begin[u]
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
