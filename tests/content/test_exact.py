"""The optimum of small workloads."""

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
    """No assignment within the capacities is cheaper; where there is none, that is told."""
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


def test_hubs_do_not_pass_messages_on() -> None:
    """Users bound to three brokers around a cheap hub pay 4 for their tree, not 3 by way of the hub."""
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
    """Without time the assignment is descent's, with a bound below it and the gap between both."""
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


def test_too_large_is_told() -> None:
    """A workload that no solver handles is refused before anything is solved, and so is a negative time."""
    with pytest.raises(InputError, match="take descent"):
        exact(synthetic(1000, 20), time_limit=5.0)
    with pytest.raises(InputError, match="give a number of zero or more"):
        exact(synthetic(4, 2, 2), time_limit=-1.0)
