"""Price-greedy is exact: its links are those of a slow, obvious twin."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import crowds, examples, restless_engine, seeds
from meshwright import Interest, measure
from meshwright.greedy.priced import price_greedy
from naive import topic_sets


def twin(
    interest: Interest, pairs: list[tuple[int, int]], worth: list[dict[int, float]], most: int | None
) -> list[tuple[int, int]]:
    """Take the pair of the largest value, the first of equals, until no pair is worth anything."""
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
@given(crowds(nodes=(1, 14), subscriptions=50), seeds, st.sampled_from([None, 0, 1, 2, 4]), st.booleans())
def test_links_are_the_twins(interest: Interest, seed: int, most: int | None, restless: bool) -> None:
    """Each link is the twin's, however often it pauses; weights are multiples of 1/8, so that ties occur."""
    random = np.random.Generator(np.random.PCG64(seed))
    weights = random.integers(0, 9, interest.num_subscriptions) / 8
    pairs = [pair for pair in combinations(range(interest.num_nodes), 2) if random.random() < 0.8]
    worth: list[dict[int, float]] = [{} for _ in range(interest.num_nodes)]
    for slot, topic in enumerate(interest.node_topics.tolist()):
        worth[int(interest.node_of_slot[slot])][topic] = float(weights[slot])
    listed = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    with restless_engine() if restless else nullcontext():
        made = price_greedy(interest, listed, weights, max_degree=most)
    assert list(zip(made.u.tolist(), made.v.tolist(), strict=True)) == twin(interest, pairs, worth, most)
    assert np.array_equal(made.contribution, measure.contributions(interest, made.u, made.v))
