"""The linear relaxation, and the ways from its points to overlays.

In the relaxation pairs may be linked in part, and only the cuts found so far apply. A point becomes an
overlay by rounding and pruning, or by diving.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.designs.exact.problem import CLOSE
from meshwright.greedy import grow, rules
from meshwright.measure import contributions, redundant_edges
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.designs.exact.cuts import Cuts
    from meshwright.designs.exact.problem import Chosen, Clock, Incumbent, Pairs, Problem, Values


@dataclass(frozen=True, eq=False)
class Point:
    """A solution of the relaxation: the value of each pair, a lower bound, and the reduced costs.

    `excess` is the amount by which the maximum degree exceeds the cap. The bound does not depend on the
    solver's rounding, because it follows from the prices of the constraints alone (weak duality): an overlay
    with the pair i costs at least `bound` + `reduced[i]`.
    """

    values: Values
    excess: float
    bound: float
    reduced: Values


class Relaxation:
    """A linear program over the `active` pairs; others join when their reduced cost is negative.

    It minimises the costs of the links plus the excess of the maximum degree over a cap. An excess is
    expensive but allowed, so there is always a solution. Without a cap, degrees do not matter.
    """

    def __init__(
        self,
        problem: Problem,
        cuts: Cuts,
        active: Chosen,
        *,
        cap: int | None,
        cost_of_excess: float,
    ) -> None:
        self.problem, self.cuts, self.cap, self.cost_of_excess = problem, cuts, cap, cost_of_excess
        self.active = active | problem.forced

    def solve(self, clock: Clock, costs: Values, linked: Chosen) -> Point | None:
        """Solve over all pairs, with some fixed as `linked`; return None if the time is up.

        Constraints without a price for long are dropped.
        """
        self.active |= linked
        while not clock.struck:
            solved = self._solve_active(clock, costs, linked)
            if solved is None:
                return None
            values, prices = solved
            point = self._point_from_prices(values, prices, costs, linked)
            paying = ~self.active & (point.reduced < -CLOSE)
            if not paying.any():
                self.cuts.drop_idle(prices[: len(self.cuts)])
                return point
            self.active |= paying
        return None

    def _solve_active(self, clock: Clock, costs: Values, linked: Chosen) -> tuple[Values, Values] | None:
        """Return the values of the pairs followed by the excess, and the prices of the constraints."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack, vstack

        columns = np.flatnonzero(self.active)
        rows = hstack((-self.cuts.rows()[:, columns], csr_array((len(self.cuts), 1))))
        limits = -self.cuts.least
        if self.cap is not None:
            degrees = degree_rows(self.problem, columns)
            rows = vstack((rows, hstack((degrees, csr_array(-np.ones((degrees.shape[0], 1)))))))
            limits = np.concatenate((limits, np.full(degrees.shape[0], float(self.cap))))
        bounds = np.ones((len(columns) + 1, 2))
        bounds[:-1, 0], bounds[-1] = linked[columns], (0.0, np.inf)
        solver: Any = linprog  # the stubs lack bounds as an array
        found = solver(
            np.append(costs[columns], self.cost_of_excess),
            A_ub=rows.tocsr(),
            b_ub=limits,
            bounds=bounds,
            method="highs-ds",
            options={"time_limit": clock.left},
        )
        if found.status != 0:
            return None
        values = np.zeros(len(self.problem) + 1)
        values[np.append(columns, len(self.problem))] = found.x
        return values, np.maximum(-found.ineqlin.marginals, 0.0)

    def _point_from_prices(self, values: Values, prices: Values, costs: Values, linked: Chosen) -> Point:
        """Compute bound and reduced costs from any prices that are not negative."""
        problem, cuts = self.problem, len(self.cuts)
        reduced = costs - self.cuts.rows().T @ prices[:cuts]
        bound = float(prices[:cuts] @ self.cuts.least)
        if self.cap is not None:
            of_node = prices[cuts:]
            if of_node.sum() > self.cost_of_excess:  # only by rounding: otherwise an excess would pay
                of_node = of_node * (self.cost_of_excess / of_node.sum())
            reduced += of_node[problem.u] + of_node[problem.v]
            bound -= self.cap * float(of_node.sum())
        bound += float(np.where(linked, reduced, np.minimum(reduced, 0.0)).sum())
        return Point(np.clip(values[:-1], 0.0, 1.0), float(values[-1]), bound, reduced)


def degree_rows(problem: Problem, columns: Pairs) -> Any:
    """Return a sparse array with a row per node that sums its pairs, and a column per given pair."""
    from scipy.sparse import coo_array

    ends = np.concatenate((problem.u[columns], problem.v[columns]))
    place = np.tile(np.arange(len(columns)), 2)
    shape = (problem.interest.num_nodes, len(columns))
    return coo_array((np.ones(len(ends)), (ends, place)), shape=shape).tocsr()


CLEAR = 1e-6
"""Pairs with smaller values are ignored."""


def round_values(problem: Problem, values: Values, cap: int | None = None) -> Chosen | None:
    """Link contributing pairs by descending value, complete by Greedy Merge, and prune.

    Return None if the cap on links per node leaves a topic unconnected.
    """
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > CLEAR]
    order = order[contributions(problem.interest, problem.u[order], problem.v[order]) > 0]
    if cap is not None:
        order = order[_within(problem, order.tolist(), cap)]
    u, v = problem.u[order], problem.v[order]
    start = Overlay(problem.interest, u, v, contributions(problem.interest, u, v))
    grown = grow(problem.interest, rules.gm, start=start, max_degree=cap)
    if cap is not None and int(grown.contribution.sum()) < _joins(problem):
        return None
    return prune(problem, problem.chosen(grown), values)


def prune(problem: Problem, chosen: Chosen, values: Values) -> Chosen:
    """Remove pairs that no topic needs, one after another, the smallest value first."""
    chosen = chosen.copy()
    while True:
        spare = redundant_edges(problem.overlay(chosen))
        if not len(spare):
            return chosen
        places = np.flatnonzero(chosen)[spare]
        chosen[places[np.argmin(values[places])]] = False


def _within(problem: Problem, order: list[int], cap: int) -> list[bool]:
    """Return which pairs to take, in order, so that both ends stay within the cap."""
    degree = [0] * problem.interest.num_nodes
    taken = []
    for pair in order:
        u, v = int(problem.u[pair]), int(problem.v[pair])
        taken.append(max(degree[u], degree[v]) < cap)
        degree[u] += taken[-1]
        degree[v] += taken[-1]
    return taken


def _joins(problem: Problem) -> int:
    """Return the number of joins that connect every topic."""
    return int(np.maximum(np.diff(problem.interest.topic_ptr) - 1, 0).sum())


DIVES = 30
"""Number of dives, each with other costs, before the integer programs."""
ROUNDS = 4
"""Rounds of cuts at each depth."""
SHARE = 10
"""At each depth, 1/`SHARE` of the fractional pairs are fixed as linked."""


def dive_repeatedly(incumbent: Incumbent, relaxation: Relaxation, clock: Clock) -> None:
    """Dive with the plain costs, then with slightly noisy costs, each of which leads to another point.

    The total noise is worth less than one link, and is the same in every run.
    """
    noise = np.random.Generator(np.random.PCG64(0))
    costs = np.ones(len(incumbent.problem))
    for _ in range(DIVES):
        if incumbent.closed or clock.struck:
            return
        _dive(incumbent, relaxation, clock, costs)
        costs = 1.0 + noise.random(len(costs)) / (2.0 * incumbent.upper)


def _dive(incumbent: Incumbent, relaxation: Relaxation, clock: Clock, costs: Values) -> None:
    """Fix fractional pairs as linked, largest first, until the point is integral or cannot improve."""
    problem = incumbent.problem
    linked = problem.forced.copy()
    while True:
        point = _cut_point(relaxation, clock, costs, linked)
        # Stop unless the point leaves room for one link fewer than the incumbent.
        if point is None or point.excess > CLOSE or point.values.sum() > incumbent.upper - 1 + CLOSE:
            return
        incumbent.offer(round_values(problem, point.values, incumbent.cap))
        parts = np.flatnonzero((point.values > CLOSE) & (point.values < 1.0 - CLOSE))
        if incumbent.closed or not len(parts):
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
