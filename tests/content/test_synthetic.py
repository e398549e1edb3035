"""Synthetic workloads have the asked sizes, costs and capacities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from meshwright.content import synthetic
from meshwright.content.synthetic import synthetic_approximation
from meshwright.errors import InputError


@pytest.mark.parametrize("model", ["uniform", "narrow", "plane"])
def test_synthetic_workloads_are_as_asked(model: Any) -> None:
    """Costs have the asked ratio, capacities are twice the demand, a third of the users publish nothing."""
    workload, again, other = (synthetic(2000, model=model, ratio=2.5, seed=seed) for seed in (1, 1, 2))
    assert (workload.num_brokers, workload.num_channels) == (20, 100)
    assert workload.cost_ratio == pytest.approx(2.5)
    assert workload.capacity.tolist() == pytest.approx([2 * workload.load.sum() / 20] * 20)
    assert float((np.diff(workload.rate_ptr) == 0).mean()) == pytest.approx(1 / 3, abs=0.04)
    assert np.diff(workload.subscription_ptr).tolist() == [1] * 2000
    assert workload.fingerprint == again.fingerprint
    assert workload.fingerprint != other.fingerprint


def test_few_users_and_brokers() -> None:
    """One user is enough, and up to 199 get one broker, which has no core links and so no cost ratio."""
    lonely = synthetic(7, ratio=4.0)
    assert (lonely.num_brokers, lonely.cost_ratio) == (1, None)
    assert lonely.user_names.to_pylist() == [f"user{number}" for number in range(7)]
    assert synthetic(101, 3).user_names[0].as_py() == "user000"
    assert synthetic(1, 1, 1).load.tolist() == [0.0]


@pytest.mark.parametrize(("model", "most"), [("uniform", 2.0), ("narrow", 1.2)])
def test_uniform_costs_are_within_their_range(model: Any, most: float) -> None:
    """Every link costs from 1 to 2, or from 1 to 1.2, before core costs are scaled to the ratio."""
    workload = synthetic(300, 5, model=model, ratio=1.0, seed=2)
    between = workload.core[~np.eye(5, dtype=bool)]
    assert (workload.access.min() >= 1, workload.access.max() <= most) == (True, True)
    assert workload.access.max() > 1 + 0.99 * (most - 1)
    assert float(between.max() / between.min()) <= most
    assert np.array_equal(workload.core, workload.core.T)
    assert not np.diagonal(workload.core).any()


def test_intervals_take_in_whole_channels() -> None:
    """Intervals of three channels' length meet four of them; one channel for each user is met exactly."""
    assert np.diff(synthetic(50, 2, length=0.03).subscription_ptr).tolist() == [4] * 50
    assert synthetic_approximation(50, length=0.03).volume_ratio == pytest.approx(4 / 3)
    assert synthetic_approximation(50).traffic_ratio == pytest.approx(1.0)
    assert np.diff(synthetic(20, 2, length=1.0).subscription_ptr).tolist() == [100] * 20


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"users": 0}, "0 users and"),
        ({"brokers": 0}, "and 0 brokers: give at least one of each"),
        ({"model": "sphere"}, "choose uniform, narrow or plane"),
        ({"length": 1.5}, "more than 0 and at most 1"),
        ({"length": 0.0}, "more than 0 and at most 1"),
        ({"ratio": 0.0}, "a cost ratio of 0.0"),
        ({"ratio": np.inf}, "a cost ratio of inf"),
        ({"capacity": 0.0}, "a capacity of 0.0 times"),
        ({"channels": 0}, "cut into 0 channels: give at least 1"),
    ],
)
def test_bad_parameters_are_refused(given: dict[str, Any], message: str) -> None:
    """Numbers out of range are errors that say which ones are allowed."""
    with pytest.raises(InputError, match=message):
        synthetic(**{"users": 10, "brokers": 2, **given})
