"""The parts of a workload, checked and brought into its order; each mistake is an error of one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from meshwright.arrays import Floats
from meshwright.arrow import from_numpy, from_strings
from meshwright.errors import InputError, first_five

Positions = NDArray[np.int64]

ROUNDING = 1e-9
"""Core costs may violate symmetry and the triangle inequality by this relative error."""


def names(given: Sequence[str], what: str) -> pa.Array:
    """Return names as a column of strings, without blanks or duplicates."""
    column = from_strings([str(name) for name in given])
    listed = column.to_pylist()
    blank = [number for number, name in enumerate(listed, start=1) if not name.strip()]
    if blank:
        raise InputError(f"{what}s {first_five(blank)} (from 1) have no name: give each one a name")
    if len(set(listed)) < len(listed):
        seen: set[str] = set()
        twice = [name for name in listed if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        raise InputError(f"{what}s {first_five(dict.fromkeys(twice))} appear twice: keep one of each")
    return column


def rates(
    given: tuple[ArrayLike, ArrayLike, ArrayLike],
    user_rank: Positions,
    channel_rank: Positions,
    users: pa.Array,
    channels: pa.Array,
) -> tuple[Positions, Positions, Floats]:
    """Return positive rates by user: where each user's begin, their channels, ascending, and their values."""
    raw_user, raw_channel = _pairs(given[:2], len(users), len(channels), "rates")
    values: Floats = np.asarray(given[2], dtype=np.float64).reshape(-1)
    if len(values) != len(raw_user):
        raise InputError(
            f"{len(values)} rates for {len(raw_user)} pairs of user and channel: give one rate for each pair"
        )

    def refuse_rates(bad: NDArray[np.bool_], why: str) -> None:
        rows = np.flatnonzero(bad)
        pairs = [
            (users[int(raw_user[row])].as_py(), channels[int(raw_channel[row])].as_py()) for row in rows[:5]
        ]
        if len(rows):
            raise InputError(f"the rate of {first_five(pairs + [None] * (len(rows) - 5))} {why}")

    refuse_rates(~(values >= 0), "is negative or not a number: give 0 or more")
    refuse_rates(np.isinf(values), "is infinite: give a finite number")
    keys = user_rank[raw_user] * max(len(channels), 1) + channel_rank[raw_channel]
    order = np.argsort(keys, kind="stable")
    twice = np.zeros(len(keys), dtype=bool)
    twice[order[1:]] = keys[order[1:]] == keys[order[:-1]]
    refuse_rates(twice, "is given twice: keep one of each, or add them up")
    order = order[values[order] > 0]
    ptr, of_user = _by_user(keys[order], len(users), len(channels))
    return ptr, of_user, values[order]


def subscriptions(
    given: tuple[ArrayLike, ArrayLike],
    user_rank: Positions,
    channel_rank: Positions,
    shape: tuple[int, int],
) -> tuple[Positions, Positions]:
    """Return subscriptions by user: where each user's begin, and their channels, ascending, each once."""
    raw_user, raw_channel = _pairs(given, *shape, "subscriptions")
    keys = np.unique(user_rank[raw_user] * max(shape[1], 1) + channel_rank[raw_channel])
    return _by_user(keys, *shape)


def capacity(given: ArrayLike, brokers: pa.Array) -> Floats:
    """Return the capacity of each broker: zero or more, or infinite."""
    values: Floats = np.array(given, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(len(brokers), float(values))
    if values.shape != (len(brokers),):
        raise InputError(f"{values.size} capacities for {len(brokers)} brokers: give one for each")
    refuse(
        ~(values >= 0), "the capacities of brokers {} are negative or not numbers: give 0 or more", brokers
    )
    return values


def access(given: ArrayLike, users: pa.Array, brokers: pa.Array) -> Floats:
    """Return the costs of links between users and brokers: finite, zero or more."""
    costs: Floats = np.asarray(given, dtype=np.float64)
    if costs.shape != (len(users), len(brokers)):
        raise InputError(
            f"access costs of shape {costs.shape} for {len(users)} users and {len(brokers)} brokers: "
            "give one for each pair"
        )
    refuse(_invalid(costs), f"access {INVALID_COSTS}", users, brokers)
    return costs


def core(given: ArrayLike, brokers: pa.Array) -> Floats:
    """Return the costs of links between brokers: a metric."""
    costs: Floats = np.asarray(given, dtype=np.float64)
    if costs.shape != (len(brokers), len(brokers)):
        raise InputError(
            f"core costs of shape {costs.shape} for {len(brokers)} brokers: give one for each pair"
        )
    refuse(_invalid(costs), f"core {INVALID_COSTS}", brokers, brokers)
    unequal = np.argwhere(np.abs(costs - costs.T) > ROUNDING * np.maximum(costs, costs.T))
    if len(unequal):
        u, v = (brokers[int(end)].as_py() for end in unequal[0])
        raise InputError(f"core costs differ by direction between {u!r} and {v!r}: give the same both ways")
    refuse(np.diagonal(costs) != 0, "brokers {} have a core cost to themselves: set it to 0", brokers)
    costs = np.minimum(costs, costs.T)
    for way in range(len(costs)):
        detour = np.add.outer(costs[way], costs[way])
        broken = np.argwhere(costs * (1 - ROUNDING) > detour)
        if len(broken):
            u, v = (int(end) for end in broken[0])
            named = [brokers[end].as_py() for end in (u, v, way)]
            raise InputError(
                f"core costs violate the triangle inequality: {named[0]!r} to {named[1]!r} costs "
                f"{costs[u, v]:g}, by way of {named[2]!r} only {detour[u, v]:g}: give the cost of the "
                "shortest path"
            )
    return costs


INVALID_COSTS = "costs of {} are negative or not finite: give 0 or more for every pair"


def _invalid(costs: Floats) -> NDArray[np.bool_]:
    return ~((costs >= 0) & (costs < np.inf))


def refuse(bad: NDArray[np.bool_], message: str, *names: pa.Array) -> None:
    """Raise an InputError if something is bad; in its message, `{}` becomes the first five names.

    There is one column of names for each axis of `bad`.
    """
    places = np.argwhere(bad)
    if len(places):
        first = [
            column.take(from_numpy(at)).to_pylist() for column, at in zip(names, places[:5].T, strict=True)
        ]
        named = first[0] if len(first) == 1 else list(zip(*first, strict=True))
        raise InputError(message.format(first_five(named + [None] * (len(places) - 5))))


def _pairs(given: Sequence[ArrayLike], users: int, channels: int, what: str) -> tuple[Positions, Positions]:
    """Return columns of users and channels, all within range."""
    user, channel = (np.asarray(column, dtype=np.int64).reshape(-1) for column in given)
    if len(user) != len(channel):
        raise InputError(f"{what} name {len(user)} users but {len(channel)} channels: give pairs")
    for ids, count, kind in ((user, users, "user"), (channel, channels, "channel")):
        bad = ids[(ids < 0) | (ids >= count)]
        if len(bad):
            raise InputError(f"{what} of {kind}s {first_five(bad.tolist())}: there are only 0 to {count - 1}")
    return user, channel


def _by_user(keys: Positions, users: int, channels: int) -> tuple[Positions, Positions]:
    """Split ascending keys user × channels + channel into offsets and channels."""
    width = max(channels, 1)
    return np.searchsorted(keys, np.arange(users + 1, dtype=np.int64) * width), keys % width


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
            message = f"the places of {what}s {{}} are not finite: give each one numbers x and y"
            refuse(~(np.abs(place) <= LARGEST).all(axis=1), message, names)
            points.append(place)
        return Places(points[0], points[1], float(self.core_weight))


def _distances(a: Floats, b: Floats) -> Floats:
    """Return the distances of all pairs, without an array of all differences."""
    squares: Floats = np.subtract.outer(a[:, 0], b[:, 0])
    np.square(squares, out=squares)
    north = np.subtract.outer(a[:, 1], b[:, 1])
    squares += np.square(north, out=north)
    return np.sqrt(squares, out=squares)
