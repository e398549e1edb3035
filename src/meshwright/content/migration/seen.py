"""What a user has received, so that nothing is taken twice."""

from __future__ import annotations

PRUNED_AT = 32
"""A publisher's numbers are gone through when there are so many: then those that are settled go."""


class Seen:
    """The numbers received from each publisher; those below its first unsettled one need not be kept."""

    def __init__(self) -> None:
        self._below: dict[int, int] = {}
        self._numbers: dict[int, set[int]] = {}

    def add(self, publisher: int, number: int, below: int) -> bool:
        """Take note of a publication, and say whether it is new.

        All of its publisher's with numbers below `below` are settled: this user has those that are for it.

        >>> seen = Seen()
        >>> seen.add(7, 0, 0), seen.add(7, 3, 2), seen.add(7, 3, 2), seen.add(7, 1, 0)
        (True, True, False, False)
        """
        first = max(self._below.get(publisher, 0), below)
        self._below[publisher] = first
        numbers = self._numbers.setdefault(publisher, set())
        if number < first or number in numbers:
            return False
        numbers.add(number)
        if len(numbers) >= PRUNED_AT:
            self._numbers[publisher] = {kept for kept in numbers if kept >= first}
        return True
