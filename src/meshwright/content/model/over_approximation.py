"""Rates of users on channels, and how much more than its boxes a subscription takes in."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.model.space import Boxes, Channels
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.content.model.demand import Floats
    from meshwright.content.model.densities import Density


AT_ONCE = 1 << 20
"""Figures that are worked out at a time, so that memory stays low."""


def channel_rates(densities: Sequence[Density], channels: Channels) -> Floats:
    """Return the rate of each user on each channel, by exact integration: users × channels.

    There is one density for each attribute; with several, a user's density is their product.

    Raises
    ------
    InputError
        If there is not one density for each attribute, of the same users.
    """
    check_densities(densities, len(channels.edges))
    users, count = len(densities[0]), len(channels)
    made = np.zeros((users, count))
    cells = channels.of_cell.reshape(-1)
    each = max(1, AT_ONCE // max(len(cells), 1))
    for first in range(0, users, each):
        part = np.arange(first, min(first + each, users))
        rates = np.ones((len(part), 1))
        for density, edges in zip(densities, channels.edges, strict=True):
            along = np.diff(density.taken(part).cumulative(edges), axis=1)
            rates = (rates[:, :, None] * along[:, None, :]).reshape(len(part), -1)
        if len(cells) == count and (cells == np.arange(count)).all():
            made[part] = rates
        else:
            for row, own in zip(part, rates, strict=True):
                made[row] = np.bincount(cells, weights=own, minlength=count)
    # Differences of sums may be a rounding below zero, where the density is.
    return np.maximum(made, 0.0, out=made)


def check_densities(densities: Sequence[Density], attributes: int) -> None:
    """Refuse densities that are not one for each attribute, of the same users."""
    if len(densities) != attributes or len({len(density) for density in densities}) > 1:
        told = [len(density) for density in densities]
        raise InputError(
            f"densities of {told} users for {attributes} attributes: give one each, for the same users"
        )


@dataclass(frozen=True)
class Approximation:
    """What users ask for, and what their channels bring, in all: content space, and traffic."""

    volume: float
    channel_volume: float
    traffic: float
    channel_traffic: float

    @property
    def volume_ratio(self) -> float:
        """How many times the content space that was asked for is taken in."""
        return self.channel_volume / self.volume if self.volume else 1.0

    @property
    def traffic_ratio(self) -> float:
        """How many times the traffic that was asked for comes in."""
        return self.channel_traffic / self.traffic if self.traffic else 1.0


def over_approximation(densities: Sequence[Density], channels: Channels, boxes: Boxes) -> Approximation:
    """Measure how much more than their boxes the channels that these meet take in, over all users.

    Traffic is what all other users publish there. Boxes of one user that overlap count once.
    """
    boxes = boxes.checked(channels.attributes, len(densities[0]))
    pieces = disjoint(boxes)
    user, channel = channels.met_by(boxes)
    sizes = np.ones(1)
    for edges in channels.edges:
        sizes = np.multiply.outer(sizes, np.diff(edges)).reshape(-1)
    volume = np.bincount(channels.of_cell.reshape(-1), weights=sizes, minlength=len(channels))
    rates = channel_rates(densities, channels)
    return Approximation(
        float(np.prod(pieces.high - pieces.low, axis=1).sum()),
        float(volume[channel].sum()),
        _published(densities, pieces) - _own(densities, pieces),
        float((rates.sum(axis=0)[channel] - rates[user, channel]).sum()),
    )


def disjoint(boxes: Boxes) -> Boxes:
    """Return boxes that cover the same for each user, and do not overlap."""
    order = np.argsort(boxes.user, kind="stable")
    bounds = np.flatnonzero(np.diff(boxes.user[order], prepend=-1, append=-1))
    user, low, high = [boxes.user[:0]], [boxes.low[:0]], [boxes.high[:0]]
    for begin, end in itertools.pairwise(bounds):
        own = order[begin:end]
        lows, highs = boxes.low[own], boxes.high[own]
        if len(own) > 1:
            lows, highs = _split(lows, highs)
        user.append(np.full(len(lows), boxes.user[own[0]]))
        low.append(lows)
        high.append(highs)
    return Boxes(np.concatenate(user), np.concatenate(low), np.concatenate(high))


def _split(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Cut some boxes along all their sides, and keep each cell that one of them holds."""
    axes = range(low.shape[1])
    edges = tuple(np.unique(np.concatenate((low[:, axis], high[:, axis]))) for axis in axes)
    cut = Channels((), edges, np.zeros([len(at) - 1 for at in edges], dtype=np.int64), ())
    held = np.zeros(cut.of_cell.shape, dtype=bool)
    for begin, end in zip(low, high, strict=True):
        held[cut.cells(begin, end)] = True
    cells = np.nonzero(held)
    return (
        np.stack([edges[axis][cells[axis]] for axis in axes], axis=1),
        np.stack([edges[axis][cells[axis] + 1] for axis in axes], axis=1),
    )


def _published(densities: Sequence[Density], pieces: Boxes) -> float:
    """Return what all users publish in all pieces, counted once for each piece."""
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
            taken = density.taken(part)
            inside *= taken.cumulative(pieces.high[:, axis]) - taken.cumulative(pieces.low[:, axis])
        total += float(inside.sum())
    return total


def _own(densities: Sequence[Density], pieces: Boxes) -> float:
    """Return what users publish in their own pieces."""
    inside = np.ones(len(pieces.user))
    for axis, density in enumerate(densities):
        ends = np.stack((pieces.low[:, axis], pieces.high[:, axis]), axis=1)
        inside *= np.diff(density.taken(pieces.user).cumulative(ends), axis=1)[:, 0]
    return float(inside.sum())
