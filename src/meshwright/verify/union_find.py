"""The components of every topic, by union-find over subscriptions.

A *slot* is one subscription: a position in `node_topics`. `parent` is a forest over the slots. Invariant: two
slots have the same root exactly if they are of one topic and the edges so far connect their nodes within it.
Cost of an edge: the topics of its two ends, times the depth of the trees, which path halving keeps small. No
pair of subscribers is ever written down, so large topics cost no more than small ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets


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
