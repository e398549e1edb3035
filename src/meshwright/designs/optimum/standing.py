"""What is known so far: the best overlay, and a bound that none can beat."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from meshwright.designs.optimum.problem import Chosen, Problem

CLOSE = 1e-6
"""Values that differ by less are equal: the solver works to a tenth of it."""


class Standing:
    """The best pairs found for a problem, at most `cap` of them at a node, and the fewest there can be.

    `limit` is the most links that can be worth looking at; a `lower` bound above it means that the cap allows
    no solution at all.
    """

    def __init__(self, problem: Problem, best: Chosen | None, cap: int | None = None) -> None:
        self.problem, self.best, self.cap = problem, best, cap
        self.limit = len(problem) if cap is None else min(len(problem), problem.interest.num_nodes * cap // 2)
        self.lower = problem.connected_links

    @property
    def upper(self) -> int:
        """The fewest links found; one more than the limit if there is no solution yet."""
        return self.limit + 1 if self.best is None else int(np.count_nonzero(self.best))

    @property
    def closed(self) -> bool:
        """Whether nothing better can be found."""
        return self.lower >= self.upper

    def offer(self, chosen: Chosen | None) -> None:
        """Take pairs that connect everything within the cap, if they are fewer."""
        if chosen is not None and np.count_nonzero(chosen) < self.upper:
            self.best = chosen

    def raise_lower(self, bound: float) -> None:
        """Note that no solution has fewer links than this."""
        self.lower = min(max(self.lower, math.ceil(bound - CLOSE)), self.limit + 1)
