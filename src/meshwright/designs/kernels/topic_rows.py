"""Sets of topics as sets of nodes: who subscribes to any of them, in bits.

A popular topic has a bit row over the nodes; the subscribers of a rare one are set bit by bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import NOTHING, ONE, SIX, SIXTY_THREE
from meshwright.greedy.kernels.bit_counters import block
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import EIGHT, load, nothing, ones, store, total

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Ids, Int, Offsets
    from meshwright.greedy.kernels.state import Rows


class TopicRows(NamedTuple):
    """The interest both ways, with a bit row for each popular topic."""

    node_ptr: Offsets
    node_topics: Ids
    topic_ptr: Offsets
    topic_nodes: Ids
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
    """Return how many nodes a set has."""
    counts = nothing()
    for j in range(NOTHING, np.uint64(len(nodes)), EIGHT):
        counts = counts + ones(load(nodes, j))
    return np.int64(total(counts))


@inlined
def without(union: Bits, v: Int) -> None:
    """Take a node out of a set."""
    union[np.uint64(v) >> SIX] &= ~(ONE << (np.uint64(v) & SIXTY_THREE))
