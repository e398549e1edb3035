"""Which subscribers of a topic are linked, and which in two ways, as links are added.

In the sub-overlay of a topic's subscribers, two of them are linked in two ways when no third one separates
them. Its *blocks* are the largest sets in which that holds of all pairs; the two ends of a link always are in
one. The blocks of a component hang from each other in a tree (the block-cut tree): each subscriber but the
root is below one block, and each block is below one subscriber. So two subscribers share a block when both
are below it, or when one is below and the other right above it. A link between two components is a new block;
a link within one makes one block of all those on the way between its ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.jit.compiler import inlined, inner

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Int, Offsets

WORK, STAMP = 0, 1
"""The fields of `State.tally`."""
NONE = np.int64(-1)


class State(NamedTuple):
    """The interest, and for each topic the components and blocks of its subscribers.

    A *slot* is a position in `topic_nodes`. A component is named by the slot of a member, and its members
    form a circular list. A block is named by the component that it did away with when it began as a link.
    """

    node_ptr: Offsets
    node_topics: Ids
    topic_ptr: Offsets
    topic_nodes: Ids
    slot: Ids
    """By position in `node_topics`: the slot of the same subscription."""
    label: Ids
    """By slot: the component."""
    following: Ids
    """By slot: the next member of the component."""
    size: Ids
    """By component: how many members."""
    above: Ids
    """By slot: a block that is part of the one it is below; −1 for the root of a component."""
    top: Ids
    """By block: the slot that it is below."""
    joined: Ids
    """By block: itself, or a block that it has become part of."""
    passed: Offsets
    """By slot: the last search for a meeting point that came by."""
    missing: Ids
    """By slot: how many links to other subscribers it lacks; each wants two, or one if there is but one."""
    pieces: Ids
    """By topic: how many components."""
    wanting: Offsets
    """By topic: how many links its subscribers lack together."""
    merges: Offsets
    """By topic: 2 · (components − 1) + blocks − 1; every link between two blocks lowers it, 0 is the end."""
    tally: Offsets


@inlined
def block_above(state: State, slot: Int) -> Int:
    """Return the block that a slot is below, or −1."""
    block = state.above[slot]
    if block >= 0 and state.joined[block] != block:
        while state.joined[block] != block:
            state.joined[block] = state.joined[state.joined[block]]
            block = state.joined[block]
        state.above[slot] = block
    return np.int64(block)


@inlined
def share_block(state: State, i: Int, j: Int) -> bool:
    """Say whether two slots of a topic are in one block."""
    mine, yours = block_above(state, i), block_above(state, j)
    if mine >= 0 and (mine == yours or state.top[mine] == j):
        return True
    return bool(yours >= 0 and state.top[yours] == i)


@inner
def reroot(state: State, slot: Int) -> None:
    """Make a slot the root of its component."""
    below: Int = NONE
    while True:
        block = block_above(state, slot)
        state.above[slot] = below
        if block < 0:
            return
        upper = np.int64(state.top[block])
        state.top[block] = slot
        slot, below = upper, block


@inner
def connect(state: State, topic: Int, i: Int, j: Int) -> None:
    """Link two components: the smaller one is hung below the other by a new block, and relabelled."""
    if state.size[state.label[i]] < state.size[state.label[j]]:
        i, j = j, i
    a, b = state.label[i], state.label[j]
    reroot(state, j)
    state.above[j], state.top[b] = b, i
    member = b
    while True:
        state.label[member] = a
        member = state.following[member]
        if member == b:
            break
    state.following[a], state.following[b] = state.following[b], state.following[a]
    state.size[a] += state.size[b]
    state.pieces[topic] -= 1
    state.merges[topic] -= 1


@inner
def meeting(state: State, i: Int, j: Int) -> Int:
    """Return the lowest slot that is above two slots, or is one of them, by steps from both in turn."""
    state.tally[STAMP] += 1
    stamp = state.tally[STAMP]
    state.passed[i] = state.passed[j] = stamp
    while True:
        block = block_above(state, i)
        if block >= 0:
            i = np.int64(state.top[block])
            if state.passed[i] == stamp:
                return i
            state.passed[i] = stamp
        i, j = j, i


@inner
def climb(state: State, topic: Int, slot: Int, goal: Int) -> Int:
    """Make one block of all those between a slot and one above it, and return it: −1 if it is the same."""
    block: Int = NONE
    while slot != goal:
        upper = block_above(state, slot)
        if block >= 0:
            state.joined[block] = upper
            state.merges[topic] -= 1
        block, slot = upper, np.int64(state.top[upper])
    return block


@inner
def close_cycle(state: State, topic: Int, i: Int, j: Int) -> None:
    """Link two slots of a component that share no block: the blocks between them become one."""
    goal = meeting(state, i, j)
    a, b = climb(state, topic, i, goal), climb(state, topic, j, goal)
    if a >= 0 and b >= 0 and a != b:
        state.joined[a] = b
        state.merges[topic] -= 1


@inner
def link(state: State, u: Int, v: Int) -> None:
    """Add the link (u, v) to every topic of both."""
    i, j = state.node_ptr[u], state.node_ptr[v]
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second:
            topic, mine, yours = np.int64(first), np.int64(state.slot[i]), np.int64(state.slot[j])
            if state.label[mine] != state.label[yours]:
                connect(state, topic, mine, yours)
            elif not share_block(state, mine, yours):
                close_cycle(state, topic, mine, yours)
            for end in (mine, yours):
                if state.missing[end] > 0:
                    state.missing[end] -= 1
                    state.wanting[topic] -= 1
        i += int(first <= second)
        j += int(second <= first)
