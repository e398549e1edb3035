"""The lowest maximum degree: a bound by relaxation, then one degree after another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from meshwright.designs.optimum.clock import Clock
from meshwright.designs.optimum.relaxation import Relaxation
from meshwright.designs.optimum.search import BETTER, STALLED, Tell, search
from meshwright.designs.optimum.standing import CLOSE, Standing

if TYPE_CHECKING:
    from meshwright.designs.optimum.cuts import Cuts
    from meshwright.designs.optimum.problem import Chosen, Problem


def highest_degree(problem: Problem, chosen: Chosen) -> int:
    """Return the most links of any node."""
    ends = np.concatenate((problem.u[chosen], problem.v[chosen]))
    return int(np.bincount(ends).max(initial=0))


def fewest_at_lowest_degree(
    problem: Problem, cuts: Cuts, greedy: list[Chosen], clock: Clock, tell: Tell
) -> tuple[Standing, int]:
    """Return the standing at the lowest maximum degree found, and the lowest there can be.

    Each degree from the bound on gets half of the time that is left; the first with a solution is the answer,
    and what is left is spent on fewest links. Of the `greedy` solutions one is always good enough in the end.
    """
    best = min(greedy, key=lambda chosen: (highest_degree(problem, chosen), int(chosen.sum())))
    highest = highest_degree(problem, best)
    active = np.logical_or.reduce(greedy)
    lower = min(highest, _relaxed_degree(problem, cuts, active, clock))
    for degree in range(lower, highest):
        standing = Standing(problem, None, degree)
        search(standing, cuts, active, Clock(clock.left / 2), tell)
        if standing.best is not None:
            if not standing.closed:
                search(standing, cuts, active, clock, tell)
            return standing, lower
        if standing.closed:
            lower = degree + 1  # shown to be impossible, as are all below it
    standing = Standing(problem, best, highest)
    search(standing, cuts, active, clock, tell)
    return standing, lower


def _relaxed_degree(problem: Problem, cuts: Cuts, active: Chosen, clock: Clock) -> int:
    """Return the highest degree that the relaxation cannot avoid."""
    relaxation = Relaxation(problem, cuts, active, cap=0, cost_of_excess=1.0)
    nothing = np.zeros(len(problem))
    best, stalled = 0.0, 0
    while stalled < STALLED:
        point = relaxation.solve(clock, nothing, problem.forced)
        if point is None:
            break
        stalled = 0 if point.bound > best + BETTER else stalled + 1
        best = max(best, point.bound)
        if not cuts.separate(point.values):
            break
    return math.ceil(best - CLOSE)
