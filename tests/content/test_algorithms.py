"""The algorithms agree with their slow twins, keep within capacities, and are deterministic."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import content_naive as naive
from content_naive import workloads
from meshwright.content import ALGORITHMS, Places, Workload, assign, sequential, synthetic
from meshwright.content.sequential import (
    channel_tree_weights,
    clustering,
    mixing,
    mixing_weights,
    packing,
)
from meshwright.errors import InputError

QUICK = [name for name in ALGORITHMS if name != "exact"]
crowded = st.one_of(workloads(), workloads(capacity=None), workloads(capacity=6.0))


def assigned(make: Callable[[], Any]) -> Any:
    """Return what an algorithm makes; drop examples in which a user finds no room."""
    try:
        return make()
    except InputError:
        assume(False)


@given(crowded)
def test_packing_agrees_with_its_twin(workload: Workload) -> None:
    """Packing puts each user where the plain reading of Algorithm 1 puts it."""
    assert assigned(lambda: packing(workload)).tolist() == naive.packing(workload)


@given(crowded, st.sampled_from([(32, 200_000_000), (2, 200_000_000), (32, 0)]), st.booleans())
def test_clustering_agrees_with_its_twin(workload: Workload, limits: tuple[int, int], by_sum: bool) -> None:
    """Clustering puts users where the plain reading puts them, by means and by sums, whatever the bounds."""
    with (
        mock.patch.object(sequential, "FORERUNNERS", limits[0]),
        mock.patch.object(sequential, "MOST_LOOKS", limits[1]),
    ):
        found = assigned(lambda: clustering(workload, by_sum=by_sum))
        assert found.tolist() == naive.clustering(workload, by_sum=by_sum)


@given(workloads())
def test_channel_trees_agree_with_their_twin(workload: Workload) -> None:
    """Links weigh what our trees for each channel carry; mere publishers weigh what they send."""
    takers = np.diff(workload.subscription_ptr) > 0
    weights = channel_tree_weights(workload)
    assert weights[takers] == pytest.approx(naive.tree_weights(workload)[takers])
    assert weights[~takers].sum(axis=1) == pytest.approx(workload.demand.outgoing[~takers])


@given(crowded, st.integers(0, 9), st.randoms(use_true_random=False))
def test_mixing_agrees_with_its_twin(workload: Workload, seed: int, draw: Random) -> None:
    """Mixing puts each user where Algorithm 3 puts it, tree by tree, whatever publishers follow the first."""
    rng = np.random.Generator(np.random.PCG64(seed))
    orders = []
    for channel, part in enumerate(rng.random(workload.num_channels)):
        rest = naive.publishers(workload, channel)
        first = [rest.pop(int(part * len(rest)))] if rest else []
        orders.append([*first, *draw.sample(rest, len(rest))])
    expected = naive.mixing_weights(workload, orders)
    found = assigned(lambda: mixing(workload, seed=seed))
    assert found.tolist() == naive.drawn(workload, expected, rng.random(workload.num_users))


def test_trees_of_many_brokers_agree_with_their_twin() -> None:
    """Trees that grow over several brokers, with equal costs, attach each user as Algorithm 3 does."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        users, brokers = 9, 6
        workload = Workload.build(
            [f"u{number}" for number in range(users)],
            [f"b{number}" for number in range(brokers)],
            ["news"],
            rates=([0], [0], [1.0]),
            subscriptions=(range(users), [0] * users),
            access=rng.integers(1, 7, (users, brokers)).astype(float),
            core=naive.metric(rng.integers(1, 5, brokers**2).tolist(), brokers),
            capacity=np.inf,
        )
        assert np.array_equal(mixing_weights(workload, np.zeros(1)), naive.mixing_weights(workload, [[0]]))


@given(workloads(most_users=5, most_channels=1))
def test_no_order_of_later_publishers_matters(workload: Workload) -> None:
    """All orders of a channel's publishers: only the first one decides what links carry."""
    found = naive.publishers(workload, 0)
    for order in permutations(found):
        part = np.array([(found.index(order[0]) + 0.5) / len(found)] if found else [0.0])
        assert np.array_equal(mixing_weights(workload, part), naive.mixing_weights(workload, [order]))


@given(workloads(most_channels=1))
def test_a_tree_costs_at_most_twice_the_cheapest_one(workload: Workload) -> None:
    """Of all trees over a publisher and the subscribers, enumerated, none costs less than half of ours."""
    for publisher in naive.publishers(workload, 0):
        others = [user for user in naive.subscribers(workload, 0) if user != publisher]
        tree = naive.Mixed(workload, 0).grow(publisher)
        least = naive.least_tree(workload, publisher, others)
        assert least * (1 - 1e-9) <= tree <= 2 * least * (1 + 1e-9)


@given(workloads(most_channels=1), st.floats(0, 1, exclude_max=True))
def test_a_user_has_one_broker_on_a_channel(workload: Workload, part: float) -> None:
    """|B_u| is 1: a subscriber's link carries the whole rate, that of a mere publisher what it sends."""
    weights = mixing_weights(workload, np.array([part]))
    wanted = np.isin(np.arange(workload.num_users), naive.subscribers(workload, 0))
    carried = np.where(wanted, workload.demand.channel_rate[0], workload.demand.outgoing)
    assert np.array_equal((weights > 0).sum(axis=1), carried > 0)
    assert weights.sum(axis=1) == pytest.approx(carried)


@settings(max_examples=30)
@given(crowded, st.integers(0, 3))
def test_all_keep_within_capacities(workload: Workload, seed: int) -> None:
    """Every user is on a broker, no broker exceeds its capacity, and no algorithm is cheaper than descent."""
    plans = {}
    variants: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in QUICK}
    variants |= {f"{name}, argmax": (name, {"argmax": True}) for name in ("steiner", "mixing")}
    variants["clustering, sum"] = ("clustering", {"sum": True})
    for variant, (name, parameters) in variants.items():
        try:
            plans[variant] = assign(workload, name, seed=seed, **parameters)
        except InputError as error:
            assert "has room for user" in str(error)  # noqa: PT017
    for plan in plans.values():
        assert plan.cost.within_capacity
        assert len(plan.cost.broker_of) == workload.num_users
    if plans:
        least = min(plan.cost.total for plan in plans.values())
        assert plans["descent"].cost.total <= least * (1 + 1e-12)
    if "random" in plans:
        assert plans["random"].crr == 1.0


@pytest.mark.parametrize("name", QUICK)
def test_the_same_seed_gives_the_same(name: str) -> None:
    """A second run of an algorithm puts every user where the first one did."""
    workload = synthetic(300, 6, 10, model="plane", length=0.2, seed=1)
    first, second = (assign(workload, name, seed=5).cost.broker_of for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", ["random", "steiner", "mixing"])
def test_another_seed_gives_another_assignment(name: str) -> None:
    """Algorithms that draw at random use the seed; with the heaviest brokers steiner has nothing to draw."""
    workload = synthetic(300, 6, 10, model="uniform", length=0.3, seed=1)
    first, second = (assign(workload, name, seed=seed).cost.broker_of for seed in (1, 2))
    assert not np.array_equal(first, second)
    if name == "steiner":
        first, second = (assign(workload, name, argmax=True, seed=seed).cost.broker_of for seed in (1, 2))
        assert np.array_equal(first, second)


@pytest.mark.parametrize("name", QUICK)
def test_order_does_not_matter(name: str) -> None:
    """If users, brokers and channels come in another order, each user still goes to the same broker."""
    rng = np.random.Generator(np.random.PCG64(3))
    users, brokers, channels = 60, 4, 5
    points = [rng.random((users, 2)), rng.random((brokers, 2))]
    rates, wanted = rng.random((users, channels)), rng.integers(0, channels, users)

    def build(u: Any, b: Any, c: Any) -> Workload:
        at = np.argsort(c)
        return Workload.build(
            [f"u{i:02}" for i in u],
            [f"b{i}" for i in b],
            [f"c{i}" for i in c],
            rates=(*np.indices(rates.shape).reshape(2, -1), rates[np.ix_(u, c)].reshape(-1)),
            subscriptions=(np.arange(users), at[wanted[u]]),
            places=Places(points[0][u], points[1][b]),
        )

    straight = build(np.arange(users), np.arange(brokers), np.arange(channels))
    mixed = build(rng.permutation(users), rng.permutation(brokers), rng.permutation(channels))
    assert straight.fingerprint == mixed.fingerprint
    assert assign(straight, name).cost.broker_of.tolist() == assign(mixed, name).cost.broker_of.tolist()


@pytest.mark.parametrize("name", ["packing", "clustering", "mixing", "steiner", "descent"])
def test_scaled_costs_give_the_same(name: str) -> None:
    """If all links cost twice as much, every user stays, and the cost doubles."""
    drawn = synthetic(200, 5, 8, model="plane", seed=2)
    assert drawn.places is not None
    doubled = Places(drawn.places.users * 2, drawn.places.brokers * 2, drawn.places.core_weight)
    again = Workload.build(
        drawn.user_names.to_pylist(),
        drawn.broker_names.to_pylist(),
        drawn.channel_names.to_pylist(),
        rates=(np.repeat(np.arange(200), np.diff(drawn.rate_ptr)), drawn.rate_channels, drawn.rates),
        subscriptions=(np.arange(200), drawn.subscription_channels),
        places=doubled,
    )
    one, two = assign(drawn, name), assign(again, name)
    assert np.array_equal(one.cost.broker_of, two.cost.broker_of)
    assert two.cost.total == pytest.approx(2 * one.cost.total)


@pytest.mark.parametrize("users", [1000, 3000])
def test_the_paper_s_order_shows(users: int) -> None:
    """With one channel per user and links from 1 to 1.2, CRR: mixing > clustering by sum > packing > 1."""
    workload = synthetic(users, model="narrow", seed=0)
    ratio = {name: assign(workload, name).crr or 0.0 for name in ("packing", "mixing", "steiner", "descent")}
    clustered = assign(workload, "clustering", sum=True).crr or 0.0
    assert ratio["descent"] > ratio["steiner"] > ratio["mixing"] > 1.1 * clustered
    assert clustered > ratio["packing"] > 1.02


def test_mixing_is_ahead_with_wider_costs() -> None:
    """With links from 1 to 2, mixing stays above packing, and clustering by sum falls below it."""
    workload = synthetic(3000, seed=0)
    ratio = {name: assign(workload, name).crr or 0.0 for name in QUICK}
    assert ratio["descent"] > ratio["steiner"] > ratio["clustering"] > ratio["packing"] > 1.2
    assert ratio["mixing"] > ratio["packing"] > (assign(workload, "clustering", sum=True).crr or 0.0)


def test_a_user_without_room_is_named() -> None:
    """The error names the user whose load no broker can carry, its load, and the room that is left."""
    workload = synthetic(20, 3, 2).with_capacity(0.5)
    for name in QUICK:
        with pytest.raises(InputError, match=r"no broker has room for user 'user\d\d', whose load is"):
            assign(workload, name)
    full = Workload.build(
        ["ann", "bob"], ["x", "y"], ["news"],
        rates=([0, 1], [0, 0], [2.0, 2.0]), subscriptions=([0, 1], [0, 0]),
        access=[[1.0, 2.0], [1.0, 2.0]], core=[[0.0, 1.0], [1.0, 0.0]], capacity=[5.0, 3.0],
    )  # fmt: skip
    with pytest.raises(InputError, match="'bob', whose load is 4: at most 3 is left, at broker 'y'; raise"):
        packing(full)


def test_unknown_names_are_rejected() -> None:
    """An unknown algorithm or parameter is an error that lists the known ones."""
    workload = synthetic(10, 2, 2)
    with pytest.raises(InputError, match="no algorithm 'greedy': choose one of random, packing"):
        assign(workload, "greedy")
    with pytest.raises(InputError, match="packing does not take argmax: it takes no parameters"):
        assign(workload, "packing", argmax=True)
    with pytest.raises(InputError, match="descent does not take argmax: it takes seconds, steps"):
        assign(workload, "descent", argmax=True)
    assert assign(workload, "packing", argmax=None).parameters == {}


def test_figures_of_a_plan() -> None:
    """A plan's figures are those of its cost; without a bound there is no gap."""
    workload = synthetic(200, 4, 10, model="plane", seed=3)
    plan = assign(workload, "packing", seed=2)
    baseline = assign(workload, "random", seed=2).cost.total
    assert plan.figures["cost"] == plan.figures["access_cost"] + plan.figures["core_cost"] == plan.cost.total
    assert plan.figures["core_share"] == plan.cost.core / plan.cost.total
    assert plan.figures["subscribers_per_channel"] == 20.0
    assert plan.figures["tree_core_cost"] >= 0
    assert (plan.crr, plan.random_cost) == (baseline / plan.cost.total, baseline)
    assert (plan.gap, "gap" in plan.figures) == (None, False)
    assert plan.figures["max_load"] == pytest.approx(float((plan.cost.load / workload.capacity).max()))


def test_plans_that_cost_nothing() -> None:
    """Without traffic the cost is 0, the CRR 1 and the shares 0."""
    silent = Workload.build(
        ["ann"], ["x"], ["news"],
        rates=([], [], []), subscriptions=([0], [0]), access=[[1.0]], core=[[0.0]], capacity=0.0,
    )  # fmt: skip
    plan = assign(silent, "packing")
    assert (plan.cost.total, plan.crr, plan.figures["core_share"], plan.cost.max_load) == (0.0, 1.0, 0.0, 0.0)
    assert assign(silent, "exact").gap == 0.0


def test_no_baseline_without_room() -> None:
    """If random assignment finds no room for a user, there is a plan, but no CRR."""
    workload = Workload.build(
        ["ann", "bob", "zoe"], ["x", "y"], ["news"],
        rates=([0, 1], [0, 0], [1.0, 1.0]), subscriptions=([2], [0]),
        access=[[2.0, 1.0]] * 3, core=[[0.0, 1.0], [1.0, 0.0]], capacity=2.0,
    )  # fmt: skip
    plans = [assign(workload, "packing", seed=seed) for seed in range(10)]
    assert all(plan.cost.broker_of.tolist() == [1, 1, 0] for plan in plans)
    assert {plan.random_cost is None for plan in plans} == {True, False}
    assert all((plan.crr is None) == (plan.random_cost is None) for plan in plans)
