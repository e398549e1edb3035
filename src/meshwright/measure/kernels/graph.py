"""The compiled loops behind the measures: plain arrays in, plain arrays out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import compiled

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets

    Flags: TypeAlias = NDArray[np.bool_]


@compiled
def root(parent: Ids, slot: int) -> int:
    """Follow parents to the top, halving the path."""
    while parent[slot] != slot:
        parent[slot] = parent[parent[slot]]
        slot = parent[slot]
    return slot


@compiled
def contributions(node_ptr: Offsets, node_topics: Ids, topics: int, apart: int, u: Ids, v: Ids) -> Ids:
    """Join the subscriptions of each edge's ends, topic by topic, and count the joins that were new.

    `apart` is how many joins connect every topic: then there is nothing left to count. Shared topics are
    listed first and joined then, as nobody can foresee which topics these are.
    """
    parent = np.arange(len(node_topics)).astype(np.int32)
    gains = np.zeros(len(u), dtype=np.int32)
    place, shared = np.full(topics, -1, dtype=np.int32), np.empty(topics + 1, dtype=np.int32)
    for edge in range(len(u)):
        if apart == 0:
            break
        begin, end = node_ptr[u[edge]], node_ptr[u[edge] + 1]
        for i in range(begin, end):
            place[node_topics[i]] = i
        count = 0
        for j in range(node_ptr[v[edge]], node_ptr[v[edge] + 1]):
            i = place[node_topics[j]]  # of another node than u, if that does not have the topic
            shared[count] = j
            count += int(begin <= i) & int(i < end)
        for k in range(count):
            j = shared[k]
            a, b = root(parent, place[node_topics[j]]), root(parent, j)
            # The lower slot becomes the root: path halving alone keeps trees shallow enough.
            parent[max(a, b)] = min(a, b)
            gains[edge] += int(a != b)
        apart -= gains[edge]
    return gains


@compiled
def induce(
    members: Ids, ptr: Offsets, nodes: Ids, edges: Ids, local: Ids, sub_ptr: Offsets, sub: Ids, sub_edges: Ids
) -> None:
    """Write the sub-overlay that `members` induce, numbered by their position, into the `sub` arrays.

    `local` has -1 for every node, before and after.
    """
    for i in range(len(members)):
        local[members[i]] = i
    filled = 0
    for i in range(len(members)):
        for slot in range(ptr[members[i]], ptr[members[i] + 1]):
            if local[nodes[slot]] >= 0:
                sub[filled] = local[nodes[slot]]
                sub_edges[filled] = edges[slot]
                filled += 1
        sub_ptr[i + 1] = filled
    for i in range(len(members)):
        local[members[i]] = -1


@compiled
def mark_bridges(ptr: Offsets, nodes: Ids, edges: Ids, count: int, work: Ids, found: Flags) -> None:
    """Mark the bridges of a graph of `count` nodes in `found`, which has a place for each edge.

    Tarjan's search without recursion: an edge to a child is a bridge when nothing below the child reaches
    above it. `work` has five rows of at least `count`.
    """
    seen, low, above, cursor, stack = work[0], work[1], work[2], work[3], work[4]
    seen[:count] = -1
    clock = 0
    for start in range(count):
        if seen[start] >= 0:
            continue
        depth = 0
        stack[0], above[start], cursor[start] = start, -1, ptr[start]
        seen[start] = low[start] = clock
        clock += 1
        while depth >= 0:
            here = stack[depth]
            if cursor[here] < ptr[here + 1]:
                slot = cursor[here]
                cursor[here] += 1
                there = nodes[slot]
                if seen[there] < 0:
                    depth += 1
                    stack[depth], above[there], cursor[there] = there, edges[slot], ptr[there]
                    seen[there] = low[there] = clock
                    clock += 1
                elif edges[slot] != above[here]:
                    low[here] = min(low[here], seen[there])
            else:
                depth -= 1
                if depth >= 0:
                    parent = stack[depth]
                    low[parent] = min(low[parent], low[here])
                    if low[here] > seen[parent]:
                        found[above[here]] = True


@compiled
def topic_bridges(topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids, edges: Ids) -> Flags:
    """Say of each edge whether it is a bridge of the sub-overlay that some topic's subscribers induce."""
    most = np.max(np.diff(topic_ptr)) if len(topic_ptr) > 1 else 0
    local = np.full(len(ptr) - 1, -1, dtype=np.int32)
    sub_ptr = np.zeros(most + 1, dtype=np.int64)
    sub, sub_edges = np.empty(len(nodes), dtype=np.int32), np.empty(len(nodes), dtype=np.int32)
    work = np.empty((5, most), dtype=np.int32)
    found = np.zeros(len(nodes) // 2, dtype=np.bool_)
    for topic in range(len(topic_ptr) - 1):
        members = topic_nodes[topic_ptr[topic] : topic_ptr[topic + 1]]
        induce(members, ptr, nodes, edges, local, sub_ptr, sub, sub_edges)
        mark_bridges(sub_ptr, sub, sub_edges, len(members), work, found)
    return found


@compiled
def sweep(ptr: Offsets, nodes: Ids, source: int, distance: Ids, queue: Ids) -> int:
    """Search breadth-first from a node; fill the distances, and return how many nodes were reached.

    `distance` has -1 for every node before; the nodes reached are the first ones of `queue`.
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
    """Return the longest distance between two terminals (-1: not connected), and whether it is exact.

    Each search from a terminal s bounds the eccentricity of every other terminal v, by the triangle
    inequality, to max(d, ecc(s) − d) … ecc(s) + d with d = d(s, v). Terminals that cannot exceed the best so
    far need no search. Searches start, in turn, where the lower bound is least (towards the middle) and where
    the upper bound is greatest (towards the rim), ties by position.
    """
    count = len(terminals)
    lower[:count] = 0
    upper[:count] = len(ptr)
    best = 0
    for turn in range(effort + 1):
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

    At most `effort` searches for each topic; if that is 0, as many as fit in `share` steps, at least two.
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
                away = distance[topic_nodes[i]]
                if away < 0:
                    of_topic[topic] = -1
                elif of_topic[topic] >= 0:
                    of_topic[topic] = max(of_topic[topic], away)
        for i in range(reached):
            distance[queue[i]] = -1
    return of_topic
