"""How often users publish where in a content space: densities along one attribute, integrated exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content.model.demand import Floats


class Density(Protocol):
    """The rate densities of some users along one attribute."""

    def __len__(self) -> int:
        """Return how many users there are."""

    def taken(self, users: NDArray[np.int64]) -> Density:
        """Return the densities of some of the users."""

    def cumulative(self, points: Floats) -> Floats:
        """Return each user's rate up to each point, users × points, from the same place on for all points.

        The points are one row for all users, or a row for each.
        """

    def total(self, points: Floats) -> Floats:
        """Return the rate of all users together up to each point, but for the same constant everywhere."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Densities max(0, a·x² + b·x + c), one for each user: the paper's."""

    a: Floats
    b: Floats
    c: Floats

    def __len__(self) -> int:
        return len(self.a)

    def taken(self, users: NDArray[np.int64]) -> Quadratic:
        """Return the densities of some of the users."""
        return Quadratic(self.a[users], self.b[users], self.c[users])

    def cumulative(self, points: Floats) -> Floats:
        """Return the integral from 0 on, with what is negative counted as 0."""
        a, b, c = (np.asarray(given, dtype=np.float64)[:, None] for given in (self.a, self.b, self.c))
        if not all(np.isfinite(given).all() for given in (a, b, c)):
            raise InputError("a density has coefficients that are not finite: mend them")
        low, high = _roots(a, b, c)
        made = np.zeros((len(a), np.shape(points)[-1]))
        # Between and beyond the roots the sign does not change: three pieces, each kept or left out whole.
        for begin, end in ((-np.inf, low), (low, high), (high, np.inf)):
            inside = np.clip(np.broadcast_to(points, made.shape), begin, end)
            from_zero = np.clip(np.zeros_like(made), begin, end)
            middle = _middle(np.broadcast_to(begin, low.shape), np.broadcast_to(end, low.shape))
            positive = (a * middle + b) * middle + c > 0
            made += np.where(positive, _primitive(a, b, c, inside) - _primitive(a, b, c, from_zero), 0.0)
        return made

    def total(self, points: Floats) -> Floats:
        """Return the integral of the sum: between two roots of anybody's it is one quadratic."""
        a, b, c = (np.asarray(given, dtype=np.float64) for given in (self.a, self.b, self.c))
        first, last = float(np.min(points, initial=0.0)), float(np.max(points, initial=0.0))
        low, high = (np.clip(root[:, 0], first, last) for root in _roots(a[:, None], b[:, None], c[:, None]))
        ends = np.stack((np.full_like(low, first), low, high, np.full_like(low, last)))
        middle = (ends[1:] + ends[:-1]) / 2
        piece, user = np.nonzero(((a * middle + b) * middle + c > 0) & (ends[1:] > ends[:-1]))
        parts = np.stack((a[user] / 3, b[user] / 2, c[user]))
        begins, stops = ends[piece, user], ends[piece + 1, user]
        made = np.zeros(np.shape(points))
        # Every piece counts from its begin on, and from its end on no further: as two that differ in sign.
        for sign, at in ((1.0, begins), (-1.0, stops)):
            order = np.argsort(at, kind="stable")
            before = ((parts[0] * at + parts[1]) * at + parts[2]) * at
            sums = np.cumsum(np.concatenate((parts, before[None]))[:, order], axis=1)
            sums = np.concatenate((np.zeros((4, 1)), sums), axis=1)
            three, two, one, none = sums[:, np.searchsorted(at[order], points, side="right")]
            made += sign * (((three * points + two) * points + one) * points - none)
        return made


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Densities that run straight between knots: `heights[user, k]` at `knots[k]`, zero outside."""

    knots: Floats
    heights: Floats

    def __len__(self) -> int:
        return len(self.heights)

    def taken(self, users: NDArray[np.int64]) -> Piecewise:
        """Return the densities of some of the users."""
        return Piecewise(self.knots, self.heights[users])

    def total(self, points: Floats) -> Floats:
        """Return the integral of the sum."""
        summed = Piecewise(self.knots, np.sum(self.heights, axis=0, keepdims=True))
        return np.asarray(summed.cumulative(points)[0])

    def cumulative(self, points: Floats) -> Floats:
        """Return the integral from the first knot on."""
        knots, heights = _checked(self.knots, self.heights, 0)
        widths = np.diff(knots)
        areas = np.zeros(heights.shape)
        np.cumsum((heights[:, 1:] + heights[:, :-1]) / 2 * widths, axis=1, out=areas[:, 1:])
        inside = np.clip(points, knots[0], knots[-1])
        piece = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(widths) - 1)
        beyond = inside - knots[piece]
        left, right = _at(heights, piece), _at(heights, piece + 1)
        slope = (right - left) / widths[piece]
        return np.asarray(_at(areas, piece) + beyond * (left + slope * beyond / 2))


@dataclass(frozen=True, eq=False)
class Histogram:
    """Rates counted in bins: `rates[user, k]`, spread evenly from `edges[k]` to `edges[k + 1]`."""

    edges: Floats
    rates: Floats

    def __len__(self) -> int:
        return len(self.rates)

    def taken(self, users: NDArray[np.int64]) -> Histogram:
        """Return the densities of some of the users."""
        return Histogram(self.edges, self.rates[users])

    def total(self, points: Floats) -> Floats:
        """Return the integral of the sum."""
        summed = Histogram(self.edges, np.sum(self.rates, axis=0, keepdims=True))
        return np.asarray(summed.cumulative(points)[0])

    def cumulative(self, points: Floats) -> Floats:
        """Return the integral from the first edge on."""
        edges, rates = _checked(self.edges, self.rates, 1)
        before = np.zeros((len(rates), len(edges)))
        np.cumsum(rates, axis=1, out=before[:, 1:])
        inside = np.clip(points, edges[0], edges[-1])
        bins = np.clip(np.searchsorted(edges, inside, side="right") - 1, 0, len(edges) - 2)
        share = (inside - edges[bins]) / np.diff(edges)[bins]
        return np.asarray(_at(before, bins) + share * _at(rates, bins))


def _roots(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return both roots, the lower one first; where there is none, both are 0, which splits nothing."""
    inner = b * b - 4 * a * c
    # The larger of both by absolute value first: subtracting near equals would lose its digits.
    larger = -(b + np.where(b >= 0, 1.0, -1.0) * np.sqrt(np.maximum(inner, 0.0))) / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first = np.where((inner > 0) & (a != 0), larger / a, np.nan)
        second = np.where((inner > 0) & (larger != 0), c / larger, np.nan)
    first, second = (np.where(np.isfinite(root), root, np.nan) for root in (first, second))
    one = np.where(np.isnan(first), second, first)
    two = np.where(np.isnan(second), first, second)
    low, high = np.fmin(one, two), np.fmax(one, two)
    return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=0.0)


def _middle(begin: Floats, end: Floats) -> Floats:
    """Return a place within an interval, which may reach to infinity."""
    with np.errstate(invalid="ignore"):
        far = np.where(np.isinf(begin), end - 1.0 - np.abs(end), begin + 1.0 + np.abs(begin))
        return np.where(np.isinf(begin) | np.isinf(end), far, (begin + end) / 2)


def _primitive(a: Floats, b: Floats, c: Floats, x: Floats) -> Floats:
    made: Floats = ((a / 3 * x + b / 2) * x + c) * x
    return made


def _at(values: Floats, places: NDArray[np.int64]) -> Floats:
    """Return each user's values at the same places, or at each one's own."""
    return values[:, places] if places.ndim == 1 else np.take_along_axis(values, places, axis=1)


def _checked(places: Floats, values: Floats, fewer: int) -> tuple[Floats, Floats]:
    """Return places and values as arrays, or say what is wrong with them."""
    places, values = np.asarray(places, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if len(places) < 2 or not (np.diff(places) > 0).all() or not np.isfinite(places).all():
        raise InputError(f"a density's places {first_five(places.tolist())} do not ascend: give two or more")
    if values.ndim != 2 or values.shape[1] != len(places) - fewer:
        raise InputError(
            f"densities of shape {values.shape} at {len(places)} places: give {len(places) - fewer} a user"
        )
    bad = np.flatnonzero(~((values >= 0) & (values < np.inf)).all(axis=1))
    if len(bad):
        raise InputError(f"the densities of users {first_five(bad.tolist())} are negative or not finite")
    return places, values
