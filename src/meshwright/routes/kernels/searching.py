"""Searches through a graph, and its middle: plain arrays in, plain arrays out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.compiling import inner

if TYPE_CHECKING:
    from meshwright.interest import Ids, Offsets


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


@inner
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
