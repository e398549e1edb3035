"""Plain overlays that may satisfy a question of podc07 where no design does: stars, rings, trees, all pairs.

Each joins the nodes of every cluster, and no others: nodes that share a topic, directly or through a chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from meshwright import bounds, measure
from meshwright.designs.plan import Plan
from meshwright.interest import Interest
from meshwright.overlay import Overlay

MOST_PAIRS = 2_000_000
"""Pairs that share a topic are looked at only if the topics have at most this many pairs of subscribers."""


def clusters(interest: Interest) -> list[list[int]]:
    """Return the nodes that must reach each other, with the most topics first; the others stand alone.

    >>> from meshwright import Interest
    >>> clusters(Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"y"}, "d": {"z"}}))
    [[1, 0, 2], [3]]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Nodes and topics together, a topic behind all nodes, with an edge for each subscription.
    ends = interest.node_of_slot, interest.num_nodes + interest.node_topics
    size = interest.num_nodes + interest.num_topics
    edges = coo_array((np.ones(interest.num_subscriptions, dtype=np.int8), ends), shape=(size, size))
    found: dict[int, list[int]] = {}
    for v, label in enumerate(connected_components(edges, directed=False)[1][: interest.num_nodes].tolist()):
        found.setdefault(label, []).append(v)
    sizes = np.diff(interest.node_ptr)
    return [sorted(each, key=lambda v: (-int(sizes[v]), v)) for each in found.values()]


def partners(interest: Interest) -> list[set[int]]:
    """Return for each node the others that share a topic with it."""
    found: list[set[int]] = [set() for _ in range(interest.num_nodes)]
    for part in np.split(interest.topic_nodes, interest.topic_ptr[1:-1]):
        members = part.tolist()
        for member in members:
            found[member].update(members)
    for v, own in enumerate(found):
        own.discard(v)
    return found


def few_pairs(interest: Interest) -> bool:
    """Return whether all pairs that share a topic can be looked at."""
    return bounds.pair_topics(interest) <= MOST_PAIRS


def partner_counts(interest: Interest) -> NDArray[np.int64] | None:
    """Return how many others share a topic with each node; None if that takes too long."""
    if not few_pairs(interest):
        return None
    return np.array([len(each) for each in partners(interest)], dtype=np.int64)


def shapes(interest: Interest, degree: int | None, budget: Mapping[str, int]) -> Iterator[Plan]:
    """Yield a star, a ring, a tree and all pairs, as plans under a budget, so that topics may be split.

    The tree has at most `degree` links per node, and is as flat as that allows.
    """
    groups = [group for group in clusters(interest) if len(group) > 1]
    yield _plan(interest, "star", budget, [(group[0], v) for group in groups for v in group[1:]])
    rings = [(group[i - 1], group[i]) for group in groups for i in range(len(group)) if len(group) > 2 or i]
    yield _plan(interest, "ring of all", budget, rings)
    if degree is not None and degree > 1:
        yield _plan(interest, "tree", budget, [link for group in groups for link in _tree(group, degree)])
    if few_pairs(interest):
        pairs = [(v, u) for v, own in enumerate(partners(interest)) for u in sorted(own) if v < u]
        yield _plan(interest, "all pairs", budget, pairs)


def _tree(group: Sequence[int], degree: int) -> Iterator[tuple[int, int]]:
    """Yield the links of the flattest tree: the first node has `degree` children, each other one fewer."""
    parent, left = 0, degree
    for child in range(1, len(group)):
        if left == 0:
            parent, left = parent + 1, degree - 1
        left -= 1
        yield group[parent], group[child]


def _plan(interest: Interest, name: str, budget: Mapping[str, int], links: Sequence[tuple[int, int]]) -> Plan:
    pairs = np.array(sorted((min(link), max(link)) for link in links), dtype=np.int32).reshape(-1, 2)
    u, v = pairs[:, 0].copy(), pairs[:, 1].copy()
    return Plan(Overlay(interest, u, v, measure.contributions(interest, u, v)), name, dict(budget), 0, 0.0)
