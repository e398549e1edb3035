"""An index of filters: those that overlap a filter, and those that it covers, found for all of them at once.

A set of filters is an integer: bit `i` stands for filter `i`. For each level, the index knows which filters
have a name there, which a wildcard, and which end before it. A walk along the levels of a filter keeps the
set of filters that are compatible so far. So comparing all pairs of N filters takes as many operations as
they have levels in all, each on a set of N bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from meshwright.filters.mqtt import ONE, REST, unshared, written_out

END = "/"
"""What a filter has behind its last level, unless that is `#`; no level contains it."""
CACHED_BITS = 2**30
"""How many bits of sets an index keeps at most: 128 MB."""
CACHED_BEGINNINGS = 2**16
"""How many beginnings of topics an index keeps at most."""

FEW = 32
"""Sets of at most this size are walked through one by one."""

Few: TypeAlias = dict[str, list[tuple[int, bool, list[str]]]]
"""The filters that fit the first level of a topic, by the second that they fit (`+`: any that is not listed):
their numbers, whether their third level is a wildcard, and their levels."""
Beginning: TypeAlias = tuple[int, dict[str, "Beginning | Few | int"]]
"""The filters that fit the first levels of a topic, and by the next level what is left then: as many, a few,
or the number of one that matches whatever follows (-1: there is none)."""


class FilterIndex:
    """Filters by what they have at each level.

    >>> index = FilterIndex(["a/+", "a/#", "b", "+/b"])
    >>> positions(index.overlapping("a/b")), positions(index.covered("+/+"))
    ([0, 1, 3], [0, 3])
    """

    def __init__(self, filters: Sequence[str]) -> None:
        self._filters = filters
        self.everything = (1 << len(filters)) - 1
        self._at: list[dict[str, list[int]]] = []
        private: list[int] = []
        for number, held in enumerate(filters):
            levels = _closed(held)
            if levels[0].startswith("$"):
                private.append(number)
            while len(self._at) < len(levels):
                self._at.append({})
            for at, level in zip(self._at, levels, strict=False):
                at.setdefault(level, []).append(number)
        self._private = as_bits(private)
        # By level: the filters with `+` there, with `#`, and without a level: one level more than any has.
        self._wild = [
            tuple(as_bits(at.pop(level, [])) for level in (ONE, REST, END)) for at in (*self._at, {})
        ]
        # Names may be as many as levels, so only the sets in use are kept.
        sets = max(64, CACHED_BITS // max(1, len(filters)))
        self._fitting = lru_cache(sets)(self._find_fitting)
        self._room = min(sets, CACHED_BEGINNINGS)
        self._start: Beginning = self.everything, {}

    def _find_fitting(self, place: int, level: str) -> int:
        """Return the filters that a name at a place fits."""
        return self._wild[place][0] | as_bits(self._at[place].get(level, []))

    def overlapping(self, held: str, among: int | None = None) -> int:
        """Return the filters, of those `among` which to look, that match some topic that a filter matches."""
        levels, found = _levels(held), 0
        alive = self.everything if among is None else among
        # A wildcard at the first level matches no topic that begins with $.
        if levels[0] == ONE:
            alive &= ~self._private
        elif levels[0].startswith("$"):
            alive &= self._private
        # A filter with more levels than any of the index ends the walk there.
        for place, level in enumerate(levels):
            if level == REST or not alive:
                return found | alive
            _, rest, end = self._wild[place]
            found |= alive & rest
            alive &= ~(rest | end) if level == ONE else self._fitting(place, level)
        _, rest, end = self._wild[len(levels)] if alive else (0, 0, 0)
        return found | alive & (rest | end)

    def first_match(self, topic: str) -> int:
        """Return the number of some filter that matches a topic, or -1.

        This is faster than to look for all: topics share their beginnings, and two levels often decide.
        """
        levels, here = topic.split("/"), self._start
        for place, level in enumerate(levels):
            after = here[1].get(level)
            if after is None:
                after = self._step(here, place, level)
            if isinstance(after, int):
                return after
            if isinstance(after, dict):
                second = levels[1] if len(levels) > 1 else END
                third = levels[2] if len(levels) > 2 else END
                for number, wild, own in after[second] if second in after else after[ONE]:
                    if (wild or own[2] == third) and _goes_on(own, levels):
                        return number
                return -1
            here = after
        return (here[0] & self._wild[len(levels)][2]).bit_length() - 1

    def _step(self, here: Beginning, place: int, level: str) -> Beginning | Few | int:
        """Return what a beginning with one more level leads to, and keep it while there is room."""
        alive = here[0] and here[0] & self._fitting(place, level)
        if not place and level.startswith("$"):
            alive &= self._private
        # A filter with `#` here matches whatever follows, nothing too.
        match = alive and alive & self._wild[place + 1][1]
        after: Beginning | Few | int = alive, {}
        if match or not alive:
            after = match.bit_length() - 1
        elif not place and alive.bit_count() <= FEW:
            few = [(number, [*_closed(self._filters[number]), END]) for number in positions(alive)]
            after = {ONE: [], **{own[1]: [] for _, own in few}}
            for second, fitting in after.items():
                for number, own in few:
                    if own[1] in (ONE, second):
                        fitting.append((number, own[2] in (ONE, REST), own))
        if self._room:
            self._room -= 1
            here[1][level] = after
        return after

    def covered(self, wide: str) -> int:
        """Return the filters all of whose topics match a filter."""
        levels, alive = _levels(wide), self.everything
        if levels[0] == ONE:
            alive &= ~self._private
        for place, level in enumerate(levels):
            if level == REST or not alive:
                return alive
            one, rest, end = self._wild[place]
            alive &= ~(rest | end) if level == ONE else self._fitting(place, level) & ~one
        return alive & self._wild[len(levels)][2] if alive else 0


def _levels(held: str) -> list[str]:
    """Return the levels of a filter, those of `#` as `+/#`: every topic has a first level."""
    bare = unshared(held) if held[:1] == "$" else held
    return bare.split("/") if bare[-1:] != REST else [ONE, REST] if bare == REST else written_out(bare)


def _closed(held: str) -> list[str]:
    """Return the levels of a filter, and what it has behind them."""
    levels = _levels(held)
    return levels if levels[-1] == REST else [*levels, END]


def _goes_on(own: list[str], levels: list[str]) -> bool:
    """Return whether a filter that fits the first two levels of a topic matches it."""
    for at in range(2, len(levels)):
        level = own[at]
        if level != levels[at] and level != ONE:
            return level == REST
    return own[len(levels)] in (REST, END)


def as_bits(numbers: Sequence[int]) -> int:
    """Return a set of ascending numbers as an integer."""
    if not numbers:
        return 0
    listed = np.zeros(numbers[-1] + 1, dtype=np.uint8)
    listed[numbers] = 1
    return int.from_bytes(np.packbits(listed, bitorder="little").tobytes(), "little")


def positions(bits: int) -> list[int]:
    """Return the numbers of a set, ascending."""
    if bits.bit_count() <= FEW:
        few = []
        while bits:
            few.append(bits.bit_length() - 1)
            bits ^= 1 << few[-1]
        return few[::-1]
    listed = np.frombuffer(bits.to_bytes(-(-bits.bit_length() // 8), "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(listed, bitorder="little")).tolist()
