"""An index of filters: those that overlap a filter, and those that it covers, found for all of them at once.

A set of filters is an integer: bit `i` stands for filter `i`. For each level, the index knows which filters
have a name there, which a wildcard, and which end before it. A walk along the levels of a filter keeps the
set of filters that are compatible so far. So comparing all pairs of N filters takes as many operations as
they have levels in all, each on a set of N bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from meshwright.filters.mqtt import ONE, REST, unshared, written_out

END = "/"
"""What a filter has behind its last level, unless that is `#`; no level contains it."""
CACHED_BITS = 2**30
"""How many bits of sets an index keeps at most: 128 MB."""


class FilterIndex:
    """Filters by what they have at each level.

    >>> index = FilterIndex(["a/+", "a/#", "b", "+/b"])
    >>> positions(index.overlapping("a/b")), positions(index.covered("+/+"))
    ([0, 1, 3], [0, 3])
    """

    def __init__(self, filters: Sequence[str]) -> None:
        self.everything = (1 << len(filters)) - 1
        self._at: list[dict[str, list[int]]] = []
        private: list[int] = []
        for number, held in enumerate(filters):
            levels = _levels(held)
            if levels[-1] != REST:
                levels.append(END)
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
        self._fitting = lru_cache(max(64, CACHED_BITS // max(1, len(filters))))(self._find_fitting)

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


def as_bits(numbers: Sequence[int]) -> int:
    """Return a set of ascending numbers as an integer."""
    if not numbers:
        return 0
    listed = np.zeros(numbers[-1] + 1, dtype=np.uint8)
    listed[numbers] = 1
    return int.from_bytes(np.packbits(listed, bitorder="little").tobytes(), "little")


def positions(bits: int) -> list[int]:
    """Return the numbers of a set, ascending."""
    listed = np.frombuffer(bits.to_bytes(-(-bits.bit_length() // 8), "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(listed, bitorder="little")).tolist()
