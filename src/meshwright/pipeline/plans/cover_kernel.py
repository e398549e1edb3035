"""Greedy set cover: few nodes that together meet a demand for topics.

The kernel has a file of its own, since it is compiled again when a file changes that its own file imports.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, Offsets
from meshwright.jit.compiler import compiled


@compiled
def cover(node_ptr: Offsets, node_topics: Ids, demand: Ids) -> NDArray[np.bool_]:
    """Return which nodes are chosen by greedy set cover: few that together meet a demand for topics.

    Each round takes the first node that meets the most remaining demand. The demand that a node meets never
    rises, so an earlier value is an upper bound, and one pass per level finds the same nodes as evaluating
    all of them in every round. An evaluation costs the number of topics of the node.

    `demand` is the number of subscribers wanted for each topic, at most as many as the topic has. The call
    reduces it to zero.
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
            # Evaluate the node exactly; if it meets less than the level, its bound drops below it.
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
