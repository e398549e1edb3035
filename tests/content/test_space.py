"""The content space: densities, channels, boxes, and what channels take in beyond boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.content.model.densities import Density, Histogram, Piecewise, Quadratic
from meshwright.content.model.rates import channel_rates, disjoint, over_approximation
from meshwright.content.model.space import Attribute, Boxes, grid, induced
from meshwright.errors import InputError

SPACE = Attribute("x")
FINE = np.linspace(0.0, 1.0, 20_001)
coefficient = st.one_of(st.just(0.0), st.floats(-1, 1).map(lambda value: round(value, 3)))
heights = st.lists(st.floats(0, 3), min_size=4, max_size=4)


@st.composite
def boxes(draw: st.DrawFn, dimensions: int = 1, users: int = 4) -> Boxes:
    """Draw boxes with corners on a coarse grid, so that sides meet; users may have none or several."""
    count = draw(st.integers(0, 5))
    user = draw(st.lists(st.integers(0, users - 1), min_size=count, max_size=count))
    low, high = [], []
    for _ in range(count):
        sides = [sorted(draw(st.sets(st.integers(0, 8), min_size=2, max_size=2))) for _ in range(dimensions)]
        low.append([side[0] / 8 for side in sides])
        high.append([side[1] / 8 for side in sides])
    shape = (count, dimensions)
    return Boxes(np.array(user, dtype=np.int64), np.reshape(low, shape), np.reshape(high, shape))


def densities(
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
    for density, plain in densities(a, b, c, some, spread):
        channel = np.searchsorted(cut.edges[0], middle, side="right") - 1
        areas = np.bincount(channel, weights=plain(middle) * np.diff(FINE), minlength=parts)
        assert channel_rates([density], cut)[0] == pytest.approx(areas, abs=2e-3)
        whole = channel_rates([density], grid([SPACE], [1]))[0, 0]
        assert channel_rates([density], cut).sum() == pytest.approx(whole)


@given(st.lists(st.tuples(coefficient, coefficient, coefficient), min_size=1, max_size=5), heights, heights)
def test_totals_are_sums(
    curves: list[tuple[float, float, float]], some: list[float], spread: list[float]
) -> None:
    """What all users publish between two points is the sum of what each does."""
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


def test_roots_keep_their_digits() -> None:
    """A density with a tiny leading coefficient is that without it: its far root does not spoil the near."""
    flat, tiny = (Quadratic(np.array([a]), np.array([-1.0]), np.array([0.5])) for a in (0.0, 1e-18))
    rates = [channel_rates([it], grid([SPACE], [4])) for it in (flat, tiny)]
    assert rates[0].sum() == pytest.approx(0.125)
    assert rates[1] == pytest.approx(rates[0], rel=1e-12)


@given(boxes(), st.integers(1, 10))
def test_channels_cover_what_is_asked_for(asked: Boxes, parts: int) -> None:
    """A user's channels hold its boxes, and each of them meets one; with cells they hold nothing else."""
    users = 4
    density = Quadratic(*np.random.Generator(np.random.PCG64(1)).uniform(0.1, 1.0, (3, users)))
    for cut in (grid([SPACE], [parts]), induced([SPACE], asked, users)):
        pairs = set(zip(*(column.tolist() for column in cut.met_by(asked)), strict=True))
        for point in np.random.Generator(np.random.PCG64(2)).random(100):
            channel = int(cut.of_cell[cut.cells(np.array([point]), np.array([np.nextafter(point, 2)]))][0])
            for user, low, high in zip(asked.user.tolist(), asked.low, asked.high, strict=True):
                assert not low[0] <= point < high[0] or (user, channel) in pairs
        measured = over_approximation([density], cut, asked)
        assert measured.volume_ratio >= 1 - 1e-9
        assert measured.traffic_ratio >= 1 - 1e-9
    assert measured.channel_volume == pytest.approx(measured.volume)
    assert measured.channel_traffic == pytest.approx(measured.traffic)


@given(boxes(dimensions=2))
def test_cells_in_the_plane(asked: Boxes) -> None:
    """In two dimensions too, cells take in just what is asked for, and tell all sets of users apart."""
    users = 4
    attributes = [Attribute("price", 0, 1), Attribute("age", 0, 1)]
    rng = np.random.Generator(np.random.PCG64(1))
    density = [Quadratic(*rng.uniform(0.1, 1.0, (3, users))) for _ in attributes]
    cut = induced(attributes, asked, users)
    measured = over_approximation(density, cut, asked)
    assert measured.channel_volume == pytest.approx(measured.volume)
    assert measured.channel_traffic == pytest.approx(measured.traffic)
    user, channel = cut.met_by(asked)
    sets = {tuple(user[channel == it].tolist()) for it in range(len(cut))}
    assert len(sets) == len(cut)
    coarse = over_approximation(density, grid(attributes, [2, 2]), asked)
    assert coarse.channel_volume >= measured.volume - 1e-9
    assert coarse.traffic == pytest.approx(measured.traffic)


@given(boxes(dimensions=2))
def test_pieces_do_not_overlap(asked: Boxes) -> None:
    """A user's boxes cut apart hold each point as often as one of the boxes holds it: once or never."""
    pieces = disjoint(asked)
    for x, y in np.random.Generator(np.random.PCG64(3)).random((60, 2)):
        for user in range(4):
            inside = []
            for it in (asked, pieces):
                own = it.user == user
                holds = (it.low[own] <= (x, y)) & (it.high[own] > (x, y))
                inside.append(int(np.all(holds, axis=1).sum()))
            assert inside[1] == min(inside[0], 1)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: grid([], []), "without attributes"),
        (lambda: grid([Attribute("x", 1, 1)], [2]), "'x' have no range"),
        (lambda: grid([SPACE], [0]), "x cut into 0 channels: give at least 1"),
        (lambda: grid([SPACE], [2, 2]), "2 numbers of parts for 1 attributes: give one for each"),
        (lambda: grid([SPACE, SPACE], [9000, 9000]), "take a coarser grid"),
        (
            lambda: Boxes(np.array([0]), np.array([[0.5]]), np.array([[0.5]])).checked([SPACE], 1),
            "low < high",
        ),
        (lambda: Boxes(np.array([3]), np.array([[0.1]]), np.array([[0.5]])).checked([SPACE], 1), "no user"),
        (lambda: Boxes(np.array([0]), np.array([[2.0]]), np.array([[3.0]])).checked([SPACE], 1), "outside"),
        (lambda: Histogram(np.array([0.0, 1.0]), np.array([[-1.0]])).cumulative(FINE), "negative"),
        (lambda: Histogram(np.array([1.0, 0.0]), np.array([[1.0]])).cumulative(FINE), "do not ascend"),
        (lambda: Piecewise(np.array([0.0, 1.0]), np.array([[1.0]])).cumulative(FINE), "give 2 a user"),
        (lambda: channel_rates([], grid([SPACE], [2])), "give one each"),
    ],
)
def test_what_cannot_be_is_told(call: Any, told: str) -> None:
    """Each mistake gets a line that says what it is."""
    with pytest.raises(InputError, match=told):
        call()
