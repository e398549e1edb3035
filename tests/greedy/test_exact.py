"""The engine is exact: its links are the naive twin's, one by one, with their contributions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import RULES, Call, calls, crowds, examples, triples, tunings
from meshwright import Interest
from meshwright.greedy import Tuning, rules
from meshwright.greedy.rules import Rule
from strategies import interests


def assert_exact(call: Call) -> None:
    """Check that the overlay is the unchanged start, followed by what the twin adds."""
    overlay = call.grown()
    begun = len(call.start)
    assert triples(overlay)[:begun] == call.started()
    assert triples(overlay)[begun:] == call.twin()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=examples(80, 20))
@given(data=st.data())
def test_small_calls_equal_the_twin(rule: Rule, data: st.DataObject) -> None:
    """On a few nodes, under any arguments, each link is the twin's; failures shrink well here."""
    assert_exact(data.draw(calls(interests(most_nodes=12, most_topics=6), rule)))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=examples(150, 20))
@given(data=st.data())
def test_calls_equal_the_twin(rule: Rule, data: st.DataObject) -> None:
    """With up to 40 nodes, and more topics than a machine word has bits, each link is the twin's."""
    assert_exact(data.draw(calls(crowds(), rule)))


@settings(max_examples=examples(25, 5))
@given(calls(crowds(nodes=(65, 130), topics=(20, 90), subscriptions=260), rules.gm))
def test_more_nodes_than_a_word_has_bits(call: Call) -> None:
    """With bit rows of several words, each link is the twin's."""
    assert_exact(call)


@settings(max_examples=examples(50, 10))
@given(st.data())
def test_heavy_subscribers_equal_the_twin(data: st.DataObject) -> None:
    """With contributions of many binary digits, each link is the twin's."""
    rule = data.draw(st.sampled_from(list(RULES.values())))
    assert_exact(data.draw(calls(crowds(nodes=(2, 9), topics=(60, 300), subscriptions=1500), rule)))


@pytest.mark.parametrize(
    "rule", [rules.minmax, rules.low(1.5), rules.low(3)], ids=["minmax", "low 1.5", "low 3"]
)
@settings(max_examples=examples(60, 8))
@given(crowds(nodes=(15, 40), topics=(3, 20), subscriptions=200), tunings)
def test_many_phases_equal_the_twin(rule: Rule, interest: Interest, tuning: Tuning) -> None:
    """Where the maximum degree rises often, and nodes close and open again, each link is the twin's."""
    assert_exact(Call(interest, rule, tuning=tuning))
