"""The exact design is exact: it equals brute force, and nothing beats it or its bound."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshwright as mw
from calls import triples
from meshwright import measure
from meshwright.designs import exact as solver
from meshwright.designs import exact_problem as problem
from meshwright.designs import exact_relaxation as relaxation
from meshwright.designs.design import design
from meshwright.designs.exact import Outcome, Solution, solve
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.overlay import Overlay
from meshwright.verify import verify_overlay
from meshwright.workloads import cuboid, expo, lemma1, unif, zipf
from optima import optima
from strategies import interests

small = st.builds(
    lambda make, nodes, topics, size, seed: make(nodes, topics, size=min(size, topics), seed=seed),
    st.sampled_from([zipf, expo, unif]),
    st.integers(4, 14),
    st.integers(2, 8),
    st.integers(1, 4),
    st.integers(0, 10**6),
)
"""Interests that are solved at once, too large for brute force."""


def exact(interest: Interest, **given: Any) -> Overlay:
    """Return the overlay alone."""
    return solve(interest, **given).overlay


def figures(found: Solution) -> tuple[int, int]:
    """Return maximum degree and links."""
    return measure.degrees(found.overlay).maximum, len(found.overlay)


def check(found: Solution) -> None:
    """Require what holds of every solution: connected, in order, bounds below what was found."""
    verified = verify_overlay(found.overlay)
    assert verified.connected
    assert verified.contributions_agree
    assert found.lower_bound <= found.value
    assert found.edges_bound <= len(found.overlay)
    edges = list(zip(found.overlay.u.tolist(), found.overlay.v.tolist(), strict=True))
    assert edges == sorted(edges)


@given(interests(most_nodes=6, most_topics=5))
def test_it_equals_brute_force(interest: Interest) -> None:
    """Fewest links, and lowest maximum degree with fewest links at that, are those of all sets of links."""
    fewest, lowest = optima(interest)
    links, degree = solve(interest), solve(interest, objective="degree")
    check(links)
    check(degree)
    assert (len(links.overlay), links.lower_bound, links.proven, links.gap) == (fewest, fewest, True, 0.0)
    assert figures(degree) == (degree.lower_bound, degree.edges_bound) == lowest
    assert degree.proven


@settings(max_examples=25)
@given(interests(most_nodes=6, most_topics=5))
def test_integer_programs_alone_equal_brute_force(interest: Interest) -> None:
    """Without dives, rounding and further rounds of cuts, the integer programs decide, and decide right."""
    fewest, lowest = optima(interest)
    with (
        mock.patch.object(relaxation, "DIVES", 0),
        mock.patch.object(solver, "STALLED", 1),
        mock.patch.object(solver, "round_values", return_value=None),
        mock.patch.object(relaxation, "CUTS_OF_GROUP", 1),
    ):
        assert len(exact(interest)) == fewest
        assert figures(solve(interest, objective="degree")) == lowest


@settings(max_examples=15)
@given(small)
def test_no_design_beats_it(interest: Interest) -> None:
    """Every complete design has at least as many links, and at least the maximum degree."""
    links, degree = solve(interest), solve(interest, objective="degree")
    check(links)
    check(degree)
    assert links.proven
    assert degree.proven
    assert degree.edges_bound >= links.lower_bound
    for algorithm in ("gm", "minmax", "low", "ring"):
        plan = design(interest, algorithm)
        assert plan.figures["edges"] >= len(links.overlay)
        assert (plan.figures["max_degree"], plan.figures["edges"]) >= figures(degree)


@settings(max_examples=15)
@given(small, st.randoms(use_true_random=False))
def test_names_do_not_matter(interest: Interest, random: Any) -> None:
    """With the nodes in another order the optimum has the same figures."""
    order = list(range(interest.num_nodes))
    random.shuffle(order)
    other = Interest.from_ids(
        interest.node_names,
        interest.topic_names,
        np.array(order)[interest.node_of_slot],
        interest.node_topics,
    )
    assert len(exact(interest)) == len(exact(other))
    assert figures(solve(interest, objective="degree")) == figures(solve(other, objective="degree"))


@pytest.mark.parametrize("interest", [zipf(20, 10, size=3, seed=2), unif(20, 10, size=3, seed=3)])
@pytest.mark.parametrize("objective", ["edges", "degree"])
def test_dives_and_integer_programs_agree(interest: Interest, objective: Any) -> None:
    """Instances that dives solve have the same optimum when integer programs decide them."""
    dived = solve(interest, objective=objective)
    with mock.patch.object(relaxation, "DIVES", 0):
        decided = solve(interest, objective=objective)
    assert dived.proven
    assert decided.proven
    assert figures(dived)[objective == "edges"] == figures(decided)[objective == "edges"]
    assert objective == "edges" or figures(dived) == figures(decided)


@pytest.mark.parametrize("core", [solver.CORE, -1.0])
def test_a_gap_that_only_integer_programs_close(core: float) -> None:
    """Where the relaxation is one link too low, the integer programs prove that one more link is needed."""
    with (
        mock.patch.object(relaxation, "DIVES", 2),
        mock.patch.object(relaxation, "PATIENCE", 1),
        mock.patch.object(solver, "CORE", core),
    ):
        found = solve(expo(24, 10, size=4, seed=2))
    assert (len(found.overlay), found.proven) == (25, True)


@pytest.mark.parametrize(("k", "m", "fewest"), [(1, 3, 5), (2, 3, 10), (3, 4, 14), (4, 4, 16), (3, 5, 16)])
def test_the_cuboid(k: int, m: int, fewest: int) -> None:
    """On the cuboid GM makes 2k + k·m links; 2k + 2m are the fewest from k = 2 on."""
    found = solve(cuboid(k, m))
    assert (len(found.overlay), found.proven) == (fewest, True)
    assert fewest == 2 * k + min(k, 2) * m


@pytest.mark.parametrize("n", [3, 6, 10])
def test_lemma1(n: int) -> None:
    """On Lemma 1's interest the star has the fewest links; by degree, MinMax-ODA is never better."""
    interest = lemma1(n)
    found = solve(interest)
    assert (len(found.overlay), found.proven) == (n - 1, True)
    degree = solve(interest, objective="degree", time_limit=5)
    check(degree)
    assert degree.value <= design(interest, "minmax").figures["max_degree"]


@pytest.mark.parametrize("objective", ["edges", "degree"])
@pytest.mark.parametrize("seconds", [0, 0.3])
def test_the_time_limit_strikes(objective: Any, seconds: float) -> None:
    """What is returned then is complete, no worse than the pruned greedy designs, and the bound is below."""
    interest = unif(60, 60, size=10, seed=1)
    found = solve(interest, objective=objective, time_limit=seconds)
    check(found)
    assert not found.proven
    assert found.lower_bound < found.value or objective == "degree"
    assert found.gap >= 0
    assert not len(measure.redundant_edges(found.overlay))
    for algorithm in ("gm", "minmax"):
        plan = design(interest, algorithm)
        if objective == "edges":
            assert len(found.overlay) <= plan.figures["edges"]
        else:
            assert figures(found) <= (plan.figures["max_degree"], plan.figures["edges"])


@pytest.mark.parametrize("objective", ["edges", "degree"])
def test_a_struck_solver_proves_nothing(objective: Any) -> None:
    """When the integer programs find no answer, the bound of the relaxation remains."""
    interest = unif(14, 6, size=2, seed=4)
    truth = solve(interest, objective=objective)
    with (
        mock.patch.object(relaxation, "DIVES", 0),
        mock.patch.object(solver, "STALLED", 1),
        mock.patch.object(solver, "round_values", return_value=None),
        mock.patch.object(solver, "best_among", return_value=Outcome.UNDECIDED),
    ):
        found = solve(interest, objective=objective)
    check(found)
    assert found.lower_bound <= truth.value
    assert figures(found) >= figures(truth)


def test_the_same_every_time() -> None:
    """A run that ends in time gives the same links again, however many threads the greedy start takes."""
    interest = zipf(24, 10, size=3, seed=3)
    assert triples(exact(interest)) == triples(exact(interest, threads=2))
    assert exact(interest).interest is interest


def test_progress_only_improves() -> None:
    """Progress reports fewer and fewer links, and bounds that rise to them."""
    reports: list[tuple[int, int]] = []

    def tell(edges: int, done: float, what: str) -> None:
        bound = re.fullmatch(r"at least (\d+) needed", what)
        if bound is not None:
            assert 0 <= done <= 1
            reports.append((edges, int(bound[1])))

    interest = zipf(24, 10, size=3, seed=3)
    fewest = len(exact(interest, progress=tell))
    links, bounds = zip(*reports, strict=True)
    assert list(links) == sorted(links, reverse=True)
    assert list(bounds) == sorted(bounds)
    assert links[-1] == bounds[-1] == fewest


def test_it_is_a_design() -> None:
    """By name it takes objective and time limit; its plan has what `solve` finds, with the bound."""
    interest = zipf(16, 6, size=3, seed=1)
    plan = design(interest, "exact", objective="degree", time_limit=30.0)
    assert triples(plan.overlay) == triples(exact(interest, objective="degree"))
    assert plan.parameters == {"objective": "degree", "time_limit": 30.0}
    assert plan.solver_bound is None
    fewest = design(interest, "exact", certify=True)
    assert fewest.figures["solver_bound"] == len(fewest.overlay) >= fewest.figures["lower_bound"]
    assert "no overlay has fewer links" in fewest.summary()


def test_an_optimum_has_no_gap(tmp_path: Path) -> None:
    """Where the prices prove less than the solver, the figures, the lines, the check and the page say 0%."""
    interest = zipf(16, 6, size=3, seed=1)
    fewest = design(interest, "exact")
    assert fewest.figures["gap"] == 0
    plan = replace(fewest, prices=mw.bounds.prices(interest, effort="first"))
    assert plan.figures["lower_bound"] < plan.figures["solver_bound"] == len(plan.overlay)
    assert plan.figures["gap"] == 0
    assert "above the fewest" not in plan.summary()
    assert "by the solver: no overlay has fewer links" in plan.summary()
    report = mw.verify(plan, interest)
    assert report.passed
    assert report.gap == 0
    assert "solver_bound" in report.unchecked
    page = mw.report(plan, tmp_path / "page.html", interest=interest).read_text()
    assert "by the solver: at least" in page
    fewer = replace(plan, solver_bound=len(plan.overlay) + 1)
    assert not mw.verify(fewer, interest).passed


def test_an_optimum_at_the_lowest_degree_has_no_gap(tmp_path: Path) -> None:
    """Where the solver proves more at the lowest degree than prices do, that gap is 0% everywhere, too."""
    interest = zipf(24, 10, size=3, seed=1)
    plan = design(interest, "exact", objective="degree", certify=True)
    figures = plan.figures
    assert figures["bound_at_degree"] < figures["solver_bound_at_degree"] == len(plan.overlay)
    assert figures["gap_at_degree"] == 0 < figures["gap"]
    assert "by the solver: no overlay with at most 3 links per broker has fewer links" in plan.summary()
    assert "above the fewest links possible with" not in plan.summary()
    mw.write_plan(plan, tmp_path / "plan")
    again = mw.load(tmp_path / "plan", interest)
    assert again.figures == figures
    report = mw.verify(tmp_path / "plan", interest)
    assert report.passed
    assert report.gap_at_degree == 0
    assert "solver_bound_at_degree" in report.unchecked
    assert (
        "by the solver, with at most 3" in mw.report(plan, tmp_path / "p.html", interest=interest).read_text()
    )
    assert not mw.verify(replace(plan, solver_bound_at_degree=len(plan.overlay) + 1), interest).passed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": "links"}, "no objective 'links': choose edges or degree"),
        ({"time_limit": -1}, "a time limit of -1 seconds: give a number"),
        ({"time_limit": float("nan")}, "a time limit of nan seconds"),
        ({"time_limit": float("inf")}, "a time limit of inf seconds"),
        ({"time_limit": "soon"}, "a time limit of soon seconds"),
    ],
)
def test_bad_parameters_are_rejected(given: dict[str, Any], message: str) -> None:
    """An unknown objective or an invalid time limit is rejected with one clear line."""
    with pytest.raises(InputError, match=message):
        solve(lemma1(3), **given)


def test_what_is_far_too_large_is_rejected() -> None:
    """A hopelessly large instance is rejected, with what to do instead."""
    with (
        mock.patch.object(problem, "MOST_PAIRS", 100),
        pytest.raises(InputError, match="more than 100 pairs of subscribers; take a sample, or another"),
    ):
        exact(mw.Interest.from_dict({node: ["x"] for node in range(20)}))
