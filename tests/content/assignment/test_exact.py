"""Exact finds the optimum of small workloads, and a valid bound when time is short."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from content_naive import workloads
from meshwright.content import Workload, assign, cost, synthetic
from meshwright.content.assignment.descent import descent
from meshwright.content.assignment.exact import exact
from meshwright.errors import InputError


@settings(max_examples=25)
@given(workloads(most_users=4, most_brokers=3, most_channels=2, capacity=8.0))
def test_the_optimum_is_that_of_all_assignments(workload: Workload) -> None:
    """No assignment within the capacities is cheaper; if there is none, the error says so."""
    every = [cost(workload, it) for it in product(range(workload.num_brokers), repeat=workload.num_users)]
    fitting = [known.total for known in every if known.within_capacity]
    if not fitting:
        with pytest.raises(InputError, match="no assignment keeps within all capacities"):
            exact(workload)
        return
    found = exact(workload)
    assert found.proven
    assert found.cost == pytest.approx(min(fitting), rel=1e-6)
    assert cost(workload, found.broker_of).within_capacity
    assert found.lower_bound <= min(fitting) * (1 + 1e-6)


def test_hubs_do_not_forward() -> None:
    """Users on three brokers around a cheap hub pay 4 for their tree, not 3 for one over the hub."""
    core = np.full((4, 4), 2.0)
    core[3], core[:, 3] = 1.0, 1.0
    np.fill_diagonal(core, 0.0)
    access = np.full((3, 4), 100.0)
    access[[0, 1, 2], [0, 1, 2]] = 0.0
    workload = Workload.build(
        ["a", "b", "c"],
        ["b0", "b1", "b2", "hub"],
        ["only"],
        rates=([0], [0], [1.0]),
        subscriptions=([0, 1, 2], [0, 0, 0]),
        access=access,
        core=core,
        capacity=np.inf,
    )
    found = exact(workload)
    assert found.proven
    assert found.cost == pytest.approx(4.0)


def test_no_time_gives_a_bound() -> None:
    """Without time the result is descent's assignment, a lower bound, and the gap between both."""
    workload = synthetic(30, 4, 6, length=0.3, seed=3)
    found = exact(workload, time_limit=0.0)
    assert found.cost == cost(workload, descent(workload)).total
    assert 0 < found.lower_bound < found.cost
    assert not found.proven
    assert (
        assign(workload, "exact", time_limit=0.0).gap
        == found.gap
        == pytest.approx(1 - found.lower_bound / found.cost)
    )


def test_large_workloads_are_rejected() -> None:
    """A workload with too many variables is rejected before anything is solved, and so is a negative time."""
    with pytest.raises(InputError, match="exact is for small workloads; use descent"):
        exact(synthetic(1000, 20), time_limit=5.0)
    with pytest.raises(InputError, match="give a number of zero or more"):
        exact(synthetic(4, 2, 2), time_limit=-1.0)


def test_progress_reports_bounds() -> None:
    """Progress reports rounds, the fraction of the time, and a bound that does not exceed the cost."""
    workload = synthetic(8, 3, 5, model="plane", length=0.4, ratio=0.3, seed=7)
    calls: list[tuple[int, float, str]] = []
    found = exact(workload, progress=lambda *call: calls.append(call))
    assert found.proven
    assert [rounds for rounds, _, _ in calls] == list(range(1, len(calls) + 1))
    for _, share, phase in calls:
        upper, lower = phase.removeprefix("cost ").split(", at least ")
        assert 0 <= share <= 1
        assert float(lower.replace(",", "")) <= float(upper.replace(",", ""))
