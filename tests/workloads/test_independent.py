"""Independent topics: each node takes each topic or not, with the requested mean and popularity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.workloads import WORKLOADS, Sizes, synthetic, unif, uniform_popularity, zipf_popularity
from meshwright.workloads.distributions import below, draw_independently, fixed_point, inclusion

weights = st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any)


def chances(units: list[int], size: int) -> list[Fraction]:
    """Return the probability of each topic: raise all in proportion, and stop each at 1."""
    certain: set[int] = set()
    while True:
        left = sum(unit for t, unit in enumerate(units) if t not in certain)
        found = [
            Fraction(1) if t in certain else Fraction((size - len(certain)) * unit, left or 1)
            for t, unit in enumerate(units)
        ]
        over = {t for t, chance in enumerate(found) if chance > 1}
        if not over:
            return found
        # One at a time, the most popular first, as the others then get less.
        certain.add(max(over, key=lambda t: (units[t], -t)))


@settings(max_examples=40, deadline=None)
@given(weights, st.data())
def test_chances_agree_with_their_twin(units: list[int], data: st.DataObject) -> None:
    """Probabilities are in proportion to popularity, at most 1, and add up to the size exactly."""
    size = data.draw(st.integers(1, sum(unit > 0 for unit in units)))
    wins, bound = inclusion(np.array(units), size)
    assert [Fraction(int(win), bound) for win in wins] == chances(units, size)
    assert wins.sum() == size * bound
    assert ((wins > 0) == (np.array(units) > 0)).all()


@settings(max_examples=20, deadline=None)
@given(weights, st.integers(1, 6), st.integers(0, 99), st.data())
def test_draws_agree_with_their_twin(units: list[int], nodes: int, seed: int, data: st.DataObject) -> None:
    """Node by node and topic by topic, a raw number below the topic's share of cases takes the topic."""
    most = sum(unit > 0 for unit in units)
    sizes = data.draw(st.lists(st.integers(1, most), min_size=nodes, max_size=nodes))
    topics, counts = draw_independently(np.random.PCG64(seed), np.array(units), np.array(sizes))
    stream, expected = np.random.PCG64(seed), []
    for size in sizes:
        wins, bound = inclusion(np.array(units), size)
        raw = [stream.random_raw(1) for _ in units]
        expected.append([t for t in range(len(units)) if below(raw[t], np.int64(bound))[0] < wins[t]])
    assert topics.tolist() == [t for own in expected for t in own]
    assert counts.tolist() == [len(own) for own in expected]


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_sizes_are_means(name: str) -> None:
    """The mean size is the requested one, sizes vary as independent choices do, and popularity is kept."""
    interest = WORKLOADS[name](20_000, 50, size=6, independent=True, seed=3)
    sizes = np.diff(interest.node_ptr)
    wins, bound = inclusion(fixed_point(_popularity(name)), 6)
    chance = wins / bound
    assert sizes.mean() == pytest.approx(6, abs=0.1)
    assert sizes.var() == pytest.approx((chance * (1 - chance)).sum(), rel=0.05)
    np.testing.assert_allclose(np.diff(interest.topic_ptr) / 20_000, chance, atol=0.02)


def _popularity(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    from meshwright.workloads import exponential_popularity

    return {"zipf": zipf_popularity, "expo": exponential_popularity, "unif": uniform_popularity}[name](50)


def test_topics_are_independent() -> None:
    """Two topics are taken together as often as the product of their chances says."""
    interest = unif(20_000, 4, size=2, independent=True, seed=1)
    held = interest.to_scipy().toarray()
    together = np.asarray(held, dtype=float).T @ held / 20_000
    np.testing.assert_allclose(together[~np.eye(4, dtype=bool)], 0.25, atol=0.02)


def test_sizes_by_a_power_law_are_means_too() -> None:
    """With a range of sizes each node's mean follows the power law; every topic may be certain."""
    law = Sizes(2, 8, 1.5)
    interest = synthetic(20_000, np.ones(10), law, independent=True, seed=3)
    mean = float((np.arange(2, 9) * law.probabilities).sum())
    assert np.diff(interest.node_ptr).mean() == pytest.approx(mean, abs=0.1)
    assert unif(30, 7, size=7, independent=True).num_subscriptions == 210


def test_a_seed_means_the_same_everywhere() -> None:
    """The workload of a seed is fixed; a change here breaks users' seeds."""
    found = unif(300, 100, size=10, independent=True, seed=7).whole_fingerprint[:16]
    assert found == "6dd20a062b669d11"
