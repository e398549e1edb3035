"""Diameters of topics, by breadth-first searches.

Invariant between searches: `distance` is −1 everywhere; each search resets what it reached. Cost of a search:
the links of what it reaches, and a look at every terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import compiled
from meshwright.measure.kernels.induced import induce

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets

    Flags: TypeAlias = NDArray[np.bool_]


@compiled
def sweep(ptr: Offsets, nodes: Ids, source: int, distance: Ids, queue: Ids) -> int:
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


@compiled
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
        reached = sweep(ptr, nodes, terminals[chosen], distance, queue)
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
        reached = sweep(ptr, nodes, source, distance, queue)
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
