"""The search for the lowest degree: the degrees it tries, the bounds it proves, what a solution states."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest

from calls import overlay_of
from meshwright.designs import exact as solver
from meshwright.designs.exact import Solution, fewest_at_lowest_degree, highest_degree, solve
from meshwright.designs.exact_problem import Incumbent, Problem, problem_of
from meshwright.designs.exact_relaxation import Cuts
from meshwright.interest import Interest
from meshwright.jit.announce import Clock
from meshwright.workloads import unif

if TYPE_CHECKING:
    from meshwright.designs.exact_problem import Chosen

FIVE = problem_of(Interest.from_dict({node: ["x"] for node in "abcde"}))
"""One topic of five nodes: any tree will do."""


def links(*pairs: tuple[int, int], problem: Problem = FIVE) -> Chosen:
    """Return a mask of these pairs."""
    return problem.chosen(overlay_of(problem.interest, list(pairs)))


STAR = links((0, 1), (0, 2), (0, 3), (0, 4))
FORK = links((0, 1), (0, 2), (0, 3), (3, 4))
PATH = links((0, 1), (1, 2), (2, 3), (3, 4))
LONG_FORK = links((0, 1), (0, 2), (0, 3), (3, 4), (1, 2))
"""As `FORK`, with a link to spare."""


class Searches:
    """Stands in for `search`: does what it should for each cap, and records each call."""

    def __init__(self, **does: Callable[[Incumbent], None]) -> None:
        self.does: dict[int, Callable[[Incumbent], None]] = {int(name[3:]): act for name, act in does.items()}
        self.calls: list[tuple[int | None, float]] = []

    def __call__(self, incumbent: Incumbent, cuts: Cuts, active: Chosen, clock: Clock, tell: Any) -> None:
        assert active.tolist() == (STAR | FORK).tolist()
        self.calls.append((incumbent.cap, clock.left))
        act = self.does.get(incumbent.cap or 0)
        if act is not None:
            act(incumbent)


def impossible(incumbent: Incumbent) -> None:
    incumbent.raise_lower(incumbent.limit + 1)


def find_path(incumbent: Incumbent) -> None:
    incumbent.lower = 3
    incumbent.offer(PATH)


def find_best_path(incumbent: Incumbent) -> None:
    incumbent.offer(PATH)


def lowest(
    searches: Searches, relaxed: int, greedy: tuple[Chosen, ...] = (STAR, FORK)
) -> tuple[Incumbent, int]:
    """Search by stand-ins, with a clock that stands still at 80 seconds."""
    clock = mock.Mock(left=80.0, struck=False)
    with (
        mock.patch.object(solver, "search", searches),
        mock.patch.object(solver, "_relaxed_degree", return_value=relaxed),
        mock.patch.object(solver, "Clock", lambda seconds: mock.Mock(left=seconds, struck=False)),
    ):
        return fewest_at_lowest_degree(FIVE, Cuts(FIVE), list(greedy), clock, lambda _: None)


def test_the_first_degree_with_a_solution_is_the_answer() -> None:
    """Degrees rise from the bound, each with half of the time; then all the time goes into fewer links."""
    searches = Searches(cap1=impossible, cap2=find_path)
    incumbent, lower = lowest(searches, relaxed=1)
    assert searches.calls == [(1, 40.0), (2, 40.0), (2, 80.0)]
    assert (incumbent.cap, lower) == (2, 2)
    assert incumbent.best is PATH


def test_an_optimal_solution_is_not_searched_again() -> None:
    """Where the first search proves that no solution has fewer links, there is no second one."""
    searches = Searches(cap2=find_best_path)
    incumbent, lower = lowest(searches, relaxed=2)
    assert searches.calls == [(2, 40.0)]
    assert (incumbent.closed, lower) == (True, 2)


def test_an_undecided_degree_does_not_raise_the_bound() -> None:
    """Only a proof that a degree is impossible raises the bound on the degree."""
    searches = Searches(cap1=impossible)
    incumbent, lower = lowest(searches, relaxed=1)
    assert [cap for cap, _ in searches.calls] == [1, 2, 3]
    assert (incumbent.cap, lower) == (3, 2)
    _, lower = lowest(Searches(), relaxed=2)
    assert lower == 2
    _, lower = lowest(Searches(cap1=impossible, cap2=impossible), relaxed=1)
    assert lower == 3


@pytest.mark.parametrize("greedy", [(STAR, FORK), (FORK, STAR)])
def test_without_a_solution_the_best_greedy_one_is_the_fallback(greedy: tuple[Chosen, ...]) -> None:
    """The greedy solution of the lowest degree is improved with all the time, at its own degree."""
    searches = Searches()
    incumbent, lower = lowest(searches, relaxed=3, greedy=greedy)
    assert searches.calls == [(3, 80.0)]
    assert incumbent.best is FORK
    assert (incumbent.cap, lower) == (3, 3)


def test_the_bound_is_not_above_what_exists() -> None:
    """A relaxation that is off by rounding cannot prove more than a known solution has."""
    _, lower = lowest(Searches(), relaxed=9)
    assert lower == 3


def test_of_equal_degrees_the_fewest_links_are_the_fallback() -> None:
    """Greedy solutions of the same degree compare by links."""
    with (
        mock.patch.object(solver, "search"),
        mock.patch.object(solver, "_relaxed_degree", return_value=3),
    ):
        found, _ = fewest_at_lowest_degree(FIVE, Cuts(FIVE), [LONG_FORK, FORK], Clock(9), lambda _: None)
    assert found.best is FORK


HUB = Interest.from_dict({"hub": list("abcd"), **{f"leaf {topic}": [topic] for topic in "abcd"}})
"""Each leaf shares a topic with the hub alone, so all four links are forced."""


@pytest.mark.parametrize(
    ("interest", "degree"),
    [
        (Interest.from_dict({}), 0),
        (Interest.from_dict({"a": ["x"], "b": ["y"]}), 0),
        (Interest.from_dict({"a": ["x"], "b": ["x"]}), 1),
        (FIVE.interest, 2),
        (HUB, 4),
    ],
)
def test_the_relaxation_bounds_the_degree(interest: Interest, degree: int) -> None:
    """In these cases the relaxation, rounded up, is the lowest degree; without time it proves nothing."""
    problem = problem_of(interest)
    everything = np.ones(len(problem), dtype=bool)
    assert solver._relaxed_degree(problem, Cuts(problem), everything, Clock(60)) == degree
    assert solver._relaxed_degree(problem, Cuts(problem), everything, Clock(0)) == 0


def test_the_highest_degree() -> None:
    """It counts the links of each node; without links it is 0."""
    assert [highest_degree(FIVE, chosen) for chosen in (STAR, FORK, PATH)] == [4, 3, 2]
    assert highest_degree(FIVE, np.zeros(len(FIVE), dtype=bool)) == 0


@pytest.mark.parametrize(
    ("objective", "bounds", "value", "proven", "needed", "gap"),
    [
        ("edges", (4, 4), 4, True, 4, 0.0),
        ("edges", (3, 4), 4, False, 3, 1 / 3),
        ("edges", (4, 3), 4, False, 4, 0.0),
        ("edges", (1, 1), 4, False, 1, 3.0),
        ("edges", (0, 0), 4, False, 0, 4.0),
        ("degree", (3, 4), 3, True, None, 0.0),
        ("degree", (2, 4), 3, False, None, 0.5),
        ("degree", (3, 3), 3, False, None, 0.0),
    ],
)
def test_a_solution_states_its_bounds(
    objective: Any, bounds: tuple[int, int], value: int, proven: bool, needed: int | None, gap: float
) -> None:
    """Value, proof and gap follow from the overlay, here four links of degree 3, and from both bounds."""
    found = Solution(FIVE.overlay(FORK), objective, *bounds)
    assert (found.value, found.proven, found.links_needed, found.gap) == (value, proven, needed, gap)


def test_progress_says_the_cap() -> None:
    """While the degree is minimised, progress names the limit per broker; shares are from 0 to 1."""
    reports: list[tuple[int, float, str]] = []
    interest = unif(14, 6, size=3, seed=4)
    found = solve(interest, objective="degree", progress=lambda *report: reports.append(report))
    assert reports
    phases = [
        re.fullmatch(r"at least (\d+) needed with at most (\d+) per broker", what) for *_, what in reports
    ]
    assert all(phase and int(phase[2]) <= found.value for phase in phases)
    assert all(links >= len(found.overlay) and 0 <= share <= 1 for links, share, _ in reports)
