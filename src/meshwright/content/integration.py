"""Rates of users on channels: densities integrated over the cells of a content space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.content.demand import Floats
    from meshwright.content.densities import Density
    from meshwright.content.space import Channels

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
