"""Popularity vectors and size distributions."""

import math
from decimal import localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.workloads import Sizes, exponential_popularity, uniform_popularity, zipf_popularity


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.floats(0, 6))
def test_zipf_follows_its_formula(topics: int, alpha: float) -> None:
    """Zipf probabilities are i^−alpha over their sum."""
    raw = np.array([i**-alpha for i in range(1, topics + 1)])
    np.testing.assert_allclose(zipf_popularity(topics, alpha), raw / raw.sum(), rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 60))
def test_exponential_head_carries_its_mass(tens: int) -> None:
    """The most popular tenth carries 0.55, and each topic is less popular than the last by one ratio."""
    popularity = exponential_popularity(10 * tens)
    assert math.isclose(popularity.sum(), 1, rel_tol=1e-12)
    assert math.isclose(popularity[:tens].sum(), 0.55, rel_tol=1e-12)
    ratios = popularity[1:] / popularity[:-1]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-12)
    assert ratios[0] < 1


@given(st.integers(1, 500))
@settings(max_examples=20, deadline=None)
def test_uniform_is_zipf_zero(topics: int) -> None:
    """Uniform popularity and Zipf with exponent 0 are the same."""
    np.testing.assert_array_equal(uniform_popularity(topics), zipf_popularity(topics, 0))


def test_callers_decimal_context_does_not_matter() -> None:
    """A caller who computes with three decimal digits gets the same probabilities."""
    expected = zipf_popularity(50, 0.7), exponential_popularity(50), Sizes(2, 9).probabilities
    with localcontext() as context:
        context.prec = 3
        got = zipf_popularity(50, 0.7), exponential_popularity(50), Sizes(2, 9).probabilities
    for here, there in zip(expected, got, strict=True):
        np.testing.assert_array_equal(here, there)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 50), st.integers(0, 200), st.floats(-3, 4))
def test_sizes_follow_a_power_law(minimum: int, span: int, exponent: float) -> None:
    """P(s) is proportional to s^−exponent on the whole range."""
    raw = np.array([float(s) ** -exponent for s in range(minimum, minimum + span + 1)])
    expected = raw / raw.sum()
    np.testing.assert_allclose(Sizes(minimum, minimum + span, exponent).probabilities, expected, rtol=1e-12)


def test_sizes_choose_between_fixed_and_range() -> None:
    """The default size is ten; a given size or range is used as it is."""
    assert Sizes.of() == Sizes(10, 10)
    assert Sizes.of(size=4) == Sizes(4, 4)
    assert Sizes.of(min_size=2, max_size=7, exponent=2.5) == Sizes(2, 7, 2.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 0}, "0 topics for each node"),
        ({"size": 5, "min_size": 2}, "either"),
        ({"min_size": 5}, "give both"),
        ({"max_size": 5}, "give both"),
        ({"min_size": 5, "max_size": 4}, "below the smallest"),
        ({"min_size": 5, "max_size": 9, "exponent": math.nan}, "exponent"),
    ],
)
def test_bad_sizes_are_rejected(arguments: dict[str, int], message: str) -> None:
    """Contradictory or impossible sizes are rejected with one clear line."""
    with pytest.raises(InputError, match=message) as caught:
        Sizes.of(**arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("alpha", [-0.1, math.inf, math.nan])
def test_bad_alpha_is_rejected(alpha: float) -> None:
    """Zipf's exponent must be a number of at least 0."""
    with pytest.raises(InputError, match="alpha"):
        zipf_popularity(10, alpha)


def test_no_topics_are_rejected() -> None:
    """Every popularity needs a topic."""
    for popularity in (zipf_popularity, exponential_popularity, uniform_popularity):
        with pytest.raises(InputError, match="0 topics"):
            popularity(0)
