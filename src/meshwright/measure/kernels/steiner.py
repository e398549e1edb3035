"""Mehlhorn's 2-approximation of Steiner trees in a graph of unit edges: plain arrays in, plain arrays out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import compiled
from meshwright.measure.kernels.graph import root

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets


@compiled
def mark(end: int, parent: Ids, marked: Ids, stamp: int) -> int:
    """Mark the way from a node to its terminal, and return how many relays that adds; `stamp` marks them."""
    added = 0
    while parent[end] >= 0 and marked[end] != stamp:
        marked[end] = stamp
        added += 1
        end = parent[end]
    return added


@compiled
def rank_relays(relays: Ids, ptr: Offsets, nodes: Ids, owner: Ids, depth: Ids, groups: Ids) -> int:
    """Sort the neighbours of terminals by how many pieces each touches, most first; return a lower bound.

    Every piece needs a relay beside it. One whose relays touch m pieces at most, it among them, claims 1 / m
    of a relay: nobody's claims on one relay exceed 1.
    """
    touched = np.zeros(len(relays), dtype=np.int32)
    most, seen_by = np.zeros(len(groups), dtype=np.int32), np.full(len(groups), -1, dtype=np.int32)
    for telling in range(2):  # count the pieces of each relay, then tell each piece the largest count
        for i in range(len(relays)):
            for slot in range(ptr[relays[i]], ptr[relays[i] + 1]):
                if owner[nodes[slot]] < 0 or depth[nodes[slot]] != 0:
                    continue
                piece = root(groups, owner[nodes[slot]])
                if telling:
                    most[piece] = max(most[piece], touched[i])
                elif seen_by[piece] != i:
                    seen_by[piece] = i
                    touched[i] += 1
    claims = 0.0
    for i in range(len(most)):
        if most[i] > 0:
            claims += 1 / most[i]
    relays[:] = relays[np.argsort(-touched, kind="mergesort")]
    return int(np.ceil(claims - 1e-9))


@compiled
def steiner(
    terminals: Ids,
    ptr: Offsets,
    nodes: Ids,
    owner: Ids,
    depth: Ids,
    parent: Ids,
    marked: Ids,
    queue: Ids,
    groups: Ids,
    stamp: int,
) -> tuple[int, int, int]:
    """Return the relays of a tree that spans the terminals (-1: none can), a lower bound, and nodes reached.

    All terminals search at once, so that each node belongs to its nearest one: the Voronoi regions. An edge
    between two regions, as long as its ends' depths and 1 together, stands for a path between their
    terminals, and a shortest spanning tree of such paths is one of all distances between terminals (Mehlhorn
    1988). With unit edges, Kruskal's order is that of the search: ends at depths l − 1 and l, then both at l.
    Every path stays in the search trees of its two regions, so their union is a tree already and its leaves
    are terminals. Among equals, neighbours of terminals that touch more pieces come first.

    Lower bound: terminals that are linked to each other count as one; `pieces` are left, joined by paths of
    `total` length in all, `longest` the longest. Walking around any Steiner tree of e edges, each edge twice,
    goes in a circle from piece to piece: without its longest hop this spans the pieces, so it is at least
    `total` long, and that hop is at least `longest`. So 2e ≥ total + longest, and there are e + 1 − pieces
    relays. `rank_relays` has another bound, better where hubs join many pieces.

    `owner` has -1 for every node before; the nodes reached are the first ones of `queue`.
    """
    for i in range(len(terminals)):
        owner[terminals[i]], depth[terminals[i]], parent[terminals[i]] = i, 0, -1
        queue[i] = terminals[i]
        groups[i] = i
    first, reached = 0, len(terminals)
    left = pieces = len(terminals)
    relays = total = longest = level = lower = 0
    while True:
        last = reached
        for back in range(min(level, 1), -1, -1):  # edges to the level before are shorter: they come first
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
                        if level == 0:
                            pieces -= 1
                            continue
                        relays += mark(here, parent, marked, stamp) + mark(there, parent, marked, stamp)
                        longest = 2 * level + 1 - back  # it never falls
                        total += longest
        if left == 1:
            return relays, max(lower, (total + longest + 1) // 2 + 1 - pieces), reached
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
        if level == 0:
            lower = rank_relays(queue[last:reached], ptr, nodes, owner, depth, groups[: len(terminals)])
        first = last
        level += 1


@compiled
def filtering(topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids) -> tuple[Ids, Ids]:
    """Return for each topic the relays of an approximate Steiner tree and a lower bound; -1 where none is."""
    topics = len(topic_ptr) - 1
    most = np.max(np.diff(topic_ptr)) if topics else 0
    owner, marked = np.full(len(ptr), -1, dtype=np.int32), np.full(len(ptr), -1, dtype=np.int32)
    depth, parent = np.empty(len(ptr), dtype=np.int32), np.empty(len(ptr), dtype=np.int32)
    queue, groups = np.empty(len(ptr), dtype=np.int32), np.empty(most, dtype=np.int32)
    of_topic, lower = np.zeros(topics, dtype=np.int32), np.zeros(topics, dtype=np.int32)
    for topic in range(topics):
        terminals = topic_nodes[topic_ptr[topic] : topic_ptr[topic + 1]]
        if len(terminals) < 2:
            continue
        of_topic[topic], lower[topic], reached = steiner(
            terminals, ptr, nodes, owner, depth, parent, marked, queue, groups, topic
        )
        for i in range(reached):
            owner[queue[i]] = -1
    return of_topic, lower
