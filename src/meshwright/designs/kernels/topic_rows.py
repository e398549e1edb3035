"""The subscribers of a set of topics, as a bit row over nodes.

A popular topic has a bit row, and a union costs |V|/64 words per topic, in blocks of eight. The subscribers
of a rare topic are set bit by bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import NOTHING, ONE, SIX, SIXTY_THREE, Bits, Ids, Int, Offsets
from meshwright.greedy.kernels.bit_rows import block
from meshwright.greedy.kernels.state import Rows
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import EIGHT, load, nothing, ones, store, total


class TopicRows(NamedTuple):
    """The interest both ways, with a bit row for each popular topic."""

    node_ptr: Offsets
    """By node: the offset of its topics in `node_topics`."""
    node_topics: Ids
    """The topics of each node, ascending."""
    topic_ptr: Offsets
    """By topic: the offset of its subscribers in `topic_nodes`."""
    topic_nodes: Ids
    """The subscribers of each topic, ascending."""
    topic_row: Ids
    """By topic: its bit row, or −1 for a rare topic."""
    bits: Bits
    """Bit rows over nodes; row 0 is empty."""


@kernel
def fill_rows(held: TopicRows) -> None:
    """Set the bit rows of the popular topics."""
    for topic in range(len(held.topic_row)):
        row = held.topic_row[topic]
        if row >= 0:
            for slot in range(held.topic_ptr[topic], held.topic_ptr[topic + 1]):
                v = np.uint64(held.topic_nodes[slot])
                held.bits[row, v >> SIX] |= ONE << (v & SIXTY_THREE)


@inner
def unite(held: TopicRows, topics: Ids, count: Int, rows: Rows, union: Bits) -> None:
    """Set `union` to the subscribers of the first `count` of `topics`."""
    popular = 0
    for i in range(count):
        row = held.topic_row[topics[i]]
        if row >= 0:
            rows[popular] = row
            popular += 1
    for j in range(NOTHING, np.uint64(len(union)), EIGHT):
        some = nothing()
        for i in range(popular):
            some = some | block(held.bits, rows, i, j)
        store(union, j, some)
    if popular == count:
        return
    for i in range(count):
        topic = topics[i]
        if held.topic_row[topic] < 0:
            for slot in range(held.topic_ptr[topic], held.topic_ptr[topic + 1]):
                v = np.uint64(held.topic_nodes[slot])
                union[v >> SIX] |= ONE << (v & SIXTY_THREE)


@inlined
def size(nodes: Bits) -> Int:
    """Return the number of nodes in a set."""
    counts = nothing()
    for j in range(NOTHING, np.uint64(len(nodes)), EIGHT):
        counts = counts + ones(load(nodes, j))
    return np.int64(total(counts))


@inlined
def without(union: Bits, v: Int) -> None:
    """Remove a node from a set."""
    union[np.uint64(v) >> SIX] &= ~(ONE << (np.uint64(v) & SIXTY_THREE))
