"""Workloads reject bad input by name, sort what they get, and know what each user sends and receives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from meshwright.content import Places, Workload, cost
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
    ("changed", "message"),
    [
        ({"rates": ([0], [0], [-1.0])}, r"the rate of \('ann', 'news'\) is negative or not a number"),
        ({"rates": ([0], [0], [np.nan])}, "is negative or not a number"),
        ({"rates": ([0], [0], [np.inf])}, "is infinite"),
        ({"rates": ([0, 0], [0, 0], [1.0, 2.0])}, r"\('ann', 'news'\) is given twice"),
        ({"rates": ([0], [0], [1.0, 2.0])}, "2 rates for 1 pairs .* give one rate for each pair"),
        ({"rates": ([7], [0], [1.0])}, r"rates of users 7: there are only 0 to 1"),
        ({"subscriptions": ([0], [1])}, "subscriptions of channels 1: there are only 0 to 0"),
        ({"subscriptions": ([0, 1], [0])}, "give pairs"),
        ({"rates": ([-1], [0], [1.0])}, r"rates of users -1: there are only 0 to 1"),
        ({"core": LONG}, "triangle inequality: 'x' to 'z' costs 5, by way of 'y' only 2"),
        ({"core": np.triu(LONG)}, "differ by direction between 'x' and 'y'"),
        ({"core": np.ones((3, 3))}, "have a core cost to themselves"),
        ({"core": np.ones((2, 2))}, "for 3 brokers"),
        ({"access": np.ones((2, 2))}, "for 2 users and 3 brokers"),
        ({"access": -np.ones((2, 3))}, r"access costs of \('ann', 'x'\), .* are negative or not finite"),
        ({"access": np.full((2, 3), np.inf)}, "negative or not finite: give 0 or more for every pair"),
        ({"access": None}, "links have no costs: give access and core, or places"),
        ({"core": None}, "links have no costs"),
        ({"capacity": [1.0, -1.0, 1.0]}, "capacities of brokers 'y' are negative or not numbers"),
        ({"capacity": np.nan}, "capacities of brokers 'x', 'y', 'z' are negative or not numbers"),
        ({"capacity": [1.0]}, "1 capacities for 3 brokers"),
        ({"users": ["ann", "ann"]}, "users 'ann' appear twice"),
        ({"users": ["ann", " "]}, r"users 2 \(from 1\) have no name"),
        ({"brokers": [], "access": np.ones((2, 0)), "core": np.ones((0, 0))}, "there are no brokers"),
        ({"places": Places(np.zeros((2, 2)), np.zeros((3, 2)))}, "both places and costs are given"),
        ({"places": Places(np.zeros((2, 2)), np.zeros((3, 2))), "core": None}, "leave out one of them"),
        (
            {"places": Places(np.zeros((1, 2)), np.zeros((3, 2))), "access": None, "core": None},
            "1 places for 2",
        ),
        (
            {"places": Places(np.full((2, 2), np.nan), np.zeros((3, 2))), "access": None, "core": None},
            "places of users 'ann', 'bob' are not finite",
        ),
        (
            {"places": Places(np.zeros((2, 2)), np.zeros((3, 2)), 0.0), "access": None, "core": None},
            "a core weight of 0.0",
        ),
    ],
)
def test_bad_workloads_are_rejected(changed: dict[str, Any], message: str) -> None:
    """Each mistake is an error that names the users, brokers or channels concerned."""
    with pytest.raises(InputError, match=message):
        build(**changed)


def test_many_mistakes_are_counted() -> None:
    """An error names the first five offenders and counts the others."""
    with pytest.raises(
        InputError, match=r"the rate of (\('u\d', 'news'\), ){4}\('u4', 'news'\) and 3 more is"
    ):
        build(
            users=[f"u{number}" for number in range(8)],
            rates=(np.arange(8), np.zeros(8, dtype=int), -np.ones(8)),
            access=np.ones((8, 3)),
        )


def test_everything_is_in_the_order_of_names() -> None:
    """Users, brokers and channels are sorted, and rates, subscriptions, costs and capacities follow them."""
    access = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    core = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    workload = Workload.build(
        ["bob", "ann"],
        ["z", "x", "y"],
        ["rain", "news"],
        rates=([0, 0, 1], [0, 1, 1], [7.0, 8.0, 0.0]),
        subscriptions=([1, 1, 0, 1], [0, 1, 1, 0]),
        access=access,
        core=core,
        capacity=[10.0, 20.0, 30.0],
    )
    assert workload.user_names.to_pylist() == ["ann", "bob"]
    assert (workload.rate_ptr.tolist(), workload.rate_channels.tolist()) == ([0, 0, 2], [0, 1])
    assert workload.rates.tolist() == [8.0, 7.0]
    assert (workload.subscription_ptr.tolist(), workload.subscription_channels.tolist()) == (
        [0, 2, 3],
        [0, 1, 0],
    )
    assert workload.access.tolist() == [[5.0, 6.0, 4.0], [2.0, 3.0, 1.0]]
    assert workload.core.tolist() == [[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]]
    assert workload.capacity.tolist() == [20.0, 30.0, 10.0]
    ptr, users = workload.audience
    assert (ptr.tolist(), users.tolist()) == ([0, 2, 3], [0, 1, 0])


def test_places_follow_their_names() -> None:
    """Places are sorted with users and brokers; core links cost distances times the core weight."""
    places = Places(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0], [6.0, 8.0], [0.0, 1.0]]), 2.0)
    workload = build(users=["bob", "ann"], brokers=["z", "y", "x"], places=places, access=None, core=None)
    assert workload.access.tolist() == pytest.approx(np.array([[np.hypot(3, 3), 5.0, 5.0], [1.0, 10.0, 0.0]]))
    assert workload.core[1, 2] == 20.0
    assert workload.places is not None
    assert workload.places.brokers.tolist() == [[0.0, 1.0], [6.0, 8.0], [0.0, 0.0]]


def test_one_capacity_is_for_every_broker() -> None:
    """A single number is the capacity of each broker; by default they share twice the demand."""
    assert build(capacity=3.0).capacity.tolist() == [3.0, 3.0, 3.0]
    plain = build()
    assert plain.load.tolist() == [2.0, 2.0]
    assert plain.capacity.tolist() == pytest.approx([8 / 3] * 3)
    with pytest.raises(InputError, match=r"a capacity of -1 times the demand: give more than zero"):
        plain.with_capacity(-1)


def test_fingerprints_tell_workloads_apart() -> None:
    """Whatever costs depend on changes the fingerprint; how a workload was made does not."""
    changes: list[dict[str, Any]] = [
        {"users": ["ann", "bea"]},
        {"brokers": ["x", "y", "w"]},
        {"channels": ["rain"]},
        {"rates": ([0], [0], [2.5])},
        {"rates": ([1], [0], [2.0])},
        {"subscriptions": ([0], [0])},
        {"access": np.full((2, 3), 1.5)},
        {"core": 2 * (np.ones((3, 3)) - np.eye(3))},
        {"capacity": 9.0},
    ]
    digests = [build(**changed).fingerprint for changed in ({}, *changes)]
    assert len(set(digests)) == len(digests)
    assert build(described={"seed": 3}).fingerprint == digests[0]


@pytest.mark.parametrize(
    ("broker_of", "message"),
    [
        ([0], "1 brokers for 2 users: give one for each user"),
        ([0, 3], "users 'bob' are on no broker from 0 to 2"),
        ([-1, 2], "users 'ann' are on no broker"),
        ([0.5, 1.0], "users 'ann', 'bob' .* give ids"),
    ],
)
def test_assignments_are_checked(broker_of: list[float], message: str) -> None:
    """An assignment must have one existing broker for each user."""
    with pytest.raises(InputError, match=message):
        cost(build(), broker_of)


def test_empty_workloads_cost_nothing() -> None:
    """A workload without users, without channels or without subscriptions costs zero."""
    nobody = build(users=[], rates=([], [], []), subscriptions=([], []), access=np.ones((0, 3)))
    silent = build(subscriptions=([], []))
    empty = build(channels=[], rates=([], [], []), subscriptions=([], []))
    assert [cost(nobody, []).total, cost(silent, [0, 1]).total, cost(empty, [0, 1]).total] == [0.0, 0.0, 0.0]
    assert silent.load.tolist() == [0.0, 0.0]


def test_rates_that_nobody_else_wants_do_not_count() -> None:
    """The only subscriber of a channel receives what others send there, and its own rate does not count."""
    both = build(rates=([0, 1], [0, 0], [2.0, 3.0]))
    assert both.demand.outgoing.tolist() == [2.0, 0.0]
    assert both.demand.incoming.tolist() == [0.0, 2.0]
