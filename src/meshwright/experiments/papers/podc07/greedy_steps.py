"""Count the steps of Greedy Merge one by one, and the topics in which its overlay has cycles (podc07)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from meshwright.experiments.results import Row

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay

ROWS_AT_ONCE = 1000
"""Nodes whose pairs with all others are counted together: bounds the memory."""


def count_steps(interest: Interest, overlay: Overlay) -> Row:
    """Replay the edges of an overlay in order, and count what Algorithms 2 and 3 do.

    `initial` is the contribution of all pairs at the start, counted pair by pair (Algorithm 2, line 5).
    `updates` counts the pairs (v', w') of the loop in Algorithm 3, line 7: for each edge and each topic that
    it connects, the product of the sizes of the two components. `cyclic_topics` are topics in which an edge
    joins two nodes that were connected already, so that their sub-overlay is not a forest.
    """
    initial = _initial_contribution(interest)
    updates, cyclic = _replay(interest, overlay)
    work = interest.num_nodes**2 * interest.num_topics
    return {
        "initial": initial,
        "updates": updates,
        "relative_updates": updates / work,
        "relative_steps": (initial + updates) / work,
        "cyclic_topics": cyclic,
        "mergers_needed": interest.num_subscriptions - _topics_in_use(interest),
        "subscriptions": interest.num_subscriptions,
    }


def _initial_contribution(interest: Interest) -> int:
    """Sum the number of common topics over all pairs of nodes."""
    import numpy as np

    holds = interest.to_scipy().astype(np.int64)
    both = 0
    for start in range(0, interest.num_nodes, ROWS_AT_ONCE):
        both += int((holds[start : start + ROWS_AT_ONCE] @ holds.T).sum())
    return (both - interest.num_subscriptions) // 2  # every pair twice, every node with itself


def _replay(interest: Interest, overlay: Overlay) -> tuple[int, int]:
    """Add the edges one by one; return the updates of contributions and the topics with a cycle."""
    topics, ptr = interest.node_topics.tolist(), interest.node_ptr.tolist()
    slots = [dict(zip(topics[a:b], range(a, b), strict=True)) for a, b in pairwise(ptr)]
    parent, size = list(range(len(topics))), [1] * len(topics)

    def find(slot: int) -> int:
        while parent[slot] != slot:
            parent[slot] = parent[parent[slot]]
            slot = parent[slot]
        return slot

    updates, cyclic = 0, set()
    for u, v in zip(overlay.u.tolist(), overlay.v.tolist(), strict=True):
        for topic, slot in slots[u].items():
            if topic not in slots[v]:
                continue
            one, other = find(slot), find(slots[v][topic])
            if one == other:
                cyclic.add(topic)
                continue
            updates += size[one] * size[other]
            if size[one] < size[other]:
                one, other = other, one
            parent[other] = one
            size[one] += size[other]
    return updates, len(cyclic)


def _topics_in_use(interest: Interest) -> int:
    import numpy as np

    return int(np.count_nonzero(np.diff(interest.topic_ptr)))
