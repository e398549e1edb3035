"""The compiled loops behind the look for subscribers whose failure splits a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import compiled
from meshwright.measure.kernels.graph import induce

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets

WHOLE, SPLIT = -2, -1
"""What is said of a topic that no failure splits, and of one that is split already."""


@compiled
def first_cut(ptr: Offsets, nodes: Ids, count: int, work: Ids) -> int:
    """Return the smallest of `count` nodes whose removal splits the graph, or SPLIT, or WHOLE.

    Tarjan's search without recursion: a node other than the root is a cut when nothing below one of its
    children reaches above the node; the root is one when it has two children. `work` has five rows of at
    least `count`.
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
                low[here] = min(low[here], seen[there])
            else:
                depth += 1
                stack[depth], cursor[there], seen[there], low[there] = there, ptr[there], clock, clock
                clock += 1
                children += int(here == 0)
        else:
            depth -= 1
            if depth > 0:
                parent = stack[depth]
                low[parent] = min(low[parent], low[here])
                cuts[parent] |= int(low[here] >= seen[parent])
    cuts[0] = int(children > 1)
    if clock < count:
        return SPLIT
    for i in range(count):
        if cuts[i]:
            return i
    return WHOLE


@compiled
def topic_cuts(topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids, edges: Ids) -> Ids:
    """Return for each topic the first subscriber whose failure splits it, or SPLIT, or WHOLE."""
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
