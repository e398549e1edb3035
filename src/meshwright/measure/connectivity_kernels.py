"""Kernels of connectivity: contributions by union-find, and Tarjan's search for bridges and cut nodes.

**Union-find.** A *slot* is one subscription: a position in `node_topics`. `parent` is a forest over the
slots. Invariant: two slots have the same root exactly if they are of one topic and the edges so far connect
their nodes within it. Cost of an edge: the topics of its two ends, times the depth of the trees, which path
halving keeps small.

**Tarjan's search**, without recursion, runs in the sub-overlay that the subscribers of a topic induce. `seen`
is when the search first met a node, counted from 0, or −1. `low` is the earliest node that the subtree of a
node reaches by a link of its own. Invariant: the nodes of `stack` are the way from the root to where the
search is, and `low` of every finished node is final. Cost: linear in the edges of all sub-overlays together.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, Offsets
from meshwright.jit.compiler import compiled, helper, inlined, kernel

Flags: TypeAlias = NDArray[np.bool_]

WHOLE, SPLIT = -2, -1
"""The answers for a topic that no failure splits, and for one that is already split."""


@inlined
def root(parent: Ids, slot: int) -> int:
    """Follow parents to the root, halving the path."""
    while parent[slot] != slot:
        parent[slot] = parent[parent[slot]]
        slot = parent[slot]
    return slot


class JoinMemory(NamedTuple):
    """Working memory of `count_contributions`, allocated by its caller: numba compiles allocation slowly."""

    parent: Ids
    """By slot: its parent; at first, itself."""
    place: Ids
    """By topic: where a node has it; at first −1."""
    shared: Ids
    """Room for the slots of a node, one more than there are topics."""


@kernel
def count_contributions(
    node_ptr: Offsets, node_topics: Ids, apart: int, u: Ids, v: Ids, memory: JoinMemory, gains: Ids
) -> None:
    """Join the slots of each edge's ends, topic by topic; add to `gains` how many joins of an edge were new.

    `apart` is the number of joins that connect every topic: once it is reached, nothing is left to count.
    """
    parent, place, shared = memory.parent, memory.place, memory.shared
    for edge in range(len(u)):
        if apart == 0:
            break
        begin, end = node_ptr[u[edge]], node_ptr[u[edge] + 1]
        for i in range(begin, end):
            place[node_topics[i]] = i
        # Which topics of v are shared is unpredictable, so no branch decides: every slot of v is written, and
        # the count advances past it only if u has the topic. `place` is never cleared: it may hold a slot of
        # an earlier node, which is outside of u's own range.
        count = 0
        for j in range(node_ptr[v[edge]], node_ptr[v[edge] + 1]):
            i = place[node_topics[j]]
            shared[count] = j
            count += (begin <= i) & (i < end)
        for k in range(count):
            j = shared[k]
            a, b = root(parent, place[node_topics[j]]), root(parent, j)
            # The lower slot becomes the root; where both are the same, this changes nothing.
            parent[max(a, b)] = min(a, b)
            gains[edge] += a != b
        apart -= gains[edge]


@helper
def induce(
    members: Ids, ptr: Offsets, nodes: Ids, edges: Ids, local: Ids, sub_ptr: Offsets, sub: Ids, sub_edges: Ids
) -> None:
    """Write the sub-overlay that some nodes induce into `sub_ptr`, `sub` and `sub_edges`.

    Its nodes are numbered by their position in `members`; its layout is that of `Adjacency`. Cost: the links
    of the members. `local` has −1 for every node, before and after.
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


@helper
def mark_bridges(ptr: Offsets, nodes: Ids, edges: Ids, count: int, work: Ids, found: Flags) -> None:
    """Mark the bridges of a graph of `count` nodes in `found`, which has an entry for each edge.

    An edge to a child is a bridge if nothing below the child reaches above it. `work` has five rows of at
    least `count`.
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
                    # Not the way we came: a way around, to a node that is already on the stack or below.
                    low[here] = min(low[here], seen[there])
            else:
                # All links of `here` are followed: hand its reach to the parent, and judge the edge between.
                depth -= 1
                if depth >= 0:
                    parent = stack[depth]
                    low[parent] = min(low[parent], low[here])
                    if low[here] > seen[parent]:
                        found[above[here]] = True


@compiled
def topic_bridges(topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids, edges: Ids) -> Flags:
    """Return for each edge whether it is a bridge of a sub-overlay that some topic's subscribers induce."""
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


@helper
def first_cut(ptr: Offsets, nodes: Ids, count: int, work: Ids) -> int:
    """Return the smallest of `count` nodes whose removal splits the graph, or SPLIT, or WHOLE.

    A node other than the root is a cut node if nothing below one of its children reaches above the node; the
    root is one if it has two children. `work` has five rows of at least `count`.
    """
    seen, low, cursor, stack, cuts = work[0], work[1], work[2], work[3], work[4]
    seen[:count] = -1
    cuts[:count] = 0
    stack[0], cursor[0], seen[0], low[0] = 0, ptr[0], 0, 0
    clock, depth, children = 1, 0, 0
    while depth >= 0:
        here = stack[depth]
        if cursor[here] < ptr[here + 1]:
            there = nodes[cursor[here]]
            cursor[here] += 1
            if seen[there] >= 0:
                # The link back to the parent counts as well: it cannot reach above the parent.
                low[here] = min(low[here], seen[there])
            else:
                depth += 1
                stack[depth], cursor[there], seen[there], low[there] = there, ptr[there], clock, clock
                clock += 1
                children += int(here == 0)
        else:
            depth -= 1
            # At depth 0 the parent is the root, which is judged by its children at the end.
            if depth > 0:
                parent = stack[depth]
                low[parent] = min(low[parent], low[here])
                cuts[parent] |= int(low[here] >= seen[parent])
    cuts[0] = int(children > 1)
    # The search starts once: what it does not reach is another component.
    if clock < count:
        return SPLIT
    for i in range(count):
        if cuts[i]:
            return i
    return WHOLE


@compiled
def topic_cuts(topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids, edges: Ids) -> Ids:
    """Return for each topic the smallest subscriber whose failure splits it, or SPLIT, or WHOLE."""
    topics = len(topic_ptr) - 1
    cuts = np.full(topics, WHOLE, dtype=np.int32)
    most = np.max(np.diff(topic_ptr)) if topics else 0
    local = np.full(len(ptr) - 1, -1, dtype=np.int32)
    sub_ptr = np.zeros(most + 1, dtype=np.int64)
    sub, sub_edges = np.empty(len(nodes), dtype=np.int32), np.empty(len(nodes), dtype=np.int32)
    work = np.empty((5, most), dtype=np.int32)
    for topic in range(topics):
        members = topic_nodes[topic_ptr[topic] : topic_ptr[topic + 1]]
        if len(members) > 1:
            induce(members, ptr, nodes, edges, local, sub_ptr, sub, sub_edges)
            cut = first_cut(sub_ptr, sub, len(members), work)
            cuts[topic] = cut if cut < 0 else members[cut]
    return cuts
