"""How much support any overlay can have under a budget: certified limits by submodularity (icdcs16)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from meshwright.experiments.results import Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.overlay import Overlay


def most_support(overlay: Overlay, max_edges: int, max_degree: int) -> Row:
    """Return limits on the support of all overlays with this number of links, or this maximum degree.

    Contributions never grow as links are added. So an overlay E* connects at most what a known overlay S
    connects, plus what the links of E* would contribute to S: at most the `max_edges` largest contributions
    to S, or half the sum over all nodes of their `max_degree` largest. S is the given overlay or none; the
    lower limit counts.
    """
    import numpy as np

    interest = overlay.interest
    mergeable = interest.num_subscriptions - int(np.count_nonzero(np.diff(interest.topic_ptr)))
    if not mergeable:  # nothing to connect: by definition, support is 1
        return {"support": 1.0, "support_by_links": 1.0}
    found = []
    for known in (overlay.prefix(0), overlay):
        merged = int(known.contribution.sum(dtype=np.int64))
        weight = contributions_of_all_pairs(known)
        top = np.sort(weight, axis=1)[:, ::-1]
        pairs = np.sort(weight[np.triu_indices(len(weight), 1)])[::-1]
        by_degree = merged + int(top[:, :max_degree].sum()) / 2
        by_links = merged + int(pairs[:max_edges].sum())
        found.append((by_links, by_degree))
    by_links, by_degree = (min(limits) / mergeable for limits in zip(*found, strict=True))
    return {"support": min(by_degree, 1.0), "support_by_links": min(by_links, 1.0)}


def contributions_of_all_pairs(overlay: Overlay) -> NDArray[Any]:
    """Return a square matrix: how many topics each pair of nodes would merge if it were linked now."""
    import numpy as np
    from scipy.sparse import csr_array

    interest = overlay.interest
    shape = (interest.num_nodes, interest.num_subscriptions)
    ones = np.ones(interest.num_subscriptions, dtype=np.int32)
    shared = csr_array((ones, interest.node_topics, interest.node_ptr), shape=shape)
    joined = csr_array((ones, _component_of_slots(overlay), interest.node_ptr), shape=shape)
    weight: NDArray[Any] = (shared @ shared.T - joined @ joined.T).toarray()
    np.fill_diagonal(weight, 0)
    return weight


def _component_of_slots(overlay: Overlay) -> NDArray[Any]:
    """Return the component of each subscription, as the number of one of its subscriptions."""
    import numpy as np

    interest = overlay.interest
    topics, ptr = interest.node_topics.tolist(), interest.node_ptr.tolist()
    slots = [dict(zip(topics[a:b], range(a, b), strict=True)) for a, b in pairwise(ptr)]
    parent = list(range(len(topics)))

    def find(slot: int) -> int:
        while parent[slot] != slot:
            parent[slot] = parent[parent[slot]]
            slot = parent[slot]
        return slot

    for u, v in zip(overlay.u.tolist(), overlay.v.tolist(), strict=True):
        for topic in slots[u].keys() & slots[v].keys():
            parent[find(slots[u][topic])] = find(slots[v][topic])
    return np.array([find(slot) for slot in range(len(parent))], dtype=np.int32)
