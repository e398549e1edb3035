"""Coverage (SpiderCast, icdcs16, section IX): nodes take turns, and in each turn a node picks one neighbour.

A node first picks greedily, the node with the most topics that it lacks, then at random, any node with such a
topic. Invariant: gains only fall. So when the gains of all nodes are counted, the first few nodes of the best
gain are kept, and the first of them whose gain is unchanged is the next pick. A count costs O(|V|/64) per
topic of the node and happens once per level of its best gain; a pick costs O(|T(v)|).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import ONE, SIX
from meshwright.designs.kernels.picks import (
    LENGTH,
    LEVEL,
    PLACE,
    fill_window,
    forget_lacking,
    gain,
    has_picked,
    leave_out,
    may_pick,
    note_lacking,
)
from meshwright.designs.kernels.topic_rows import unite, without
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import lowest_bit, popcount
from meshwright.jit.xorshift import below

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Int
    from meshwright.designs.kernels.picks import Picking, Scratch
    from meshwright.designs.kernels.topic_rows import TopicRows

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
