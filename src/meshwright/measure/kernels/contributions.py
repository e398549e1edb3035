"""Contributions of edges, by union-find over subscriptions.

A *slot* is one subscription: a position in `node_topics`. `parent` is a forest over the slots. Invariant: two
slots have the same root exactly if they are of one topic and the edges so far connect their nodes within it.
Cost of an edge: the topics of its two ends, times the depth of the trees, which path halving keeps small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import compiled

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets


@compiled
def root(parent: Ids, slot: int) -> int:
    """Follow parents to the root, halving the path."""
    while parent[slot] != slot:
        parent[slot] = parent[parent[slot]]
        slot = parent[slot]
    return slot


@compiled
def count_contributions(node_ptr: Offsets, node_topics: Ids, topics: int, apart: int, u: Ids, v: Ids) -> Ids:
    """Join the slots of each edge's ends, topic by topic; return for each edge how many joins were new.

    `apart` is the number of joins that connect every topic: once it is reached, nothing is left to count.
    """
    parent = np.arange(len(node_topics)).astype(np.int32)
    gains = np.zeros(len(u), dtype=np.int32)
    place, shared = np.full(topics, -1, dtype=np.int32), np.empty(topics + 1, dtype=np.int32)
    for edge in range(len(u)):
        if apart == 0:
            break
        begin, end = node_ptr[u[edge]], node_ptr[u[edge] + 1]
        for i in range(begin, end):
            place[node_topics[i]] = i
        # Which topics of v are shared is unpredictable, so no branch decides: every slot of v is written, and
        # the count advances past it only if u has the topic. `place` is never cleared: it may hold a slot of
        # an earlier node, which is outside of u's own range.
        count = 0
        for j in range(node_ptr[v[edge]], node_ptr[v[edge] + 1]):
            i = place[node_topics[j]]
            shared[count] = j
            count += int(begin <= i) & int(i < end)
        for k in range(count):
            j = shared[k]
            a, b = root(parent, place[node_topics[j]]), root(parent, j)
            # The lower slot becomes the root; where both are the same, this changes nothing.
            parent[max(a, b)] = min(a, b)
            gains[edge] += int(a != b)
        apart -= gains[edge]
    return gains
