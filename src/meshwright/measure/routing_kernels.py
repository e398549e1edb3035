"""Kernels of routing costs: diameters by breadth-first search, and approximate Steiner trees for relays.

**Diameters.** Invariant between searches: `distance` is −1 everywhere; each search resets what it reached.
Cost of a search: the links of what it reaches, and a look at every terminal.

**Steiner trees** in a graph of unit edges: the relays that a topic needs, and a lower bound. Mehlhorn's
algorithm (1988) finds a tree of at most twice the fewest edges. All terminals search at once, breadth first,
so that each node belongs to its nearest terminal: its Voronoi region. An edge between two regions, as long as
the depths of its ends and 1 together, stands for a path between their terminals, and a shortest spanning tree
of such paths is one of all distances between terminals. With unit edges, Kruskal's order is that of the
search: edges between depths l − 1 and l, then those within depth l. Every path stays in the search trees of
its two regions, so their union is a tree already and its leaves are terminals.

Lower bound: terminals that are linked to each other count as one piece; `pieces` are left, joined by paths of
`total` length in all, `longest` the longest. Walking around any Steiner tree of e edges, each edge twice,
goes in a circle from piece to piece. Without its longest hop this spans the pieces, so it is at least `total`
long, and that hop is at least `longest`. So 2e ≥ total + longest, and the tree has e + 1 − pieces relays.
`rank_relays` has another bound, which is better where hubs join many pieces.

Cost: the links of the nodes that the search reaches. It ends as soon as all terminals are joined.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Ids, Offsets
from meshwright.jit.compiler import compiled, helper
from meshwright.measure.connectivity_kernels import Flags, induce, root


@helper
def breadth_first(ptr: Offsets, nodes: Ids, source: int, distance: Ids, queue: Ids) -> int:
    """Search breadth-first from a node; fill the distances, and return the number of nodes reached.

    `distance` has −1 for every node before; the nodes reached are the first ones of `queue`.
    """
    queue[0] = source
    distance[source] = 0
    reached = 1
    taken = 0
    while taken < reached:
        here = queue[taken]
        taken += 1
        for slot in range(ptr[here], ptr[here + 1]):
            there = nodes[slot]
            if distance[there] < 0:
                distance[there] = distance[here] + 1
                queue[reached] = there
                reached += 1
    return reached


@helper
def diameter(
    ptr: Offsets, nodes: Ids, terminals: Ids, effort: int, distance: Ids, queue: Ids, lower: Ids, upper: Ids
) -> tuple[int, bool]:
    """Return the longest distance between two terminals (−1: not connected), and whether it is exact.

    `lower` and `upper` bound the eccentricity of each terminal, its distance to the furthest other one. A
    search from a terminal s bounds that of every terminal v, by the triangle inequality, to
    max(d, ecc(s) − d) … ecc(s) + d with d = d(s, v).
    """
    count = len(terminals)
    lower[:count] = 0
    upper[:count] = len(ptr)
    best = 0
    for turn in range(effort + 1):
        # Search where the lower bound is least (towards the middle) and where the upper bound is greatest
        # (towards the rim), in turn, ties by position. What cannot exceed the best needs no search.
        chosen = -1
        for i in range(count):
            if upper[i] > best and (
                chosen < 0
                or (turn % 2 == 0 and lower[i] < lower[chosen])
                or (turn % 2 == 1 and upper[i] > upper[chosen])
            ):
                chosen = i
        if chosen < 0:
            return best, True
        # The last turn only looks whether anything is left to search.
        if turn == effort:
            break
        reached = breadth_first(ptr, nodes, terminals[chosen], distance, queue)
        furthest = 0
        connected = True
        for i in range(count):
            connected &= distance[terminals[i]] >= 0
            furthest = max(furthest, distance[terminals[i]])
        for i in range(count):
            away = distance[terminals[i]]
            lower[i] = max(lower[i], away, furthest - away)
            upper[i] = min(upper[i], furthest + away)
        for i in range(reached):
            distance[queue[i]] = -1
        if not connected:
            return -1, True
        best = max(best, furthest)
    return best, False


@compiled
def topic_diameters(
    topic_ptr: Offsets,
    topic_nodes: Ids,
    ptr: Offsets,
    nodes: Ids,
    edges: Ids,
    inside: bool,
    effort: int,
    share: int,
) -> tuple[Ids, Flags]:
    """Return each topic's diameter, in its own sub-overlay (`inside`) or in the whole, and which are exact.

    Each topic gets at most `effort` searches; if that is 0, as many as fit in `share` steps, but at least
    two.
    """
    topics = len(topic_ptr) - 1
    of_topic, exact = np.zeros(topics, dtype=np.int32), np.ones(topics, dtype=np.bool_)
    most = np.max(np.diff(topic_ptr)) if topics else 0
    everyone = np.arange(most).astype(np.int32)
    local = np.full(len(ptr) - 1, -1, dtype=np.int32)
    sub_ptr = np.zeros(most + 1, dtype=np.int64)
    sub, sub_edges = np.empty(len(nodes), dtype=np.int32), np.empty(len(nodes), dtype=np.int32)
    distance, queue = np.full(len(ptr), -1, dtype=np.int32), np.empty(len(ptr), dtype=np.int32)
    lower, upper = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    for topic in range(topics):
        members = topic_nodes[topic_ptr[topic] : topic_ptr[topic + 1]]
        count = len(members)
        if count < 2:
            continue
        if inside:
            induce(members, ptr, nodes, edges, local, sub_ptr, sub, sub_edges)
            limit = effort if effort else max(2, share // (count + sub_ptr[count]))
            of_topic[topic], exact[topic] = diameter(
                sub_ptr, sub, everyone[:count], limit, distance, queue, lower, upper
            )
        else:
            limit = effort if effort else max(2, share // (len(ptr) + len(nodes)))
            of_topic[topic], exact[topic] = diameter(
                ptr, nodes, members, limit, distance, queue, lower, upper
            )
    return of_topic, exact


@compiled
def all_sources(
    node_ptr: Offsets, node_topics: Ids, topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids
) -> Ids:
    """Return each topic's diameter in the whole overlay, by one search from every node for all its topics."""
    of_topic = np.zeros(len(topic_ptr) - 1, dtype=np.int32)
    distance, queue = np.full(len(ptr), -1, dtype=np.int32), np.empty(len(ptr), dtype=np.int32)
    for source in range(len(ptr) - 1):
        reached = breadth_first(ptr, nodes, source, distance, queue)
        for slot in range(node_ptr[source], node_ptr[source + 1]):
            topic = node_topics[slot]
            for i in range(topic_ptr[topic], topic_ptr[topic + 1]):
                # Once a topic has −1, some subscriber cannot reach another, and it stays so.
                away = distance[topic_nodes[i]]
                if away < 0:
                    of_topic[topic] = -1
                elif of_topic[topic] >= 0:
                    of_topic[topic] = max(of_topic[topic], away)
        for i in range(reached):
            distance[queue[i]] = -1
    return of_topic


@helper
def mark(end: int, parent: Ids, marked: Ids, stamp: int) -> int:
    """Mark the nodes on the way from a node to its terminal with `stamp`; return how many are new."""
    added = 0
    # Terminals have no parent. From a marked node on, the way is marked already.
    while parent[end] >= 0 and marked[end] != stamp:
        marked[end] = stamp
        added += 1
        end = parent[end]
    return added


@helper
def rank_relays(relays: Ids, ptr: Offsets, nodes: Ids, owner: Ids, depth: Ids, groups: Ids) -> int:
    """Sort the neighbours of terminals by how many pieces each touches, most first; return a lower bound.

    Every piece needs a relay next to it. A piece whose neighbours touch at most m pieces, itself included,
    claims 1/m of a relay. The claims on one relay add up to at most 1, so all claims are a lower bound.
    """
    touched = np.zeros(len(relays), dtype=np.int32)
    most, seen_by = np.zeros(len(groups), dtype=np.int32), np.full(len(groups), -1, dtype=np.int32)
    # Twice over the same links: count the pieces of each relay, then give each piece the largest count.
    for second in range(2):
        for i in range(len(relays)):
            for slot in range(ptr[relays[i]], ptr[relays[i] + 1]):
                # Only terminals count: they have an owner and depth 0.
                if owner[nodes[slot]] < 0 or depth[nodes[slot]] != 0:
                    continue
                piece = root(groups, owner[nodes[slot]])
                if second:
                    most[piece] = max(most[piece], touched[i])
                elif seen_by[piece] != i:
                    seen_by[piece] = i
                    touched[i] += 1
    claims = 0.0
    for i in range(len(most)):
        if most[i] > 0:
            claims += 1 / most[i]
    # A stable sort: among equals, the order of the search stays.
    relays[:] = relays[np.argsort(-touched, kind="mergesort")]
    # Sums of 1/m are rounded; a bound must not be rounded up by that.
    return int(np.ceil(claims - 1e-9))


class Search(NamedTuple):
    """The working memory of a search from all terminals of a topic, kept from topic to topic."""

    owner: Ids
    """By node: the position of its nearest terminal, or −1 if it is not reached; −1 between topics."""
    depth: Ids
    """By node that is reached: its distance to that terminal."""
    parent: Ids
    """By node that is reached: the node before it on the way from that terminal, −1 for terminals."""
    marked: Ids
    """By node: the last topic whose tree has it as a relay, or −1."""
    queue: Ids
    """The nodes reached, in order."""
    groups: Ids
    """By position of a terminal: union-find over the terminals that are joined."""


@helper
def room_for_search(nodes: int, terminals: int) -> Search:
    """Make room for searches in a graph of this many nodes, from at most this many terminals."""
    return Search(
        np.full(nodes, -1, dtype=np.int32),
        np.empty(nodes, dtype=np.int32),
        np.empty(nodes, dtype=np.int32),
        np.full(nodes, -1, dtype=np.int32),
        np.empty(nodes, dtype=np.int32),
        np.empty(terminals, dtype=np.int32),
    )


@helper
def steiner(terminals: Ids, ptr: Offsets, nodes: Ids, search: Search, stamp: int) -> tuple[int, int, int]:
    """Return the relays of a tree over the terminals (−1: impossible), a lower bound, and the nodes reached.

    The relays are marked with `stamp`, a number that was not used before. The caller resets `owner` of the
    nodes reached.
    """
    owner, depth, parent, marked, queue, groups = search
    for i in range(len(terminals)):
        owner[terminals[i]], depth[terminals[i]], parent[terminals[i]] = i, 0, -1
        queue[i] = terminals[i]
        groups[i] = i
    first, reached = 0, len(terminals)
    left = pieces = len(terminals)
    relays = total = longest = level = lower = 0
    while True:
        last = reached
        # Kruskal on the nodes of this level: edges to the level before are shorter, so they come first.
        for back in range(min(level, 1), -1, -1):
            for i in range(first, last):
                here = queue[i]
                for slot in range(ptr[here], ptr[here + 1]):
                    there = nodes[slot]
                    if owner[there] < 0 or depth[there] != level - back:
                        continue
                    a, b = root(groups, owner[here]), root(groups, owner[there])
                    if a != b:
                        groups[max(a, b)] = min(a, b)
                        left -= 1
                        # Terminals that are linked to each other need no relay: they become one piece.
                        if level == 0:
                            pieces -= 1
                            continue
                        relays += mark(here, parent, marked, stamp) + mark(there, parent, marked, stamp)
                        # Lengths never fall, so the last one is the longest.
                        longest = 2 * level + 1 - back
                        total += longest
        if left == 1:
            return relays, max(lower, (total + longest + 1) // 2 + 1 - pieces), reached
        # The next level of the search: what this one reaches first belongs to the same terminal.
        for i in range(first, last):
            here = queue[i]
            for slot in range(ptr[here], ptr[here + 1]):
                there = nodes[slot]
                if owner[there] < 0:
                    owner[there], depth[there], parent[there] = owner[here], level + 1, here
                    queue[reached] = there
                    reached += 1
        if reached == last:
            return -1, -1, reached
        # Among the neighbours of terminals, those that touch more pieces join first: they save relays.
        if level == 0:
            lower = rank_relays(queue[last:reached], ptr, nodes, owner, depth, groups[: len(terminals)])
        first = last
        level += 1


@compiled
def filtering(topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids) -> tuple[Ids, Ids]:
    """Return for each topic the relays of an approximate Steiner tree and a lower bound; −1: no tree."""
    topics = len(topic_ptr) - 1
    search = room_for_search(len(ptr), np.max(np.diff(topic_ptr)) if topics else 0)
    of_topic, lower = np.zeros(topics, dtype=np.int32), np.zeros(topics, dtype=np.int32)
    for topic in range(topics):
        terminals = topic_nodes[topic_ptr[topic] : topic_ptr[topic + 1]]
        if len(terminals) < 2:
            continue
        of_topic[topic], lower[topic], reached = steiner(terminals, ptr, nodes, search, topic)
        for i in range(reached):
            search.owner[search.queue[i]] = -1
    return of_topic, lower
