"""The linear relaxation: pairs may be linked in part, and only the cuts found so far apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.designs.exact.problem import CLOSE

if TYPE_CHECKING:
    from meshwright.designs.exact.cuts import Cuts
    from meshwright.designs.exact.problem import Chosen, Clock, Pairs, Problem, Values


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
