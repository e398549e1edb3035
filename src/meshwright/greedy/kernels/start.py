"""Start a run: fill the bits and bit rows of the state, add the links that exist already, open the sweeps.

A state is laid out in plain Python with its bits empty. `begin` makes it ready; with a starting overlay,
`link_start` comes first. Cost: O(subscriptions) for the bits, and one `link` for each starting link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import ONE, SIX, SIXTY_THREE
from meshwright.greedy.kernels.components import give_row, link
from meshwright.greedy.kernels.state import FREE_ROWS, LEVEL
from meshwright.greedy.kernels.sweep import begin_phase, close_full
from meshwright.jit.compiler import inner, kernel
from meshwright.jit.simd import popcount

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.greedy.kernels.state import State, Sweep


@kernel
def begin(state: State, whole: Sweep, sparing: Sweep, fresh: bool) -> None:
    """Make a state, `fresh` or linked by `link_start`, and the sweeps over it ready for the next link.

    A sweep without rows is left alone.
    """
    if fresh:
        fill_node_bits(state)
    fill_bits(state)
    for v in range(len(whole.bound)):
        close_full(state, whole, v, state.max_degree)
    if len(sparing.bound) > 0:
        begin_phase(state, whole, sparing, whole.cursor[LEVEL])


@kernel
def link_start(state: State, us: Ids, vs: Ids) -> None:
    """Add the links of a starting overlay to a state that has just been laid out."""
    fill_node_bits(state)
    # Bit rows are still empty, so no component may own one yet: pretend that none is free. `fill_bits` gives
    # large components theirs afterwards.
    spare = state.tally[FREE_ROWS]
    state.tally[FREE_ROWS] = 0
    for i in range(len(us)):
        link(state, np.int64(us[i]), np.int64(vs[i]))
    state.tally[FREE_ROWS] = spare


@inner
def fill_node_bits(state: State) -> None:
    """Set each node's bits over topics, all of them alone, and the ranks that lead from bits to entries."""
    words = np.uint64(state.rank.shape[1] - 1)
    for v in range(len(state.node_bits)):
        for i in range(state.node_ptr[v], state.node_ptr[v + 1]):
            # Topics ascend: those behind have no bit either.
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


@inner
def fill_bits(state: State) -> None:
    """Set the bit rows of the heavy topics, and give rows to components that are large from the start."""
    for topic in range(len(state.topic_row)):
        row = state.topic_row[topic]
        if row >= 0:
            begin, end = state.topic_ptr[topic], state.topic_ptr[topic + 1]
            for slot in range(begin, end):
                v = np.uint64(state.topic_nodes[slot])
                state.bits[row, v >> SIX] |= ONE << (v & SIXTY_THREE)
            for slot in range(begin, end):
                # A component is named by one of its slots.
                is_component = state.node_label[state.entry[slot]] == slot
                if is_component and state.large[topic] <= state.size[slot] < end - begin:
                    give_row(state, topic, slot)
