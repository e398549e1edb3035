"""How long an anytime design may go on: for some seconds, or for a number of steps."""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from meshwright.errors import InputError

PAIRS_A_SECOND = 25_000_000
MOST_PAIRS = 2_000_000_000


class Budget:
    """Seconds from now, or steps, which every machine takes alike; with steps the clock is not looked at.

    >>> budget = Budget(20.0, 300)
    >>> budget.take(200), budget.take(200), budget.share, budget.spent
    (200, 100, 1.0, True)
    """

    def __init__(self, seconds: float, steps: int | None) -> None:
        if not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
            raise InputError(f"{seconds} seconds: give zero or more")
        if steps is not None and (not isinstance(steps, (int, np.integer)) or steps < 0):
            raise InputError(f"{steps} steps: give a whole number of zero or more, or leave it out")
        self.seconds, self.steps, self.taken = seconds, steps, 0
        self.began = time.perf_counter()

    @property
    def share(self) -> float:
        """How much of it is gone, from 0 to 1."""
        gone, whole = time.perf_counter() - self.began, self.seconds
        if self.steps is not None:
            gone, whole = self.taken, self.steps
        return min(1.0, gone / whole) if whole else 1.0

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.share >= 1

    @property
    def most_pairs(self) -> int:
        """How many pairs, topic by topic, are looked at in a part of the time only."""
        return MOST_PAIRS if self.steps is not None else int(self.seconds * PAIRS_A_SECOND)

    def seconds_for(self, part: float) -> float | None:
        """Return a part of the seconds that are left; None if steps are counted."""
        return None if self.steps is not None else part * self.seconds * (1 - self.share)

    def steps_until(self, share: float) -> int:
        """Return how many steps are left until a share is taken, 1 at least; many where none are counted."""
        return sys.maxsize if self.steps is None else max(1, math.ceil(share * self.steps) - self.taken)

    def take(self, most: int) -> int:
        """Return how many steps to do next, and count them."""
        count = most if self.steps is None else min(most, self.steps - self.taken)
        self.taken += count
        return count
