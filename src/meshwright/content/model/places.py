"""Positions of users and brokers in the plane; links then cost distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Floats

LARGEST = 1e150
"""Coordinates beyond this, of either sign, are rejected: their distances overflow."""


@dataclass(frozen=True, eq=False)
class Places:
    """The positions of users and brokers, two coordinates each."""

    users: Floats
    """Users × 2."""
    brokers: Floats
    """Brokers × 2."""
    core_weight: float = 1.0
    """A core link costs its distance times this; an access link costs its distance."""

    def access(self) -> Floats:
        """Return the cost of the link between each user and each broker."""
        return _distances(self.users, self.brokers)

    def core(self) -> Floats:
        """Return the cost of the link between each two brokers."""
        return self.core_weight * _distances(self.brokers, self.brokers)

    def take(self, users: NDArray[np.int64], brokers: NDArray[np.int64]) -> Places:
        """Return the places of some users and brokers, in that order."""
        return Places(self.users[users], self.brokers[brokers], self.core_weight)

    def validate(self, users: pa.Array, brokers: pa.Array) -> Places:
        """Return the places as arrays of floats.

        Raises
        ------
        InputError
            If a user or broker has no finite place, or the core weight is not a positive number.
        """
        if not 0 < self.core_weight < np.inf:
            raise InputError(f"a core weight of {self.core_weight}: give a finite number above zero")
        points = []
        for given, names, what in ((self.users, users, "user"), (self.brokers, brokers, "broker")):
            place: NDArray[Any] = np.array(given, dtype=np.float64).reshape(-1, 2)
            if len(place) != len(names):
                raise InputError(f"{len(place)} places for {len(names)} {what}s: give one for each")
            bad = np.flatnonzero(~(np.abs(place) <= LARGEST).all(axis=1))
            if len(bad):
                named = [names[int(row)].as_py() for row in bad[:6]]
                raise InputError(
                    f"the places of {what}s {first_five(named)} are not finite: give each one numbers x and y"
                )
            points.append(place)
        return Places(points[0], points[1], float(self.core_weight))


def _distances(a: Floats, b: Floats) -> Floats:
    """Return the distances of all pairs, without an array of all differences."""
    squares: Floats = np.subtract.outer(a[:, 0], b[:, 0])
    np.square(squares, out=squares)
    north = np.subtract.outer(a[:, 1], b[:, 1])
    squares += np.square(north, out=north)
    return np.sqrt(squares, out=squares)
