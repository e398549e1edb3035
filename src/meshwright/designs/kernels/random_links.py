"""Random contributing edges (RandomA, RandomM, icdcs16, section IX), all equally likely.

Invariant: `pairs` counts, for each topic, the pairs of open subscribers (those that may take one more link)
in different components. Drawing a topic by that count, and then such a pair, draws an edge with a probability
proportional to its contribution; the edge is accepted with probability 1 / contribution. When no topic has
such a pair, no edge contributes. The state is not the engine's: drawing needs counts of pairs per component
and subscribers sorted by open or closed, and no window, so a union-find over subscriptions is smaller and
faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.xorshift import below

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Ids, Int, Offsets


class Chance(NamedTuple):
    """The interest, the components of each topic, and the contributing pairs.

    A subscription is identified by its entry in `node_topics`.
    """

    node_ptr: Offsets
    """By node: the offset of its topics in `node_topics`."""
    node_topics: Ids
    """The topics of each node, ascending."""
    topic_ptr: Offsets
    """By topic: the offset of its entries in `members`."""
    owner: Ids
    """By entry: its node."""
    members: Ids
    """By topic: its entries, those of open nodes first."""
    place: Ids
    """By entry: its position in `members`."""
    open_members: Ids
    """By topic: the number of entries of open nodes."""
    parent: Ids
    """By entry: its parent in the union-find; a root is its own parent."""
    open_below: Ids
    """By root: the number of entries of open nodes in its component."""
    pairs: Offsets
    """The contributing pairs of each topic, as a Fenwick tree of partial sums."""
    degree: Ids
    """By node: its number of links."""
    stream: Bits
    """The state of the random numbers."""


@inlined
def root(parent: Ids, entry: Int) -> Int:
    """Return the root of an entry, halving the path to it."""
    while parent[entry] != entry:
        parent[entry] = parent[parent[entry]]
        entry = parent[entry]
    return entry


@inlined
def add_pairs(pairs: Offsets, topic: Int, count: Int) -> None:
    """Add to the count of pairs of a topic."""
    i = topic + 1
    while i < len(pairs):
        pairs[i] += count
        i += i & -i


@inlined
def topic_of(pairs: Offsets, ahead: Int) -> Int:
    """Return the topic of the pair number `ahead`, by descending the Fenwick tree."""
    step, i = np.int64(1), np.int64(0)
    while 2 * step < len(pairs):
        step *= 2
    while step > 0:
        if i + step < len(pairs) and pairs[i + step] <= ahead:
            i += step
            ahead -= pairs[i]
        step //= 2
    return i


@inlined
def contribution(held: Chance, u: Int, v: Int) -> int:
    """Count the topics that an edge between u and v would merge."""
    i, i_end, j, j_end = held.node_ptr[u], held.node_ptr[u + 1], held.node_ptr[v], held.node_ptr[v + 1]
    count = 0
    while i < i_end and j < j_end:
        mine, yours = held.node_topics[i], held.node_topics[j]
        if mine == yours:
            count += int(root(held.parent, i) != root(held.parent, j))
        i += int(mine <= yours)
        j += int(yours <= mine)
    return count


@inner
def link(held: Chance, u: Int, v: Int) -> Int:
    """Merge the components that the edge (u, v) joins; return how many pairs no longer contribute."""
    i, i_end, j, j_end = held.node_ptr[u], held.node_ptr[u + 1], held.node_ptr[v], held.node_ptr[v + 1]
    gone = np.int64(0)
    while i < i_end and j < j_end:
        mine, yours = held.node_topics[i], held.node_topics[j]
        if mine == yours:
            a, b = root(held.parent, i), root(held.parent, j)
            if a != b:
                merged = np.int64(held.open_below[a]) * np.int64(held.open_below[b])
                add_pairs(held.pairs, np.int64(mine), -merged)
                gone += merged
                top = min(a, b)
                held.parent[max(a, b)] = top
                held.open_below[top] = held.open_below[a] + held.open_below[b]
        i += int(mine <= yours)
        j += int(yours <= mine)
    return gone


@inner
def close(held: Chance, v: Int) -> Int:
    """Close a node to further links; return the number of pairs that this removes."""
    gone = np.int64(0)
    for i in range(held.node_ptr[v], held.node_ptr[v + 1]):
        topic, top = np.int64(held.node_topics[i]), root(held.parent, i)
        lost = np.int64(held.open_members[topic] - held.open_below[top])
        add_pairs(held.pairs, topic, -lost)
        gone += lost
        # Swap the entry behind the last open one, so that open entries stay first.
        held.open_below[top] -= 1
        held.open_members[topic] -= 1
        here, last = held.place[i], held.topic_ptr[topic] + held.open_members[topic]
        other = held.members[last]
        held.members[here], held.members[last] = other, i
        held.place[other], held.place[i] = here, last
    return gone


@kernel
def add_random_edges(held: Chance, max_edges: Int, max_degree: Int, us: Ids, vs: Ids, gains: Ids) -> int:
    """Add random contributing edges until a budget ends or none is left; return the number written."""
    left: Int = np.int64(0)
    edges = 0
    for topic in range(len(held.open_members)):
        members = np.int64(held.open_members[topic])
        left += members * (members - 1) // 2
        add_pairs(held.pairs, np.int64(topic), members * (members - 1) // 2)
    while left > 0 and edges < max_edges:
        drawn = topic_of(held.pairs, below(held.stream, np.int64(0), left))
        first, members = held.topic_ptr[drawn], np.int64(held.open_members[drawn])
        # Draw two open subscribers until they are in different components.
        while True:
            a = np.int64(held.members[first + below(held.stream, np.int64(0), members)])
            b = np.int64(held.members[first + below(held.stream, np.int64(0), members)])
            if root(held.parent, a) != root(held.parent, b):
                break
        u, v = np.int64(held.owner[a]), np.int64(held.owner[b])
        gain = np.int64(contribution(held, u, v))
        # The edge is drawn once for each topic that it merges: accept it with probability 1 / gain.
        if gain > 1 and below(held.stream, np.int64(0), gain) > 0:
            continue
        us[edges], vs[edges], gains[edges] = min(u, v), max(u, v), gain
        edges += 1
        left -= link(held, u, v)
        held.degree[u] += 1
        if held.degree[u] == max_degree:
            left -= close(held, u)
        held.degree[v] += 1
        if held.degree[v] == max_degree:
            left -= close(held, v)
    return edges
