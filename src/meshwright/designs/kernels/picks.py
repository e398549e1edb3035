"""SpiderCast's picks (icdcs16, section IX): what each node has and lacks, and what a candidate adds.

The gain of a candidate for node u is the number of topics of both that u lacks. One gain costs O(|T(v)|). All
gains at once cost O(|V|/64) per topic: bit rows of popular topics are summed into bit-sliced counters, as in
the engine, and rare topics are added one subscriber at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import NOTHING
from meshwright.designs.kernels.topic_rows import without
from meshwright.greedy.kernels.bit_counters import add_rows, count_one, keep_largest, list_marked
from meshwright.jit.compiler import inlined, inner

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.arrays import Bits, Ids, Int, Offsets
    from meshwright.designs.kernels.topic_rows import TopicRows
    from meshwright.greedy.kernels.state import Rows

    Flags: TypeAlias = NDArray[np.bool_]


LEVEL, PLACE, LENGTH = 0, 1, 2
"""The fields of a node's sweep: the gain of its window, the next position in it, and its length."""


class Picking(NamedTuple):
    """The picks of each node, and what it still lacks."""

    at_random: Flags
    """By node: whether its greedy picks are complete."""
    lacking: Ids
    """By entry of `node_topics`: how often the topic must still be covered, greedily or at random.

    One more entry at the end belongs to no node and may hold any number.
    """
    window: Ids
    """By node: the first nodes, ascending, with the best gain at the last count."""
    sweep: Ids
    """By node: gain, position and length of its window."""
    pick_ptr: Offsets
    """By node: the offset of its picks in `picks`."""
    picks: Ids
    """The picks of each node, in order."""
    picked: Ids
    """By node: the number of its picks."""
    degree: Ids
    """By node: its number of links."""
    open_nodes: Bits
    """The nodes that may take one more link."""
    stream: Bits
    """By node: the state of its random numbers."""


class Scratch(NamedTuple):
    """Working memory."""

    lacked: Ids
    """By topic: the entry of the node on turn, if it lacks the topic, else the entry of no node."""
    own: Ids
    """The topics that the node on turn lacks."""
    rows: Rows
    """Bit rows to sum; eight more entries for empty rows."""
    slices: Bits
    """Bit-sliced counters over nodes: bit v of slice k has the value 2^k."""
    nodes: Bits
    """A set of nodes."""
    marked: Ids
    """Nodes on their way into a window."""


@inlined
def note_lacking(held: TopicRows, picking: Picking, scratch: Scratch, u: Int) -> int:
    """Record the topics that u lacks, and return their number."""
    count, nobody = 0, len(held.node_topics)
    for i in range(np.uint64(held.node_ptr[u]), np.uint64(held.node_ptr[u + 1])):
        topic, lacks = held.node_topics[i], picking.lacking[i] > 0
        scratch.lacked[topic] = i if lacks else nobody
        scratch.own[count] = topic
        count += int(lacks)
    return count


@inlined
def forget_lacking(held: TopicRows, scratch: Scratch, u: Int) -> None:
    """Undo `note_lacking`."""
    for i in range(np.uint64(held.node_ptr[u]), np.uint64(held.node_ptr[u + 1])):
        scratch.lacked[held.node_topics[i]] = len(held.node_topics)


@inlined
def gain(held: TopicRows, scratch: Scratch, v: Int) -> int:
    """Count the topics of v that the node on turn lacks."""
    count, nobody = 0, len(held.node_topics)
    for i in range(np.uint64(held.node_ptr[v]), np.uint64(held.node_ptr[v + 1])):
        count += int(scratch.lacked[held.node_topics[i]] < nobody)
    return count


@inlined
def has_picked(picking: Picking, u: Int, v: Int) -> bool:
    """Return whether u has picked v."""
    for i in range(picking.pick_ptr[u], picking.pick_ptr[u] + picking.picked[u]):
        if picking.picks[i] == v:
            return True
    return False


@inlined
def may_pick(picking: Picking, u: Int, v: Int, max_degree: Int) -> bool:
    """Return whether u may pick v."""
    return v != u and picking.degree[v] < max_degree and not has_picked(picking, u, v)


@inlined
def leave_out(picking: Picking, nodes: Bits, u: Int) -> None:
    """Remove u and its picks from a set of nodes."""
    without(nodes, u)
    for i in range(picking.pick_ptr[u], picking.pick_ptr[u] + picking.picked[u]):
        without(nodes, np.int64(picking.picks[i]))


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
    """Fill the counters with the gain of every node; return the number of slices in use."""
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
    # The adders take rows in groups: pad with the empty row. They also reset the lowest four slices.
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
    """Fill the window of u with the first nodes of the best gain, if any node has a gain."""
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
