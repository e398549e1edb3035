"""Greedy Merge in several rounds: each round on the pairs that those before left unused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, triples
from meshwright import Interest
from meshwright.designs.by_contribution import gm
from meshwright.errors import InputError
from meshwright.greedy import candidates, grow, rules
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.verify import verify_overlay
from meshwright.workloads import unif

small = crowds(nodes=(2, 20), topics=(1, 20), subscriptions=70)


@settings(max_examples=examples(25, 10))
@given(small, st.integers(2, 4))
def test_each_round_is_gm_on_unused_pairs(interest: Interest, rounds: int) -> None:
    """Each round adds the edges of the naive twin, from an empty overlay, on the unused pairs."""
    expected: list[naive.Edge] = []
    for _ in range(rounds):
        unused = candidates.all_but(expected)
        expected += [(u, v) for u, v, _ in naive.grow(interest, rules.gm, candidates=unused)]
    overlay = gm(interest, rounds=rounds)
    assert [(u, v) for u, v, _ in triples(overlay)] == expected
    assert len(set(expected)) == len(expected)


@settings(max_examples=examples(25, 10))
@given(small)
def test_contributions_are_what_edges_merge(interest: Interest) -> None:
    """The first round merges all there is to merge, so that later edges contribute nothing."""
    overlay, first = gm(interest, rounds=3), gm(interest)
    assert triples(overlay)[: len(first)] == triples(first)
    assert not overlay.contribution[len(first) :].any()
    assert verify_overlay(overlay).contributions_agree


def test_the_second_round_alone_connects_every_topic() -> None:
    """Where enough pairs are left, the overlay without the first round's edges is topic-connected as well."""
    interest = unif(60, 8, size=4, seed=2)
    overlay, first = gm(interest, rounds=2), gm(interest)
    rest = np.s_[len(first) :]
    assert verify_overlay(
        unchecked_overlay(interest, overlay.u[rest], overlay.v[rest], overlay.contribution[rest])
    ).connected


def test_rounds_end_where_pairs_end() -> None:
    """Three nodes under one topic have three pairs: the second round gets one, the third gets nothing."""
    interest = Interest.from_dict({v: {"x"} for v in "abc"})
    assert gm(interest, rounds=5).edges == [("a", "b"), ("a", "c"), ("b", "c")]


@settings(max_examples=examples(25, 5))
@given(small, st.integers(1, 3))
def test_the_budget_is_for_all_rounds_together(interest: Interest, rounds: int) -> None:
    """With a budget of any size, the overlay is that number of edges from the start of all rounds."""
    whole = triples(gm(interest, rounds=rounds))
    for budget in range(len(whole) + 2):
        assert triples(gm(interest, rounds=rounds, max_edges=budget)) == whole[:budget]


@settings(max_examples=examples(25, 5))
@given(small)
def test_one_round_is_greedy_merge(interest: Interest) -> None:
    """A single round is the engine's run."""
    assert triples(gm(interest, rounds=1)) == triples(grow(interest, rules.gm))


@pytest.mark.parametrize("rounds", [0, -1])
def test_too_few_rounds(rounds: int) -> None:
    """Fewer than one round is rejected."""
    with pytest.raises(InputError, match=f"{rounds} rounds: give a whole number of at least 1"):
        gm(unif(5, 3, size=2), rounds=rounds)


def test_rounds_do_not_go_with_a_degree() -> None:
    """A limit on degrees would have to be shared by the rounds: it is rejected before any work is done."""
    with pytest.raises(InputError, match="max_degree and rounds"):
        gm(unif(5, 3, size=2), rounds=2, max_degree=3)


@pytest.mark.parametrize("option", ["start", "candidates", "topics"])
def test_rounds_begin_from_nothing_on_everything(option: str) -> None:
    """A start, a candidate set or a topic filter is ambiguous over several rounds, and rejected."""
    interest = unif(5, 3, size=2)
    given: dict[str, Any] = {
        "start": Overlay.empty(interest),
        "candidates": candidates.among([0, 1]),
        "topics": [0],
    }
    with pytest.raises(InputError, match=f"{option} and rounds"):
        gm(interest, rounds=2, **{option: given[option]})


def test_progress_goes_on_over_the_rounds() -> None:
    """Progress reports edges and support of all rounds together: they never fall."""
    reports: list[tuple[int, float]] = []
    overlay = gm(
        unif(60, 12, size=4), rounds=3, progress=lambda edges, support, _: reports.append((edges, support))
    )
    assert reports == sorted(reports)
    assert reports[-1] == (len(overlay), 1.0)
