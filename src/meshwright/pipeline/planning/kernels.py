"""Which few nodes cover all topics of a set of nodes: greedy set cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets


@compiled
def cover(node_ptr: Offsets, node_topics: Ids, demand: Ids) -> NDArray[np.bool_]:
    """Choose, again and again, the first of the nodes that meet the most demand, until all is met.

    `demand` says for each topic how many of its subscribers are wanted, and no more than it has; it is used
    up. What a node meets only falls, so one descent through the levels finds the same as looking at all.
    """
    nodes = len(node_ptr) - 1
    chosen = np.zeros(nodes, dtype=np.bool_)
    bound = np.empty(nodes, dtype=np.int64)
    level = np.int64(0)
    for v in range(nodes):
        bound[v] = node_ptr[v + 1] - node_ptr[v]
        level = max(level, bound[v])
    while level > 0:
        for v in range(nodes):
            if bound[v] < level:
                continue
            met = 0
            for i in range(node_ptr[v], node_ptr[v + 1]):
                met += int(demand[node_topics[i]] > 0)
            bound[v] = met
            if met == level:
                chosen[v] = True
                bound[v] = 0
                for i in range(node_ptr[v], node_ptr[v + 1]):
                    demand[node_topics[i]] = max(demand[node_topics[i]] - 1, 0)
        level -= 1
    return chosen
