"""Where users and brokers are in the plane, so that links cost distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content.model.demand import Floats

LARGEST = 1e150
"""Coordinates beyond this, of either sign, have distances that overflow."""


@dataclass(frozen=True, eq=False)
class Places:
    """Points of users and brokers, n × 2 each; core links cost their distance times `core_weight`."""

    users: Floats
    brokers: Floats
    core_weight: float = 1.0

    def access(self) -> Floats:
        """Return the distance of every user to every broker."""
        return _distances(self.users, self.brokers)

    def core(self) -> Floats:
        """Return what links between brokers cost."""
        return self.core_weight * _distances(self.brokers, self.brokers)

    def taken(self, users: NDArray[np.int64], brokers: NDArray[np.int64]) -> Places:
        """Return the places in another order."""
        return Places(self.users[users], self.brokers[brokers], self.core_weight)

    def checked(self, users: pa.Array, brokers: pa.Array) -> Places:
        """Return the same as arrays of numbers, or say what is wrong with it."""
        if not 0 < self.core_weight < np.inf:
            raise InputError(f"a core weight of {self.core_weight}: give a finite number above zero")
        points = []
        for given, names, what in ((self.users, users, "user"), (self.brokers, brokers, "broker")):
            place: NDArray[Any] = np.array(given, dtype=np.float64).reshape(-1, 2)
            if len(place) != len(names):
                raise InputError(f"{len(place)} places for {len(names)} {what}s: give each one")
            bad = np.flatnonzero(~(np.abs(place) <= LARGEST).all(axis=1))
            if len(bad):
                named = [names[int(row)].as_py() for row in bad[:6]]
                raise InputError(f"the places of {what}s {first_five(named)} are no finite points: mend them")
            points.append(place)
        return Places(points[0], points[1], float(self.core_weight))


def _distances(a: Floats, b: Floats) -> Floats:
    """Return the distances of all pairs, without an array of all differences."""
    made: Floats = np.subtract.outer(a[:, 0], b[:, 0])
    np.square(made, out=made)
    north = np.subtract.outer(a[:, 1], b[:, 1])
    made += np.square(north, out=north)
    return np.sqrt(made, out=made)
