"""Integer programs decide correctly whether a solution with a given number of links exists."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from calls import seeds
from meshwright.designs import exact as solver
from meshwright.designs.exact import Outcome, best_among
from meshwright.designs.exact_problem import Incumbent, problem_of
from meshwright.designs.exact_relaxation import Cuts
from meshwright.interest import Interest
from meshwright.jit.announce import Clock
from meshwright.measure import components
from meshwright.workloads import unif
from optima import optima

six = seeds.map(lambda seed: unif(6, 5, size=1 + seed % 4, seed=seed))
"""Six nodes with as many topics each."""


@settings(max_examples=20)
@given(six)
def test_one_link_less_than_the_fewest_is_too_few(interest: Interest) -> None:
    """There is a solution of the fewest links, found and offered, and no solution with one link less."""
    problem, (fewest, _) = problem_of(interest), optima(interest)
    everything = np.ones(len(problem), dtype=bool)
    incumbent = Incumbent(problem, None)
    incumbent.lower = 0
    assert best_among(incumbent, Cuts(problem), everything, fewest - 1, Clock(60)) is Outcome.NONE
    assert best_among(incumbent, Cuts(problem), everything, fewest, Clock(60)) is Outcome.FOUND
    assert incumbent.best is not None
    assert incumbent.upper == fewest
    assert components(problem.overlay(incumbent.best)).of_topic.max() <= 1


@settings(max_examples=20)
@given(six)
def test_one_less_than_the_lowest_degree_is_too_low(interest: Interest) -> None:
    """There is a solution under the lowest possible cap, and no solution under the next lower cap."""
    problem, (_, (lowest, fewest)) = problem_of(interest), optima(interest)
    everything = np.ones(len(problem), dtype=bool)
    for cap, outcome in ((lowest - 1, Outcome.NONE), (lowest, Outcome.FOUND)):
        incumbent = Incumbent(problem, None, cap)
        assert best_among(incumbent, Cuts(problem), everything, incumbent.limit, Clock(60)) is outcome
    assert fewest <= incumbent.upper <= incumbent.limit


@pytest.mark.parametrize(("status", "solution"), [(1, None), (1, np.zeros(3)), (0, np.zeros(3))])
def test_a_solver_without_an_answer(status: int, solution: NDArray[np.float64] | None) -> None:
    """When the solver ends without a solution, or with an invalid one, nothing is decided."""
    problem = problem_of(Interest.from_dict({node: ["x"] for node in "abc"}))
    incumbent, everything = Incumbent(problem, None), np.ones(3, dtype=bool)
    struck = mock.Mock(return_value=mock.Mock(status=status, x=solution))
    with (
        mock.patch("scipy.optimize.milp", struck),
        mock.patch.object(solver, "round_values", return_value=None),
    ):
        assert best_among(incumbent, Cuts(problem), everything, 2, Clock(60)) is Outcome.UNDECIDED
    assert struck.call_count == 1
    assert incumbent.best is None
    assert best_among(incumbent, Cuts(problem), everything, 2, Clock(0)) is Outcome.UNDECIDED
