"""Bounds that know the degree: never above the optimum, found again by the check, and near on small ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright import Interest, bounds, design, measure
from meshwright.bounds import degree_limits
from meshwright.bounds.loads import Loads
from meshwright.bounds.prices import SCALE
from meshwright.designs.exact import search, solve
from meshwright.designs.exact_problem import Incumbent, problem_of
from meshwright.designs.exact_relaxation import Cuts
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.jit.announce import Clock
from meshwright.verify import CertificateError, certificate, check_degree_prices, check_degree_table
from meshwright.workloads import expo, unif, zipf
from optima import fewest_by_degree
from strategies import interests

HALF = SCALE // 2


def fewest_at(interest: Interest, degree: int, seconds: float) -> int | None:
    """Return the fewest links with at most `degree` per node, by the exact solver; None if undecided."""
    problem = problem_of(interest)
    incumbent = Incumbent(problem, None, degree)
    active = problem.chosen(grow(interest, rules.gm)) | problem.chosen(grow(interest, rules.minmax))
    search(incumbent, Cuts(problem), active, Clock(seconds), lambda incumbent: None)
    return incumbent.upper if incumbent.closed and incumbent.best is not None else None


def check_against_all_sets(interest: Interest) -> None:
    """Compare with all sets of links: none at that degree has fewer links, and none has a lower degree."""
    fewest, plain = fewest_by_degree(interest), bounds.prices(interest)
    assert bounds.lowest_degree(plain).bound <= min(fewest)
    for degree in range(max(1, min(fewest)), interest.num_nodes):
        within = min(links for highest, links in fewest.items() if highest <= degree)
        assert plain.bound <= bounds.links_at_degree(plain, degree).bound <= within


tiny = interests(most_nodes=5, most_topics=4)


@settings(max_examples=examples(25, 4), deadline=None)
@given(tiny)
def test_neither_bound_exceeds_the_optimum(interest: Interest) -> None:
    """The bounds hold for every set of links of a tiny instance."""
    check_against_all_sets(interest)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(tiny)
def test_neither_bound_exceeds_the_optimum_of_many(interest: Interest) -> None:
    """The bounds hold for every set of links of hundreds of tiny instances."""
    check_against_all_sets(interest)


def check_against_exact(interest: Interest, above: int) -> None:
    """Compare the bounds with what the solver proves: the lowest degree, and the fewest links at a degree."""
    found, plain = solve(interest, objective="degree"), bounds.prices(interest)
    assert found.proven
    assert bounds.lowest_degree(plain).bound <= found.value
    if found.value:
        degree = found.value + above
        fewest = fewest_at(interest, degree, 10.0) if above else len(found.overlay)
        assert fewest is not None
        assert bounds.links_at_degree(plain, degree).bound <= fewest


few = crowds(nodes=(5, 11), subscriptions=40)


@settings(max_examples=examples(10, 3), deadline=None)
@given(few, st.integers(0, 2))
def test_neither_bound_exceeds_exact(interest: Interest, above: int) -> None:
    """The bounds hold for what the solver proves."""
    check_against_exact(interest, above)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(few, st.integers(0, 2))
def test_neither_bound_exceeds_exact_on_many(interest: Interest, above: int) -> None:
    """The bounds hold for what the solver proves of hundreds of instances, with looser limits too."""
    check_against_exact(interest, above)


@settings(max_examples=examples(15, 4), deadline=None)
@given(crowds(nodes=(2, 25), subscriptions=120), st.integers(1, 6))
def test_the_check_finds_the_same(interest: Interest, degree: int) -> None:
    """What comes with prices and allowances is what the independent check finds."""
    proof = bounds.prove_degrees(bounds.prices(interest), degree)
    for own in proof:
        assert check_degree_prices(interest, own.scaled, own.allowance, own.degree) == own.bound
    assert proof.links.degree == degree


@settings(max_examples=examples(40, 15))
@given(interests(most_nodes=5, most_topics=4), seeds)
def test_no_allowances_prove_too_much(interest: Interest, seed: int) -> None:
    """Any prices and allowances prove what the twin says, and no more than is true."""
    random = np.random.Generator(np.random.PCG64(seed))
    prices = random.integers(0, 2 * SCALE, interest.num_subscriptions) * random.integers(0, 2)
    allowance = random.integers(0, SCALE, interest.num_nodes) * random.integers(0, 2)
    fewest = fewest_by_degree(interest)
    twin = naive.proven_with_degrees(interest, prices.tolist(), allowance.tolist(), None, SCALE)
    assert check_degree_prices(interest, prices, allowance, None) == twin <= min(fewest)
    for degree, links in fewest.items():
        raised = allowance + HALF
        twin = naive.proven_with_degrees(interest, prices.tolist(), raised.tolist(), degree, SCALE)
        assert check_degree_prices(interest, prices, raised, degree) == twin <= links


def test_large_prices_do_not_overflow() -> None:
    """The highest prices prove nothing: what pairs carry beyond their allowances is added up in full."""
    crowd = Interest.from_dict({v: set(range(40)) for v in range(60)})
    most = certificate.HIGHEST * SCALE
    prices, allowance = np.full(crowd.num_subscriptions, most), np.full(crowd.num_nodes, HALF)
    assert check_degree_prices(crowd, prices, allowance, 3) == 0
    loads = Loads(crowd)
    assert degree_limits._value(loads, prices, allowance) < 0


def test_both_sides_have_the_same_range() -> None:
    """Prices are made and checked with the same limit, by two constants that must not drift apart."""
    assert degree_limits.HIGHEST == certificate.HIGHEST
    assert degree_limits.HALF == certificate.HALF == HALF


@pytest.mark.parametrize(("make", "links", "degree"), [(zipf, 332, 4), (expo, 255, 3), (unif, 337, 4)])
def test_it_proves_more_than_plain_prices(make: Any, links: int, degree: int) -> None:
    """On mixed sizes a limit of the degree takes links, and the bounds are no worse than they were."""
    interest = make(200, 50, min_size=5, max_size=40, seed=3)
    plain = bounds.prices(interest)
    lowest = bounds.lowest_degree(plain)
    assert lowest.bound >= degree >= -(-2 * plain.bound // interest.num_nodes)
    highest = measure.degrees(grow(interest, rules.minmax)).maximum
    assert bounds.links_at_degree(plain, lowest.bound).bound >= links > 1.2 * plain.bound
    assert plain.bound <= bounds.links_at_degree(plain, highest).bound <= len(grow(interest, rules.minmax))


def test_a_degree_that_is_too_low_is_refuted() -> None:
    """Where a degree cannot do, the proof says so, and states no more links than plain prices prove."""
    interest = unif(60, 12, min_size=2, max_size=8, seed=0)
    plain = bounds.prices(interest)
    proof = bounds.prove_degrees(plain, 1)
    assert proof.lowest.bound > 1
    assert proof.links.bound == plain.bound
    assert str(proof.links) == f"NodePrices(at least {plain.bound} links with at most 1 per node)"
    again = bounds.prove_degrees(plain, 9, lowest=proof.lowest)
    assert again.lowest is proof.lowest


def test_too_many_links_refute_a_degree() -> None:
    """More links than a degree allows refute it, where the lowest degree was not looked for."""
    interest = zipf(80, 20, min_size=2, max_size=16, seed=1)
    plain = bounds.prices(interest)
    lowest, weak = bounds.lowest_degree(plain), bounds.lowest_degree(plain, seconds=0)
    degree = lowest.bound - 1
    assert weak.bound <= degree
    assert bounds.links_at_degree(plain, degree).bound > degree * interest.num_nodes / 2
    proof = bounds.prove_degrees(plain, degree, lowest=weak)
    assert degree < proof.lowest.bound <= lowest.bound
    assert proof.links.bound == plain.bound


@settings(max_examples=examples(20, 5), deadline=None)
@given(crowds(nodes=(2, 25), subscriptions=120), st.integers(1, 6))
def test_an_ascent_never_proves_less_than_it_starts_from(interest: Interest, degree: int) -> None:
    """With time or without, neither bound is below that of plain prices."""
    plain = bounds.prices(interest, effort="first")
    assert bounds.lowest_degree(plain).bound >= bounds.lowest_degree(plain, seconds=0).bound
    assert bounds.links_at_degree(plain, degree).bound >= plain.bound


def test_threads_and_time_do_not_harm() -> None:
    """Two threads find the same, and without time the bounds are those of plain prices."""
    interest = zipf(200, 40, min_size=3, max_size=15, seed=1)
    plain = bounds.prices(interest)
    one, two = (bounds.prove_degrees(plain, 6, threads=threads) for threads in (1, 2))
    for ours, theirs in zip(one, two, strict=True):
        assert np.array_equal(ours.scaled, theirs.scaled)
        assert np.array_equal(ours.allowance, theirs.allowance)
    hasty = bounds.prove_degrees(plain, 6, seconds=0)
    assert plain.bound <= hasty.links.bound <= one.links.bound
    assert hasty.lowest.bound <= one.lowest.bound
    with pytest.raises(InputError, match="a degree of 0"):
        bounds.links_at_degree(plain, 0)


def test_progress_says_what_is_proven() -> None:
    """Progress rises to its end and names the limit."""
    reports: list[tuple[int, float, str]] = []
    interest = unif(120, 30, min_size=3, max_size=12, seed=0)
    found = bounds.links_at_degree(
        bounds.prices(interest), 5, progress=lambda *report: reports.append(report)
    )
    assert [report[1] for report in reports] == sorted(report[1] for report in reports)
    assert reports[-1][1:] == (1.0, "needed at least with at most 5 per broker")
    assert reports[-1][0] <= found.bound


@pytest.mark.parametrize(
    ("allowance", "degree", "message"),
    [
        (np.zeros(2, dtype=np.int64), None, r"allowances of shape \(2,\) for 3 nodes"),
        (np.zeros(3), None, "type float64: give integers"),
        (np.array([0, -1, 0]), None, "allowances -1 are out of range"),
        (np.array([HALF, HALF - 1, HALF]), 2, f"allowances {HALF - 1} are out of range"),
        (np.array([0, 0, 16 * SCALE + 1]), None, "out of range"),
    ],
)
def test_bad_allowances_are_rejected(allowance: Any, degree: int | None, message: str) -> None:
    """Allowances of another number, type or range are rejected; with a degree none is below 1/2."""
    trio = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})
    with pytest.raises(CertificateError, match=message):
        check_degree_prices(trio, np.zeros(3, dtype=np.int64), allowance, degree)


def test_a_lowest_degree_of_another_interest_is_rejected() -> None:
    """A proof for other subscriptions proves nothing, and is refused wherever it is handed over."""
    other = bounds.lowest_degree(bounds.prices(unif(60, 20, size=8, seed=1)))
    held = Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"y"}})
    with pytest.raises(InputError, match="made for another interest"):
        bounds.prove_degrees(bounds.prices(held), 2, lowest=other)
    with pytest.raises(InputError, match="made for another interest"):
        design(held, "minmax", certify=True, lowest=other)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"degree": 0}, "a degree of 0: give a whole number"),
        ({"degree": True}, "a degree of True"),
        ({"degree": 2, "threads": 0}, "0 threads: give at least 1"),
        ({"degree": 2, "seconds": -1}, "-1 seconds: give zero or more"),
        ({"degree": 2, "seconds": "x"}, "x seconds"),
    ],
)
def test_bad_requests_are_rejected(given: Any, message: str) -> None:
    """A limit, a number of threads or seconds that make no sense are refused in one line by all bounds."""
    prices = bounds.prices(Interest.from_dict({"a": {"x"}, "b": {"x"}}))
    for prove in (bounds.links_at_degree, bounds.prove_degrees):
        with pytest.raises(InputError, match=message):
            prove(prices, **given)
    effort = {name: value for name, value in given.items() if name != "degree"}
    if effort:
        with pytest.raises(InputError, match=message):
            bounds.lowest_degree(prices, **effort)


def test_tables_must_fit() -> None:
    """A table needs one row for each subscription and each node."""
    from meshwright.store.plan_parts import degree_price_table

    interest = unif(12, 5, min_size=1, max_size=3, seed=0)
    table = degree_price_table(bounds.prove_degrees(bounds.prices(interest), 4))
    rows = np.arange(table.num_rows)
    shuffled = table.take(rows[::-1].copy())
    assert check_degree_table(interest, shuffled, 4) == check_degree_table(interest, table, 4)
    for left, message in ((rows[1:], "one price"), (rows[:-1], "one allowance")):
        with pytest.raises(CertificateError, match=message):
            check_degree_table(interest, table.take(left.copy()), 4)


@pytest.mark.slow
def test_the_mean_gap_to_the_optimum_is_small() -> None:
    """On mixed instances of up to 40 nodes the mean gap between bound and optimum is at most 4%."""
    random, gaps, met = np.random.default_rng(23), [], 0
    for seed in range(60):
        nodes = int(random.integers(10, 41))
        make = (unif, zipf, expo)[seed % 3]
        interest = make(nodes, int(random.integers(6, 16)), min_size=2, max_size=6, seed=seed)
        found = solve(interest, objective="degree", time_limit=20)
        if not found.proven:
            continue
        plain = bounds.prices(interest)
        gaps.append(len(found.overlay) / bounds.links_at_degree(plain, found.value).bound - 1)
        met += bounds.lowest_degree(plain).bound == found.value
    print(f"\n{len(gaps)} solved: mean gap {np.mean(gaps):.2%}, largest {max(gaps):.2%}; degree met {met}")
    assert len(gaps) >= 40
    assert np.mean(gaps) <= 0.04
