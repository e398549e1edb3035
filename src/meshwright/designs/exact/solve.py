"""The optimum for small instances: integer programming, with cuts added as they are violated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from meshwright import measure
from meshwright.designs.exact.cuts import Cuts
from meshwright.designs.exact.problem import Clock, Problem, Standing, problem_of
from meshwright.designs.exact.rounding import pruned
from meshwright.designs.exact.search import fewest_at_lowest_degree, search
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.designs.exact.problem import Chosen
    from meshwright.progress import Progress

Goal: TypeAlias = Literal["edges", "degree"]


@dataclass(frozen=True, eq=False)
class Solution:
    """An overlay that connects every topic, and how good any can be.

    No overlay has less than `lower_bound` links (objective `edges`) or a lower maximum degree than that
    (objective `degree`); none of this one's maximum degree has less than `edges_bound` links. `proven` says
    that both are met: it is an optimum.
    """

    overlay: Overlay
    objective: Goal
    lower_bound: int
    edges_bound: int

    @property
    def value(self) -> int:
        """What was minimised: the links, or the maximum degree."""
        return len(self.overlay) if self.objective == "edges" else measure.degrees(self.overlay).maximum

    @property
    def proven(self) -> bool:
        """Whether nothing is better."""
        return self.value == self.lower_bound and len(self.overlay) == self.edges_bound

    @property
    def links_needed(self) -> int | None:
        """How many links any overlay needs; None where another objective's bound says nothing of that."""
        return self.lower_bound if self.objective == "edges" else None

    @property
    def gap(self) -> float:
        """By which part of the bound the value may be above the best possible; 0 for a proven one."""
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

    Guarantee: every topic is connected, by the fewest possible links (objective `edges`), or with the lowest
    possible maximum degree and the fewest links at that (`degree`). When the time limit strikes it is the
    best found, never worse than Greedy Merge's and MinMax-ODA's without their redundant links.

    A linear program gives a bound and prices: links may be partial, and of the constraints that each topic's
    subscribers be connected only those are in it that some solution has violated. Diving from its solutions
    gives overlays. What the prices leave undecided goes to integer programs (HiGHS), with further constraints
    as their solutions violate them. Proofs are as good as the solver's tolerance of 10⁻⁶. A run that ends
    before the time limit gives the same overlay every time. Edges are in ascending order.

    Parameters
    ----------
    interest
        Who subscribes to what; dozens of nodes and topics rather than hundreds.
    objective
        `edges` for fewest links, `degree` for the lowest maximum degree and then fewest links.
    time_limit
        Seconds; at 0 the greedy designs' better overlay, pruned, with the simplest bound.
    threads
        How many threads the greedy designs use.
    progress
        Called now and then with the links of the best overlay so far, the part of the time limit that is
        gone, and the bound.

    Raises
    ------
    InputError
        For an unknown objective, a time limit below 0, or an instance that is far too large.

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
    greedy = [_pruned(problem, rule, threads) for rule in (rules.gm, rules.minmax)]
    cuts = Cuts(problem)

    def tell(standing: Standing) -> None:
        if progress is not None:
            links = fewest if standing.best is None else standing.upper
            spent = 1.0 - clock.left / time_limit if time_limit else 1.0
            capped = "" if standing.cap is None else f" with at most {standing.cap} at a broker"
            progress(links, spent, f"at least {standing.lower} needed{capped}")

    best = min(greedy, key=np.count_nonzero)
    fewest = int(np.count_nonzero(best))
    if objective == "edges":
        standing = Standing(problem, best)
        search(standing, cuts, np.logical_or(*greedy), clock, tell)
        lower = standing.lower
    else:
        standing, lower = fewest_at_lowest_degree(problem, cuts, greedy, clock, tell)
    assert standing.best is not None  # both began with a solution, or found one
    return Solution(problem.overlay(standing.best), objective, lower, standing.lower)


def _pruned(problem: Problem, rule: rules.Rule, threads: int) -> Chosen:
    """Return a greedy design without its redundant links, those at the busiest nodes dropped first."""
    overlay = grow(problem.interest, rule, threads=threads)
    degree = measure.degrees(overlay).of_node
    load = np.maximum(degree[problem.u], degree[problem.v])
    return pruned(problem, problem.chosen(overlay), -load.astype(np.float64))
