"""Links by chance (RandomA, RandomM, icdcs16), and links that fill degrees up to a limit.

A picker on the engine's state draws contributing links: each pair that contributes now is equally likely. For
each topic it counts the pairs of open subscribers (those that may take one more link) in different
components. To draw a link, draw a topic by that number and then such a pair of it. That draws a pair once for
each topic it would merge, so it is accepted with probability 1/contribution. When no topic has such a pair,
nothing contributes.

Invariant: `pairs` and `total` count exactly the pairs of open subscribers in different components, by topic
and in all. Cost: O(log |T|) to draw a topic, O(|T(u)| + |T(v)|) to evaluate a pair; one update of O(log |T|)
for each topic that a link merges, and for each topic of a node that becomes full.

`draw_links` adds *arbitrary* links: pairs drawn uniformly from all that are not linked yet and whose ends are
not full. Two open nodes are drawn until they are different and not linked, so each unlinked pair of open
nodes is equally likely. Where most open pairs are linked already this takes too long: after `PATIENCE` draws
in a row without a link the kernel stops, and its caller lists the pairs that are left.

`fill_degrees` adds links that connect nothing, in order, as the printed MinMax-ODA does: it chains the nodes
below the limit in ascending order. For each node u of the chain it walks the nodes after u, links those that
u is not linked to yet, and takes full nodes off the chain. Each step of the walk adds a link or meets a link
of u: O(|V| + |E| + links added).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Bits, Ids, Int, Offsets
from meshwright.greedy.kernels.components import contribution_by_lists, merge
from meshwright.greedy.kernels.state import (
    BROKEN,
    EDGES,
    EXHAUSTED,
    FULL,
    MERGES,
    PAUSED,
    WORK,
    Goal,
    Links,
    State,
)
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.primitives import below

A_DRAW, AN_EVALUATION = 16, 128
"""The work of drawing two subscribers, and of evaluating the pair."""


class OpenPairs(NamedTuple):
    """The pairs that may still be linked; an entry is a position in `node_topics`, as in `State`."""

    owner: Ids
    """By entry: its node."""
    members: Ids
    """By topic: its entries, those of open nodes first."""
    place: Ids
    """By entry: where it stands in `members`."""
    open_members: Ids
    """By topic: how many entries belong to open nodes."""
    open_size: Ids
    """By component: how many of its members are open nodes."""
    pairs: Offsets
    """By topic: the open pairs to merge, as a Fenwick tree of partial sums."""
    total: Offsets
    """One number: the open pairs of all topics."""
    stream: Bits
    """One stream of random numbers."""


@inlined
def add_pairs(pairs: Offsets, topic: Int, count: Int) -> None:
    """Add to the number of pairs of a topic."""
    i = topic + 1
    # Each step adds the lowest set bit: these are the nodes whose sums include the topic.
    while i < len(pairs):
        pairs[i] += count
        i += i & -i


@inlined
def topic_of(pairs: Offsets, ahead: Int) -> Int:
    """Return the topic of the pair that has `ahead` pairs before it: a descent in the Fenwick tree."""
    # From the largest power of two down: node i + step holds the sum of the `step` topics after i.
    step, i = np.int64(1), np.int64(0)
    while 2 * step < len(pairs):
        step *= 2
    while step > 0:
        if i + step < len(pairs) and pairs[i + step] <= ahead:
            i += step
            ahead -= pairs[i]
        step //= 2
    return i


@inner
def link(state: State, left: OpenPairs, u: Int, v: Int) -> Int:
    """Merge what a link between u and v merges; return how many open pairs that removes."""
    i, i_end, j, j_end = state.node_ptr[u], state.node_ptr[u + 1], state.node_ptr[v], state.node_ptr[v + 1]
    gone = np.int64(0)
    while i < i_end and j < j_end:
        mine, yours = state.node_topics[i], state.node_topics[j]
        if mine == yours:
            a, b = state.node_label[i], state.node_label[j]
            if a != b:
                # All pairs across the two components are merged by this.
                merged = np.int64(left.open_size[a]) * np.int64(left.open_size[b])
                add_pairs(left.pairs, np.int64(mine), -merged)
                gone += merged
                together = left.open_size[a] + left.open_size[b]
                merge(state, i, j)
                left.open_size[state.node_label[i]] = together
        i += int(mine <= yours)
        j += int(yours <= mine)
    state.degree[u] += 1
    state.degree[v] += 1
    return gone


@inner
def close(state: State, left: OpenPairs, v: Int) -> Int:
    """Let a node take no more links; return how many open pairs that removes."""
    gone = np.int64(0)
    for i in range(state.node_ptr[v], state.node_ptr[v + 1]):
        topic, component = np.int64(state.node_topics[i]), state.node_label[i]
        # The node is in a pair with every open member of another component.
        lost = np.int64(left.open_members[topic] - left.open_size[component])
        add_pairs(left.pairs, topic, -lost)
        gone += lost
        left.open_size[component] -= 1
        left.open_members[topic] -= 1
        # Exchange the entry with the last open one of its topic.
        here, last = left.place[i], state.topic_ptr[topic] + left.open_members[topic]
        other = left.members[last]
        left.members[here], left.members[last] = other, i
        left.place[other], left.place[i] = here, last
    return gone


@kernel
def begin(left: OpenPairs) -> None:
    """Count the open pairs of every topic, before any link."""
    for topic in range(len(left.open_members)):
        members = np.int64(left.open_members[topic])
        left.total[0] += members * (members - 1) // 2
        add_pairs(left.pairs, np.int64(topic), members * (members - 1) // 2)


@kernel
def run(state: State, left: OpenPairs, goal: Goal, links: Links) -> int:
    """Add random contributing links until a budget is used up, none is left, or it is time to pause."""
    tally, open_pairs = state.tally, left.total[0]
    status = EXHAUSTED
    while open_pairs > 0 and tally[EDGES] < goal.max_edges:
        if tally[EDGES] == len(links.u):
            status = FULL
            break
        if tally[WORK] > goal.work:
            status = PAUSED
            break
        drawn = topic_of(left.pairs, below(left.stream, np.int64(0), open_pairs))
        first, members = state.topic_ptr[drawn], np.int64(left.open_members[drawn])
        # Draw two open subscribers until they are in different components.
        while True:
            a = np.int64(left.members[first + below(left.stream, np.int64(0), members)])
            b = np.int64(left.members[first + below(left.stream, np.int64(0), members)])
            if state.node_label[a] != state.node_label[b]:
                break
            tally[WORK] += A_DRAW
        u, v = np.int64(left.owner[a]), np.int64(left.owner[b])
        gain = np.int64(contribution_by_lists(state, u, v))
        tally[WORK] += AN_EVALUATION
        # The pair was drawn once for each topic it merges: accept 1 in `gain` draws.
        if gain > 1 and below(left.stream, np.int64(0), gain) > 0:
            continue
        edge, merges = tally[EDGES], tally[MERGES]
        links.u[edge], links.v[edge], links.contribution[edge] = min(u, v), max(u, v), gain
        tally[EDGES] = edge + 1
        open_pairs -= link(state, left, u, v)
        # `link` finds the topics on its own, so this checks the count.
        if tally[MERGES] - merges != gain:
            status = BROKEN
            break
        for end in (u, v):
            if state.degree[end] == state.max_degree:
                open_pairs -= close(state, left, end)
    left.total[0] = open_pairs
    return status


PATIENCE = 64
"""Draws in a row without a link. If half of the open pairs are free, this happens once in 2⁶⁴ times."""


class ArbitraryLinks(NamedTuple):
    """The links so far, and the nodes that may get more."""

    u: Ids
    """By link: the smaller end. There is room for as many as the budgets allow."""
    v: Ids
    """By link: the larger end."""
    degree: Ids
    """By node: how many links it has."""
    head: Ids
    """By node: its last entry in `earlier`, or −1; entry 2·i is link i at u, entry 2·i + 1 is link i at v."""
    earlier: Ids
    """By entry: the entry before it of the same node, or −1."""
    open_nodes: Ids
    """The nodes below the maximum degree, in any order; the rest is unused."""
    counts: Ids
    """Two numbers: how many links there are, and how many open nodes."""
    stream: Bits
    """One stream of random numbers."""


@inner
def are_linked(links: ArbitraryLinks, a: Int, b: Int) -> bool:
    """Return whether two nodes are linked: search the links of the one that has fewer."""
    if links.degree[a] > links.degree[b]:
        a, b = b, a
    entry = links.head[a]
    while entry >= 0:
        link = entry >> 1
        if links.u[link] == b or links.v[link] == b:
            return True
        entry = links.earlier[entry]
    return False


@inner
def add_link(links: ArbitraryLinks, a: Int, b: Int) -> None:
    """Add a link between two nodes."""
    link = links.counts[0]
    u, v = min(a, b), max(a, b)
    links.u[link], links.v[link] = u, v
    links.earlier[2 * link], links.earlier[2 * link + 1] = links.head[u], links.head[v]
    links.head[u], links.head[v] = 2 * link, 2 * link + 1
    links.degree[u] += 1
    links.degree[v] += 1
    links.counts[0] = link + 1


@kernel
def draw_links(links: ArbitraryLinks, max_degree: Int) -> None:
    """Draw links until the columns are full, at most one node is open, or draws find no link."""
    misses = 0
    while links.counts[0] < len(links.u) and links.counts[1] > 1 and misses < PATIENCE:
        i = below(links.stream, np.int64(0), np.int64(links.counts[1]))
        j = below(links.stream, np.int64(0), np.int64(links.counts[1]))
        a, b = np.int64(links.open_nodes[i]), np.int64(links.open_nodes[j])
        misses += 1
        if a == b or are_linked(links, a, b):
            continue
        misses = 0
        add_link(links, a, b)
        # The last open node takes the place of a full one: the later place first, as it may be the last.
        for place in (max(i, j), min(i, j)):
            if links.degree[links.open_nodes[place]] >= max_degree:
                links.counts[1] -= 1
                links.open_nodes[place] = links.open_nodes[links.counts[1]]


@kernel
def draw_from(links: ArbitraryLinks, us: Ids, vs: Ids, max_degree: Int) -> None:
    """Take listed pairs in random order, each if its ends are not full, until the columns are full.

    Of a random order, the next pair that fits is each of those that fit with equal chance.
    """
    for left in range(len(us), 0, -1):
        if links.counts[0] == len(links.u):
            break
        i = below(links.stream, np.int64(0), np.int64(left))
        a, b = np.int64(us[i]), np.int64(vs[i])
        us[i], vs[i] = us[left - 1], vs[left - 1]
        if max(links.degree[a], links.degree[b]) < max_degree:
            add_link(links, a, b)


class FillState(NamedTuple):
    """The links so far, and working memory by node."""

    ptr: Offsets
    """By node: where its larger neighbours begin in `larger`; one more at the end."""
    larger: Ids
    """The larger neighbours of node 0, then of node 1, and so on."""
    degree: Ids
    """By node: its links, those added here included."""
    after: Ids
    """By node: the next node below the limit."""
    mark: Ids
    """By node: the last node u that was found linked to it; −1 at first."""


@kernel
def fill_degrees(held: FillState, limit: Int, most: Int, us: Ids, vs: Ids) -> int:
    """Link pairs that are not linked yet, smallest (u, v) first, while both ends are below the limit.

    Writes up to `most` links to `us` and `vs`, and returns how many.
    """
    degree, after = held.degree, held.after
    nodes, added = len(degree), 0
    first = nodes
    for v in range(nodes - 1, -1, -1):
        after[v] = first
        if degree[v] < limit:
            first = v
    u = first
    while u < nodes and added < most:
        for i in range(held.ptr[u], held.ptr[u + 1]):
            held.mark[held.larger[i]] = u
        before, v = u, after[u]
        while v < nodes and degree[u] < limit and added < most:
            if held.mark[v] != u:
                us[added], vs[added] = u, v
                degree[u] += 1
                degree[v] += 1
                added += 1
            # A full node leaves the chain; its own successor stays valid for this walk.
            if degree[v] < limit:
                before = v
            else:
                after[before] = after[v]
            v = after[v]
        u = after[u]
    return added
