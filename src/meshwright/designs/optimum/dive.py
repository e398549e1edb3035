"""Diving: link what the relaxation links almost surely, solve it again, and so on down to an overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.designs.optimum.rounding import rounded
from meshwright.designs.optimum.standing import CLOSE

if TYPE_CHECKING:
    from meshwright.designs.optimum.clock import Clock
    from meshwright.designs.optimum.problem import Chosen, Values
    from meshwright.designs.optimum.relaxation import Point, Relaxation
    from meshwright.designs.optimum.standing import Standing

DIVES = 30
"""So many dives are made, each with other costs, before the search goes on by integer programs."""
ROUNDS = 4
"""Rounds of cuts at each depth."""
SHARE = 10
"""One in so many of the pairs linked in part is linked for good at each depth."""


def dive_often(standing: Standing, relaxation: Relaxation, clock: Clock) -> None:
    """Dive from the plain costs, then from costs with a little noise, which favour another best point each.

    All the noise together is worth less than one link. It is the same in every run.
    """
    noise = np.random.Generator(np.random.PCG64(0))
    costs = np.ones(len(standing.problem))
    for _ in range(DIVES):
        if standing.closed or clock.struck:
            return
        _dive(standing, relaxation, clock, costs)
        costs = 1.0 + noise.random(len(costs)) / (2.0 * standing.upper)


def _dive(standing: Standing, relaxation: Relaxation, clock: Clock, costs: Values) -> None:
    problem = standing.problem
    linked = problem.forced.copy()
    while True:
        point = _cut_point(relaxation, clock, costs, linked)
        # It must leave room for an overlay that is better than the best by one link.
        if point is None or point.excess > CLOSE or point.values.sum() > standing.upper - 1 + CLOSE:
            return
        standing.offer(rounded(problem, point.values, standing.cap))
        parts = np.flatnonzero((point.values > CLOSE) & (point.values < 1.0 - CLOSE))
        if standing.closed or not len(parts):
            return
        linked |= point.values >= 1.0 - CLOSE
        largest = parts[np.argsort(-point.values[parts], kind="stable")]
        linked[largest[: 1 + len(largest) // SHARE]] = True


def _cut_point(relaxation: Relaxation, clock: Clock, costs: Values, linked: Chosen) -> Point | None:
    """Solve the relaxation, with a few rounds of cuts."""
    for _ in range(ROUNDS):
        point = relaxation.solve(clock, costs, linked)
        if point is None or not relaxation.cuts.separate(point.values):
            break
    return point
