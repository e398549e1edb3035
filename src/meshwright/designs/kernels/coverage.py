"""SpiderCast (icdcs16, section IX): nodes take turns, and in each turn a node picks one neighbour.

The gain of a candidate for node u is the number of topics of both that u lacks. One gain costs O(|T(v)|). All
gains at once cost O(|V|/64) per topic: bit rows of popular topics are summed into bit-sliced counters, as in
the engine, and rare topics are added one subscriber at a time.

A node first picks greedily, the node with the largest gain, then at random, any node with a gain. Invariant:
gains only fall. So when the gains of all nodes are counted, the first few nodes of the best gain are kept,
and the first of them whose gain is unchanged is the next pick. All gains are counted once per level of the
node's best gain; a pick costs O(|T(v)|).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import NOTHING, ONE, SIX, Bits, Ids, Int, Offsets
from meshwright.designs.kernels.topic_rows import TopicRows, unite, without
from meshwright.greedy.kernels.bit_rows import add_rows, count_one, keep_largest, list_marked
from meshwright.greedy.kernels.state import Rows
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.primitives import below
from meshwright.jit.simd import lowest_bit, place_of, popcount, prefetch

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
    begin = picking.pick_ptr[u]
    return bool(place_of(picking.picks, begin, begin + picking.picked[u], v) >= 0)


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


TRIES = 16
"""Draws that may fail before a random pick falls back to a full count."""


@inlined
def pick_greedily(
    held: TopicRows, picking: Picking, scratch: Scratch, u: Int, lacking: Int, max_degree: Int
) -> Int:
    """Return the node with the largest gain for u, ties to the smallest node, or −1."""
    sweep = picking.sweep[u]
    while lacking > 0:
        # Candidates are ascending and had the best gain: the first whose gain still holds is the pick.
        while sweep[PLACE] < sweep[LENGTH]:
            v = np.int64(picking.window[u, sweep[PLACE]])
            sweep[PLACE] += 1
            if gain(held, scratch, v) == sweep[LEVEL] and may_pick(picking, u, v, max_degree):
                return v
        fill_window(held, picking, scratch, u, lacking)
        if sweep[LEVEL] == 0:
            break
    return np.int64(-1)


@inner
def pick_from_all(held: TopicRows, picking: Picking, scratch: Scratch, u: Int, lacking: Int) -> Int:
    """Return a uniformly random node with a gain for u, from a full count, or −1."""
    nodes, count = scratch.nodes, np.int64(0)
    unite(held, scratch.own, lacking, scratch.rows, nodes)
    leave_out(picking, nodes, u)
    for j in range(np.uint64(len(nodes))):
        nodes[j] &= picking.open_nodes[j]
        count += popcount(nodes[j])
    if count == 0:
        return np.int64(-1)
    # Find the set bit with `before` set bits below it: first its word, then the bit.
    before, at = below(picking.stream, u, count), np.uint64(0)
    while popcount(nodes[at]) <= before:
        before -= popcount(nodes[at])
        at += ONE
    word = nodes[at]
    for _ in range(before):
        word &= word - ONE
    return np.int64((at << SIX) | lowest_bit(word))


@inlined
def pick_randomly(
    held: TopicRows, picking: Picking, scratch: Scratch, u: Int, lacking: Int, max_degree: Int
) -> Int:
    """Return a uniformly random node with a gain for u, or −1.

    Rejection sampling: draw a subscription to a topic that u lacks, and accept its node v with probability
    1 / gain(v), since v has that many such subscriptions. After `TRIES` failures few nodes are left, and a
    full count is cheaper.
    """
    subscriptions = np.int64(0)
    for i in range(lacking):
        subscriptions += held.topic_ptr[scratch.own[i] + 1] - held.topic_ptr[scratch.own[i]]
    if subscriptions == lacking:
        return np.int64(-1)  # they are all u's own
    for _ in range(TRIES):
        before, i = below(picking.stream, u, subscriptions), 0
        begin, end = held.topic_ptr[scratch.own[0]], held.topic_ptr[scratch.own[0] + 1]
        while before >= end - begin:
            before -= end - begin
            i += 1
            begin, end = held.topic_ptr[scratch.own[i]], held.topic_ptr[scratch.own[i] + 1]
        v = np.int64(held.topic_nodes[begin + before])
        if may_pick(picking, u, v, max_degree):
            often = np.int64(gain(held, scratch, v))
            if often == 1 or below(picking.stream, u, often) == 0:
                return v
    return pick_from_all(held, picking, scratch, u, lacking)


@inlined
def pick(held: TopicRows, picking: Picking, scratch: Scratch, u: Int, v: Int) -> None:
    """Record that u picks v, which covers the topics of both."""
    # Whether v has picked u is asked next, and v's picks are anywhere in memory.
    prefetch(picking.picks, np.int64(picking.pick_ptr[v]))
    picking.picks[picking.pick_ptr[u] + picking.picked[u]] = v
    picking.picked[u] += 1
    for i in range(np.uint64(held.node_ptr[v]), np.uint64(held.node_ptr[v + 1])):
        picking.lacking[scratch.lacked[held.node_topics[i]]] -= 1


@inlined
def take_turn(
    held: TopicRows, picking: Picking, scratch: Scratch, u: Int, coverage_random: Int, max_degree: Int
) -> Int:
    """Let u pick one node; return it, or −1 if u is done."""
    v: Int = np.int64(-1)
    if picking.degree[u] >= max_degree:
        return v
    lacking = np.int64(note_lacking(held, picking, scratch, u))
    if not picking.at_random[u]:
        v = pick_greedily(held, picking, scratch, u, lacking, max_degree)
        if v < 0:
            # Greedy coverage is complete: count random coverage from here on.
            picking.at_random[u] = True
            for i in range(held.node_ptr[u], held.node_ptr[u + 1]):
                picking.lacking[i] = coverage_random
            lacking = np.int64(note_lacking(held, picking, scratch, u))
    if v < 0:
        v = pick_randomly(held, picking, scratch, u, lacking, max_degree)
    if v >= 0:
        pick(held, picking, scratch, u, v)
    forget_lacking(held, scratch, u)
    return v


@inlined
def add_link(picking: Picking, v: Int, max_degree: Int) -> None:
    """Add one to the degree of v, and close v at the limit."""
    picking.degree[v] += 1
    if picking.degree[v] >= max_degree:
        without(picking.open_nodes, v)


@kernel
def take_turns(
    held: TopicRows,
    picking: Picking,
    scratch: Scratch,
    coverage_random: Int,
    max_degree: Int,
    nodes: Ids,
    us: Ids,
    vs: Ids,
) -> int:
    """Let nodes take turns in order until no node picks; return the number of edges written.

    An edge that both ends pick is written once.
    """
    edges, taking = 0, len(nodes)
    while taking > 0:
        # Nodes that are done drop out; the others keep their order.
        going = 0
        for i in range(taking):
            u = np.int64(nodes[i])
            v = np.int64(take_turn(held, picking, scratch, u, coverage_random, max_degree))
            if v < 0:
                continue
            nodes[going] = u
            going += 1
            if not has_picked(picking, v, u):
                us[edges], vs[edges] = min(u, v), max(u, v)
                edges += 1
                add_link(picking, u, max_degree)
                add_link(picking, v, max_degree)
        taking = going
    return edges
