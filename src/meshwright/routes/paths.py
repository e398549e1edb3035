"""Kernels of paths: breadth-first search, the middle of a graph, hops in trees, stretch over shortest paths.

`search` costs one step per link. `find_middle` prunes by lower bounds on the eccentricity and usually needs a
few searches instead of one per node. `count_hops` never enumerates pairs: it merges depth histograms from the
leaves up, along the deepest child, so its cost is the number of nodes plus the merged histogram lengths.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, Offsets
from meshwright.jit.compiler import compiled, inner
from meshwright.measure.connectivity import Adjacency

Flags: TypeAlias = NDArray[np.bool_]
Counts: TypeAlias = NDArray[np.int64]


@inner
def search(
    ptr: Offsets,
    nodes: Ids,
    edges: Ids,
    source: int,
    count: int,
    distance: Ids,
    queue: Ids,
    above: Ids,
    by: Ids,
) -> int:
    """Search breadth-first from a node; return how many nodes it reaches, the first of `queue`."""
    distance[:count] = -1
    queue[0], distance[source], above[source], by[source] = source, 0, -1, -1
    reached, taken = 1, 0
    while taken < reached:
        here = queue[taken]
        taken += 1
        for slot in range(ptr[here], ptr[here + 1]):
            there = nodes[slot]
            if distance[there] < 0:
                distance[there] = distance[here] + 1
                above[there], by[there] = here, edges[slot]
                queue[reached] = there
                reached += 1
    return reached


@inner
def find_middle(ptr: Offsets, nodes: Ids, edges: Ids, count: int, work: Ids) -> int:
    """Return a node of the lowest eccentricity in a connected graph of `count` nodes.

    After a search from s, the eccentricity of v is at least max(d, ecc(s) − d) with d = d(s, v). Searches
    start in turn at the node with the smallest bound and at the node furthest from it, which raises the
    bounds around it. Nodes whose bound reaches the best eccentricity need no search.
    """
    distance, queue, above, by, least = work[0], work[1], work[2], work[3], work[4]
    least[:count] = 0
    best, lowest = 0, count
    while True:
        # The node with the smallest lower bound, then the most links, then the smallest index.
        chosen = -1
        for v in range(count):
            if least[v] < lowest and (
                chosen < 0
                or least[v] < least[chosen]
                or (least[v] == least[chosen] and ptr[v + 1] - ptr[v] > ptr[chosen + 1] - ptr[chosen])
            ):
                chosen = v
        if chosen < 0:
            return best
        for _ in range(2):
            last = queue[search(ptr, nodes, edges, chosen, count, distance, queue, above, by) - 1]
            furthest = distance[last]
            if furthest < lowest:
                best, lowest = chosen, furthest
            for v in range(count):
                least[v] = max(least[v], distance[v], furthest - distance[v])
            # The bound `count` marks a node from which a search has started.
            least[chosen] = count
            if least[last] == count:
                break
            chosen = last


@compiled
def count_hops(tree_ptr: Offsets, above: Ids, counted: Flags) -> tuple[Counts, Counts, Counts, Counts]:
    """Return for each tree the hops between all pairs of counted nodes: sum, pairs, 95th percentile, most.

    Every node has a histogram of the counted nodes below it, by depth. It shares the histogram of its deepest
    child, shifted by one, and adds those of the other children. So all histograms fit in one array with one
    entry per node, and no pair is visited.
    """
    topics = len(tree_ptr) - 1
    most = np.max(np.diff(tree_ptr)) if topics else 0
    height, row = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int64)
    first, deepest = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    below, hops = np.empty(most, dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
    total, pairs = np.zeros(topics, dtype=np.int64), np.zeros(topics, dtype=np.int64)
    usual, longest = np.zeros(topics, dtype=np.int64), np.zeros(topics, dtype=np.int64)
    for topic in range(topics):
        start, count = tree_ptr[topic], tree_ptr[topic + 1] - tree_ptr[topic]
        if count < 2:
            continue
        # Children come after parents, so one pass from the end finds heights and deepest children.
        height[:count], deepest[:count], first[:count], hops[:count] = 0, -1, count, 0
        for i in range(count - 1, 0, -1):
            p = above[start + i]
            first[p] = i
            if deepest[p] < 0 or height[i] + 1 > height[p]:
                deepest[p], height[p] = i, height[i] + 1
        # A deepest child starts its histogram one entry after its parent's; others get a free stretch.
        free = 0
        for i in range(count):
            if i > 0 and deepest[above[start + i]] == i:
                row[i] = row[above[start + i]] + 1
            else:
                row[i] = free
                free += height[i] + 1
        # From the leaves up: pairs with p itself, then pairs across two children of p, then the merge.
        for p in range(count - 1, -1, -1):
            own = row[p]
            below[own] = counted[start + p]
            for far in range(1, height[p] + 1 if counted[start + p] else 0):
                hops[far] += below[own + far]
            child = first[p]
            while child < count and above[start + child] == p:
                if child != deepest[p]:
                    for i in range(height[child] + 1):
                        here = below[row[child] + i]
                        for j in range(height[p] + 1 if here else 0):
                            hops[i + 1 + j] += here * below[own + j]
                    for i in range(height[child] + 1):
                        below[own + 1 + i] += below[row[child] + i]
                child += 1
        for far in range(1, count):
            pairs[topic] += hops[far]
            total[topic] += far * hops[far]
            if hops[far]:
                longest[topic] = far
        # The smallest number of hops that covers 95% of the pairs.
        seen = 0
        for far in range(1, count):
            seen += hops[far]
            if 100 * seen >= 95 * pairs[topic]:
                usual[topic] = far
                break
    return total, pairs, usual, longest


@compiled
def stretch(
    sources: Ids,
    source_ptr: Offsets,
    entries: Counts,
    entry_topics: Ids,
    tree_ptr: Offsets,
    tree_nodes: Ids,
    above: Ids,
    counted: Flags,
    links: Adjacency,
) -> tuple[float, int, float]:
    """Return the sum, number and maximum of tree hops over overlay hops, from the sources to all others.

    `entries[source_ptr[i]:source_ptr[i + 1]]` are the positions of source i in trees.
    """
    ptr, nodes, edges = links
    count = len(ptr) - 1
    most = np.max(np.diff(tree_ptr)) if len(tree_ptr) > 1 else 0
    work, away = np.empty((4, count), dtype=np.int32), np.empty(most, dtype=np.int32)
    total, pairs, worst = 0.0, 0, 0.0
    for i in range(len(sources)):
        search(ptr, nodes, edges, sources[i], count, work[0], work[1], work[2], work[3])
        for k in range(source_ptr[i], source_ptr[i + 1]):
            start, end = tree_ptr[entry_topics[k]], tree_ptr[entry_topics[k] + 1]
            # Distances along the path from the source to the root; the rest follow from their parents.
            away[: end - start] = -1
            here, steps = entries[k] - start, 0
            while here >= 0:
                away[here] = steps
                steps += 1
                here = above[start + here]
            for j in range(end - start):
                if away[j] < 0:
                    away[j] = away[above[start + j]] + 1
                if away[j] > 0 and counted[start + j]:
                    ratio = away[j] / work[0, tree_nodes[start + j]]
                    total += ratio
                    pairs += 1
                    worst = max(worst, ratio)
    return total, pairs, worst
