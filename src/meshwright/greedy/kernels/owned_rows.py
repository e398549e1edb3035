"""Bit rows over nodes: one for each heavy topic, and one for what is outside each of its large components.

A component gets its row when it becomes large. While other threads read bit rows it has to wait for it: a row
that got a new owner meanwhile would say too little of the old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import ONE, SIX, SIXTY_THREE
from meshwright.greedy.kernels.state import FREE_ROWS, HELD, HOLDING
from meshwright.jit.compiler import inlined, inner, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Int
    from meshwright.greedy.kernels.state import State


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
