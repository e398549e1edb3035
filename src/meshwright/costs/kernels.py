"""What a table of costs lacks or breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import kernel

if TYPE_CHECKING:
    from meshwright.arrays import Floats, Ids, Int, Offsets


@kernel
def missing_pairs(
    node_ptr: Offsets, node_topics: Ids, topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, partners: Ids,
    known: Offsets, named: Ids,
) -> int:  # fmt: skip
    """Count the pairs u < v that share a topic and are not in the table; write the first to `named`.

    `known` has room for each node.
    """
    missing = 0
    for v in range(len(known)):
        known[v] = -1
    for u in range(len(known)):
        before, absent = missing, len(known) + u
        for i in range(ptr[u], ptr[u + 1]):
            known[partners[i]] = u
        for i in range(node_ptr[u], node_ptr[u + 1]):
            slot = topic_ptr[node_topics[i] + 1] - 1
            while topic_nodes[slot] > u:  # ends at u itself
                v = topic_nodes[slot]
                if known[v] != u and known[v] != absent:
                    known[v] = absent
                    missing += 1
                slot -= 1
        if before < min(missing, len(named)):
            for v in range(u + 1, len(known)):
                if known[v] == absent and before < len(named):
                    named[before, 0], named[before, 1] = u, v
                    before += 1
    return missing


@kernel
def broken_triangle(
    ptr: Offsets,
    partners: Ids,
    cost: Floats,
    first: Int,
    last: Int,
    slack: float,
    direct: Floats,
    triple: Ids,
) -> bool:
    """Look for nodes u < v and w with cost(u, v) above cost(u, w) + cost(w, v), u from `first` to `last`.

    The table has both directions of each pair here, ordered by node. Pairs that it lacks break nothing.
    `direct` has room for each node, all zero; the first triple is written to `triple`.
    """
    for u in range(first, last):
        for i in range(ptr[u], ptr[u + 1]):
            direct[partners[i]] = cost[i] * slack
        for i in range(ptr[u], ptr[u + 1]):
            w, near = np.int64(partners[i]), cost[i]
            j = ptr[w + 1] - 1
            while j >= ptr[w] and partners[j] > u:
                if near + cost[j] < direct[partners[j]]:
                    triple[0], triple[1], triple[2] = u, partners[j], w
                    return True
                j -= 1
        for i in range(ptr[u], ptr[u + 1]):
            direct[partners[i]] = 0.0
    return False
