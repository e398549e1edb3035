"""Workloads: what they refuse, and what is made up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from meshwright.content import Places, Workload, cost, synthetic
from meshwright.content.model.synthetic import synthetic_approximation
from meshwright.errors import InputError

GOOD: dict[str, Any] = {
    "users": ["ann", "bob"],
    "brokers": ["x", "y", "z"],
    "channels": ["news"],
    "rates": ([0], [0], [2.0]),
    "subscriptions": ([1], [0]),
    "access": np.ones((2, 3)),
    "core": np.ones((3, 3)) - np.eye(3),
}


def build(**changed: Any) -> Workload:
    return Workload.build(**{**GOOD, **changed})


LONG = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"rates": ([0], [0], [-1.0])}, r"the rate of \('ann', 'news'\) is negative or no number"),
        ({"rates": ([0], [0], [np.nan])}, "is negative or no number"),
        ({"rates": ([0], [0], [np.inf])}, "is infinite"),
        ({"rates": ([0, 0], [0, 0], [1.0, 2.0])}, r"\('ann', 'news'\) is there twice"),
        ({"rates": ([0], [0], [1.0, 2.0])}, "2 rates for 1 pairs"),
        ({"rates": ([7], [0], [1.0])}, r"rates of users 7: there are only 0 to 1"),
        ({"subscriptions": ([0], [1])}, "subscriptions of channels 1: there are only 0 to 0"),
        ({"subscriptions": ([0, 1], [0])}, "give pairs"),
        ({"core": LONG}, "triangle inequality: 'x' to 'z' costs 5, by way of 'y' only 2"),
        ({"core": np.triu(LONG)}, "differ by direction between 'x' and 'y'"),
        ({"core": np.ones((3, 3))}, "have a core cost to themselves"),
        ({"core": np.ones((2, 2))}, "for 3 brokers"),
        ({"access": np.ones((2, 2))}, "for 2 users and 3 brokers"),
        ({"access": -np.ones((2, 3))}, r"access costs of \('ann', 'x'\), .* are negative or not finite"),
        ({"access": None}, "no costs of links"),
        ({"capacity": [1.0, -1.0, 1.0]}, "capacities of brokers 'y' are below 0"),
        ({"capacity": [1.0]}, "1 capacities for 3 brokers"),
        ({"users": ["ann", "ann"]}, "users 'ann' are there twice"),
        ({"users": ["ann", " "]}, r"users 2 \(from 1\) have no name"),
        ({"brokers": [], "access": np.ones((2, 0)), "core": np.ones((0, 0))}, "there is no broker"),
        ({"places": Places(np.zeros((2, 2)), np.zeros((3, 2)))}, "leave out one of them"),
        (
            {"places": Places(np.zeros((1, 2)), np.zeros((3, 2))), "access": None, "core": None},
            "1 places for 2",
        ),
        (
            {"places": Places(np.full((2, 2), np.nan), np.zeros((3, 2))), "access": None, "core": None},
            "users 'ann', 'bob' are no finite points",
        ),
        (
            {"places": Places(np.zeros((2, 2)), np.zeros((3, 2)), 0.0), "access": None, "core": None},
            "a core weight of 0.0",
        ),
    ],
)
def test_what_cannot_be_is_told(changed: dict[str, Any], told: str) -> None:
    """Each mistake gets a line that names who makes it."""
    with pytest.raises(InputError, match=told):
        build(**changed)


@pytest.mark.parametrize(
    ("broker_of", "told"),
    [([0], "1 brokers for 2 users"), ([0, 3], "users 'bob' are on no broker"), ([0.5, 1.0], "give ids")],
)
def test_assignments_are_checked(broker_of: list[float], told: str) -> None:
    """Not one broker for each user, or one that is not there, is refused."""
    with pytest.raises(InputError, match=told):
        cost(build(), broker_of)


def test_nobody_and_nothing_costs_nothing() -> None:
    """A workload without users, without channels or without subscriptions has a cost: zero."""
    nobody = build(users=[], rates=([], [], []), subscriptions=([], []), access=np.ones((0, 3)))
    silent = build(subscriptions=([], []))
    empty = build(channels=[], rates=([], [], []), subscriptions=([], []))
    assert [cost(nobody, []).total, cost(silent, [0, 1]).total, cost(empty, [0, 1]).total] == [0.0, 0.0, 0.0]
    assert silent.load.tolist() == [0.0, 0.0]


def test_what_nobody_else_wants_is_not_sent() -> None:
    """The only subscriber of a channel receives what others send there, and sends nothing itself."""
    both = build(rates=([0, 1], [0, 0], [2.0, 3.0]))
    assert both.demand.outgoing.tolist() == [2.0, 0.0]
    assert both.demand.incoming.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("model", ["uniform", "plane"])
def test_made_up_workloads_are_as_asked(model: Any) -> None:
    """Costs have the asked ratio, capacities twice the demand; a third of the users publish nothing."""
    workload = synthetic(2000, model=model, ratio=2.5, seed=1)
    assert (workload.num_brokers, workload.num_channels) == (20, 100)
    assert workload.cost_ratio == pytest.approx(2.5)
    assert workload.capacity.sum() == pytest.approx(2 * workload.load.sum())
    assert float((np.diff(workload.rate_ptr) == 0).mean()) == pytest.approx(1 / 3, abs=0.04)
    assert np.diff(workload.subscription_ptr).tolist() == [1] * 2000
    assert workload.fingerprint == synthetic(2000, model=model, ratio=2.5, seed=1).fingerprint
    assert workload.fingerprint != synthetic(2000, model=model, ratio=2.5, seed=2).fingerprint


def test_intervals_take_in_whole_channels() -> None:
    """Intervals of three channels' length meet four of them; one channel a user is met exactly."""
    assert np.diff(synthetic(50, 2, length=0.03).subscription_ptr).tolist() == [4] * 50
    assert synthetic_approximation(50, length=0.03).volume_ratio == pytest.approx(4 / 3)
    assert synthetic_approximation(50).traffic_ratio == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"users": 0}, "0 users and"),
        ({"model": "sphere"}, "choose uniform or plane"),
        ({"length": 1.5}, "more than 0 and at most 1"),
        ({"ratio": 0.0}, "a cost ratio of 0.0"),
        ({"capacity": 0.0}, "a capacity of 0.0 times"),
        ({"channels": 0}, "cut into 0 channels: give at least 1"),
    ],
)
def test_made_up_workloads_that_cannot_be(given: dict[str, Any], told: str) -> None:
    """Numbers that cannot be are refused."""
    with pytest.raises(InputError, match=told):
        synthetic(**{"users": 10, "brokers": 2, **given})
