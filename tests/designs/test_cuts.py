"""Cuts and the relaxation never exclude a solution, and find what is not connected."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import seeds
from meshwright.designs.exact import highest_degree
from meshwright.designs.exact_problem import problem_of
from meshwright.designs.exact_relaxation import Cuts, Relaxation, round_values
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.jit.announce import Clock
from meshwright.measure import components, redundant_edges
from optima import optima
from strategies import interests


@settings(max_examples=30)
@given(interests(most_nodes=9, most_topics=5), seeds)
def test_solutions_satisfy_every_cut(interest: Interest, seed: int) -> None:
    """Whatever point the cuts were made from, an overlay that connects every topic satisfies them."""
    problem, rng = problem_of(interest), np.random.Generator(np.random.PCG64(seed))
    cuts = Cuts(problem)
    for _ in range(4):
        before = len(cuts)
        added = cuts.separate(rng.random(len(problem)) ** 3)
        assert len(cuts) == before + added
    for rule in (rules.gm, rules.minmax):
        chosen = problem.chosen(grow(interest, rule))
        assert (cuts.rows() @ chosen >= cuts.least).all()


@settings(max_examples=30)
@given(interests(most_nodes=9, most_topics=5), seeds)
def test_integer_points_are_classified(interest: Interest, seed: int) -> None:
    """A set of links violates some cut exactly when it leaves a topic split; each cut found is violated."""
    problem, rng = problem_of(interest), np.random.Generator(np.random.PCG64(seed))
    chosen = (rng.random(len(problem)) < rng.random()) | problem.forced
    cuts = Cuts(problem)
    first = len(cuts)
    satisfied = (cuts.rows() @ chosen >= cuts.least).all()
    added = cuts.separate(chosen.astype(np.float64))
    assert (cuts.rows()[first:] @ chosen < cuts.least[first:]).all()
    split = components(problem.overlay(chosen)).of_topic.max(initial=0) > 1
    assert bool(split) == (added > 0 or not satisfied)


@settings(max_examples=25)
@given(interests(most_nodes=6, most_topics=4), st.one_of(st.none(), st.integers(1, 5)))
def test_the_relaxation_bounds_from_below(interest: Interest, cap: int | None) -> None:
    """After every round of cuts the bound is at most the fewest links, or those at the lowest degree."""
    fewest, (lowest, fewest_at_lowest) = optima(interest)
    problem = problem_of(interest)
    greedy = problem.chosen(grow(interest, rules.gm))
    relaxation = Relaxation(problem, Cuts(problem), greedy, cap=cap, cost_of_excess=50.0)
    for _ in range(5):
        point = relaxation.solve(Clock(60), np.ones(len(problem)), problem.forced)
        assert point is not None
        if cap is None:
            assert point.bound <= fewest + 1e-9
        elif cap >= lowest:
            assert point.bound <= fewest_at_lowest + 1e-9
        else:
            assert point.bound <= fewest_at_lowest + 50.0 * (lowest - cap) + 1e-9
        if not relaxation.cuts.separate(point.values):
            break


@settings(max_examples=30)
@given(interests(most_nodes=9, most_topics=5), seeds, st.integers(1, 8))
def test_rounded_points_are_solutions(interest: Interest, seed: int, cap: int) -> None:
    """Rounding gives an overlay that connects every topic without a redundant link, or None."""
    problem, rng = problem_of(interest), np.random.Generator(np.random.PCG64(seed))
    values = np.where(rng.random(len(problem)) < 0.5, rng.random(len(problem)), 0.0)
    free, capped = round_values(problem, values), round_values(problem, values, cap)
    assert free is not None
    for chosen in (free, capped):
        if chosen is not None:
            overlay = problem.overlay(chosen)
            assert components(overlay).of_topic.max(initial=0) <= 1
            assert not len(redundant_edges(overlay))
    assert capped is None or highest_degree(problem, capped) <= cap


def test_a_clock_that_struck_gives_no_point() -> None:
    """Without time there is no point."""
    problem = problem_of(Interest.from_dict({v: ["x"] for v in range(4)}))
    everything = np.ones(len(problem), dtype=bool)
    relaxation = Relaxation(problem, Cuts(problem), everything, cap=None, cost_of_excess=0.0)
    assert relaxation.solve(Clock(0), np.ones(len(problem)), problem.forced) is None


@settings(max_examples=30)
@given(interests(most_nodes=9, most_topics=6))
def test_the_problem_is_the_interest(interest: Interest) -> None:
    """Pairs are those that share a topic, sets of subscribers are there once, and pairs alone are forced."""
    problem = problem_of(interest)
    incidence = interest.to_scipy()
    shared = (incidence @ incidence.T).toarray()
    u, v = np.nonzero(np.triu(shared, 1))
    assert (problem.u.tolist(), problem.v.tolist()) == (u.tolist(), v.tolist())
    columns = {tuple(np.flatnonzero(column).tolist()) for column in incidence.toarray().T}
    distinct = sorted(members for members in columns if len(members) > 1)
    assert [tuple(group.members.tolist()) for group in problem.groups] == distinct
    for group in problem.groups:
        assert (problem.u[group.pairs] == group.members[group.a]).all()
        assert (problem.v[group.pairs] == group.members[group.b]).all()
    forced = {
        (int(a), int(b)) for a, b in zip(problem.u[problem.forced], problem.v[problem.forced], strict=True)
    }
    assert forced == {members for members in distinct if len(members) == 2}
