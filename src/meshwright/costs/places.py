"""The places of nodes, where a link costs the distance of its ends: checked and sorted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meshwright.arrays import frozen
from meshwright.costs.pair_table import LARGEST, SMALLEST
from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Floats, Ids
    from meshwright.interest import Interest

NEAREST = 1e-6
"""No two nodes count as nearer than this part of the map's diagonal."""


class Places(NamedTuple):
    """The place of each node."""

    x: Floats
    """By node: how far east."""
    y: Floats
    """By node: how far north."""
    least: float
    """No two nodes count as nearer than this."""

    @property
    def kind(self) -> str:
        """What a plan calls such costs."""
        return "coordinates"

    def of(self, low: Ids, high: Ids) -> Floats:
        """Return the costs of pairs: their distances."""
        east, north = self.x[low] - self.x[high], self.y[low] - self.y[high]
        return np.maximum(np.sqrt(east * east + north * north), self.least)

    def columns(self, rank: Ids) -> list[NDArray[Any]]:
        """Return the columns to digest, with nodes numbered by `rank`."""
        order = np.argsort(rank)
        return [self.x[order].astype("<f8"), self.y[order].astype("<f8")]


def places(interest: Interest, nodes: Ids, x: Floats, y: Floats) -> Places:
    """Check coordinates, one pair of them for each node, and sort them by node."""
    names = interest.node_names
    times = np.bincount(nodes, minlength=interest.num_nodes)
    for bad, message in (
        (times > 1, "nodes {} have more than one place: keep one of each"),
        (times == 0, "no place for nodes {}: add a row for each"),
    ):
        if bad.any():
            named = [names[node].as_py() for node in np.flatnonzero(bad).tolist()]
            raise InputError(message.format(first_five(named)))
    unfit = ~((np.abs(x) <= LARGEST) & (np.abs(y) <= LARGEST))
    if unfit.any():
        rows = zip(nodes[unfit].tolist(), x[unfit].tolist(), y[unfit].tolist(), strict=True)
        named = [(names[node].as_py(), east, north) for node, east, north in rows]
        raise InputError(f"places {first_five(named)} are not finite numbers up to {LARGEST}: correct them")
    east, north = np.empty(len(nodes)), np.empty(len(nodes))
    # Adding 0.0 turns −0.0 into 0.0, which has another digest.
    east[nodes], north[nodes] = x + 0.0, y + 0.0
    return Places(frozen(east, np.float64), frozen(north, np.float64), _least(east, north))


def _least(x: Floats, y: Floats) -> float:
    """Return the least cost of a link: a small part of the diagonal, or 1 if all nodes are at one place."""
    if not len(x):
        return 1.0
    width, height = float(x.max() - x.min()), float(y.max() - y.min())
    diagonal = math.sqrt(width * width + height * height)
    return max(diagonal * NEAREST, SMALLEST) if diagonal else 1.0
