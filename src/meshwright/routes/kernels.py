"""The compiled loops behind routes: all topics' trees at once, and what is measured of them.

A tree is held as its nodes from the root outwards; `above` says at which place of the same tree a node's
parent stands, -1 for the root, and `by` which link leads there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import compiled, kernel
from meshwright.measure.kernels import induce, root
from meshwright.measure.steiner.kernels import steiner

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.interest import Ids, Offsets

    Rates: TypeAlias = NDArray[np.float64]
    Flags: TypeAlias = NDArray[np.bool_]
    Counts: TypeAlias = NDArray[np.int64]

HOPS, LOAD, STABLE = 0, 1, 2


@kernel
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
    """Search breadth-first from a node; return how many nodes were reached, the first ones of `queue`."""
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


@kernel
def find_middle(ptr: Offsets, nodes: Ids, edges: Ids, count: int, work: Ids) -> int:
    """Return a node of the lowest eccentricity in a connected graph of `count` nodes.

    A search from s tells that no v has an eccentricity below max(d, ecc(s) − d) with d = d(s, v). Searches
    start, in turn, where that bound is least and at the node furthest from there, which raises the bounds
    around; nodes that cannot beat the best need none.
    """
    distance, queue, above, by, least = work[0], work[1], work[2], work[3], work[4]
    least[:count] = 0
    best, lowest = 0, count
    while True:
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
            least[chosen] = count
            if least[last] == count:  # searched from already
                break
            chosen = last


@compiled
def join(sub_ptr: Offsets, sub: Ids, sub_edges: Ids, count: int, keys: Rates, by: Ids, ends: Ids) -> None:
    """Fill `ends` with the lightest tree that spans a graph: Kruskal by `keys`, one for each slot.

    Row 0 and 1 are the ends of a link, row 2 the link; `by` is for working.
    """
    order = np.argsort(keys[: sub_ptr[count]], kind="mergesort")
    here = np.empty(sub_ptr[count], dtype=np.int32)
    for v in range(count):
        by[v] = v
        here[sub_ptr[v] : sub_ptr[v + 1]] = v
    taken = 0
    for i in range(len(order)):
        a, b = root(by, here[order[i]]), root(by, sub[order[i]])
        if a != b:
            by[max(a, b)] = min(a, b)
            ends[0, taken], ends[1, taken] = here[order[i]], sub[order[i]]
            ends[2, taken] = sub_edges[order[i]]
            taken += 1


@kernel
def hang(
    ends: Ids, count: int, relay: Flags, ptr: Offsets, nodes: Ids, edges: Ids, degree: Ids, work: Ids
) -> int:
    """Arrange a tree of links around its middle, without relays that lead nowhere; return how many are left.

    The first rows of `work` are as `search` leaves them, started at the middle.
    """
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
    # Relays at the rim go, from outside in: a search from a terminal has its leaves last.
    start = 0
    while relay[start]:
        start += 1
    search(ptr, nodes, edges, start, count, distance, queue, above, by)
    kept = degree  # how many of a node's children are kept; all zero by now
    left = 0
    for i in range(count - 1, -1, -1):
        v = queue[i]
        if kept[v] > 0 or not relay[v]:
            left += 1
            if above[v] >= 0:
                kept[above[v]] += 1
        else:
            kept[v] = -1
    if left < count:  # a link to a relay that is gone points back to its own end, where a search is already
        for v in range(count):
            for slot in range(ptr[v], ptr[v + 1]):
                if kept[v] < 0 or kept[nodes[slot]] < 0:
                    nodes[slot] = v
    # The middle of a longest path: twice the node furthest away, then half the way back.
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
    ptr: Offsets,
    nodes: Ids,
    edges: Ids,
    objective: int,
    rates: Rates,
    order: Ids,
    old_ptr: Offsets,
    old_edges: Ids,
    rounds: int,
) -> tuple[Ids, Ids, Ids, Ids]:
    """Return a tree for each topic over its carriers: nodes, places of parents, links, and sizes.

    Each tree begins where its carriers do. All begin as a breadth-first tree from a node of the lowest
    eccentricity. `STABLE` keeps what it can of the old links, and joins the rest by as few others. `LOAD`
    takes, topic by topic in `order`, the tree that is lightest by what the links carry without it; by
    Kruskal, that tree is best for every convex cost of load at once, so no round makes the heaviest link
    heavier. Such trees are deep; a last turn takes the shortest ways over links that this does not make
    heavier than the heaviest.
    """
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
            if count < 2:
                continue
            members = carriers[first:last]
            induce(members, ptr, nodes, edges, local, sub_ptr, sub, sub_edges)
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
                            sub[slot] = v  # nobody is found over a link that leads back
            if turn in (0, turns - 1):
                search(sub_ptr, sub, sub_edges, middles[topic], count, work[0], work[1], work[2], work[3])
                for i in range(1, count):
                    v = work[1, i]
                    ends[0, i - 1], ends[1, i - 1], ends[2, i - 1] = v, work[2, v], work[3, v]
                    in_tree[work[3, v]] = stamp
                if objective == STABLE:
                    for i in range(old_ptr[topic], old_ptr[topic + 1]):
                        kept[old_edges[i]] = topic
                    for slot in range(sub_ptr[count]):
                        edge = sub_edges[slot]
                        keys[slot] = 0.0 if kept[edge] == topic else 1.0 if in_tree[edge] == stamp else 2.0
                    join(sub_ptr, sub, sub_edges, count, keys, work[3], ends)
            else:
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
        turn = turns - 1 if 0 < turn < turns - 1 and not changed else turn + 1
    return of, above, by, sizes


@compiled
def relays(topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids) -> tuple[Counts, Ids]:
    """Return for each topic how many relays an approximate Steiner tree has (-1: none can), and which."""
    topics = len(topic_ptr) - 1
    most = np.max(np.diff(topic_ptr)) if topics else 0
    owner, marked = np.full(len(ptr), -1, dtype=np.int32), np.full(len(ptr), -1, dtype=np.int32)
    depth, parent = np.empty(len(ptr), dtype=np.int32), np.empty(len(ptr), dtype=np.int32)
    queue, groups = np.empty(len(ptr), dtype=np.int32), np.empty(most, dtype=np.int32)
    counts, found = np.zeros(topics, dtype=np.int64), np.empty(topics * len(ptr), dtype=np.int32)
    filled = 0
    for topic in range(topics):
        terminals = topic_nodes[topic_ptr[topic] : topic_ptr[topic + 1]]
        counts[topic], _, reached = steiner(
            terminals, ptr, nodes, owner, depth, parent, marked, queue, groups, topic
        )
        for i in range(reached):
            if counts[topic] >= 0 and marked[queue[i]] == topic:
                found[filled] = queue[i]
                filled += 1
            owner[queue[i]] = -1
    return counts, found[:filled].copy()


@compiled
def count_hops(tree_ptr: Offsets, above: Ids, counted: Flags) -> tuple[Counts, Counts, Counts, Counts]:
    """Return for each tree the hops between all pairs of counted nodes: sum, pairs, 95th percentile, most.

    Every node has a row of how many counted nodes there are below it, by depth; it shares that of its
    deepest child, shifted by one, and takes in those of the others. So rows of all nodes fit in one array
    of their number, and no pair is looked at by itself.
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
        height[:count], deepest[:count], first[:count], hops[:count] = 0, -1, count, 0
        for i in range(count - 1, 0, -1):
            p = above[start + i]
            first[p] = i
            if deepest[p] < 0 or height[i] + 1 > height[p]:
                deepest[p], height[p] = i, height[i] + 1
        free = 0
        for i in range(count):
            if i > 0 and deepest[above[start + i]] == i:
                row[i] = row[above[start + i]] + 1
            else:
                row[i] = free
                free += height[i] + 1
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
    ptr: Offsets,
    nodes: Ids,
    edges: Ids,
) -> tuple[float, int, float]:
    """Return the sum, number and maximum of tree hops over overlay hops, from these sources to all others.

    `entries[source_ptr[i]:source_ptr[i + 1]]` are the places in trees where source i stands.
    """
    count = len(ptr) - 1
    most = np.max(np.diff(tree_ptr)) if len(tree_ptr) > 1 else 0
    work, away = np.empty((4, count), dtype=np.int32), np.empty(most, dtype=np.int32)
    total, pairs, worst = 0.0, 0, 0.0
    for i in range(len(sources)):
        search(ptr, nodes, edges, sources[i], count, work[0], work[1], work[2], work[3])
        for k in range(source_ptr[i], source_ptr[i + 1]):
            start, end = tree_ptr[entry_topics[k]], tree_ptr[entry_topics[k] + 1]
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
