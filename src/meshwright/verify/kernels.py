"""Kernels of the checks: the components of every topic, and the hops between the subscribers of each tree.

Components are found by union-find over subscriptions. A *slot* is one subscription: a position in
`node_topics`. `parent` is a forest over the slots. Invariant: two slots have the same root exactly if they
are of one topic and the edges so far connect their nodes within it. Cost of an edge: the topics of its two
ends, times the depth of the trees, which path halving keeps small. No pair of subscribers is ever written
down, so large topics cost no more than small ones.

Hops: the *row* of a broker counts the subscribers below it by their depth. A broker takes over the row of its
tallest child, which then starts one place after its own, so all rows share one array with one place for each
broker of the tree. The other children are added one after the other, and pairs are counted as two rows meet.
Cost: the brokers of the tree, and for each row that is added, its length times that of the row that it meets.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, Offsets
from meshwright.jit.compiler import compiled, kernel

Numbers: TypeAlias = NDArray[np.int64]


@kernel
def join_edges(
    node_ptr: Offsets, node_topics: Ids, u: Ids, v: Ids, parent: Ids, gains: Ids, merged: Ids
) -> None:
    """Join the slots of each edge's ends, for every topic that both subscribe to.

    `parent` starts as the slots themselves and is kept between calls. Each join of two different trees adds 1
    to `gains` of the edge and to `merged` of the topic.
    """
    for edge in range(len(u)):
        i, i_end = node_ptr[u[edge]], node_ptr[u[edge] + 1]
        j, j_end = node_ptr[v[edge]], node_ptr[v[edge] + 1]
        # The topics of a node ascend, so one pass over both lists meets every common topic.
        while i < i_end and j < j_end:
            if node_topics[i] < node_topics[j]:
                i += 1
            elif node_topics[i] > node_topics[j]:
                j += 1
            else:
                a, b = np.int64(i), np.int64(j)
                # Path halving: every second slot on the way is linked to its grandparent.
                while parent[a] != a:
                    parent[a] = parent[parent[a]]
                    a = np.int64(parent[a])
                while parent[b] != b:
                    parent[b] = parent[parent[b]]
                    b = np.int64(parent[b])
                if a != b:
                    # The lower slot becomes the root: path halving alone keeps trees shallow enough.
                    parent[max(a, b)] = min(a, b)
                    gains[edge] += 1
                    merged[node_topics[i]] += 1
                i += 1
                j += 1


@compiled
def count_hops(
    ptr: Numbers, above: Numbers, subscribes: NDArray[np.bool_]
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return for each tree the hops between two subscribers: sum, pairs, 95th percentile, most.

    The tree t has the positions `ptr[t]` to `ptr[t + 1]`, the root first and children after their parents;
    `above` is the position of the parent.
    """
    trees = len(ptr) - 1
    total, pairs = np.zeros(trees, dtype=np.int64), np.zeros(trees, dtype=np.int64)
    usual, most = np.zeros(trees, dtype=np.int64), np.zeros(trees, dtype=np.int64)
    for tree in range(trees):
        start, size = ptr[tree], ptr[tree + 1] - ptr[tree]
        parent = above[start : start + size] - start
        height, tallest = np.zeros(size, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        for v in range(size - 1, 0, -1):
            if tallest[parent[v]] < 0 or height[v] >= height[parent[v]]:
                tallest[parent[v]], height[parent[v]] = v, height[v] + 1
        # The rest of the children, as a list for each broker: its head, and who comes next.
        head, following = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        place, free = np.zeros(size, dtype=np.int64), height[0] + 1
        for v in range(1, size):
            if tallest[parent[v]] == v:
                place[v] = place[parent[v]] + 1
            else:
                following[v], head[parent[v]] = head[parent[v]], v
                place[v] = free
                free += height[v] + 1
        row, far = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        # Children come after their parents: going back, the rows of all children are complete.
        for v in range(size - 1, -1, -1):
            own = place[v]
            if subscribes[start + v]:
                for depth in range(1, height[v] + 1):
                    far[depth] += row[own + depth]
                row[own] = 1
            child = head[v]
            while child >= 0:
                other = place[child]
                for depth in range(height[child] + 1):
                    for met in range(height[v] + 1 if row[other + depth] else 0):
                        far[depth + 1 + met] += row[other + depth] * row[own + met]
                for depth in range(height[child] + 1):
                    row[own + depth + 1] += row[other + depth]
                child = following[child]
        for hops in range(1, size):
            pairs[tree] += far[hops]
            total[tree] += hops * far[hops]
            if far[hops]:
                most[tree] = hops
        # The fewest hops that at least 95% of the pairs keep to.
        within, hops = 0, 0
        while 100 * within < 95 * pairs[tree]:
            hops += 1
            within += far[hops]
        usual[tree] = hops
    return total, pairs, usual, most
