"""The raw stream turned into draws without repeats."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from meshwright.workloads import distributions as drawing
from meshwright.workloads import exponential_popularity, uniform_popularity, zipf_popularity
from meshwright.workloads.distributions import below, draw, earliest, fixed_point, minus_log

POPULARITIES = {
    "zipf": zipf_popularity(6, 2.0),
    "expo": exponential_popularity(6),
    "unif": uniform_popularity(6),
    "with zeros": np.array([0.0, 3.0, 0.0, 1.0, 2.0, 0.5, 0.0]),
}


def set_probabilities(weights: list[float], size: int) -> dict[tuple[int, ...], float]:
    """Successive sampling by its definition: the last topic of a set is any of its members."""
    total = sum(weights)
    probability: dict[tuple[int, ...], float] = {(): 1.0}
    for k in range(1, size + 1):
        for chosen in combinations(range(len(weights)), k):
            probability[chosen] = 0.0
            for i in chosen:
                before = tuple(j for j in chosen if j != i)
                left = total - sum(weights[j] for j in before)
                if left > 0:
                    probability[chosen] += probability[before] * weights[i] / left
    return {chosen: p for chosen, p in probability.items() if len(chosen) == size}


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("popularity", POPULARITIES)
@pytest.mark.parametrize("skip", [0, 8])
def test_both_methods_follow_the_law(
    skip: int, popularity: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn sets have the probabilities of successive sampling, by racing (0) and by skipping (8)."""
    monkeypatch.setattr(drawing, "_SKIP", skip)
    weights, nodes = POPULARITIES[popularity], 20_000
    topics = draw(np.random.PCG64(5), fixed_point(weights), np.full(nodes, size))
    seen = Counter(map(tuple, topics.reshape(nodes, size).tolist()))
    expected = {
        chosen: p * nodes for chosen, p in set_probabilities(weights.tolist(), size).items() if p > 1e-12
    }
    assert seen.keys() <= expected.keys()
    rare = [chosen for chosen, count in expected.items() if count < 5]
    pooled = [(seen[chosen], count) for chosen, count in expected.items() if count >= 5]
    if rare:
        pooled.append((sum(seen[chosen] for chosen in rare), sum(expected[chosen] for chosen in rare)))
    statistic = sum((got - wanted) ** 2 / wanted for got, wanted in pooled)
    assert statistic <= chi2.ppf(1 - 1e-4, max(len(pooled) - 1, 1))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_sizes_and_distinctness(data: st.DataObject) -> None:
    """Each node gets exactly its number of topics, ascending and so distinct, all of positive weight."""
    weights = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 1e-9, 0.1, 1.0, 5.0]), min_size=1, max_size=40))
    )
    weights[0] = 1.0
    sizes = np.array(data.draw(st.lists(st.integers(1, int((weights > 0).sum())), min_size=1, max_size=20)))
    topics = draw(np.random.PCG64(data.draw(st.integers(0, 99))), fixed_point(weights), sizes)
    for own in np.split(topics, np.cumsum(sizes)[:-1]):
        assert (np.diff(own) > 0).all()
        assert (weights[own] > 0).all()


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the batches are, a seed gives the same topics."""
    units = fixed_point(zipf_popularity(30, 1.0))
    sizes = np.arange(300) % 30 + 1  # both methods
    whole = draw(np.random.PCG64(1), units, sizes)
    for batch in (1, 50, 333):
        monkeypatch.setattr(drawing, "_BATCH", batch)
        np.testing.assert_array_equal(draw(np.random.PCG64(1), units, sizes), whole)


def test_fixed_point_keeps_rare_topics_and_drops_impossible_ones() -> None:
    """A positive weight has at least one unit, zero has no unit, and the rest keep their shares."""
    units = fixed_point(np.array([1e-30, 0.0, 3.0, 1.0]))
    assert units[:2].tolist() == [1, 0]
    assert units[2] == 3 * 2**38
    assert units[3] == 2**38


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**41))
def test_below_is_a_scaled_product(raw: int, bound: int) -> None:
    """A raw number's upper 43 bits times the bound, over 2⁴³, as in exact integers."""
    got = below(np.array([raw], dtype=np.uint64), np.int64(bound))
    assert got.tolist() == [(raw >> 21) * bound >> 43]


@given(st.integers(0, 2**64 - 1))
def test_minus_log_is_the_logarithm(raw: int) -> None:
    """Our logarithm agrees with the mathematical one to a few units in the last place."""
    uniform = ((raw >> 12) + 0.5) / 2**52
    got = minus_log(np.array([raw], dtype=np.uint64))[0]
    assert math.isclose(got, -math.log(uniform), rel_tol=2e-15)


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=6), st.data())
def test_earliest_breaks_ties_to_the_left(rows: list[list[int]], data: st.DataObject) -> None:
    """The columns chosen are those that a stable sort puts first."""
    sizes = [data.draw(st.integers(1, 5)) for _ in rows]
    expected = []
    for row, size in zip(rows, sizes, strict=True):
        expected += sorted(sorted(range(5), key=row.__getitem__)[:size])
    assert earliest(np.array(rows, dtype=np.float64), np.array(sizes)).tolist() == expected
