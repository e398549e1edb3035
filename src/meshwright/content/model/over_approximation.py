"""How much more than their boxes users receive because subscriptions are rounded up to whole channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.model.densities import AT_ONCE, channel_rates
from meshwright.content.model.space import Boxes, Channels

if TYPE_CHECKING:
    from meshwright.arrays import Floats
    from meshwright.content.model.densities import Density


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
