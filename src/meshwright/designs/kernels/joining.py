"""Which subscribers of a topic are connected: a forest over the subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.compiling import inlined

if TYPE_CHECKING:
    from meshwright.designs.kernels.topic_rows import TopicRows
    from meshwright.greedy.kernels.state import Int
    from meshwright.interest import Ids


@inlined
def root(parent: Ids, entry: Int) -> Int:
    """Follow parents to the top, halving the path."""
    while parent[entry] != entry:
        parent[entry] = parent[parent[entry]]
        entry = parent[entry]
    return entry


@inlined
def join(held: TopicRows, parent: Ids, u: Int, v: Int) -> int:
    """Join the subscriptions of u and v to the same topics, and return how many joins were new."""
    i, i_end, j, j_end = held.node_ptr[u], held.node_ptr[u + 1], held.node_ptr[v], held.node_ptr[v + 1]
    joined = 0
    while i < i_end and j < j_end:
        mine, yours = held.node_topics[i], held.node_topics[j]
        if mine == yours:
            a, b = root(parent, i), root(parent, j)
            # The lower one becomes the root: path halving alone keeps trees shallow enough.
            parent[max(a, b)] = min(a, b)
            joined += int(a != b)
        i += int(mine <= yours)
        j += int(yours <= mine)
    return joined
