"""The engine is exact: its links are those of the naive twin, one by one, with their contributions."""

from __future__ import annotations

import math

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
@settings(max_examples=examples(40, 20))
@given(data=st.data())
def test_small_calls_equal_the_twin(rule: Rule, data: st.DataObject) -> None:
    """On a few nodes, under any arguments, each link is the twin's; failures shrink well here."""
    assert_exact(data.draw(calls(interests(most_nodes=12, most_topics=6), rule)))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=examples(65, 20))
@given(data=st.data())
def test_calls_equal_the_twin(rule: Rule, data: st.DataObject) -> None:
    """With up to 40 nodes, and more topics than a machine word has bits, each link is the twin's."""
    assert_exact(data.draw(calls(crowds(), rule)))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=examples(600, 60))
@given(data=st.data())
def test_many_calls_equal_the_twin(rule: Rule, data: st.DataObject) -> None:
    """The same on many more calls."""
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
@settings(max_examples=examples(35, 8))
@given(crowds(nodes=(15, 40), topics=(3, 20), subscriptions=200), tunings)
def test_many_phases_equal_the_twin(rule: Rule, interest: Interest, tuning: Tuning) -> None:
    """Where the maximum degree rises often, and nodes close and open again, each link is the twin's."""
    assert_exact(Call(interest, rule, tuning=tuning))


@pytest.mark.parametrize(
    ("k", "best", "sparing"),
    [
        (1, 5, 5),
        (1, 5, 4),
        (3, 9, 3),
        (3, 10, 3),
        # As floats, 21 / 1.4 is a little more than 15, though 15 · 1.4 is 21.
        (1.4, 21, 15),
        # As floats, 29 / 1.16 is 25, though 25 · 1.16 is a little less than 29.
        (1.16, 29, 25),
        (1e300, 9, 1),
        (math.inf, 9, 1),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_the_sparing_link_is_taken_if_good_enough(k: float, best: int, sparing: int, strict: bool) -> None:
    """A degree-sparing link is taken first if and only if w(e1)·k ≥ w(e2), or > under a strict rule."""
    interest = Interest.from_dict(
        {0: range(best), 1: [], 2: range(best), 3: range(100, 100 + sparing), 4: range(100, 100 + sparing)}
    )
    call = Call(interest, rules.low(k, strict=strict), start=[(0, 1)])
    expected = [(0, 2, best), (3, 4, sparing)]
    if sparing * k > best or (sparing * k == best and not strict):
        expected.reverse()
    assert triples(call.grown(), 1) == call.twin() == expected


@settings(max_examples=examples(50, 20))
@given(
    crowds(), st.integers(1, 40), st.integers(1, 40), st.sampled_from([-math.inf, 0, math.inf]), st.booleans()
)
def test_any_k_equals_the_twin(interest: Interest, a: int, b: int, towards: float, strict: bool) -> None:
    """With ratios of contributions as k, and the floats next to them, the links are the twin's."""
    ratio = max(a, b) / min(a, b)
    k = max(1.0, math.nextafter(ratio, towards) if towards else ratio)
    call = Call(interest, rules.low(k, strict=strict))
    assert triples(call.grown()) == call.twin()
