"""The front: no plan beats another in both figures, and no greedy design beats any of them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings

from calls import crowds, examples, seeds, triples
from meshwright import Interest, measure
from meshwright.designs.front import front
from meshwright.greedy import grow, rules
from meshwright.verify import verify_overlay
from meshwright.workloads import unif


@settings(max_examples=examples(20, 4))
@given(crowds(nodes=(1, 25), subscriptions=100), seeds)
def test_nothing_greedy_beats_it(interest: Interest, seed: int) -> None:
    """Degrees rise and links fall from plan to plan; each topic is connected; no greedy design is better."""
    plans = front(interest, steps=seed % 200, seed=seed)
    at = [(int(plan.figures["max_degree"]), int(plan.figures["edges"])) for plan in plans]
    assert all(a[0] < b[0] and a[1] > b[1] for a, b in pairwise(at))
    assert all(verify_overlay(plan.overlay).connected for plan in plans)
    for rule in (rules.gm, rules.minmax, rules.low(3)):
        greedy = grow(interest, rule)
        degree = measure.degrees(greedy).maximum
        assert any(point[0] <= degree and point[1] <= len(greedy) for point in at)


def test_there_is_a_choice_and_it_is_the_same_again() -> None:
    """On nodes of mixed sizes the front has several plans; the same seed and steps give the same ones."""
    interest = unif(150, 40, min_size=4, max_size=30, seed=1)
    first, again = front(interest, steps=3000), front(interest, steps=3000)
    assert len(first) > 2
    assert [triples(plan.overlay) for plan in first] == [triples(plan.overlay) for plan in again]
    assert len(first[-1].overlay) < len(grow(interest, rules.gm))
    assert first[0].figures["max_degree"] <= measure.degrees(grow(interest, rules.minmax)).maximum
    assert all(plan.figures["gap"] >= 0 for plan in first)


def test_without_steps_it_is_the_greedy_designs() -> None:
    """Without a budget the front consists of greedy designs, with a proof only on request."""
    interest = unif(60, 20, min_size=4, max_size=15, seed=2)
    plans = front(interest, steps=0)
    assert len(plans[-1].overlay) <= len(grow(interest, rules.gm))
    assert all(plan.prices is None for plan in plans)
    assert all(plan.prices is not None for plan in front(interest, steps=0, certify=True))


def test_steps_that_do_not_divide_end_too() -> None:
    """The search ends even if the steps do not divide evenly among the limits."""
    interest = unif(60, 30, min_size=2, max_size=28, seed=2)
    for steps in (3, 6, 12, 24, 48):
        assert front(interest, steps=steps)


def test_nobody_has_a_front() -> None:
    """Without nodes there is one plan, without links."""
    (plan,) = front(Interest.from_dict({}), steps=10)
    assert len(plan.overlay) == 0
