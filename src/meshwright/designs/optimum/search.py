"""The search for fewest links: relax and cut, dive, then decide one number of links after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from meshwright.designs.optimum.dive import dive_often
from meshwright.designs.optimum.integers import Outcome, best_among
from meshwright.designs.optimum.relaxation import Point, Relaxation
from meshwright.designs.optimum.rounding import rounded
from meshwright.designs.optimum.standing import CLOSE, Standing

if TYPE_CHECKING:
    from meshwright.designs.optimum.clock import Clock
    from meshwright.designs.optimum.cuts import Cuts
    from meshwright.designs.optimum.problem import Chosen

Tell: TypeAlias = Callable[[Standing], None]
"""Called now and then with what is known so far."""

STALLED = 8
"""So many rounds of cuts without a better bound end the relaxation."""
BETTER = 5e-3
"""A bound that is better by less counts as no better."""
EVERY = 5
"""The relaxation is rounded once in so many rounds."""
CORE = 0.3
"""Pairs whose reduced cost is at most this are tried before all others."""


def search(standing: Standing, cuts: Cuts, active: Chosen, clock: Clock, tell: Tell) -> None:
    """Improve what is known until it is closed or time is up.

    `active` are pairs for the relaxation to begin with, which connect everything.
    """
    relaxation = Relaxation(
        standing.problem, cuts, active, cap=standing.cap, cost_of_excess=4.0 * (standing.limit + 1)
    )
    point = _relax(standing, relaxation, clock, tell)
    if point is None:
        return
    dive_often(standing, relaxation, clock)
    tell(standing)
    while not standing.closed and _decide(standing, cuts, point, clock):
        tell(standing)


def _relax(standing: Standing, relaxation: Relaxation, clock: Clock, tell: Tell) -> Point | None:
    """Solve the relaxation and add the cuts that it violates, again and again; return its best point."""
    problem = standing.problem
    costs = np.ones(len(problem))
    best: Point | None = None
    rounds = stalled = 0
    while not standing.closed and stalled < STALLED:
        point = relaxation.solve(clock, costs, problem.forced)
        if point is None:
            break
        stalled = 0 if best is None or point.bound > best.bound + BETTER else stalled + 1
        best = point if best is None or point.bound > best.bound else best
        standing.raise_lower(point.bound)
        if rounds % EVERY == 0:
            standing.offer(rounded(problem, point.values, standing.cap))
            tell(standing)
        rounds += 1
        if not relaxation.cuts.separate(point.values):
            break
    return best


def _decide(standing: Standing, cuts: Cuts, point: Point, clock: Clock) -> bool:
    """Find a solution with as few links as the bound allows, or raise the bound; False if time is up before.

    While there is no solution at all, any is looked for. Pairs that would bring even the relaxation above the
    number of links in question are left out.
    """
    target = standing.limit if standing.best is None else standing.lower
    possible = point.reduced <= target - point.bound + CLOSE
    core = possible & (point.reduced <= CORE)
    outcome = best_among(standing, cuts, core, target, clock)
    if outcome is Outcome.NONE and (possible & ~core).any():
        outcome = best_among(standing, cuts, possible, target, clock)
    if outcome is Outcome.NONE:
        standing.raise_lower(target + 1)
    return outcome is not Outcome.UNDECIDED
