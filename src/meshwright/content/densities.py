"""How often users publish where in the content space: densities, integrated exactly over channels.

A density belongs to one attribute. With several attributes, a user's density is the product of one for each.

`over_approximation` says how much more than their boxes users receive because subscriptions are rounded up to
whole channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Floats
from meshwright.content.space import Boxes, Channels, covered_cells
from meshwright.errors import InputError, first_five

AT_ONCE = 1 << 20
"""Number of figures that are computed at a time, to keep memory low."""


class Density(Protocol):
    """The rate densities of some users along one attribute."""

    def __len__(self) -> int:
        """Return the number of users."""

    def take(self, users: NDArray[np.int64]) -> Density:
        """Return the densities of some of the users."""

    def cumulative(self, points: Floats) -> Floats:
        """Return each user's rate up to each point: users × points.

        All integrals start at the same place. The points are one row for all users, or a row for each.
        """

    def total(self, points: Floats) -> Floats:
        """Return the rate of all users together up to each point, up to a constant."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Densities max(0, a·x² + b·x + c), one for each user, as in the paper's evaluation."""

    a: Floats
    b: Floats
    c: Floats

    def __len__(self) -> int:
        return len(self.a)

    def take(self, users: NDArray[np.int64]) -> Quadratic:
        """Return the densities of some of the users."""
        return Quadratic(self.a[users], self.b[users], self.c[users])

    def cumulative(self, points: Floats) -> Floats:
        """Return the integral from 0 on, with negative parts counted as 0."""
        a, b, c = (np.asarray(given, dtype=np.float64)[:, None] for given in (self.a, self.b, self.c))
        if not all(np.isfinite(given).all() for given in (a, b, c)):
            raise InputError("a density has coefficients that are not finite: give finite numbers")
        low, high = _roots(a, b, c)
        area = np.zeros((len(a), np.shape(points)[-1]))
        # The sign changes only at the roots: three pieces, each of them counts as a whole or not at all.
        for begin, end in ((-np.inf, low), (low, high), (high, np.inf)):
            inside = np.clip(np.broadcast_to(points, area.shape), begin, end)
            from_zero = np.clip(np.zeros_like(area), begin, end)
            middle = _point_within(np.broadcast_to(begin, low.shape), np.broadcast_to(end, low.shape))
            positive = (a * middle + b) * middle + c > 0
            area += np.where(positive, _primitive(a, b, c, inside) - _primitive(a, b, c, from_zero), 0.0)
        return area

    def total(self, points: Floats) -> Floats:
        """Return the integral of the sum, which is one quadratic between two neighbouring roots."""
        a, b, c = (np.asarray(given, dtype=np.float64) for given in (self.a, self.b, self.c))
        first, last = float(np.min(points, initial=0.0)), float(np.max(points, initial=0.0))
        low, high = (np.clip(root[:, 0], first, last) for root in _roots(a[:, None], b[:, None], c[:, None]))
        # Cut each user's density at its roots, and keep the pieces in which it is positive.
        ends = np.stack((np.full_like(low, first), low, high, np.full_like(low, last)))
        middle = (ends[1:] + ends[:-1]) / 2
        piece, user = np.nonzero(((a * middle + b) * middle + c > 0) & (ends[1:] > ends[:-1]))
        parts = np.stack((a[user] / 3, b[user] / 2, c[user]))
        begins, stops = ends[piece, user], ends[piece + 1, user]
        area = np.zeros(np.shape(points))
        # A piece adds its integral from where it begins, and subtracts the rest from where it ends. With
        # pieces in order, the coefficients that apply at a point are prefix sums.
        for sign, at in ((1.0, begins), (-1.0, stops)):
            order = np.argsort(at, kind="stable")
            before = ((parts[0] * at + parts[1]) * at + parts[2]) * at
            sums = np.cumsum(np.concatenate((parts, before[None]))[:, order], axis=1)
            sums = np.concatenate((np.zeros((4, 1)), sums), axis=1)
            cubic, square, linear, constant = sums[:, np.searchsorted(at[order], points, side="right")]
            area += sign * (((cubic * points + square) * points + linear) * points - constant)
        return area


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Densities that are linear between knots and zero outside."""

    knots: Floats
    """The places of the knots, ascending."""
    heights: Floats
    """Users × knots: the density at each knot."""

    def __len__(self) -> int:
        return len(self.heights)

    def take(self, users: NDArray[np.int64]) -> Piecewise:
        """Return the densities of some of the users."""
        return Piecewise(self.knots, self.heights[users])

    def cumulative(self, points: Floats) -> Floats:
        """Return the integral from the first knot on."""
        knots, heights = _check_table(self.knots, self.heights, 0)
        widths = np.diff(knots)
        areas = np.zeros(heights.shape)
        np.cumsum((heights[:, 1:] + heights[:, :-1]) / 2 * widths, axis=1, out=areas[:, 1:])
        inside = np.clip(points, knots[0], knots[-1])
        piece = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(widths) - 1)
        beyond = inside - knots[piece]
        left, right = _columns(heights, piece), _columns(heights, piece + 1)
        slope = (right - left) / widths[piece]
        return np.asarray(_columns(areas, piece) + beyond * (left + slope * beyond / 2))

    def total(self, points: Floats) -> Floats:
        """Return the integral of the sum."""
        summed = Piecewise(self.knots, np.sum(self.heights, axis=0, keepdims=True))
        return np.asarray(summed.cumulative(points)[0])


@dataclass(frozen=True, eq=False)
class Histogram:
    """Rates counted in bins, spread evenly over each bin."""

    edges: Floats
    """The borders of the bins, ascending."""
    rates: Floats
    """Users × bins: the rate in each bin."""

    def __len__(self) -> int:
        return len(self.rates)

    def take(self, users: NDArray[np.int64]) -> Histogram:
        """Return the densities of some of the users."""
        return Histogram(self.edges, self.rates[users])

    def cumulative(self, points: Floats) -> Floats:
        """Return the integral from the first edge on."""
        edges, rates = _check_table(self.edges, self.rates, 1)
        before = np.zeros((len(rates), len(edges)))
        np.cumsum(rates, axis=1, out=before[:, 1:])
        inside = np.clip(points, edges[0], edges[-1])
        bins = np.clip(np.searchsorted(edges, inside, side="right") - 1, 0, len(edges) - 2)
        share = (inside - edges[bins]) / np.diff(edges)[bins]
        return np.asarray(_columns(before, bins) + share * _columns(rates, bins))

    def total(self, points: Floats) -> Floats:
        """Return the integral of the sum."""
        summed = Histogram(self.edges, np.sum(self.rates, axis=0, keepdims=True))
        return np.asarray(summed.cumulative(points)[0])


def channel_rates(densities: Sequence[Density], channels: Channels) -> Floats:
    """Return the rate of each user on each channel, by exact integration: users × channels.

    There is one density for each attribute.

    Raises
    ------
    InputError
        If there is not one density for each attribute, or they are not of the same users.
    """
    attributes, sizes = len(channels.edges), [len(density) for density in densities]
    if len(densities) != attributes or len(set(sizes)) > 1:
        raise InputError(
            f"densities of {sizes} users for {attributes} attributes: give one each, for the same users"
        )
    users, count = len(densities[0]), len(channels)
    rates = np.zeros((users, count))
    cells = channels.of_cell.reshape(-1)
    each = max(1, AT_ONCE // max(len(cells), 1))
    for first in range(0, users, each):
        part = np.arange(first, min(first + each, users))
        # The rate in a cell is the product of the integrals along each attribute.
        in_cells = np.ones((len(part), 1))
        for density, edges in zip(densities, channels.edges, strict=True):
            along = np.diff(density.take(part).cumulative(edges), axis=1)
            in_cells = (in_cells[:, :, None] * along[:, None, :]).reshape(len(part), -1)
        if len(cells) == count and (cells == np.arange(count)).all():
            rates[part] = in_cells
        else:
            for row, own in zip(part, in_cells, strict=True):
                rates[row] = np.bincount(cells, weights=own, minlength=count)
    # Where a density is 0, the difference of two integrals may be negative by a rounding error.
    return np.maximum(rates, 0.0, out=rates)


def _roots(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return both roots, the lower one first; if there are none, both are 0, which splits nothing."""
    inner = b * b - 4 * a * c
    # First the root of larger absolute value: the difference of nearly equal numbers would lose digits.
    larger = -(b + np.where(b >= 0, 1.0, -1.0) * np.sqrt(np.maximum(inner, 0.0))) / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first = np.where((inner > 0) & (a != 0), larger / a, np.nan)
        second = np.where((inner > 0) & (larger != 0), c / larger, np.nan)
    first, second = (np.where(np.isfinite(root), root, np.nan) for root in (first, second))
    one = np.where(np.isnan(first), second, first)
    two = np.where(np.isnan(second), first, second)
    low, high = np.fmin(one, two), np.fmax(one, two)
    return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=0.0)


def _point_within(begin: Floats, end: Floats) -> Floats:
    """Return a point within each interval, which may be infinite."""
    with np.errstate(invalid="ignore"):
        far = np.where(np.isinf(begin), end - 1.0 - np.abs(end), begin + 1.0 + np.abs(begin))
        return np.where(np.isinf(begin) | np.isinf(end), far, (begin + end) / 2)


def _primitive(a: Floats, b: Floats, c: Floats, x: Floats) -> Floats:
    """Return the integral of a·x² + b·x + c from 0 to x."""
    area: Floats = ((a / 3 * x + b / 2) * x + c) * x
    return area


def _columns(values: Floats, places: NDArray[np.int64]) -> Floats:
    """Return columns of each user's values: the same ones for all users, or a row of them for each."""
    return values[:, places] if places.ndim == 1 else np.take_along_axis(values, places, axis=1)


def _check_table(places: Floats, values: Floats, fewer: int) -> tuple[Floats, Floats]:
    """Return the places and values of a density as arrays; there are `fewer` values than places."""
    places, values = np.asarray(places, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if len(places) < 2 or not (np.diff(places) > 0).all() or not np.isfinite(places).all():
        raise InputError(
            f"a density's places {first_five(places.tolist())} do not ascend: give two or more, ascending"
        )
    if values.ndim != 2 or values.shape[1] != len(places) - fewer:
        raise InputError(
            f"densities of shape {values.shape} at {len(places)} places: give {len(places) - fewer} for "
            "each user"
        )
    bad = np.flatnonzero(~((values >= 0) & (values < np.inf)).all(axis=1))
    if len(bad):
        raise InputError(
            f"the densities of users {first_five(bad.tolist())} are negative or not finite: give 0 or more"
        )
    return places, values


@dataclass(frozen=True)
class Approximation:
    """What all users ask for, and what their channels bring them."""

    volume: float
    """The content space in all users' boxes."""
    channel_volume: float
    """The content space in all users' channels."""
    traffic: float
    """The traffic that others publish in all users' boxes."""
    channel_traffic: float
    """The traffic that others publish on all users' channels."""

    @property
    def volume_ratio(self) -> float:
        """The content space of the channels divided by that of the boxes."""
        return self.channel_volume / self.volume if self.volume else 1.0

    @property
    def traffic_ratio(self) -> float:
        """The traffic on the channels divided by that in the boxes."""
        return self.channel_traffic / self.traffic if self.traffic else 1.0


def over_approximation(densities: Sequence[Density], channels: Channels, boxes: Boxes) -> Approximation:
    """Compare users' boxes with the channels that these meet, over all users.

    Overlapping boxes of one user count once.
    """
    boxes = boxes.clip(channels.attributes, len(densities[0]))
    pieces = disjoint_boxes(boxes)
    user, channel = channels.met_by(boxes)
    sizes = np.ones(1)
    for edges in channels.edges:
        sizes = np.multiply.outer(sizes, np.diff(edges)).reshape(-1)
    volume = np.bincount(channels.of_cell.reshape(-1), weights=sizes, minlength=len(channels))
    rates = channel_rates(densities, channels)
    return Approximation(
        volume=float(np.prod(pieces.high - pieces.low, axis=1).sum()),
        channel_volume=float(volume[channel].sum()),
        traffic=_published(densities, pieces) - _published_by_owners(densities, pieces),
        channel_traffic=float((rates.sum(axis=0)[channel] - rates[user, channel]).sum()),
    )


def disjoint_boxes(boxes: Boxes) -> Boxes:
    """Return boxes that cover the same places for each user and do not overlap."""
    user, low, high = [boxes.user[:0]], [boxes.low[:0]], [boxes.high[:0]]
    for own in boxes.by_user():
        lows, highs = boxes.low[own], boxes.high[own]
        if len(own) > 1:
            lows, highs = _split(lows, highs)
        user.append(np.full(len(lows), boxes.user[own[0]]))
        low.append(lows)
        high.append(highs)
    return Boxes(np.concatenate(user), np.concatenate(low), np.concatenate(high))


def _split(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Cut some boxes along all their sides, and return each cell that is in one of them."""
    axes = range(low.shape[1])
    edges = tuple(np.unique(np.concatenate((low[:, axis], high[:, axis]))) for axis in axes)
    cells = np.nonzero(covered_cells(edges, low, high))
    return (
        np.stack([edges[axis][cells[axis]] for axis in axes], axis=1),
        np.stack([edges[axis][cells[axis] + 1] for axis in axes], axis=1),
    )


def _published(densities: Sequence[Density], pieces: Boxes) -> float:
    """Return what all users publish in each piece, added up over the pieces."""
    # Along one attribute the sum of all densities is integrated at once.
    if len(densities) == 1:
        ends = densities[0].total(np.concatenate((pieces.high[:, 0], pieces.low[:, 0])))
        return float(ends[: len(pieces.user)].sum() - ends[len(pieces.user) :].sum())
    total = 0.0
    users = len(densities[0])
    each = max(1, AT_ONCE // max(len(pieces.user), 1))
    for first in range(0, users, each):
        part = np.arange(first, min(first + each, users))
        inside = np.ones((len(part), len(pieces.user)))
        for axis, density in enumerate(densities):
            some = density.take(part)
            inside *= some.cumulative(pieces.high[:, axis]) - some.cumulative(pieces.low[:, axis])
        total += float(inside.sum())
    return total


def _published_by_owners(densities: Sequence[Density], pieces: Boxes) -> float:
    """Return what users publish in their own pieces."""
    inside = np.ones(len(pieces.user))
    for axis, density in enumerate(densities):
        ends = np.stack((pieces.low[:, axis], pieces.high[:, axis]), axis=1)
        inside *= np.diff(density.take(pieces.user).cumulative(ends), axis=1)[:, 0]
    return float(inside.sum())
