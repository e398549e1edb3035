"""Loads, pools and steps of the price bound, against slow, obvious twins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright import Interest, bounds
from meshwright.bounds import bound as bound_file
from meshwright.bounds import loads as loads_file
from meshwright.bounds import step_kernels as steps
from meshwright.bounds.ascent import list_shared_topics, make_pool, sampling_chances
from meshwright.bounds.loads import Loads
from meshwright.bounds.prices import SCALE
from meshwright.errors import InputError
from meshwright.workloads import unif

small = crowds(nodes=(1, 25), subscriptions=100)


def dyadic_prices(interest: Interest, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return prices that are multiples of 1/64: sums of them are exact even in float32."""
    random = np.random.Generator(np.random.PCG64(seed))
    return (random.integers(0, 65, interest.num_subscriptions) / 64).astype(np.float32)


@settings(max_examples=examples(50, 15), deadline=None)
@given(small, seeds, st.integers(1, 3), st.sampled_from([0.0, 0.5, 0.9]), st.booleans())
def test_a_scan_finds_the_tight_pairs(
    interest: Interest, seed: int, threads: int, threshold: float, limited: bool
) -> None:
    """A scan keeps the pairs above the threshold in order, with the excess and the heaviest loads."""
    price = dyadic_prices(interest, seed)
    extra = dyadic_extra(interest, seed) * limited
    found = Loads(interest, threads).scan(price, threshold, extra if limited else None)
    carried = {
        (u, v): load - float(extra[u] + extra[v])
        for (u, v), load in naive.loads(interest, price.tolist()).items()
    }
    tight = {pair: load for pair, load in carried.items() if load > threshold}
    assert list(zip(found.u.tolist(), found.v.tolist(), strict=True)) == sorted(tight)
    assert found.load.tolist() == [tight[pair] for pair in sorted(tight)]
    assert found.excess == sum(max(0.0, load - 1) for load in carried.values())
    heaviest = heaviest_by_slot(interest, {p: load for p, load in carried.items() if load > 1}, 1.0)
    assert found.heaviest.tolist() == heaviest


def dyadic_extra(interest: Interest, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return what nodes allow beyond 1/2: multiples of 1/64, from −1/2 to 1, many of them 0."""
    random = np.random.Generator(np.random.PCG64(seed + 1))
    extra = random.integers(-32, 65, interest.num_nodes) / 64
    return np.where(random.random(len(extra)) < 0.5, extra, 0.0).astype(np.float32)


@settings(max_examples=examples(50, 15), deadline=None)
@given(small, seeds, st.integers(1, 3), st.sampled_from([SCALE, SCALE + SCALE // 2, 2**62]))
def test_a_weighing_is_exact(interest: Interest, seed: int, threads: int, ceiling: int) -> None:
    """Excess, heaviest loads up to the ceiling, and prices that pay beyond it are exact integers."""
    random = np.random.Generator(np.random.PCG64(seed))
    scaled = random.integers(0, SCALE + 1, interest.num_subscriptions)
    found = Loads(interest, threads).weigh(scaled, ceiling)
    carried = {pair: int(load) for pair, load in naive.loads(interest, scaled.tolist()).items()}
    assert found.excess == sum(max(0, load - SCALE) for load in carried.values())
    within = {pair: load for pair, load in carried.items() if load <= ceiling}
    assert found.heaviest.tolist() == heaviest_by_slot(interest, within, 0)
    paying = set()
    for (u, v), load in carried.items():
        if load > ceiling:
            for mine, theirs in shared_slots(interest, u, v):
                paying |= {mine} if scaled[mine] >= scaled[theirs] else set()
                paying |= {theirs} if scaled[theirs] >= scaled[mine] else set()
    assert set(np.flatnonzero(found.paying).tolist()) == paying


@settings(max_examples=examples(35, 10), deadline=None)
@given(small, seeds)
def test_the_strain_is_that_of_the_formula(interest: Interest, seed: int) -> None:
    """Pairs pull with e^(η(L − 1)) at the larger price, or at both if they are nearly equal.

    L is what a pair carries beyond what its ends allow, and each end gets the pull of all its pairs.
    """
    price = dyadic_prices(interest, seed)
    loads = Loads(interest)
    scan = loads.scan(price, 0.0)
    pool = list_shared_topics(loads, scan.u, scan.v, np.ones(len(scan.u), dtype=np.float32))
    strain = np.empty(len(price), dtype=np.float32)
    eta, cap, sharpness = np.float32(8), np.float32(3), np.float32(4)
    extra = dyadic_extra(interest, seed)
    pull = np.empty_like(extra)
    steps.add_strain(pool, 0, len(pool.u), price, extra, eta, cap, sharpness, strain, pull)
    expected, pulled = np.zeros(len(price)), np.zeros(len(extra))
    for (u, v), load in naive.loads(interest, price.tolist()).items():
        exponent = 8.0 * (load - float(extra[u] + extra[v]) - 1)
        if load > 0 and exponent >= -14:
            weight = (1 + min(exponent, 3.0) / 64) ** 64
            pulled[u] += weight
            pulled[v] += weight
            for mine, theirs in shared_slots(interest, u, v):
                a, b = float(price[mine]), float(price[theirs])
                part = min(1.0, max(0.0, 0.5 + 2.0 * (a - b) / max(a, b, 1e-9)))
                expected[mine] += weight * part
                expected[theirs] += weight * (1 - part)
    assert np.allclose(pull, pulled, rtol=1e-4, atol=1e-5)
    assert np.allclose(strain, expected, rtol=1e-4, atol=1e-5)


@settings(max_examples=examples(30, 8), deadline=None)
@given(small, seeds, st.sampled_from([1.0, 20.0]))
def test_a_pool_has_each_pair_once(interest: Interest, seed: int, care: float) -> None:
    """All pairs of an older pool are there too, in order; a pair that both have keeps the newer weight."""
    loads = Loads(interest)
    scan = loads.scan(dyadic_prices(interest, seed), 0.5)
    newer = make_pool(loads, scan, 8.0, care)
    everything = loads.scan(dyadic_prices(interest, seed + 1), 0.0)
    weight = np.full(len(everything.u), 7.0, dtype=np.float32)
    older = list_shared_topics(loads, everything.u, everything.v, weight)
    both = make_pool(loads, scan, 8.0, care, older)
    fresh = dict(
        zip(zip(newer.u.tolist(), newer.v.tolist(), strict=True), newer.weight.tolist(), strict=True)
    )
    stale = dict.fromkeys(zip(older.u.tolist(), older.v.tolist(), strict=True), 1.0)
    assert list(zip(both.u.tolist(), both.v.tolist(), strict=True)) == sorted(stale | fresh)
    assert both.weight.tolist() == [weight for _, weight in sorted((stale | fresh).items())]
    assert np.diff(both.ptr).tolist() == [
        len(shared_slots(interest, u, v)) for u, v in zip(both.u.tolist(), both.v.tolist(), strict=True)
    ]


def test_a_sample_is_no_larger_than_its_room() -> None:
    """All heavy pairs are taken if there is room; else chances add up to about the room, heavy ones first."""
    exponent = np.linspace(-12.0, 0.0, 1000)
    roomy, tight = sampling_chances(exponent, 5.0, 1e6), sampling_chances(exponent, 5.0, 200.0)
    assert (roomy[exponent >= -5.0] == 1.0).all()
    assert roomy[exponent < -5.0].max() < 1.0
    assert 150.0 < tight.sum() <= 200.0
    assert (np.diff(tight) >= 0.0).all()


def test_strain_lowers_and_slack_raises() -> None:
    """A price whose strain is above 1 falls, one below 1 rises up to 1, and 0 stays 0."""
    strains = np.array([[2.0, 0.5, 0.1, 5.0], [1.0, 0.0, 0.1, 0.0]], dtype=np.float32)
    price = np.array([0.5, 0.5, 0.999, 0.0], dtype=np.float32)
    momentum = np.zeros(4, dtype=np.float32)
    steps.move(strains, price, momentum, np.float32(0.1), np.float32(0.8), np.float32(1))
    step = -0.1 * math.log(3.02)
    assert price[0] == pytest.approx(0.5 * (1 + step + step**2 / 2), rel=1e-2)
    assert price[1] > 0.5
    assert price[2:].tolist() == [1.0, 0.0]


@settings(max_examples=examples(35, 10), deadline=None)
@given(small, st.integers(0, 40), st.sampled_from([0.0, 0.1, 1.0]))
def test_tight_pairs_are_those_that_carry_most(interest: Interest, most: int, slack: float) -> None:
    """They are in order, carry 1 − slack or more, and no pair that is left out carries more."""
    found = bounds.prices(interest)
    tight = bounds.tight_pairs(found, most=most, slack=slack)
    carried = naive.loads(interest, found.q.tolist())
    enough = {pair for pair, load in carried.items() if load >= 1 - slack - 1e-6 and load > 0}
    taken = list(zip(tight.u.tolist(), tight.v.tolist(), strict=True))
    assert taken == sorted(taken)
    assert len(taken) <= most
    least = min((carried[pair] for pair in taken), default=math.inf)
    if len(taken) < most:
        assert enough <= set(taken)
    elif taken:
        assert all(carried[pair] <= least + 1e-5 for pair in enough - set(taken))


def test_too_many_pairs_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """If more pairs are tight than there is room for, an even sample is kept, each for several."""
    interest = unif(200, 20, min_size=3, max_size=3, seed=0)
    price = np.ones(interest.num_subscriptions, dtype=np.float32)
    all_pairs = Loads(interest).scan(price, 0.5)
    monkeypatch.setattr(loads_file, "MOST_PAIRS", 1000)
    found = Loads(interest).scan(price, 0.5)
    assert found.every > 1
    assert len(found.u) <= 1000
    assert len(found.u) * found.every == pytest.approx(len(all_pairs.u), rel=0.1)


def test_few_scans_suffice_where_too_many_pairs_are_tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack that still leaves too many pairs is passed over; if all carry 1, the first sample is taken."""
    thresholds: list[float] = []
    scan = Loads.scan

    def counted(self: Loads, price: Any, threshold: float, extra: Any = None) -> Any:
        thresholds.append(threshold)
        return scan(self, price, threshold, extra)

    monkeypatch.setattr(Loads, "scan", counted)
    for file in (loads_file, bound_file):
        monkeypatch.setattr(file, "MOST_PAIRS", 1000)
    nodes = 300
    # All share one topic, so a pair carries the larger of its two prices: 1 with some nodes, else less.
    for count, scans in ((nodes, 1), (3, 2)):
        q = np.where(np.arange(nodes) < count, 1.0, 0.96)
        interest = Interest.from_pairs(np.arange(nodes), np.zeros(nodes, dtype=np.int64))
        prices = bounds.Prices(interest, (q * SCALE).astype(np.int64), 0)
        thresholds.clear()
        tight = bounds.tight_pairs(prices, most=10**6)
        assert len(thresholds) == scans
        assert (tight.load >= 1 - 1e-4).all()
        assert len(tight.u) <= 1000


@pytest.mark.parametrize(("most", "slack", "message"), [(-1, 0.1, "-1 pairs"), (5, 2.0, "slack of 2.0")])
def test_bad_requests_are_rejected(most: int, slack: float, message: str) -> None:
    """A negative number of pairs, or a slack beyond 1, is rejected in one line."""
    found = bounds.prices(Interest.from_dict({"a": {"x"}, "b": {"x"}}))
    with pytest.raises(InputError, match=message):
        bounds.tight_pairs(found, most=most, slack=slack)


def shared_slots(interest: Interest, u: int, v: int) -> list[tuple[int, int]]:
    """Return the two slots of each topic that two nodes share."""
    ptr, topics = interest.node_ptr.tolist(), interest.node_topics.tolist()
    of_v = {topics[slot]: slot for slot in range(ptr[v], ptr[v + 1])}
    return [(slot, of_v[topics[slot]]) for slot in range(ptr[u], ptr[u + 1]) if topics[slot] in of_v]


def heaviest_by_slot(interest: Interest, carried: dict[tuple[int, int], Any], least: float) -> list[float]:
    """Return for each slot the largest load of the pairs that share its topic, or the least."""
    heaviest = [least] * interest.num_subscriptions
    for (u, v), load in carried.items():
        for slots in shared_slots(interest, u, v):
            for slot in slots:
                heaviest[slot] = max(heaviest[slot], load)
    return heaviest
