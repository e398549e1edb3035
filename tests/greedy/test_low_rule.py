"""Low-ODA's comparison, w(e1)·k ≥ w(e2), at its very edge."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import Call, crowds, examples, triples
from meshwright import Interest
from meshwright.greedy import rules


@pytest.mark.parametrize(
    ("k", "best", "calm"),
    [
        (1, 5, 5),
        (1, 5, 4),
        (3, 9, 3),
        (3, 10, 3),
        (1.4, 21, 15),  # 21 / 1.4 is a little more than 15, though 15 · 1.4 is 21
        (1.16, 29, 25),  # 29 / 1.16 is 25, though 25 · 1.16 is a little less than 29
        (1e300, 9, 1),
        (math.inf, 9, 1),
    ],
)
def test_the_calm_edge_is_taken_if_good_enough(k: float, best: int, calm: int) -> None:
    """A calm edge is taken before one that raises the maximum degree from w(e1)·k ≥ w(e2) on, not below."""
    interest = Interest.from_dict(
        {0: range(best), 1: [], 2: range(best), 3: range(100, 100 + calm), 4: range(100, 100 + calm)}
    )
    call = Call(interest, rules.low(k), start=[(0, 1)])
    expected = [(0, 2, best), (3, 4, calm)]
    if calm * k >= best:
        expected.reverse()
    assert triples(call.grown(), 1) == call.twin() == expected


@settings(max_examples=examples(100, 20))
@given(crowds(), st.integers(1, 40), st.integers(1, 40), st.sampled_from([-math.inf, 0, math.inf]))
def test_any_k_equals_the_twin(interest: Interest, a: int, b: int, towards: float) -> None:
    """Ratios of contributions as k, and their neighbours among the floats, give the twin's edges."""
    ratio = max(a, b) / min(a, b)
    k = max(1.0, math.nextafter(ratio, towards) if towards else ratio)
    call = Call(interest, rules.low(k))
    assert triples(call.grown()) == call.twin()
