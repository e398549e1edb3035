"""Budgets cut a run short and change nothing before the cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import RULES, crowds, examples, triples, tunings
from meshwright import Interest
from meshwright.greedy import Tuning, grow, rules
from meshwright.greedy.engine import Start
from meshwright.greedy.rules import Rule
from meshwright.measure import degrees
from meshwright.workloads import WORKLOADS


@settings(max_examples=examples(25, 5))
@given(crowds(nodes=(2, 25), subscriptions=100), st.sampled_from(list(RULES.values())), tunings)
def test_every_number_of_edges_is_a_prefix(interest: Interest, rule: Rule, tuning: Tuning) -> None:
    """Under any rule, `max_edges=m` gives the first m links of the whole run: GPA(m) is a prefix of GM."""
    whole = grow(interest, rule, tuning=tuning)
    for m in range(len(whole) + 2):
        assert triples(grow(interest, rule, max_edges=m, tuning=tuning)) == triples(whole)[:m]


@settings(max_examples=examples(35, 15))
@given(crowds(), tunings)
def test_every_degree_is_a_prefix_of_minmax(interest: Interest, tuning: Tuning) -> None:
    """GPM(d) is MinMax-ODA's run up to the link that would raise the maximum degree over d (icdcs16)."""
    whole = grow(interest, rules.minmax, tuning=tuning)
    highest = degrees(whole).maximum
    for d in range(highest + 2):
        partial = grow(interest, rules.minmax, max_degree=d, tuning=tuning)
        assert triples(partial) == triples(whole)[: len(partial)]
        assert degrees(partial).maximum == min(d, highest)
        if d < highest:
            assert degrees(whole.prefix(len(partial) + 1)).maximum == d + 1


@settings(max_examples=examples(30, 10))
@given(crowds(), st.sampled_from(list(RULES.values())), tunings, st.integers(1, 5), st.integers(0, 4))
def test_given_degrees_shift_the_budget(
    interest: Interest, rule: Rule, tuning: Tuning, more: int, limit: int
) -> None:
    """If every node already has `more` links, a budget higher by `more` gives the same links."""
    held = np.full(interest.num_nodes, more, dtype=np.int32)
    shifted = grow(interest, rule, start=Start(None, held), max_degree=limit + more, tuning=tuning)
    assert triples(shifted) == triples(grow(interest, rule, max_degree=limit, tuning=tuning))
    spent = grow(interest, rule, start=Start(None, held), max_degree=more, tuning=tuning)
    assert len(spent) == 0


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("budget", ["max_edges", "max_degree"])
def test_budgets_out_of_reach_change_nothing(rule: Rule, budget: str) -> None:
    """A budget that a run never reaches, even beyond 32 bits, gives the whole run."""
    interest = WORKLOADS["zipf"](60, 20, min_size=1, max_size=8, seed=3)
    whole = triples(grow(interest, rule))
    for limit in (60 * 59 // 2, 2**31, 2**40):
        out_of_reach: dict[str, Any] = {budget: limit}
        assert triples(grow(interest, rule, **out_of_reach)) == whole


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("budget", ["max_edges", "max_degree"])
def test_a_budget_of_zero_adds_nothing(rule: Rule, budget: str) -> None:
    """With a budget of 0 the result is the start, unchanged."""
    interest = WORKLOADS["unif"](20, 5, size=3, seed=3)
    start = grow(interest, rules.gm, max_edges=4)
    nothing: dict[str, Any] = {budget: 0}
    assert triples(grow(interest, rule, **nothing)) == []
    assert triples(grow(interest, rule, start=start, **nothing)) == triples(start)


def test_max_edges_counts_added_edges_only() -> None:
    """The start's links do not count for `max_edges`, but they count for degrees."""
    interest = Interest.from_dict({v: {"x"} for v in "abcd"})
    start = grow(interest, rules.gm, max_edges=1)
    assert triples(start) == [(0, 1, 1)]
    assert triples(grow(interest, rules.gm, start=start, max_edges=1)) == [(0, 1, 1), (0, 2, 1)]
    assert triples(grow(interest, rules.gm, start=start, max_degree=1)) == [(0, 1, 1), (2, 3, 1)]
