"""Sets of topics as sets of nodes: who subscribes to any of them, in bits.

A popular topic has a bit row over the nodes; the subscribers of a rare one are set bit by bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.compiling import inlined, inner, kernel
from meshwright.greedy.kernels.state import ONE, SIX, SIXTY_THREE

if TYPE_CHECKING:
    from meshwright.greedy.kernels.state import Bits, Int, Rows
    from meshwright.interest import Ids, Offsets


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
    """Set `union` to the subscribers of the first `count` of `topics`; `rows` has room for four more."""
    bits, words = held.bits, np.uint64(len(union))
    popular = 0
    for i in range(count):
        row = held.topic_row[topics[i]]
        if row >= 0:
            rows[popular] = row
            popular += 1
    for i in range(popular, popular + 4):
        rows[i] = 0
    r0, r1, r2, r3 = bits[rows[0]], bits[rows[1]], bits[rows[2]], bits[rows[3]]
    for j in range(words):
        union[j] = (r0[j] | r1[j]) | (r2[j] | r3[j])
    for i in range(4, popular, 4):
        r0, r1, r2, r3 = bits[rows[i]], bits[rows[i + 1]], bits[rows[i + 2]], bits[rows[i + 3]]
        for j in range(words):
            union[j] |= (r0[j] | r1[j]) | (r2[j] | r3[j])
    if popular == count:
        return
    for i in range(count):
        topic = topics[i]
        if held.topic_row[topic] < 0:
            for slot in range(held.topic_ptr[topic], held.topic_ptr[topic + 1]):
                v = np.uint64(held.topic_nodes[slot])
                union[v >> SIX] |= ONE << (v & SIXTY_THREE)


@inlined
def without(union: Bits, v: Int) -> None:
    """Take a node out of a set."""
    union[np.uint64(v) >> SIX] &= ~(ONE << (np.uint64(v) & SIXTY_THREE))
