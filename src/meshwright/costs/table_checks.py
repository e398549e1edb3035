"""Kernels that check a table of link costs: pairs that it lacks, and detours cheaper than the direct link.

Both go through the nodes u in order and keep, for the row u, one number by node: what the table says of
(u, v). Invariant: this working memory needs no clearing between rows, or is cleared at the end of each.
`missing_pairs` costs O(Σ n_t²) over the topics t with n_t subscribers, `find_detour` Σ over all pairs of the
table of the degree of one end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Floats, Ids, Int, Offsets
from meshwright.costs.cost_tables import PairTable
from meshwright.jit.compiler import kernel


class Subscriptions(NamedTuple):
    """Who subscribes to what, by node and by topic."""

    node_ptr: Offsets
    """By node: where its topics begin in `node_topics`; one more at the end."""
    node_topics: Ids
    """The topics of each node, ascending."""
    topic_ptr: Offsets
    """By topic: where its nodes begin in `topic_nodes`; one more at the end."""
    topic_nodes: Ids
    """The nodes of each topic, ascending."""


@kernel
def missing_pairs(held: Subscriptions, table: PairTable, known: Offsets, named: Ids) -> int:
    """Count the pairs u < v that share a topic and are not in the table; write the first ones to `named`.

    `known` is working memory with room for each node. For the row u it holds u for a partner in the table,
    and |V| + u for a partner that is known to be missing, so nothing has to be cleared between rows. Costs
    O(Σ n_t²) over the topics, and O(|V|) for each row that is named.
    """
    missing = 0
    for v in range(len(known)):
        known[v] = -1
    for u in range(len(known)):
        before, absent = missing, len(known) + u
        for i in range(table.ptr[u], table.ptr[u + 1]):
            known[table.partners[i]] = u
        for i in range(held.node_ptr[u], held.node_ptr[u + 1]):
            # Subscribers ascend, and u is one of them: the walk back from the last one ends at u.
            slot = held.topic_ptr[held.node_topics[i] + 1] - 1
            while held.topic_nodes[slot] > u:
                v = held.topic_nodes[slot]
                if known[v] != u and known[v] != absent:
                    known[v] = absent
                    missing += 1
                slot -= 1
        # Name them in order of v, as long as there is room.
        if before < min(missing, len(named)):
            for v in range(u + 1, len(known)):
                if known[v] == absent and before < len(named):
                    named[before, 0], named[before, 1] = u, v
                    before += 1
    return missing


@kernel
def find_detour(table: PairTable, first: Int, last: Int, slack: float, direct: Floats, triple: Ids) -> bool:
    """Look for nodes u < v and w with slack · cost(u, v) > cost(u, w) + cost(w, v), u from `first` to `last`.

    The table holds both directions of each pair here, in order. A pair that it lacks is no direct link, and
    no part of a detour. `direct` is working memory with room for each node, all zero before and after a row;
    the first triple (u, v, w) is written to `triple`. Costs the sum of the degrees of u's partners for each
    u.
    """
    for u in range(first, last):
        for i in range(table.ptr[u], table.ptr[u + 1]):
            direct[table.partners[i]] = table.cost[i] * slack
        for i in range(table.ptr[u], table.ptr[u + 1]):
            w, near = np.int64(table.partners[i]), table.cost[i]
            # Each pair is looked at once, from its smaller end: walk w's partners back from the largest to u.
            j = table.ptr[w + 1] - 1
            while j >= table.ptr[w] and table.partners[j] > u:
                if near + table.cost[j] < direct[table.partners[j]]:
                    triple[0], triple[1], triple[2] = u, table.partners[j], w
                    return True
                j -= 1
        for i in range(table.ptr[u], table.ptr[u + 1]):
            direct[table.partners[i]] = 0.0
    return False
