"""Price-greedy against a slow, obvious twin."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import crowds, examples, seeds
from meshwright import Interest, measure
from meshwright.greedy.priced import price_greedy
from naive import topic_sets


def plainly(
    interest: Interest, pairs: list[tuple[int, int]], worth: list[dict[int, float]], most: int | None
) -> list[tuple[int, int]]:
    """Take the pair of the largest worth, the first of equals, until none has any."""
    held = topic_sets(interest)
    group = [dict.fromkeys(own, v) for v, own in enumerate(held)]
    degree = [0] * len(held)
    taken: list[tuple[int, int]] = []
    while True:
        values = [
            sum(
                max(worth[u][t], worth[v][t]) for t in sorted(held[u] & held[v]) if group[u][t] != group[v][t]
            )
            if most is None or max(degree[u], degree[v]) < most
            else 0.0
            for u, v in pairs
        ]
        if max(values, default=0.0) == 0.0:
            return taken
        u, v = pairs[values.index(max(values))]
        taken.append((u, v))
        degree[u] += 1
        degree[v] += 1
        for t in held[u] & held[v]:
            old, new = group[v][t], group[u][t]
            for own in group:
                if own.get(t) == old:
                    own[t] = new


@settings(max_examples=examples(150, 15), deadline=None)
@given(crowds(nodes=(1, 14), subscriptions=50), seeds, st.sampled_from([None, 0, 1, 2, 4]))
def test_it_takes_the_pair_of_most_worth(interest: Interest, seed: int, most: int | None) -> None:
    """The links are those of the twin, one by one; weights are multiples of 1/8, so that ties occur."""
    random = np.random.Generator(np.random.PCG64(seed))
    weights = random.integers(0, 9, interest.num_subscriptions) / 8
    pairs = [pair for pair in combinations(range(interest.num_nodes), 2) if random.random() < 0.8]
    worth: list[dict[int, float]] = [{} for _ in range(interest.num_nodes)]
    for slot, topic in enumerate(interest.node_topics.tolist()):
        worth[int(interest.node_of_slot[slot])][topic] = float(weights[slot])
    made = price_greedy(interest, np.array(pairs, dtype=np.int32).reshape(-1, 2), weights, max_degree=most)
    assert list(zip(made.u.tolist(), made.v.tolist(), strict=True)) == plainly(interest, pairs, worth, most)
    assert np.array_equal(made.contribution, measure.contributions(interest, made.u, made.v))
