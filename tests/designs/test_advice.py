"""Advice: its choice meets every wish, and it says when no design does."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import crowds, examples, overlay_of
from meshwright import Interest, measure
from meshwright.designs.advice import NEARLY_FEWEST, Tried, Wishes, _none_within, advise
from meshwright.designs.design import design
from meshwright.designs.front import front
from meshwright.designs.plan import Plan
from meshwright.designs.proofs import certify
from meshwright.errors import InputError
from meshwright.jit.announce import working_seconds
from meshwright.workloads import unif, zipf

some_wishes = st.builds(
    Wishes,
    max_degree=st.none() | st.integers(1, 6),
    max_edges=st.none() | st.integers(1, 40),
    resilient=st.booleans(),
    diameter=st.none() | st.integers(1, 5),
)


@settings(max_examples=examples(30, 5))
@given(crowds(nodes=(1, 20), subscriptions=70), some_wishes)
def test_what_is_chosen_meets_every_wish(interest: Interest, wishes: Wishes) -> None:
    """A choice meets all wishes; if it does not connect every topic, nothing does that meets them."""
    advice = advise(interest, wishes, steps=20)
    meeting = [own for own in advice.tried if not own.unmet(wishes)]
    complete = [own for own in meeting if own.complete]
    assert (advice.chosen is None) == (not meeting)
    assert advice.reasons
    if complete:
        assert advice.chosen in complete
        fewest = min(len(own.plan.overlay) for own in complete)
        assert len(advice.chosen.plan.overlay) <= NEARLY_FEWEST * fewest
    elif advice.chosen is not None:
        most = max(own.plan.figures["support"] for own in meeting)
        assert advice.chosen.plan.figures["support"] == most


def test_it_takes_best_where_nothing_is_wished() -> None:
    """Without wishes it is our own design, with a gap that the prices prove."""
    advice = advise(zipf(200, 40, size=6, seed=1), steps=500)
    assert advice.chosen is not None
    assert advice.chosen.plan.algorithm == "best"
    assert advice.chosen.plan.figures["gap"] < 0.2
    assert len({id(own.plan.prices) for own in advice.tried}) == 1


def test_limits_too_tight_give_the_most_of_them() -> None:
    """Where no overlay within the limits connects every topic, the one with the most support is advised."""
    interest = zipf(60, 15, size=5, seed=1)
    for wishes in (Wishes(max_degree=2), Wishes(max_edges=20), Wishes(max_degree=2, max_edges=20)):
        chosen = advise(interest, wishes, steps=0).chosen
        assert chosen is not None
        assert not chosen.complete
        assert not chosen.unmet(wishes)


def test_resilience_and_short_ways() -> None:
    """A wish for resilience or for a diameter of 2 is met by a design that guarantees it."""
    interest = zipf(40, 8, size=3, seed=1)
    resilient = advise(interest, Wishes(resilient=True), steps=0).chosen
    short = advise(interest, Wishes(diameter=2), steps=0).chosen
    assert resilient is not None
    assert resilient.weak == 0
    assert short is not None
    assert short.diameters.maximum <= 2
    assert advise(interest, Wishes(diameter=2, max_degree=1), steps=0).chosen is None


def test_small_instances_are_solved() -> None:
    """For a handful of nodes the optimum is among the designs compared."""
    advice = advise(zipf(8, 5, size=2, seed=1), steps=0)
    assert advice.tried[-1].plan.algorithm == "exact"


@pytest.mark.parametrize("name", ["max_degree", "max_edges", "diameter"])
def test_impossible_wishes_are_rejected(name: str) -> None:
    """A limit of zero is rejected in one line."""
    with pytest.raises(InputError, match=f"{name} is 0"):
        Wishes(**{name: 0})  # type: ignore[arg-type]


def test_a_degree_limit_is_used_up() -> None:
    """Under a degree limit, advice is as good as the best known trade-off within it."""
    interest = zipf(150, 30, size=6, seed=2)
    limit = 9
    chosen = advise(interest, Wishes(max_degree=limit), steps=400).plan
    within = [
        plan for plan in front(interest, steps=400, certify=True) if plan.figures["max_degree"] <= limit
    ]
    assert chosen is not None
    assert within
    fewest = min(len(plan.overlay) for plan in within)
    assert len(chosen.overlay) <= NEARLY_FEWEST * fewest


def test_a_search_under_one_limit_uses_it_up() -> None:
    """With a limit the search has fewer links within it than the trade-off that lowers the degree further."""
    interest, limit = zipf(300, 40, min_size=3, max_size=30, seed=1), 14
    within = front(interest, max_degree=limit, steps=4000)
    assert all(plan.figures["max_degree"] <= limit for plan in within)
    others = [plan for plan in front(interest, steps=4000) if plan.figures["max_degree"] <= limit]
    fewest, of_all = (min(len(plan.overlay) for plan in plans) for plans in (within, others))
    assert fewest < of_all
    assert front(interest, max_degree=1, steps=10) == ()


def test_nothing_is_searched_under_a_limit_that_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a proof says that no overlay keeps to the limit, no search is made for one."""

    def search(*_: object, **__: object) -> tuple[Plan, ...]:
        raise AssertionError("there is nothing to find")

    interest = unif(40, 12, min_size=2, max_size=6, seed=1)
    monkeypatch.setattr("meshwright.designs.advice.front", search)
    advice = advise(interest, Wishes(max_degree=1), steps=0)
    assert advice.chosen is not None
    assert advice.chosen.plan.figures["support"] < 1


NOT_PROVEN = (
    "no design that was tried connects every topic within the limits; it is not proven impossible: search "
    "longer, with more seconds or steps"
)


def test_a_limit_is_not_called_impossible_without_a_proof() -> None:
    """Where a short search finds nothing and a longer one does, the short one does not deny it."""
    interest = unif(60, 20, min_size=2, max_size=6, seed=1)
    short, long = (advise(interest, Wishes(max_degree=4), steps=steps) for steps in (50, 3000))
    assert long.chosen is not None
    assert long.chosen.complete
    assert short.chosen is not None
    assert not short.chosen.complete
    assert short.reasons[0] == NOT_PROVEN


def test_links_that_are_needed_at_a_degree_are_a_reason() -> None:
    """Both limits are possible alone; that they are not together is proven by the links at the degree."""
    interest = unif(60, 20, min_size=2, max_size=6, seed=1)
    advice = advise(interest, Wishes(max_degree=4, max_edges=86), steps=50)
    proof = advice.tried[-1].plan.degree_proof
    assert proof is not None
    assert proof.lowest.bound <= 4
    assert advice.tried[0].plan.figures["lower_bound"] <= 86 < proof.links.bound
    assert advice.reasons[0] == (
        "no overlay that connects every topic with at most 4 links per broker has fewer than "
        f"{proof.links.bound} links (certified)"
    )


def test_links_that_the_solver_needs_are_a_reason() -> None:
    """Of a handful of nodes the solver knows the fewest links, where prices prove less.

    With a topic for each three of five nodes, no node may lack two of its links: that leaves out 2 of 10.
    """
    topics = {"".join(three): set(three) for three in combinations("abcde", 3)}
    interest = Interest.from_dict({v: {name for name, held in topics.items() if v in held} for v in "abcde"})
    advice = advise(interest, Wishes(max_edges=7), steps=0)
    assert advice.tried[0].plan.figures["lower_bound"] <= 7
    assert advice.reasons[0] == "no overlay that connects every topic has fewer than 8 links (by the solver)"


@pytest.mark.parametrize("seed", range(3))
def test_no_proof_denies_what_there_is(seed: int) -> None:
    """What a plan that connects every topic keeps to is never said to be impossible.

    The links that are needed at a low degree say nothing of higher ones, where fewer are enough.
    """
    interest = zipf(30, 10, min_size=1, max_size=8, seed=seed)
    tried = list(advise(interest, Wishes(max_degree=3, max_edges=31), steps=200).tried)
    for own in tried:
        degree, links = int(own.plan.figures["max_degree"]), int(own.plan.figures["edges"])
        if own.complete:
            assert _none_within(Wishes(max_degree=degree, max_edges=links), tried) is None
    proofs = [own.plan.degree_proof for own in tried if own.plan.degree_proof is not None]
    fewest = min(len(own.plan.overlay) for own in tried if own.complete)
    assert max(proof.links.bound for proof in proofs) > fewest


def test_proofs_share_the_seconds_of_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """All proofs together get no more time than one search; with steps they have no limit."""
    interest = unif(60, 20, min_size=2, max_size=6, seed=1)

    def proofs(**limit: float) -> list[float | None]:
        given: list[float | None] = []

        def prove(plan: Plan, *, seconds: float | None, **rest: Any) -> Plan:
            given.append(seconds)
            began = working_seconds()
            proven = certify(plan, seconds=seconds, **rest)
            while seconds is not None and working_seconds() < began + seconds:
                pass  # use all of it
            return proven

        monkeypatch.setattr("meshwright.designs.advice.certify", prove)
        advise(interest, Wishes(max_degree=4, max_edges=86), **limit)  # type: ignore[arg-type]
        return given

    assert proofs(steps=5) == [None] * 6
    limited = [seconds for seconds in proofs(seconds=1.0) if seconds is not None]
    assert len(limited) == 6
    assert limited[0] == 0.5
    assert sum(limited) <= 1.0
    assert limited[3] > 0.05  # there is time left for the degree limit


def test_a_front_takes_a_proof_of_the_lowest_degree() -> None:
    """A front that is given a proof of the lowest degree uses it; anything else is refused."""
    interest = unif(60, 20, min_size=2, max_size=6, seed=1)
    proof = certify(design(interest, "minmax")).degree_proof
    assert proof is not None
    for plan in front(interest, steps=20, certify=True, lowest=proof.lowest):
        assert plan.degree_proof is not None
        assert plan.degree_proof.lowest is proof.lowest
    with pytest.raises(InputError, match=r"give what mw\.bounds\.lowest_degree returns"):
        front(interest, steps=1, lowest=proof.links)
    other = unif(60, 20, min_size=2, max_size=6, seed=2)
    with pytest.raises(InputError, match="made for another interest"):
        front(other, steps=1, lowest=proof.lowest)


def test_what_a_plan_does_not_meet_is_said() -> None:
    """Each wish that is not met has its own words; at the limit itself, a wish is met."""
    path = Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"y", "z"}, "d": {"z"}})
    tried = Tried(design(path, "gm"))
    assert tried.unmet(Wishes(max_degree=2, max_edges=3, diameter=1, resilient=True)) == []
    assert tried.unmet(Wishes(max_degree=1)) == ["highest degree 2, above 1"]
    assert tried.unmet(Wishes(max_edges=2)) == ["3 links, above 2"]
    line = Interest.from_dict({name: {"x"} for name in "abcd"})
    chain = overlay_of(line, [(0, 1), (1, 2), (2, 3)])
    tried = Tried(Plan(chain, "gm", {}, 0, 0.0))
    assert tried.unmet(Wishes(resilient=True)) == ["one failure splits 1 topic"]
    assert tried.unmet(Wishes(diameter=2)) == ["diameter 3, above 2"]
    assert tried.unmet(Wishes(diameter=3)) == []


@pytest.mark.parametrize(("algorithm", "said"), [("gm", True), ("cd", False)])
def test_a_diameter_that_is_not_known_exactly(
    algorithm: str, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A diameter that was measured in part is no proof, unless the design guarantees it."""
    line = Interest.from_dict({name: {"x"} for name in "abc"})
    plan = Plan(overlay_of(line, [(0, 1), (1, 2)]), algorithm, {}, 0, 0.0)
    known = measure.diameters(plan.overlay)
    monkeypatch.setattr(measure, "diameters", lambda _: replace(known, exact=np.zeros_like(known.exact)))
    assert Tried(plan).unmet(Wishes(diameter=2)) == ["diameter at least 2, not known exactly"] * said
