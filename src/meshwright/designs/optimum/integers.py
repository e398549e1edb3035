"""Integer programs over the pairs in question, with the cuts that their solutions turn out to violate."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from meshwright.designs.optimum.relaxation import degree_rows
from meshwright.designs.optimum.rounding import rounded

if TYPE_CHECKING:
    from meshwright.designs.optimum.clock import Clock
    from meshwright.designs.optimum.cuts import Cuts
    from meshwright.designs.optimum.problem import Chosen
    from meshwright.designs.optimum.standing import Standing


class Outcome(Enum):
    """How the search for a solution of so many links ended."""

    FOUND = "found"
    NONE = "none"
    UNDECIDED = "undecided"


def best_among(standing: Standing, cuts: Cuts, allowed: Chosen, target: int, clock: Clock) -> Outcome:
    """Look for a solution of at most `target` links among the allowed pairs; offer what is found on the way.

    Each integer program is solved by HiGHS. If its solution leaves something unconnected, the cuts that say
    so are added and it is solved again: cuts only exclude what is no solution, so the answer is exact.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    problem, cap = standing.problem, standing.cap
    columns = np.flatnonzero(allowed | problem.forced)
    while not clock.struck:
        constraints = [
            LinearConstraint(cuts.rows()[:, columns], cuts.least, np.inf),
            LinearConstraint(np.ones((1, len(columns))), standing.lower, target),
        ]
        if cap is not None:
            constraints.append(LinearConstraint(degree_rows(problem, columns), -np.inf, cap))
        found = milp(
            np.ones(len(columns)),
            constraints=constraints,
            bounds=Bounds(problem.forced[columns].astype(np.float64), 1.0),
            integrality=np.ones(len(columns), dtype=np.int64),
            options={"time_limit": clock.left, "mip_rel_gap": 0.0},
        )
        if found.status == 2:
            return Outcome.NONE
        if found.x is None:
            return Outcome.UNDECIDED
        values = np.zeros(len(problem))
        values[columns] = np.round(found.x)
        connected = problem.connects(values > 0.5)
        standing.offer(values > 0.5 if connected else rounded(problem, values, cap))
        if standing.upper <= target:
            return Outcome.FOUND
        if found.status != 0 or not cuts.separate(values):  # no time left; or rounding broke a cut in use
            return Outcome.UNDECIDED
    return Outcome.UNDECIDED
