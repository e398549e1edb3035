"""The subscribers of a set of topics, as a bit row over nodes; and stars, whose hubs are chosen by such rows.

A popular topic has a bit row, and a union costs |V|/64 words per topic, in blocks of eight. The subscribers
of a rare topic are set bit by bit.

Stars (icdcs10, section VI) link a hub to all that share an open topic with it, and close its topics.
Invariant: `over / under` is an upper bound of each node's score. A tournament keeps the leader. If the bound
of the leader is exact, it is the next hub; otherwise it is evaluated. An evaluation costs O(|V|/64) per open
topic of the node, an update of the tournament O(log |V|).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import NOTHING, ONE, SIX, SIXTY_THREE, Bits, Ids, Int, Offsets
from meshwright.greedy.kernels.bit_rows import block
from meshwright.greedy.kernels.state import Rows
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import EIGHT, load, lowest_bit, nothing, ones, store, total


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


Flags: TypeAlias = NDArray[np.bool_]


NEIGHBOURS, WEIGHT, DENSITY = 0, 1, 2
"""The score of a node: its neighbours n (CD-ODA), their weight w (CD-ODA-I), or w / n (CD-ODA-II)."""


class Scores(NamedTuple):
    """Bounds on the score of each node, and the leader."""

    remaining: Flags
    """By topic: whether it is open, with at least two subscribers and no star yet."""
    hub: Ids
    """By topic: the hub of its star, or −1."""
    weight: Offsets
    """By node: the sum over its open topics of the other subscribers."""
    topics: Ids
    """By node: the number of its open topics."""
    fewest: Offsets
    """By node: a lower bound on its number of neighbours."""
    over: Offsets
    """By node: the numerator of the bound; its score is at most over / under."""
    under: Offsets
    """By node: the denominator of the bound."""
    exact: Flags
    """By node: whether the bound is the score."""
    winner: Ids
    """A tournament: entry i is the better of 2i and 2i + 1; the second half holds the nodes, then −1."""


@inner
def match(scores: Scores, i: Int) -> None:
    """Decide the match at place i of the tournament; ties go to the first, the smaller node."""
    a, b = scores.winner[2 * i], scores.winner[2 * i + 1]
    if b >= 0 and scores.over[b] * scores.under[a] > scores.over[a] * scores.under[b]:
        a = b
    scores.winner[i] = a


@inner
def replay(scores: Scores, v: Int) -> None:
    """Replay the matches of node v."""
    i = (len(scores.winner) // 2 + v) // 2
    while i > 0:
        match(scores, i)
        i //= 2


@inner
def replay_all(scores: Scores) -> None:
    """Replay all matches."""
    for i in range(len(scores.winner) // 2 - 1, 0, -1):
        match(scores, np.int64(i))


@inner
def estimate(scores: Scores, u: Int, kind: Int) -> None:
    """Bound the score of u from above after some of its topics were closed."""
    scores.exact[u] = False
    if kind == DENSITY:
        scores.over[u] = scores.weight[u]
        # A neighbour shares at most all open topics, so there are at least weight / topics neighbours.
        least = -(-scores.weight[u] // max(scores.topics[u], 1))
        scores.under[u] = max(scores.fewest[u], least, 1)


class Scratch(NamedTuple):
    """Working memory."""

    own: Ids
    """The open topics of a node."""
    rows: Rows
    """Their bit rows."""
    union: Bits
    """The neighbours of a node, as bits."""
    common: Ids
    """By node: the number of open topics shared with the hub; zero between calls."""


@inner
def gather(held: TopicRows, scores: Scores, scratch: Scratch, u: Int) -> Int:
    """Set `union` to the neighbours of u and list its open topics in `own`; return their number."""
    count = np.int64(0)
    for i in range(held.node_ptr[u], held.node_ptr[u + 1]):
        if scores.remaining[held.node_topics[i]]:
            scratch.own[count] = held.node_topics[i]
            count += 1
    unite(held, scratch.own, count, scratch.rows, scratch.union)
    without(scratch.union, u)
    return count


@inner
def evaluate(held: TopicRows, scores: Scores, scratch: Scratch, u: Int, kind: Int) -> None:
    """Compute the score of u."""
    scores.exact[u] = True
    if kind == WEIGHT:
        scores.over[u] = scores.weight[u]
        return
    gather(held, scores, scratch, u)
    neighbours = size(scratch.union)
    if kind == NEIGHBOURS:
        scores.over[u] = neighbours
    else:
        scores.under[u] = max(neighbours, 1)
        scores.fewest[u] = neighbours


@inner
def link_star(
    held: TopicRows, scores: Scores, scratch: Scratch, hub: Int, edges: Int, us: Ids, vs: Ids, gains: Ids
) -> Int:
    """Link the hub to its neighbours in node order; return the number of edges so far.

    No earlier star touches an open topic, since its hub would have closed the topic. So a link merges every
    open topic that the hub and the neighbour share.
    """
    count = gather(held, scores, scratch, hub)
    for i in range(count):
        topic = scratch.own[i]
        for slot in range(held.topic_ptr[topic], held.topic_ptr[topic + 1]):
            scratch.common[held.topic_nodes[slot]] += 1
    scratch.common[hub] = 0
    for j in range(np.uint64(len(scratch.union))):
        word = scratch.union[j]
        while word != NOTHING:
            v = np.int64((j << SIX) | lowest_bit(word))
            word &= word - ONE
            us[edges], vs[edges], gains[edges] = min(hub, v), max(hub, v), scratch.common[v]
            scratch.common[v] = 0
            edges += 1
    return edges


@inner
def close_topics(held: TopicRows, scores: Scores, scratch: Scratch, hub: Int, kind: Int) -> None:
    """Close the topics of the hub, listed in `own`, and update the bounds of their subscribers."""
    count, touched = scores.topics[hub], 0
    for i in range(count):
        topic = scratch.own[i]
        scores.remaining[topic] = False
        scores.hub[topic] = hub
        begin, end = held.topic_ptr[topic], held.topic_ptr[topic + 1]
        touched += end - begin
        for slot in range(begin, end):
            v = held.topic_nodes[slot]
            scores.weight[v] -= end - begin - 1
            scores.fewest[v] -= end - begin - 1
            scores.topics[v] -= 1
            estimate(scores, np.int64(v), kind)
    if kind != DENSITY:
        return  # these scores only fall: the old bounds stay valid
    # A density can rise, so the tournament must be updated: all of it where many nodes changed.
    if touched * 8 > len(scores.winner):
        replay_all(scores)
        return
    for i in range(count):
        for slot in range(held.topic_ptr[scratch.own[i]], held.topic_ptr[scratch.own[i] + 1]):
            replay(scores, np.int64(held.topic_nodes[slot]))


@kernel
def link_hubs(
    held: TopicRows, scores: Scores, scratch: Scratch, kind: Int, us: Ids, vs: Ids, gains: Ids
) -> Int:
    """Link hub after hub until no topic is open; return the number of edges written.

    The next hub is the node with the best score; a star of it closes its open topics. A score is an estimate
    from above until its node comes first, and only then evaluated (lazy greedy). Invariant: `scores.winner`
    is a tournament over the estimates, so a node with an exact score at its top is the best of all. Cost: an
    estimate for each node, and for each evaluation the topics of a node and O(log |V|).
    """
    edges: Int = np.int64(0)
    # At first each pair of a node and a subscriber of its topics counts in full: an estimate from above.
    for v in range(len(scores.weight)):
        for i in range(held.node_ptr[v], held.node_ptr[v + 1]):
            topic = held.node_topics[i]
            if scores.remaining[topic]:
                scores.weight[v] += held.topic_ptr[topic + 1] - held.topic_ptr[topic] - 1
                scores.topics[v] += 1
        scores.over[v], scores.under[v] = scores.weight[v], 1
        estimate(scores, np.int64(v), kind)
    replay_all(scores)
    while True:
        top = np.int64(scores.winner[1])
        if top < 0 or scores.over[top] == 0:
            return edges
        if scores.exact[top]:
            # Closing its topics lowers other scores: these are estimates again.
            edges = link_star(held, scores, scratch, top, edges, us, vs, gains)
            close_topics(held, scores, scratch, top, kind)
        else:
            evaluate(held, scores, scratch, top, kind)
        replay(scores, top)
