"""The best overlays of tiny interests, by looking at every set of links."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from meshwright.interest import Interest
from naive import topic_sets


def optima(interest: Interest) -> tuple[int, tuple[int, int]]:
    """Return the fewest links, and the lowest maximum degree with the fewest links at that."""
    fewest = fewest_by_degree(interest)
    return min(fewest.values()), min(fewest.items())


def fewest_by_degree(interest: Interest) -> dict[int, int]:
    """Return the fewest links of an overlay that connects each topic, by its maximum degree.

    Set number s has pair i if bit i of s is set; all sets are looked at together.
    """
    held = topic_sets(interest)
    pairs = [(u, v) for u, v in combinations(range(interest.num_nodes), 2) if held[u] & held[v]]
    sets = np.arange(2 ** len(pairs))
    has = [(sets >> i) & 1 == 1 for i in range(len(pairs))]
    good = np.ones(len(sets), dtype=bool)
    for topic in range(interest.num_topics):
        members = [v for v, own in enumerate(held) if topic in own]
        reached = {v: np.full(len(sets), v == members[0]) for v in members}
        for _ in members:
            for (u, v), there in zip(pairs, has, strict=True):
                if u in reached and v in reached:
                    either = there & (reached[u] | reached[v])
                    reached[u], reached[v] = reached[u] | either, reached[v] | either
        for found in reached.values():
            good &= found
    size = np.zeros(len(sets), dtype=np.int64)
    degree = np.zeros((max(interest.num_nodes, 1), len(sets)), dtype=np.int64)
    for (u, v), there in zip(pairs, has, strict=True):
        size += there
        degree[u] += there
        degree[v] += there
    highest = degree.max(axis=0)[good]
    return {degree: int(size[good][highest == degree].min()) for degree in sorted(set(highest.tolist()))}
