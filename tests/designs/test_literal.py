"""The literal variants follow the papers' pseudo-code step by step, and a ratio gives a share of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, triples
from meshwright import Interest, measure
from meshwright.costs.link_costs import LinkCosts
from meshwright.designs.by_contribution import budget_of, gm, gpm, low, minmax
from meshwright.designs.design import design
from meshwright.errors import InputError
from meshwright.greedy import candidates
from meshwright.verify import verify_overlay
from meshwright.workloads import lemma1, zipf
from strategies import interests

any_interest = st.one_of(interests(most_nodes=9, most_topics=6), crowds(nodes=(2, 14), subscriptions=60))


@settings(max_examples=examples(40, 15))
@given(any_interest, st.integers(1, 2))
def test_minmax_equals_the_printed_rule(interest: Interest, threads: int) -> None:
    """Each link is the twin's, useless ones included; topics are connected, contributions as stated."""
    overlay = minmax(interest, literal=True, threads=threads)
    assert triples(overlay) == naive.printed(interest, math.inf)
    found = verify_overlay(overlay)
    assert found.connected
    assert found.contributions_agree


@settings(max_examples=examples(30, 10))
@given(any_interest, st.integers(0, 5), st.integers(0, 30))
def test_budgets_give_prefixes(interest: Interest, limit: int, budget: int) -> None:
    """Literal GPM is the twin's, and a prefix of literal MinMax-ODA: the longest within the limit."""
    whole, part = minmax(interest, literal=True), gpm(interest, max_degree=limit, literal=True)
    assert triples(part) == naive.printed(interest, math.inf, max_degree=limit)
    assert triples(part) == triples(whole)[: len(part)]
    if len(part) < len(whole):
        assert measure.degrees(whole.prefix(len(part) + 1)).maximum == limit + 1
    assert triples(minmax(interest, literal=True, max_edges=budget)) == triples(whole)[:budget]


@settings(max_examples=examples(40, 15))
@given(any_interest, st.sampled_from([1, 1.5, 2, 3, 10, 1e300]), st.booleans())
def test_low_takes_no_useless_link(interest: Interest, k: float, strict: bool) -> None:
    """As printed, Low-ODA has the links of our variant: a useless link is never 1/k as good as a useful."""
    expected = naive.printed(interest, k, strict=strict)
    assert triples(low(interest, k=k, strict=strict)) == expected
    assert triples(low(interest, k=k, strict=strict, literal=True)) == expected


@settings(max_examples=examples(20, 10))
@given(any_interest)
def test_low_at_its_ends(interest: Interest) -> None:
    """With k = ∞ the literal Low-ODA is the literal MinMax-ODA, or ours if strict; with k = 1, strict, GM."""
    assert triples(low(interest, k=math.inf, literal=True)) == triples(minmax(interest, literal=True))
    strict = low(interest, k=math.inf, literal=True, strict=True)
    assert triples(strict) == triples(minmax(interest))
    assert triples(strict) == naive.printed(interest, math.inf, strict=True)
    assert triples(low(interest, k=1, strict=True)) == triples(gm(interest))


@pytest.mark.parametrize(("n", "links"), [(6, 12), (8, 25), (10, 39), (12, 59)])
def test_lemma_1(n: int, links: int) -> None:
    """Within 5% of the paper's n(n − 2)/2 links; every topic connected, with no higher degree than ours."""
    overlay = minmax(lemma1(n), literal=True)
    assert len(overlay) == links == pytest.approx(n * (n - 2) / 2, rel=0.05)
    assert verify_overlay(overlay).connected
    assert measure.degrees(overlay).maximum <= measure.degrees(minmax(lemma1(n))).maximum


def test_progress_covers_all_phases() -> None:
    """Links and support never fall while the phases pass, and the last report is complete."""
    seen: list[tuple[int, float]] = []
    overlay = minmax(
        zipf(60, 20, size=5, seed=1),
        literal=True,
        progress=lambda edges, support, what: seen.append((edges, support)),
    )
    assert seen == sorted(seen)
    assert seen[-1] == (len(overlay), 1)


@pytest.mark.parametrize("algorithm", ["gpa", "gpm", "spidercastm", "randoma", "randomm"])
@pytest.mark.parametrize("ratio", [0, 0.2, 0.5, 1])
def test_a_ratio_is_a_budget(algorithm: str, ratio: float) -> None:
    """The plan is that of the budget, which it states; a reference that is given is used."""
    interest = zipf(50, 20, size=5, seed=1)
    reference = minmax(interest, literal=True)
    edges, degree = len(reference), measure.degrees(reference).maximum
    budget: dict[str, Any] = (
        {"max_edges": math.floor(ratio * edges)}
        if algorithm in ("gpa", "randoma")
        else {"max_degree": math.floor(ratio * degree)}
    )
    plan = design(interest, algorithm, ratio=ratio, seed=3)
    assert plan.parameters == {**budget, "ratio": ratio}
    expected = triples(design(interest, algorithm, seed=3, **budget).overlay)
    assert triples(plan.overlay) == expected
    assert triples(design(interest, algorithm, ratio=ratio, seed=3, reference=reference).overlay) == expected


def test_a_ratio_is_the_number_as_written() -> None:
    """The share is exact: 0.28 of 25 links are 7, although 0.28 · 25 is 7.000000000000001 as floats."""
    reference = minmax(lemma1(8), literal=True)
    assert len(reference) == 25
    assert [budget_of(reference, share / 100, "max_edges") for share in range(101)] == [
        share * 25 // 100 for share in range(101)
    ]


@pytest.mark.parametrize("ratio", [-0.1, 1.01, math.nan, True, "half"])
def test_bad_ratios(ratio: Any) -> None:
    """A ratio that is not a number from 0 to 1 is rejected."""
    with pytest.raises(InputError, match=f"ratio is {ratio!r}: give a number from 0 to 1"):
        design(lemma1(4), "gpa", ratio=ratio)


def test_combinations_that_make_no_sense() -> None:
    """Each is rejected by one line that says what to leave out."""
    interest = lemma1(4)
    costs = LinkCosts.from_coordinates(interest, interest.node_names.to_pylist(), [0, 1, 2, 3], [0, 0, 0, 0])
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("gpa", {"ratio": 0.2, "max_edges": 3}, "ratio and max_edges both set the budget of gpa: give one"),
        ("gpm", {}, "gpm needs max_degree, the budget: links per broker, or ratio: give it"),
        ("gpa", {"ratio": 0.2, "reference": minmax(lemma1(6))}, "reference was made for another interest"),
        ("gm", {"literal": True}, "gm takes no parameter 'literal'"),
        ("minmax", {"strict": True}, "minmax takes no parameter 'strict'"),
        ("minmax", {"literal": 1}, "literal is 1: give True or False"),
        ("low", {"strict": "yes"}, "strict is 'yes': give True or False"),
        ("low", {"strict": True, "costs": costs}, "strict and costs cannot be combined"),
        ("low", {"literal": True, "costs": costs}, "literal and costs cannot be combined"),
    ]
    for algorithm, given_, complaint in calls:
        with pytest.raises(InputError, match=complaint):
            design(interest, algorithm, **given_)
    with pytest.raises(InputError, match="candidates and literal cannot be combined"):
        minmax(interest, literal=True, candidates=candidates.among([0, 1]))
