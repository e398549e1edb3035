"""The heap yields the largest value first, and price-greedy takes the links of a slow, obvious twin."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import crowds, examples, restless_engine, seeds
from meshwright import Interest, measure
from meshwright.greedy.kernels.by_value import build, drop_first, sink
from meshwright.greedy.weighted import price_greedy
from meshwright.jit.compiler import compiled
from naive import topic_sets

values = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf]), max_size=40)


@compiled
def drain(heap: np.ndarray, value: np.ndarray, order: np.ndarray) -> None:
    """Build a heap, and write its entries in the order in which they come to the top."""
    size: Any = np.int64(len(heap))
    build(heap, value, size)
    for i in range(len(order)):
        order[i] = heap[0]
        size = drop_first(heap, value, size)


@compiled
def drain_lazily(heap: np.ndarray, bound: np.ndarray, value: np.ndarray, order: np.ndarray) -> None:
    """As `drain`, from upper bounds: lower the first entry to its value, and take it once both agree."""
    size: Any = np.int64(len(heap))
    build(heap, bound, size)
    taken = 0
    while size > 0:
        first = heap[0]
        if bound[first] == value[first]:
            order[taken] = first
            taken += 1
            size = drop_first(heap, bound, size)
        else:
            bound[first] = value[first]
            sink(heap, bound, np.int64(0), size)


def by_value(value: list[float]) -> list[int]:
    """Return the indices in the order that the heap must give."""
    return sorted(range(len(value)), key=lambda i: (-value[i], i))


@settings(max_examples=examples(50, 50))
@given(values, seeds)
def test_entries_come_in_order(value: list[float], seed: int) -> None:
    """From any initial order, entries come out by falling value, ties by the smaller index."""
    heap = np.random.default_rng(seed).permutation(len(value)).astype(np.int32)
    order = np.empty(len(value), dtype=np.int32)
    drain(heap, np.array(value, dtype=np.float64), order)
    assert order.tolist() == by_value(value)


@settings(max_examples=examples(50, 50))
@given(values, seeds)
def test_lazy_evaluation_gives_the_same_order(value: list[float], seed: int) -> None:
    """Starting from upper bounds and lowering only the first entry gives the order of the values."""
    rng = np.random.default_rng(seed)
    bound = np.array(value, dtype=np.float64) + rng.integers(0, 3, len(value)) / 2
    heap, order = np.arange(len(value), dtype=np.int32), np.empty(len(value), dtype=np.int32)
    drain_lazily(heap, bound, np.array(value, dtype=np.float64), order)
    assert order.tolist() == by_value(value)


def twin(
    interest: Interest,
    pairs: list[tuple[int, int]],
    worth: list[dict[int, float]],
    costs: list[float],
    most: int | None,
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
            / cost
            if most is None or max(degree[u], degree[v]) < most
            else 0.0
            for (u, v), cost in zip(pairs, costs, strict=True)
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


@settings(max_examples=examples(65, 15), deadline=None)
@given(crowds(nodes=(1, 14), subscriptions=50), seeds, st.sampled_from([None, 0, 1, 2, 4]), st.booleans())
def test_links_are_the_twins(interest: Interest, seed: int, most: int | None, restless: bool) -> None:
    """Each link is the twin's, however often it pauses.

    Weights are multiples of 1/8 and costs powers of 2, so that ties occur.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    weights = random.integers(0, 9, interest.num_subscriptions) / 8
    pairs = [pair for pair in combinations(range(interest.num_nodes), 2) if random.random() < 0.8]
    costs = random.choice([0.5, 1.0, 2.0, 4.0], len(pairs)) if seed % 2 else None
    worth: list[dict[int, float]] = [{} for _ in range(interest.num_nodes)]
    for slot, topic in enumerate(interest.node_topics.tolist()):
        worth[int(interest.node_of_slot[slot])][topic] = float(weights[slot])
    listed = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    with restless_engine() if restless else nullcontext():
        made = price_greedy(interest, listed, weights, costs=costs, max_degree=most)
    expected = twin(interest, pairs, worth, [1.0] * len(pairs) if costs is None else costs.tolist(), most)
    assert list(zip(made.u.tolist(), made.v.tolist(), strict=True)) == expected
    assert np.array_equal(made.contribution, measure.contributions(interest, made.u, made.v))
