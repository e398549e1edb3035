"""Components of topics by union-find over subscriptions: nothing is exploded, whatever a topic's size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import compiled

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets


@compiled
def join(node_ptr: Offsets, node_topics: Ids, topics: int, u: Ids, v: Ids) -> tuple[Ids, Ids]:
    """Join the subscriptions of each edge's ends; count the joins that were new, by edge and by topic."""
    parent = np.arange(len(node_topics)).astype(np.int32)
    of_edge = np.zeros(len(u), dtype=np.int32)
    of_topic = np.zeros(topics, dtype=np.int32)
    for edge in range(len(u)):
        i, i_end = node_ptr[u[edge]], node_ptr[u[edge] + 1]
        j, j_end = node_ptr[v[edge]], node_ptr[v[edge] + 1]
        while i < i_end and j < j_end:
            if node_topics[i] < node_topics[j]:
                i += 1
            elif node_topics[i] > node_topics[j]:
                j += 1
            else:
                a, b = np.int64(i), np.int64(j)
                while parent[a] != a:
                    parent[a] = parent[parent[a]]
                    a = np.int64(parent[a])
                while parent[b] != b:
                    parent[b] = parent[parent[b]]
                    b = np.int64(parent[b])
                if a != b:
                    # The lower slot becomes the root: path halving alone keeps trees shallow enough.
                    parent[max(a, b)] = min(a, b)
                    of_edge[edge] += 1
                    of_topic[node_topics[i]] += 1
                i += 1
                j += 1
    return of_edge, of_topic
