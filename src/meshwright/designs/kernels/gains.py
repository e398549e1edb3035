"""The gains of all nodes at once, in bit-sliced counters as in the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import inner
from meshwright.designs.kernels.picking import LENGTH, LEVEL, PLACE, leave_out
from meshwright.greedy.kernels.adders import add_rows, count_one
from meshwright.greedy.kernels.selecting import keep_largest, list_marked
from meshwright.greedy.kernels.state import NOTHING

if TYPE_CHECKING:
    from meshwright.designs.kernels.picking import Picking, Scratch
    from meshwright.designs.kernels.topic_rows import TopicRows
    from meshwright.greedy.kernels.state import Int


@inner
def add_rare_topics(held: TopicRows, scratch: Scratch, lacking: Int) -> None:
    """Add the subscribers of rare topics to the counters, one by one."""
    slices = scratch.slices
    for i in range(lacking):
        topic = scratch.own[i]
        if held.topic_row[topic] < 0:
            for slot in range(held.topic_ptr[topic], held.topic_ptr[topic + 1]):
                count_one(slices, np.uint64(held.topic_nodes[slot]))


@inner
def count_gains(held: TopicRows, scratch: Scratch, lacking: Int) -> int:
    """Fill the counters with every node's gain; return how many slices are used."""
    rows, slices = scratch.rows, scratch.slices
    low, high = np.uint64(0), np.uint64(slices.shape[1])
    popular, top = np.int64(0), np.int64(4)
    while lacking >> top > 0:
        top += 1
    for i in range(lacking):
        row = held.topic_row[scratch.own[i]]
        if row >= 0:
            rows[popular] = row
            popular += 1
    for i in range(popular, popular + 8):
        rows[i] = 0
    for k in range(4 if popular > 0 else 0, top):
        digits = slices[k]
        for j in range(high):
            digits[j] = NOTHING
    add_rows(held.bits, rows, popular, slices, top, low, high, True)
    if popular < lacking:
        add_rare_topics(held, scratch, lacking)
    return int(top)


@inner
def fill_window(held: TopicRows, picking: Picking, scratch: Scratch, u: Int, lacking: Int) -> None:
    """Put the first of the nodes with the best gain into u's window, if any has one."""
    best, words = scratch.nodes, np.uint64(len(scratch.nodes))
    for j in range(words):
        best[j] = picking.open_nodes[j]
    leave_out(picking, best, u)
    top = count_gains(held, scratch, lacking)
    level = keep_largest(best, scratch.slices, top, NOTHING, words)
    window, sweep = picking.window[u], picking.sweep[u]
    sweep[LEVEL], sweep[PLACE], sweep[LENGTH] = level, 0, 0
    if level > 0:
        length = list_marked(best, scratch.marked, NOTHING, words, np.uint64(len(window)))
        for i in range(length):
            window[i] = scratch.marked[i]
        sweep[LENGTH] = np.int64(length)
