"""Verdicts: what makes a claim hold, partly hold or fail."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.experiments.checks import (
    UNDECIDED,
    Check,
    Claims,
    at_least,
    at_most,
    below,
    falls,
    is_below,
    near,
    rises,
    verdict_of,
)


@given(st.dictionaries(st.text(), st.booleans(), min_size=1))
def test_a_verdict_follows_the_comparisons(held: dict[str, bool]) -> None:
    """All hold: holds. At least half: partly. Fewer: no."""
    share = sum(held.values()) / len(held)
    assert verdict_of(held) == ("holds" if share == 1 else "partly" if share >= 0.5 else "no")


def test_a_claim_needs_a_comparison() -> None:
    """Without a comparison there is no verdict: an empty selection is a mistake, not a success."""
    with pytest.raises(ValueError, match="without a comparison"):
        verdict_of({})


@pytest.mark.parametrize(
    ("verdict", "reason"), [("holds", "because"), ("no", ""), ("partly", ""), ("maybe", "")]
)
def test_a_reason_is_given_exactly_unless_it_holds(verdict: str, reason: str) -> None:
    """A check that holds has no reason, any other must have one; there are three verdicts."""
    with pytest.raises(ValueError, match="p/f/c"):
        Check("p/f/c", "p", "f", "claim", "1", "2", verdict, reason)  # type: ignore[arg-type]


def test_reasons_name_what_fails() -> None:
    """The reason begins with the comparisons that fail, the first three by name."""
    claims = Claims("p", "f")
    held = dict.fromkeys("abcd", False) | {"e": True}
    claims.check("c", "claim", paper="1", ours=2, held=held, reason="Because.")
    claims.check("d", "claim", paper="1", ours=2, held={"e": True}, reason="Because.")
    assert claims.checks[0].reason == "Fails in 4 of 5 comparisons: a; b; c and 1 more. Because."
    assert (claims.checks[0].id, claims.checks[0].verdict, claims.checks[1].reason) == ("p/f/c", "no", "")


@given(st.lists(st.integers(-100, 100), min_size=2, max_size=6))
def test_shapes(values: list[int]) -> None:
    """A curve falls where each mean is below the one before; what falls does not rise."""
    points = {x: [float(value)] for x, value in enumerate(values)}
    steps = list(pairwise(values))
    assert list(falls(points).values()) == [after < before for before, after in steps]
    assert list(rises(points).values()) == [after > before for before, after in steps]
    assert not any(below(points, points).values())


SEEDS = st.lists(st.integers(0, 20).map(float), min_size=1, max_size=4)


@given(SEEDS, SEEDS)
def test_seeds_decide_or_not(lower: list[float], upper: list[float]) -> None:
    """An order that the means reverse is undecided if the same seeds many times over would refute it."""
    score = is_below(lower, upper)
    if fmean(lower) < fmean(upper):
        assert score == 1
        return
    assert score == 0 or math.isnan(score)
    if len(set(lower)) == len(set(upper)) == 1:
        assert score == 0
    if fmean(lower) > fmean(upper):
        assert is_below(lower * 10000, upper * 10000) == 0


def test_two_errors_decide() -> None:
    """Means 1 apart with a standard error of 0.5 are just undecided; a little further apart, they decide."""
    seeds = [0.0, 0.5, 0.5, 1.0]
    spread = math.sqrt(2 * (0.5 / 3) / 4)
    for apart, score in ((1.9 * spread, math.nan), (2.1 * spread, 0.0)):
        found = is_below([value + apart for value in seeds], seeds)
        assert found == score or (math.isnan(found) and math.isnan(score))


def test_undecided_comparisons_must_not_be_the_majority() -> None:
    """A claim needs at least half of its comparisons to hold."""
    assert verdict_of({"a": True, "b": UNDECIDED}) == "holds"
    assert verdict_of({"a": True, "b": UNDECIDED, "c": UNDECIDED}) == "partly"
    assert verdict_of({"a": False, "b": UNDECIDED}) == "no"


@given(st.floats(0.1, 100), st.floats(0.1, 100))
def test_numbers(value: float, target: float) -> None:
    """Numbers hold within a tolerance, limits if kept; both partly within a loose one."""
    off = abs(value - target) / target
    assert verdict_of(near(value, target)) == ("holds" if off <= 0.1 else "partly" if off <= 0.25 else "no")
    over = (value - target) / target
    assert verdict_of(at_most(value, target)) == ("holds" if over <= 0 else "partly" if over <= 0.1 else "no")
    assert verdict_of(at_least(value, target)) == (
        "holds" if over >= 0 else "partly" if over >= -0.1 else "no"
    )
