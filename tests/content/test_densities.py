"""Densities: their integrals over channels are exact, and sums over users agree with single users."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.content import densities
from meshwright.content.densities import Density, Histogram, Piecewise, Quadratic, channel_rates
from meshwright.content.space import Attribute, grid
from meshwright.errors import InputError

SPACE = Attribute("x")
FINE = np.linspace(0.0, 1.0, 20_001)
coefficient = st.one_of(st.just(0.0), st.floats(-1, 1).map(lambda value: round(value, 3)))
heights = st.lists(st.floats(0, 3), min_size=4, max_size=4)


def with_plain_functions(
    a: float, b: float, c: float, some: list[float], spread: list[float]
) -> list[tuple[Density, Any]]:
    """Return a density of each kind, of one user, and the same as a plain function."""
    knots = np.linspace(0.0, 1.0, 4)
    bins = np.linspace(0.0, 1.0, 5)
    return [
        (
            Quadratic(*(np.array([it]) for it in (a, b, c))),
            lambda x: np.maximum(0.0, a * x**2 + b * x + c),
        ),
        (Piecewise(knots, np.array([some])), lambda x: np.interp(x, knots, some)),
        (
            Histogram(bins, np.array([spread])),
            lambda x: np.array(spread)[np.clip((x * 4).astype(int), 0, 3)] * 4,
        ),
    ]


@given(coefficient, coefficient, coefficient, heights, heights, st.integers(1, 9))
def test_rates_are_integrals(
    a: float, b: float, c: float, some: list[float], spread: list[float], parts: int
) -> None:
    """The rate on a channel is the area below the density there, whatever its kind."""
    cut = grid([SPACE], [parts])
    middle = (FINE[1:] + FINE[:-1]) / 2
    for density, plain in with_plain_functions(a, b, c, some, spread):
        channel = np.searchsorted(cut.edges[0], middle, side="right") - 1
        areas = np.bincount(channel, weights=plain(middle) * np.diff(FINE), minlength=parts)
        assert channel_rates([density], cut)[0] == pytest.approx(areas, abs=2e-3)
        whole = channel_rates([density], grid([SPACE], [1]))[0, 0]
        assert channel_rates([density], cut).sum() == pytest.approx(whole)


@given(st.lists(st.tuples(coefficient, coefficient, coefficient), min_size=1, max_size=5), heights, heights)
def test_totals_are_sums(
    curves: list[tuple[float, float, float]], some: list[float], spread: list[float]
) -> None:
    """What all users publish between two points is the sum of what each one publishes there."""
    at = np.linspace(0.0, 1.0, 33)
    quadratic = Quadratic(*np.array(curves).T)
    linear = Piecewise(np.linspace(0, 1, 4), np.array([some, spread]))
    counted = Histogram(np.linspace(0, 1, 5), np.array([some, spread]))
    kinds: list[Density] = [quadratic, linear, counted]
    for density in kinds:
        one_by_one = np.diff(density.cumulative(at).sum(axis=0))
        assert np.diff(density.total(at)) == pytest.approx(one_by_one, abs=1e-12)
        rows = np.repeat(at[None], len(density), axis=0)
        assert np.array_equal(density.cumulative(rows), density.cumulative(at))


@given(st.lists(st.tuples(coefficient, coefficient, coefficient), min_size=1, max_size=5))
def test_totals_of_negative_points(curves: list[tuple[float, float, float]]) -> None:
    """The sum over users holds in any range of the attribute, also below and across 0."""
    density = Quadratic(*np.array(curves).T)
    for at in (np.linspace(-3.0, -1.0, 9), np.linspace(-2.0, 2.0, 17)):
        one_by_one = np.diff(density.cumulative(at).sum(axis=0))
        assert np.diff(density.total(at)) == pytest.approx(one_by_one, abs=1e-9)


@given(st.lists(st.tuples(coefficient, coefficient, coefficient), min_size=1, max_size=7))
def test_parts_of_users_do_not_matter(curves: list[tuple[float, float, float]]) -> None:
    """Rates are the same if users are computed few at a time."""
    density, cut = Quadratic(*np.array(curves).T), grid([SPACE, Attribute("y")], [2, 3])
    at_once = channel_rates([density, density], cut)
    with mock.patch.object(densities, "AT_ONCE", 12):
        assert np.array_equal(channel_rates([density, density], cut), at_once)


def test_roots_keep_their_digits() -> None:
    """A tiny leading coefficient changes nothing: the far root does not spoil the near one."""
    flat, tiny = (Quadratic(np.array([a]), np.array([-1.0]), np.array([0.5])) for a in (0.0, 1e-18))
    rates = [channel_rates([it], grid([SPACE], [4])) for it in (flat, tiny)]
    assert rates[0].sum() == pytest.approx(0.125)
    assert rates[1] == pytest.approx(rates[0], rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Histogram(np.array([0.0, 1.0]), np.array([[-1.0]])).cumulative(FINE),
            "users 0 are negative",
        ),
        (lambda: Histogram(np.array([0.0, 1.0]), np.array([[np.inf]])).cumulative(FINE), "or not finite"),
        (lambda: Histogram(np.array([1.0, 0.0]), np.array([[1.0]])).cumulative(FINE), "do not ascend"),
        (lambda: Histogram(np.array([0.0, 0.0]), np.array([[1.0]])).cumulative(FINE), "do not ascend"),
        (lambda: Histogram(np.array([0.0]), np.zeros((1, 0))).cumulative(FINE), "give two or more"),
        (lambda: Piecewise(np.array([0.0, np.inf]), np.ones((1, 2))).cumulative(FINE), "do not ascend"),
        (lambda: Piecewise(np.array([0.0, 1.0]), np.array([[1.0]])).cumulative(FINE), "give 2 for each user"),
        (lambda: Piecewise(np.array([0.0, 1.0]), np.ones(2)).cumulative(FINE), r"shape \(2,\)"),
        (lambda: Quadratic(*(np.array([it]) for it in (1.0, np.nan, 0.0))).cumulative(FINE), "not finite"),
        (lambda: channel_rates([], grid([SPACE], [2])), "give one each"),
        (
            lambda: channel_rates(
                [Quadratic(*np.ones((3, users))) for users in (1, 2)], grid([SPACE, SPACE], [2, 2])
            ),
            r"densities of \[1, 2\] users for 2 attributes: give one each, for the same users",
        ),
    ],
)
def test_bad_densities_are_rejected(call: Any, message: str) -> None:
    """Each mistake is an error that says what is wrong."""
    with pytest.raises(InputError, match=message):
        call()
