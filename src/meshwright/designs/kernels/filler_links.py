"""Links that connect nothing: raise the degrees of all nodes to a limit, as the printed MinMax-ODA does.

The kernel chains the nodes below the limit in ascending order. For each node u of the chain it walks the
nodes after u, links those that u is not linked to yet, and takes full nodes off the chain. Each step of the
walk adds a link or meets a link of u: O(|V| + |E| + links added).
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.arrays import Ids, Int, Offsets
from meshwright.jit.compiler import kernel


class FillState(NamedTuple):
    """The links so far, and working memory by node."""

    ptr: Offsets
    """By node: where its larger neighbours begin in `larger`; one more at the end."""
    larger: Ids
    """The larger neighbours of node 0, then of node 1, and so on."""
    degree: Ids
    """By node: its links, those added here included."""
    after: Ids
    """By node: the next node below the limit."""
    mark: Ids
    """By node: the last node u that was found linked to it; −1 at first."""


@kernel
def fill_degrees(held: FillState, limit: Int, most: Int, us: Ids, vs: Ids) -> int:
    """Link pairs that are not linked yet, smallest (u, v) first, while both ends are below the limit.

    Writes up to `most` links to `us` and `vs`, and returns how many.
    """
    degree, after = held.degree, held.after
    nodes, added = len(degree), 0
    first = nodes
    for v in range(nodes - 1, -1, -1):
        after[v] = first
        if degree[v] < limit:
            first = v
    u = first
    while u < nodes and added < most:
        for i in range(held.ptr[u], held.ptr[u + 1]):
            held.mark[held.larger[i]] = u
        before, v = u, after[u]
        while v < nodes and degree[u] < limit and added < most:
            if held.mark[v] != u:
                us[added], vs[added] = u, v
                degree[u] += 1
                degree[v] += 1
                added += 1
            # A full node leaves the chain; its own successor stays valid for this walk.
            if degree[v] < limit:
                before = v
            else:
                after[before] = after[v]
            v = after[v]
        u = after[u]
    return added
