"""The budget of a search: seconds, or steps that are the same on every machine."""

from __future__ import annotations

import math
import sys

import numpy as np

from meshwright.errors import InputError
from meshwright.jit.announce import Clock

SECONDS = 20.0
"""Default time of a search."""
PAIRS_A_SECOND = 25_000_000
MOST_PAIRS = 2_000_000_000


class Budget:
    """A budget in seconds from now, or in steps, which are the same on every machine and ignore the clock.

    Without either, it is the `default` seconds.

    >>> budget = Budget(steps=300)
    >>> budget.take(200), budget.take(200), budget.share, budget.spent
    (200, 100, 1.0, True)

    Raises
    ------
    InputError
        If both are given, or one is not a number of zero or more.
    """

    def __init__(
        self, seconds: float | None = None, steps: int | None = None, *, default: float = SECONDS
    ) -> None:
        if seconds is not None and steps is not None:
            raise InputError("seconds and steps both limit the search: give one of them")
        seconds = default if seconds is None else seconds
        if not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
            raise InputError(f"{seconds} seconds: give a finite number, zero or more")
        if steps is not None and (not isinstance(steps, (int, np.integer)) or steps < 0):
            raise InputError(f"{steps} steps: give a whole number of zero or more, or leave it out")
        self.seconds, self.steps, self.taken = seconds, steps, 0
        self.clock = Clock(seconds)

    @property
    def limit(self) -> dict[str, float]:
        """The limit of the search, as its only parameter: `seconds` or `steps`."""
        return {"seconds": self.seconds} if self.steps is None else {"steps": self.steps}

    @property
    def share(self) -> float:
        """The share of the budget that is spent, from 0 to 1."""
        if self.steps is None:
            gone, whole = self.clock.gone, self.seconds
        else:
            gone, whole = self.taken, self.steps
        return min(1.0, gone / whole) if whole else 1.0

    @property
    def spent(self) -> bool:
        """Whether the budget is spent."""
        return self.share >= 1

    def is_late(self, share: float) -> bool:
        """Return whether more than a share of the seconds is gone; never without any, or with steps."""
        return self.steps is None and self.seconds > 0 and self.share > share

    @property
    def most_pairs(self) -> int:
        """The number of pairs, topic by topic, that prices can handle in a part of the time."""
        return MOST_PAIRS if self.steps is not None else int(self.seconds * PAIRS_A_SECOND)

    def seconds_for(self, part: float) -> float | None:
        """Return a part of the remaining seconds, or None for a budget in steps."""
        return None if self.steps is not None else part * self.seconds * (1 - self.share)

    def allows(self, seconds: float, share: float) -> bool:
        """Return whether something takes less than a share of the remaining seconds; with steps, always."""
        left = self.seconds_for(share)
        return left is None or seconds < left

    def steps_until(self, share: float) -> int:
        """Return the steps left until a share is spent, at least 1; unlimited for a budget in seconds."""
        return sys.maxsize if self.steps is None else max(1, math.ceil(share * self.steps) - self.taken)

    def take(self, most: int) -> int:
        """Return the number of steps to do next, and count them as spent."""
        count = most if self.steps is None else min(most, self.steps - self.taken)
        self.taken += count
        return count
