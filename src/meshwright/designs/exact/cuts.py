"""Cut constraints: every solution satisfies them, and a point of the relaxation may violate them.

For a partition of a group into p parts, at least p − 1 of the pairs that cross it are linked. With two parts
this is the plain cut. For a single group these constraints suffice: a point that satisfies all of them is a
mixture of connected graphs, or lies above one (Nash-Williams, Tutte).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from meshwright.designs.exact.problem import Group, Pairs, Problem, Values

TOLERANCE = 1e-3
"""Cuts violated by less are not added."""
CUTS_OF_GROUP = 3
"""Maximum number of cuts of one group per round: the deepest ones."""
PATIENCE = 20
"""A cut that does not bind for this many consecutive solutions is dropped; it can be found again."""


class Cuts:
    """The constraints in use: of the pairs in each row of `rows`, at least `least` must be linked.

    Initially each group has as many links as a tree, and each member has at least one.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._pairs: list[Pairs] = []
        self._least: list[int] = []
        self._idle: list[int] = []
        self._known: set[bytes] = set()
        self._rows: Any = None
        for group in problem.groups:
            places = np.arange(len(group))
            self._add(group, places)
            for member in range(len(group)):
                self._add(group, (places == member).astype(np.int64))
        self._lasting = len(self)

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def least(self) -> Values:
        """The number of pairs that each constraint requires."""
        return np.array(self._least, dtype=np.float64)

    def rows(self) -> Any:
        """Return the constraints as a sparse array of ones, with a column for each pair of the problem."""
        from scipy.sparse import csr_array

        if self._rows is None:
            ends = np.cumsum([0, *(len(crossing) for crossing in self._pairs)])
            columns = np.concatenate([np.zeros(0, dtype=np.int64), *self._pairs])
            shape = (len(self), len(self._problem))
            self._rows = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
        return self._rows

    def separate(self, values: Values) -> int:
        """Add constraints that a point violates, and return their number.

        For a fractional point, 0 does not prove that no constraint is violated. For a point of zeros and ones
        it does: then the components of each group are among the partitions.
        """
        added = 0
        for group in self._problem.groups:
            if len(group) > 2:
                added += sum(self._add(group, part) for part in violated(group, values[group.pairs]))
        return added

    def drop_idle(self, prices: Values) -> None:
        """Record which constraints have a price, and drop those without one for long."""
        self._idle = [0 if price > 0 else idle + 1 for price, idle in zip(prices, self._idle, strict=True)]
        keep = [i for i, idle in enumerate(self._idle) if i < self._lasting or idle < PATIENCE]
        if len(keep) == len(self):
            return
        self._pairs = [self._pairs[i] for i in keep]
        self._least = [self._least[i] for i in keep]
        self._idle = [self._idle[i] for i in keep]
        self._known = {_name(*cut) for cut in zip(self._pairs, self._least, strict=True)}
        self._rows = None

    def _add(self, group: Group, part: Pairs) -> bool:
        """Add the constraint of a partition (`part[i]` for member i of a group), unless it is in use."""
        crossing = group.pairs[part[group.a] != part[group.b]]
        least = len(np.unique(part)) - 1
        name = _name(crossing, least)
        if name in self._known:
            return False
        self._known.add(name)
        self._pairs.append(crossing)
        self._least.append(least)
        self._idle.append(0)
        self._rows = None
        return True


def _name(crossing: Pairs, least: int) -> bytes:
    return crossing.tobytes() + least.to_bytes(4)


def violated(group: Group, values: Values) -> list[Pairs]:
    """Return the partitions of a group that a point violates most, deepest first."""
    found = []
    for slack, part in _agglomerate(group, values):
        if slack < -TOLERANCE:
            found.append((slack, part))
    return [part for _, part in sorted(found, key=lambda deep: deep[0])[:CUTS_OF_GROUP]]


def _agglomerate(group: Group, values: Values) -> Iterator[tuple[float, Pairs]]:
    """Yield partitions from single members on, merging the two parts with the largest value between.

    Each comes with its slack: the value that crosses it minus what must cross. Below 0 it is violated.
    """
    count = len(group)
    between = np.zeros((count, count))
    between[group.a, group.b] = between[group.b, group.a] = values
    part = np.arange(count)
    crossing = float(values.sum())
    for parts in range(count, 1, -1):
        yield crossing - (parts - 1), part.copy()
        a, b = divmod(int(between.argmax()), count)
        a, b = min(a, b), max(a, b)
        crossing -= between[a, b]
        part[part == b] = a
        between[a] += between[b]
        between[:, a] += between[:, b]
        between[a, a] = 0.0
        between[b] = between[:, b] = 0.0
