"""Kernels of trees: one per topic, its relays, its hops, and its stretch over shortest paths.

A tree is a list of its nodes from the root outwards. `above` is the position of a node's parent in that list,
-1 for the root, and `by` is the link to the parent. Each tree spans the carriers of its topic inside the
overlay. All topics share the working arrays. The cost per topic is a breadth-first search for `hops` and a
sort of the induced links for `stable` and each round of `load`.

`search` costs one step per link. `find_middle` prunes by lower bounds on the eccentricity and usually needs a
few searches instead of one per node. `count_hops` never enumerates pairs: it merges depth histograms from the
leaves up, along the deepest child, so its cost is the number of nodes plus the merged histogram lengths.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, Offsets
from meshwright.jit.compiler import compiled, helper, inner
from meshwright.measure.connectivity import Adjacency
from meshwright.measure.connectivity_kernels import induce, root
from meshwright.measure.routing_kernels import room_for_search, steiner

Counts: TypeAlias = NDArray[np.int64]
Rates: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]


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


@compiled
def relays(topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids) -> tuple[Counts, Ids]:
    """Return how many relays an approximate Steiner tree of each topic has (-1: no tree), and which."""
    topics = len(topic_ptr) - 1
    memory = room_for_search(len(ptr), np.max(np.diff(topic_ptr)) if topics else 0)
    counts, found = np.zeros(topics, dtype=np.int64), np.empty(topics * len(ptr), dtype=np.int32)
    filled = 0
    for topic in range(topics):
        terminals = topic_nodes[topic_ptr[topic] : topic_ptr[topic + 1]]
        counts[topic], _, reached = steiner(terminals, ptr, nodes, memory, topic)
        for i in range(reached):
            if counts[topic] >= 0 and memory.marked[memory.queue[i]] == topic:
                found[filled] = memory.queue[i]
                filled += 1
            memory.owner[memory.queue[i]] = -1
    return counts, found[:filled].copy()


HOPS, LOAD, STABLE = 0, 1, 2


@helper
def join(sub_ptr: Offsets, sub: Ids, sub_edges: Ids, count: int, keys: Rates, by: Ids, ends: Ids) -> None:
    """Fill `ends` with the lightest tree that spans a graph: Kruskal by `keys`, one for each slot.

    Rows 0 and 1 hold the ends of a link, row 2 the link. `by` is working memory.
    """
    order = np.argsort(keys[: sub_ptr[count]], kind="mergesort")
    here = np.empty(sub_ptr[count], dtype=np.int32)
    for v in range(count):
        by[v] = v
        here[sub_ptr[v] : sub_ptr[v + 1]] = v
    taken = 0
    for i in range(len(order)):
        # Kruskal: take the link if its ends are in different components.
        a, b = root(by, here[order[i]]), root(by, sub[order[i]])
        if a != b:
            by[max(a, b)] = min(a, b)
            ends[0, taken], ends[1, taken] = here[order[i]], sub[order[i]]
            ends[2, taken] = sub_edges[order[i]]
            taken += 1


@inner
def hang(
    ends: Ids, count: int, relay: Flags, ptr: Offsets, nodes: Ids, edges: Ids, degree: Ids, work: Ids
) -> int:
    """Root a tree of links at its middle and drop relays at its rim; return the number of nodes left.

    The first rows of `work` hold the result of `search` from the middle.
    """
    # The links of the tree in compressed form.
    degree[:count] = 0
    for i in range(count - 1):
        degree[ends[0, i]] += 1
        degree[ends[1, i]] += 1
    ptr[0] = 0
    for v in range(count):
        ptr[v + 1] = ptr[v] + degree[v]
    for i in range(count - 1):
        for side in range(2):
            a = ends[side, i]
            degree[a] -= 1
            nodes[ptr[a] + degree[a]], edges[ptr[a] + degree[a]] = ends[1 - side, i], ends[2, i]
    distance, queue, above, by = work[0], work[1], work[2], work[3]
    # Drop relays at the rim from the outside in: a search from a terminal visits leaves last.
    start = 0
    while relay[start]:
        start += 1
    search(ptr, nodes, edges, start, count, distance, queue, above, by)
    kept = degree  # the number of children that stay; all zero at this point
    left = 0
    for i in range(count - 1, -1, -1):
        v = queue[i]
        if kept[v] > 0 or not relay[v]:
            left += 1
            if above[v] >= 0:
                kept[above[v]] += 1
        else:
            kept[v] = -1
    if left < count:
        # A link to a dropped relay points back to its own end, so a search ignores it.
        for v in range(count):
            for slot in range(ptr[v], ptr[v + 1]):
                if kept[v] < 0 or kept[nodes[slot]] < 0:
                    nodes[slot] = v
    # The middle of a longest path: go to the furthest node twice, then halfway back.
    far = queue[search(ptr, nodes, edges, start, count, distance, queue, above, by) - 1]
    far = queue[search(ptr, nodes, edges, far, count, distance, queue, above, by) - 1]
    for _ in range(distance[far] // 2):
        far = above[far]
    search(ptr, nodes, edges, far, count, distance, queue, above, by)
    return left


@compiled
def route(
    topic_ptr: Offsets,
    carriers: Ids,
    relay: Flags,
    links: Adjacency,
    objective: int,
    rates: Rates,
    order: Ids,
    old_ptr: Offsets,
    old_edges: Ids,
    rounds: int,
) -> tuple[Ids, Ids, Ids, Ids]:
    """Return a tree for each topic over its carriers: nodes, places of parents, links, and sizes.

    The tree of a topic starts at the offset of its carriers. Every tree begins as a breadth-first tree from a
    node of the lowest eccentricity. `STABLE` keeps the old links it can and joins the rest by as few others
    as possible. `LOAD` takes, topic by topic in `order`, the spanning tree that is lightest by what the links
    carry without it. A minimum spanning tree is best for every convex cost of load at once, so no round makes
    the heaviest link heavier. Such trees are deep, so a last turn takes shortest paths over links that stay
    within the heaviest load.
    """
    ptr, nodes, edges = links
    topics = len(topic_ptr) - 1
    most = np.max(np.diff(topic_ptr)) if topics else 0
    local = np.full(len(ptr) - 1, -1, dtype=np.int32)
    sub_ptr, tree_ptr = np.zeros(most + 1, dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
    sub, sub_edges = np.empty(len(nodes), dtype=np.int32), np.empty(len(nodes), dtype=np.int32)
    tree, tree_edges = np.empty(2 * most, dtype=np.int32), np.empty(2 * most, dtype=np.int32)
    work, ends = np.empty((5, most), dtype=np.int32), np.empty((3, most), dtype=np.int32)
    degree = np.empty(most, dtype=np.int32)
    keys = np.empty(len(nodes), dtype=np.float64)
    load = np.zeros(len(nodes) // 2, dtype=np.float64)
    kept = np.full(len(nodes) // 2, -1, dtype=np.int32)
    in_tree = np.full(len(nodes) // 2, -1, dtype=np.int32)
    of, above = np.full(len(carriers), -1, dtype=np.int32), np.full(len(carriers), -1, dtype=np.int32)
    by, sizes = np.full(len(carriers), -1, dtype=np.int32), np.zeros(topics, dtype=np.int32)
    place, middles = np.empty(most, dtype=np.int32), np.zeros(topics, dtype=np.int32)
    turns = 2 + rounds if objective == LOAD else 1
    turn = 0
    while turn < turns:
        changed = False
        heaviest = (np.max(load) if len(load) else 0.0) * (1 + 1e-12)
        for topic in order:
            first, last = topic_ptr[topic], topic_ptr[topic + 1]
            count = last - first
            # The last turn bars links, and dropped relays may be unreachable then: keep such trees.
            if count < 2 or (turn > 0 and turn == turns - 1 and sizes[topic] < count):
                continue
            members = carriers[first:last]
            induce(members, ptr, nodes, edges, local, sub_ptr, sub, sub_edges)
            # Take the old tree off the links; `stamp` marks the links it used.
            stamp = turn * topics + topic
            for i in range(first, first + sizes[topic]):
                if by[i] >= 0:
                    load[by[i]] -= rates[topic]
                    in_tree[by[i]] = stamp
            if turn == 0:
                middles[topic] = find_middle(sub_ptr, sub, sub_edges, count, work)
            elif turn == turns - 1:
                for v in range(count):
                    for slot in range(sub_ptr[v], sub_ptr[v + 1]):
                        edge = sub_edges[slot]
                        if in_tree[edge] != stamp and load[edge] + rates[topic] > heaviest:
                            # Bar the link: one that leads back to its own end finds nothing.
                            sub[slot] = v
            if turn in (0, turns - 1):
                search(sub_ptr, sub, sub_edges, middles[topic], count, work[0], work[1], work[2], work[3])
                for i in range(1, count):
                    v = work[1, i]
                    ends[0, i - 1], ends[1, i - 1], ends[2, i - 1] = v, work[2, v], work[3, v]
                    in_tree[work[3, v]] = stamp
                if objective == STABLE:
                    # Old links first, then links of the breadth-first tree, then the others.
                    for i in range(old_ptr[topic], old_ptr[topic + 1]):
                        kept[old_edges[i]] = topic
                    for slot in range(sub_ptr[count]):
                        edge = sub_edges[slot]
                        keys[slot] = 0.0 if kept[edge] == topic else 1.0 if in_tree[edge] == stamp else 2.0
                    join(sub_ptr, sub, sub_edges, count, keys, work[3], ends)
            else:
                # Turns 1 to `rounds` of LOAD: the lightest spanning tree by current load.
                for slot in range(sub_ptr[count]):
                    keys[slot] = load[sub_edges[slot]]
                join(sub_ptr, sub, sub_edges, count, keys, work[3], ends)
                for i in range(count - 1):
                    changed |= in_tree[ends[2, i]] != stamp
            sizes[topic] = hang(ends, count, relay[first:last], tree_ptr, tree, tree_edges, degree, work)
            for i in range(sizes[topic]):
                v = work[1, i]
                place[v] = i
                of[first + i], by[first + i] = members[v], work[3, v]
                above[first + i] = -1 if i == 0 else place[work[2, v]]
                if i > 0:
                    load[work[3, v]] += rates[topic]
        # Skip to the last turn once a round changes nothing.
        turn = turns - 1 if 0 < turn < turns - 1 and not changed else turn + 1
    return of, above, by, sizes
