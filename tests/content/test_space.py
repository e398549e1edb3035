"""The content space: channels cover the boxes that meet them; cells cut along the boxes add nothing."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.content import densities
from meshwright.content.densities import Quadratic, disjoint_boxes, over_approximation
from meshwright.content.space import MOST_CELLS, Attribute, Boxes, channels_from_boxes, grid
from meshwright.errors import InputError

SPACE = Attribute("x")
USERS = 4


@st.composite
def boxes(draw: st.DrawFn, dimensions: int = 1) -> Boxes:
    """Draw boxes with corners on a coarse grid, so that sides meet; users have none, one or several."""
    count = draw(st.integers(0, 5))
    user = draw(st.lists(st.integers(0, USERS - 1), min_size=count, max_size=count))
    low, high = [], []
    for _ in range(count):
        sides = [sorted(draw(st.sets(st.integers(0, 8), min_size=2, max_size=2))) for _ in range(dimensions)]
        low.append([side[0] / 8 for side in sides])
        high.append([side[1] / 8 for side in sides])
    shape = (count, dimensions)
    return Boxes(np.array(user, dtype=np.int64), np.reshape(low, shape), np.reshape(high, shape))


@given(boxes(), st.integers(1, 10))
def test_channels_cover_what_is_asked_for(asked: Boxes, parts: int) -> None:
    """A user's channels hold its boxes, and each one meets a box; cells along the boxes hold nothing else."""
    density = Quadratic(*np.random.Generator(np.random.PCG64(1)).uniform(0.1, 1.0, (3, USERS)))
    for cut in (grid([SPACE], [parts]), channels_from_boxes([SPACE], asked, USERS)):
        pairs = set(zip(*(column.tolist() for column in cut.met_by(asked)), strict=True))
        for point in np.random.Generator(np.random.PCG64(2)).random(40):
            channel = int(cut.of_cell[cut.cells(np.array([point]), np.array([np.nextafter(point, 2)]))][0])
            for user, low, high in zip(asked.user.tolist(), asked.low, asked.high, strict=True):
                assert not low[0] <= point < high[0] or (user, channel) in pairs
        measured = over_approximation([density], cut, asked)
        assert measured.volume_ratio >= 1 - 1e-9
        assert measured.traffic_ratio >= 1 - 1e-9
    assert measured.channel_volume == pytest.approx(measured.volume)
    assert measured.channel_traffic == pytest.approx(measured.traffic)


def test_neighbours_do_not_share_a_border() -> None:
    """A box that ends where a channel begins does not meet it; one that begins there does."""
    cut = grid([SPACE], [4])
    asked = Boxes(np.array([0, 1]), np.array([[0.25], [0.5]]), np.array([[0.5], [1.0]]))
    user, channel = cut.met_by(asked)
    assert list(zip(user.tolist(), channel.tolist(), strict=True)) == [(0, 1), (1, 2), (1, 3)]


@settings(max_examples=30)
@given(boxes(dimensions=2))
def test_cells_in_the_plane(asked: Boxes) -> None:
    """In two dimensions, too, cells hold exactly what is asked for, and each has its own set of users."""
    attributes = [Attribute("price", 0, 1), Attribute("age", 0, 1)]
    rng = np.random.Generator(np.random.PCG64(1))
    density = [Quadratic(*rng.uniform(0.1, 1.0, (3, USERS))) for _ in attributes]
    cut = channels_from_boxes(attributes, asked, USERS)
    measured = over_approximation(density, cut, asked)
    assert measured.channel_volume == pytest.approx(measured.volume)
    assert measured.channel_traffic == pytest.approx(measured.traffic)
    user, channel = cut.met_by(asked)
    sets = {tuple(user[channel == it].tolist()) for it in range(len(cut))}
    assert len(sets) == len(cut)
    coarse = over_approximation(density, grid(attributes, [2, 2]), asked)
    assert coarse.channel_volume >= measured.volume - 1e-9
    assert coarse.traffic == pytest.approx(measured.traffic)
    with mock.patch.object(densities, "AT_ONCE", 3):
        assert over_approximation(density, cut, asked).traffic == pytest.approx(measured.traffic)


@given(boxes(dimensions=2))
def test_pieces_do_not_overlap(asked: Boxes) -> None:
    """A user's boxes cut apart hold each point once if one of the boxes holds it, otherwise never."""
    pieces = disjoint_boxes(asked)
    points = np.random.Generator(np.random.PCG64(3)).random((60, 1, 2))
    for user in range(USERS):
        inside = []
        for it in (asked, pieces):
            own = it.user == user
            holds = (it.low[own] <= points) & (it.high[own] > points)
            inside.append(np.all(holds, axis=2).sum(axis=1))
        assert inside[1].tolist() == np.minimum(inside[0], 1).tolist()


def test_boxes_are_cut_off_at_the_borders() -> None:
    """The part of a box outside of the space does not count."""
    clipped = Boxes(np.array([0]), np.array([[-1.0]]), np.array([[7.0]])).clip([Attribute("x", 2, 5)], 1)
    assert (clipped.low.tolist(), clipped.high.tolist()) == ([[2.0]], [[5.0]])


def test_nothing_asked_for_is_not_exceeded() -> None:
    """Without boxes both ratios are 1."""
    nothing = Boxes(np.zeros(0, dtype=np.int64), np.zeros((0, 1)), np.zeros((0, 1)))
    measured = over_approximation([Quadratic(*np.ones((3, 1)))], grid([SPACE], [2]), nothing)
    assert (measured.volume_ratio, measured.traffic_ratio) == (1.0, 1.0)


def test_names_sort_like_channels() -> None:
    """Names have leading zeros, so that their order is that of the channels."""
    asked = Boxes(np.arange(11), np.arange(11)[:, None] / 11, np.arange(1, 12)[:, None] / 11)
    for cut in (grid([SPACE], [11]), channels_from_boxes([SPACE], asked, 11)):
        assert cut.names == tuple(f"{number:02}" for number in range(11))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grid([], []), "without attributes"),
        (lambda: grid([Attribute("x", 1, 1)], [2]), "'x' have no range"),
        (lambda: grid([Attribute("x", 0, np.inf)], [2]), "'x' have no range"),
        (lambda: grid([SPACE], [0]), "x cut into 0 channels: give at least 1"),
        (lambda: grid([SPACE], [2, 2]), "2 numbers of parts for 1 attributes: give one for each"),
        (lambda: grid([SPACE], [MOST_CELLS + 1]), "use a coarser grid"),
        (
            lambda: grid([SPACE, SPACE], [9000, 9000]),
            "81,000,000 cells are more than 4,194,304: use a coarser",
        ),
        (
            lambda: Boxes(np.array([0]), np.array([[0.5]]), np.array([[0.5]])).clip([SPACE], 1),
            "boxes 0 are empty .* give each one low < high",
        ),
        (
            lambda: Boxes(np.array([1]), np.array([[0.1]]), np.array([[0.5]])).clip([SPACE], 1),
            "no user from 0",
        ),
        (lambda: Boxes(np.array([-1]), np.array([[0.1]]), np.array([[0.5]])).clip([SPACE], 1), "no user"),
        (lambda: Boxes(np.array([0]), np.array([[1.0]]), np.array([[3.0]])).clip([SPACE], 1), "outside"),
        (lambda: Boxes(np.array([0]), np.array([[-3.0]]), np.array([[0.0]])).clip([SPACE], 1), "outside"),
    ],
)
def test_bad_spaces_and_boxes_are_rejected(call: Any, message: str) -> None:
    """Each mistake is an error that says what is wrong."""
    with pytest.raises(InputError, match=message):
        call()
