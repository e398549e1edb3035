"""The optimum of small instances, by integer programming with cuts added on demand.

The search for the fewest links, or for the lowest degree: relax and cut, dive, then integer programs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias, get_args

import numpy as np

from meshwright import measure
from meshwright.designs.exact_problem import CLOSE, Chosen, Incumbent, Problem, problem_of
from meshwright.designs.exact_relaxation import (
    Cuts,
    Point,
    Relaxation,
    degree_rows,
    dive_repeatedly,
    prune,
    round_values,
)
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.jit.announce import Clock
from meshwright.overlay import Overlay
from meshwright.progress import Progress

Goal: TypeAlias = Literal["edges", "degree"]


@dataclass(frozen=True, eq=False)
class Solution:
    """An overlay that connects every topic, with bounds on the optimum.

    No overlay has fewer links (objective `edges`) or a lower maximum degree (objective `degree`) than
    `lower_bound`, and no overlay with this maximum degree has fewer than `edges_bound` links. `proven` says
    that the overlay meets both bounds, so that it is optimal.
    """

    overlay: Overlay
    objective: Goal
    lower_bound: int
    edges_bound: int

    @property
    def value(self) -> int:
        """The value of the objective: links, or maximum degree."""
        return len(self.overlay) if self.objective == "edges" else measure.degrees(self.overlay).maximum

    @property
    def proven(self) -> bool:
        """Whether the overlay is proven optimal."""
        return self.value == self.lower_bound and len(self.overlay) == self.edges_bound

    @property
    def links_needed(self) -> int | None:
        """The lower bound on links of any overlay; None if the objective is another one."""
        return self.lower_bound if self.objective == "edges" else None

    @property
    def links_needed_at_degree(self) -> int | None:
        """The lower bound on links of overlays with this maximum degree; None for the other objective."""
        return self.edges_bound if self.objective == "degree" else None

    @property
    def gap(self) -> float:
        """The largest possible excess over the optimum, as a share of the bound; 0 if proven optimal."""
        return (self.value - self.lower_bound) / max(self.lower_bound, 1)


def solve(
    interest: Interest,
    *,
    objective: Goal = "edges",
    time_limit: float = 60.0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Solution:
    """Find the best overlay, or the best within a time limit together with a proven bound.

    Guarantee: every topic is connected, with the fewest possible links (objective `edges`), or with the
    lowest possible maximum degree and the fewest links at that degree (`degree`). At the time limit the
    result is the best overlay found, never worse than Greedy Merge and MinMax-ODA without their redundant
    links.

    A linear program gives a bound and prices: links may be fractional, and of the constraints that connect
    each topic only those apply that some solution violated. Diving from its solutions gives overlays. Integer
    programs (HiGHS) decide what the prices leave open, with more constraints as their solutions violate them.
    Proofs hold up to the solver's tolerance of 10⁻⁶. A run that ends before the time limit always gives the
    same overlay. Edges are in ascending order.

    Parameters
    ----------
    interest
        The interest; dozens of nodes and topics rather than hundreds.
    objective
        `edges` for fewest links, `degree` for the lowest maximum degree and then fewest links.
    time_limit
        Seconds; with 0 the result is the better greedy overlay, pruned, with the simplest bound.
    threads
        Number of threads of the greedy designs.
    progress
        Called now and then with the links of the best overlay so far, the share of the time limit that is
        spent, and the bound.

    Raises
    ------
    InputError
        For an unknown objective, a negative time limit, or an instance that is far too large.

    Examples
    --------
    >>> from meshwright import Interest
    >>> held = {"a": ["x", "y"], "b": ["x"], "c": ["x", "y"], "d": ["y"]}
    >>> found = solve(Interest.from_dict(held))
    >>> len(found.overlay), found.lower_bound, found.proven
    (3, 3, True)
    >>> solve(Interest.from_dict(held), objective="degree").value
    2
    """
    if objective not in get_args(Goal):
        raise InputError(f"no objective {objective!r}: choose {' or '.join(get_args(Goal))}")
    if not isinstance(time_limit, (int, float)) or not 0 <= time_limit < math.inf:
        raise InputError(f"a time limit of {time_limit} seconds: give a number of zero or more")
    clock = Clock(time_limit)
    problem = problem_of(interest)
    greedy = [_pruned_greedy(problem, rule, threads) for rule in (rules.gm, rules.minmax)]
    cuts = Cuts(problem)

    def tell(incumbent: Incumbent) -> None:
        if progress is not None:
            links = fewest if incumbent.best is None else incumbent.upper
            spent = 1.0 - clock.left / time_limit if time_limit else 1.0
            capped = "" if incumbent.cap is None else f" with at most {incumbent.cap} per broker"
            progress(links, spent, f"at least {incumbent.lower} needed{capped}")

    best = min(greedy, key=np.count_nonzero)
    fewest = int(np.count_nonzero(best))
    if objective == "edges":
        incumbent = Incumbent(problem, best)
        search(incumbent, cuts, np.logical_or(*greedy), clock, tell)
        lower = incumbent.lower
    else:
        incumbent, lower = fewest_at_lowest_degree(problem, cuts, greedy, clock, tell)
    assert incumbent.best is not None  # both searches start with a solution or find one
    return Solution(problem.overlay(incumbent.best), objective, lower, incumbent.lower)


def _pruned_greedy(problem: Problem, rule: rules.Rule, threads: int) -> Chosen:
    """Return a greedy design without redundant links, dropping links at the busiest nodes first."""
    overlay = grow(problem.interest, rule, threads=threads)
    degree = measure.degrees(overlay).of_node
    load = np.maximum(degree[problem.u], degree[problem.v])
    return prune(problem, problem.chosen(overlay), -load.astype(np.float64))


Tell: TypeAlias = Callable[[Incumbent], None]
"""Called now and then with the incumbent."""

STALLED = 8
"""Rounds of cuts without a better bound that end the relaxation."""
BETTER = 5e-3
"""Smallest improvement of the bound that counts."""
EVERY = 5
"""The point of the relaxation is rounded every `EVERY` rounds."""
CORE = 0.3
"""Pairs with at most this reduced cost are tried first."""


def search(incumbent: Incumbent, cuts: Cuts, active: Chosen, clock: Clock, tell: Tell) -> None:
    """Improve the incumbent until it is optimal or the time is up.

    The relaxation starts with the `active` pairs, which connect everything.
    """
    relaxation = Relaxation(
        incumbent.problem, cuts, active, cap=incumbent.cap, cost_of_excess=4.0 * (incumbent.limit + 1)
    )
    point = _relax(incumbent, relaxation, clock, tell)
    if point is None:
        return
    dive_repeatedly(incumbent, relaxation, clock)
    tell(incumbent)
    while not incumbent.closed and _decide(incumbent, cuts, point, clock):
        tell(incumbent)


def _relax(incumbent: Incumbent, relaxation: Relaxation, clock: Clock, tell: Tell) -> Point | None:
    """Solve the relaxation and add violated cuts, round by round; return the point with the best bound."""
    problem = incumbent.problem
    costs = np.ones(len(problem))
    best: Point | None = None
    rounds = stalled = 0
    while not incumbent.closed and stalled < STALLED:
        point = relaxation.solve(clock, costs, problem.forced)
        if point is None:
            break
        stalled = 0 if best is None or point.bound > best.bound + BETTER else stalled + 1
        best = point if best is None or point.bound > best.bound else best
        incumbent.raise_lower(point.bound)
        if rounds % EVERY == 0:
            incumbent.offer(round_values(problem, point.values, incumbent.cap))
            tell(incumbent)
        rounds += 1
        if not relaxation.cuts.separate(point.values):
            break
    return best


def _decide(incumbent: Incumbent, cuts: Cuts, point: Point, clock: Clock) -> bool:
    """Find a solution with as few links as the bound allows, or raise the bound; return False if time is up.

    Without any solution so far, look for any. Pairs that would push even the relaxation above the target are
    left out.
    """
    target = incumbent.limit if incumbent.best is None else incumbent.lower
    possible = point.reduced <= target - point.bound + CLOSE
    core = possible & (point.reduced <= CORE)
    outcome = best_among(incumbent, cuts, core, target, clock)
    if outcome is Outcome.NONE and (possible & ~core).any():
        outcome = best_among(incumbent, cuts, possible, target, clock)
    if outcome is Outcome.NONE:
        incumbent.raise_lower(target + 1)
    return outcome is not Outcome.UNDECIDED


class Outcome(Enum):
    """How the search for a solution with a given number of links ended."""

    FOUND = "found"
    NONE = "none"
    UNDECIDED = "undecided"


def best_among(incumbent: Incumbent, cuts: Cuts, allowed: Chosen, target: int, clock: Clock) -> Outcome:
    """Search for a solution with at most `target` links among the allowed pairs; keep every solution found.

    HiGHS solves each integer program. If its solution leaves a topic unconnected, the violated cuts are added
    and the program is solved again. Cuts exclude only non-solutions, so the answer is exact.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    problem, cap = incumbent.problem, incumbent.cap
    columns = np.flatnonzero(allowed | problem.forced)
    while not clock.struck:
        constraints = [
            LinearConstraint(cuts.rows()[:, columns], cuts.least, np.inf),
            LinearConstraint(np.ones((1, len(columns))), incumbent.lower, target),
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
        incumbent.offer(values > 0.5 if connected else round_values(problem, values, cap))
        if incumbent.upper <= target:
            return Outcome.FOUND
        if found.status != 0 or not cuts.separate(values):  # no time left, or rounding violated a cut in use
            return Outcome.UNDECIDED
    return Outcome.UNDECIDED


def highest_degree(problem: Problem, chosen: Chosen) -> int:
    """Return the maximum degree of the chosen pairs."""
    ends = np.concatenate((problem.u[chosen], problem.v[chosen]))
    return int(np.bincount(ends).max(initial=0))


def fewest_at_lowest_degree(
    problem: Problem, cuts: Cuts, greedy: list[Chosen], clock: Clock, tell: Tell
) -> tuple[Incumbent, int]:
    """Return the incumbent at the lowest maximum degree found, and a lower bound on the degree.

    Each degree from the bound upwards gets half of the remaining time. The first degree with a solution is
    the answer, and the remaining time goes into fewer links. The best `greedy` solution is the fallback.
    """
    best = min(greedy, key=lambda chosen: (highest_degree(problem, chosen), int(chosen.sum())))
    highest = highest_degree(problem, best)
    active = np.logical_or.reduce(greedy)
    lower = min(highest, _relaxed_degree(problem, cuts, active, clock))
    for degree in range(lower, highest):
        incumbent = Incumbent(problem, None, degree)
        search(incumbent, cuts, active, Clock(clock.left / 2), tell)
        if incumbent.best is not None:
            if not incumbent.closed:
                search(incumbent, cuts, active, clock, tell)
            return incumbent, lower
        if incumbent.closed:
            lower = degree + 1  # proven impossible, like all degrees below it
    incumbent = Incumbent(problem, best, highest)
    search(incumbent, cuts, active, clock, tell)
    return incumbent, lower


def _relaxed_degree(problem: Problem, cuts: Cuts, active: Chosen, clock: Clock) -> int:
    """Return the lower bound on the maximum degree from the relaxation."""
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
