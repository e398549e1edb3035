"""The blocks of every topic's sub-overlay, on top of the engine's components, as links are added.

In the sub-overlay of a topic's subscribers, a *block* is a largest set of them that no single other
subscriber separates; the two ends of a link are always in a common block. A topic survives any single failure
when all its subscribers are in one block.

The blocks of a component form a tree (the block-cut tree), stored upwards: each subscriber but the root is
*below* one block, and each block is below one subscriber, its *top*. So two subscribers share a block when
both are below it, or when one is below it and the other is its top.

A link between two components is a new block, and hangs the smaller component below the other. A link within a
component merges all blocks on the tree path between its ends. Blocks merge as in union-find with path
halving; components merge in the engine's state. Cost of a link: the size of the smaller component, or the
length of the tree path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Ids, Int, Offsets
from meshwright.greedy.kernels.components import merge
from meshwright.greedy.kernels.state import State
from meshwright.jit.compiler import inlined, inner

NONE = np.int64(-1)


class Blocks(NamedTuple):
    """What the resilient design adds to the engine's `State`; slots and components are those of `State`.

    A block is named by the component that disappeared when the block began as a link.
    """

    slot: Ids
    """By entry of `node_topics`: the slot of the same subscription."""
    label: Ids
    """By slot: the component. A copy of `State.node_label`, which is by entry: rows are counted slot by slot,
    and through the entries each label would be a random access."""
    above: Ids
    """By slot: a block that is part of the one it is below; −1 for the root of a component."""
    top: Ids
    """By block: the slot that it is below."""
    joined: Ids
    """By block: itself, or a block that it has become part of."""
    passed: Offsets
    """By slot: the last search for a common ancestor that came by."""
    stamp: Offsets
    """One number: how many such searches there were."""
    missing: Ids
    """By slot: how many links to other subscribers it still needs: two at first, or one if there is only one
    other."""
    wanting: Offsets
    """By topic: the sum of `missing`."""
    merges: Offsets
    """By topic: 2 · (components − 1) + blocks − 1. Every link between two blocks lowers it; 0 is the end."""
    earlier: Ids
    """By link: the link before it in the chain of its smaller end, or −1."""
    latest: Ids
    """By node u: the last link of its chain, which holds the links (u, v), u < v; or −1."""


@inlined
def block_above(blocks: Blocks, slot: Int) -> Int:
    """Return the block that a slot is below, or −1."""
    block = blocks.above[slot]
    if block >= 0 and blocks.joined[block] != block:
        # Halve the path, and remember the answer with the slot.
        while blocks.joined[block] != block:
            blocks.joined[block] = blocks.joined[blocks.joined[block]]
            block = blocks.joined[block]
        blocks.above[slot] = block
    return np.int64(block)


@inlined
def share_block(blocks: Blocks, i: Int, j: Int) -> bool:
    """Return whether two slots of a component are in one block."""
    mine, yours = block_above(blocks, i), block_above(blocks, j)
    if mine >= 0 and (mine == yours or blocks.top[mine] == j):
        return True
    return bool(yours >= 0 and blocks.top[yours] == i)


@inner
def reroot(blocks: Blocks, slot: Int) -> None:
    """Make a slot the root of its component: reverse the tree path from it to the old root."""
    below: Int = NONE
    while True:
        block = block_above(blocks, slot)
        blocks.above[slot] = below
        if block < 0:
            return
        upper = np.int64(blocks.top[block])
        blocks.top[block] = slot
        slot, below = upper, block


@inlined
def connect(state: State, blocks: Blocks, topic: Int, i: Int, j: Int) -> None:
    """Link two components: hang the smaller one below the other by a new block, and merge them."""
    # The same choice as in `merge`: of two components of one size, that of i keeps its label.
    if state.size[blocks.label[i]] < state.size[blocks.label[j]]:
        i, j = j, i
    a, b = blocks.label[i], blocks.label[j]
    reroot(blocks, j)
    blocks.above[j], blocks.top[b] = b, i
    member = b
    while True:
        blocks.label[member] = a
        member = state.following[member]
        if member == b:
            break
    merge(state, np.int64(state.entry[i]), np.int64(state.entry[j]))
    blocks.merges[topic] -= 1


@inner
def common_ancestor(blocks: Blocks, i: Int, j: Int) -> Int:
    """Return the lowest slot that is above two slots, or is one of them.

    Climbs from both in turn, so it costs no more than twice the length of the path between them.
    """
    blocks.stamp[0] += 1
    stamp = blocks.stamp[0]
    blocks.passed[i] = blocks.passed[j] = stamp
    while True:
        block = block_above(blocks, i)
        if block >= 0:
            i = np.int64(blocks.top[block])
            if blocks.passed[i] == stamp:
                return i
            blocks.passed[i] = stamp
        i, j = j, i


@inner
def climb(blocks: Blocks, topic: Int, slot: Int, goal: Int) -> Int:
    """Merge all blocks between a slot and one above it, and return the block; −1 if it is the same slot."""
    block: Int = NONE
    while slot != goal:
        upper = block_above(blocks, slot)
        if block >= 0:
            blocks.joined[block] = upper
            blocks.merges[topic] -= 1
        block, slot = upper, np.int64(blocks.top[upper])
    return block


@inner
def close_cycle(blocks: Blocks, topic: Int, i: Int, j: Int) -> None:
    """Link two slots of a component that share no block: the blocks on the path between them become one."""
    goal = common_ancestor(blocks, i, j)
    a, b = climb(blocks, topic, i, goal), climb(blocks, topic, j, goal)
    if a >= 0 and b >= 0 and a != b:
        blocks.joined[a] = b
        blocks.merges[topic] -= 1


@inlined
def link(state: State, blocks: Blocks, u: Int, v: Int) -> int:
    """Add the link (u, v) to every topic of both, and return in how many it merged two components."""
    i, j, count = state.node_ptr[u], state.node_ptr[v], 0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second:
            topic, mine, yours = np.int64(first), np.int64(blocks.slot[i]), np.int64(blocks.slot[j])
            if blocks.label[mine] != blocks.label[yours]:
                connect(state, blocks, topic, mine, yours)
                count += 1
            elif not share_block(blocks, mine, yours):
                close_cycle(blocks, topic, mine, yours)
            for end in (mine, yours):
                if blocks.missing[end] > 0:
                    blocks.missing[end] -= 1
                    blocks.wanting[topic] -= 1
        i += int(first <= second)
        j += int(second <= first)
    state.degree[u] += 1
    state.degree[v] += 1
    return count
