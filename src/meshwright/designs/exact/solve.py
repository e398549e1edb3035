"""The optimum of small instances, by integer programming with cuts added on demand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from meshwright import measure
from meshwright.designs.exact.cuts import Cuts
from meshwright.designs.exact.problem import Clock, Incumbent, Problem, problem_of
from meshwright.designs.exact.rounding import prune
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
