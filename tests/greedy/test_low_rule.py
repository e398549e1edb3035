"""Low-ODA compares w(e1)·k ≥ w(e2) exactly, where rounding could decide otherwise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import Call, crowds, examples, triples
from meshwright import Interest
from meshwright.greedy import rules


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
def test_the_sparing_link_is_taken_if_good_enough(k: float, best: int, sparing: int) -> None:
    """A degree-sparing link is taken first if and only if w(e1)·k ≥ w(e2)."""
    interest = Interest.from_dict(
        {0: range(best), 1: [], 2: range(best), 3: range(100, 100 + sparing), 4: range(100, 100 + sparing)}
    )
    call = Call(interest, rules.low(k), start=[(0, 1)])
    expected = [(0, 2, best), (3, 4, sparing)]
    if sparing * k >= best:
        expected.reverse()
    assert triples(call.grown(), 1) == call.twin() == expected


@settings(max_examples=examples(100, 20))
@given(crowds(), st.integers(1, 40), st.integers(1, 40), st.sampled_from([-math.inf, 0, math.inf]))
def test_any_k_equals_the_twin(interest: Interest, a: int, b: int, towards: float) -> None:
    """With ratios of contributions as k, and the floats next to them, the links are the twin's."""
    ratio = max(a, b) / min(a, b)
    k = max(1.0, math.nextafter(ratio, towards) if towards else ratio)
    call = Call(interest, rules.low(k))
    assert triples(call.grown()) == call.twin()
