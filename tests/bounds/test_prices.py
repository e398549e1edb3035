"""The price bound is never above the optimum, is what the independent check finds, and never varies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import crowds, examples
from meshwright import Interest, bounds
from meshwright.designs.exact import solve
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.verify import check_prices
from meshwright.workloads import expo, unif, zipf
from optima import optima
from strategies import interests

small = crowds(nodes=(1, 30), subscriptions=120)


@settings(max_examples=examples(80, 20), deadline=None)
@given(interests(most_nodes=5, most_topics=4))
def test_it_never_exceeds_the_fewest_links(interest: Interest) -> None:
    """The bound is at most the optimum, found by trying every set of links."""
    assert bounds.prices(interest).bound <= optima(interest)[0]


@settings(max_examples=examples(40, 10), deadline=None)
@given(crowds(nodes=(5, 11), subscriptions=40))
def test_it_lies_below_exact_and_greedy(interest: Interest) -> None:
    """The bound is at most the optimum, and the optimum at most what Greedy Merge needs."""
    found = solve(interest)
    assert found.proven
    assert bounds.prices(interest).bound <= found.value <= len(grow(interest, rules.gm))


@settings(max_examples=examples(50, 10), deadline=None)
@given(small, st.sampled_from(bounds.EFFORTS))
def test_the_check_finds_the_same_bound(interest: Interest, effort: str) -> None:
    """The bound that comes with prices is what the independent check finds."""
    found = bounds.prices(interest, effort=effort)
    assert check_prices(interest, found.scaled) == found.bound


@settings(max_examples=examples(25, 5), deadline=None)
@given(small)
def test_effort_and_a_start_never_cost(interest: Interest) -> None:
    """More effort proves no less, and continuing from prices proves no less than these."""
    first = bounds.prices(interest, effort="first")
    full = bounds.prices(interest)
    assert first.bound <= full.bound <= bounds.prices(interest, start=full).bound
    assert bounds.prices(interest, start=full, effort="first").bound == full.bound
    assert bounds.prices(interest, seconds=0).bound >= first.bound


def test_a_start_without_tight_pairs() -> None:
    """Prices that are all slack are a start too: they rise until they prove what they can."""
    interest = Interest.from_dict({v: {"x"} for v in "abcdef"})
    slack = bounds.Prices(interest, bounds.prices(interest).scaled // 4, 0)
    assert len(bounds.tight_pairs(slack, most=9).u) == 0
    assert 0 < bounds.prices(interest, start=slack, effort="first").bound < 5
    assert bounds.prices(interest, start=slack).bound == 5


@pytest.mark.parametrize(("make", "reached"), [(zipf, 585), (expo, 396), (unif, 610)])
def test_it_comes_near_on_fixed_sizes(make: type[Interest], reached: int) -> None:
    """On the workloads of the papers, the bound shows Greedy Merge within a third of the fewest links.

    It is no worse than the one that was reached before.
    """
    interest = make(300, 50, min_size=8, max_size=8, seed=3)  # type: ignore[call-arg]
    greedy = len(grow(interest, rules.gm))
    first, full = (bounds.prices(interest, effort=effort).bound for effort in ("first", "full"))
    assert greedy / 1.33 < full <= greedy
    assert first < reached <= full


def test_threads_do_not_matter() -> None:
    """One, two and three threads find the same prices, to the last bit."""
    interest = zipf(300, 40, min_size=5, max_size=20, seed=1)
    one, two, three = (bounds.prices(interest, threads=threads).scaled for threads in (1, 2, 3))
    assert np.array_equal(one, two)
    assert np.array_equal(one, three)


def test_progress_rises_to_its_end() -> None:
    """Progress never falls, and ends with the bound."""
    reports: list[tuple[int, float]] = []
    interest = unif(200, 30, min_size=6, max_size=6, seed=0)
    found = bounds.prices(interest, progress=lambda bound, done, what: reports.append((bound, done)))
    assert reports == sorted(reports)
    assert reports[-1] == (found.bound, 1.0)
    assert str(found) == f"Prices(at least {found.bound:,} links for 200 nodes)"


def test_an_interest_without_pairs_needs_nothing() -> None:
    """Without nodes, or without a common topic, no link is needed."""
    assert bounds.prices(Interest.from_dict({})).bound == 0
    assert bounds.prices(Interest.from_dict({"a": {"x"}, "b": {"y"}, "c": set()})).bound == 0


@pytest.mark.parametrize(
    ("given_", "message"),
    [({"effort": "great"}, "'great'"), ({"seconds": -1}, "-1 seconds"), ({"threads": 0}, "0 threads")],
)
def test_bad_parameters_are_rejected(given_: dict[str, object], message: str) -> None:
    """An unknown effort, a negative time or no thread is rejected in one line."""
    with pytest.raises(InputError, match=message):
        bounds.prices(Interest.from_dict({"a": {"x"}}), **given_)  # type: ignore[arg-type]


def test_prices_of_another_interest_are_rejected() -> None:
    """A start that belongs to another interest is rejected."""
    other = bounds.prices(Interest.from_dict({"a": {"x"}, "b": {"x"}}))
    with pytest.raises(InputError, match="another interest"):
        bounds.prices(Interest.from_dict({"a": {"x"}, "c": {"x"}}), start=other)
