"""Bridges and cut nodes of the sub-overlays that topics induce: Tarjan's search, without recursion.

`seen` is when the search first met a node, counted from 0, or −1. `low` is the earliest node that the subtree
of a node reaches by a link of its own. Invariant: the nodes of `stack` are the way from the root to where the
search is, and `low` of every finished node is final. Cost: linear in the edges of all sub-overlays together.
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

WHOLE, SPLIT = -2, -1
"""The answers for a topic that no failure splits, and for one that is already split."""


@compiled
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


@compiled
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
