"""The linear relaxation: pairs may be linked in part, and only the cuts met so far hold."""

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
    """A solution of the relaxation: how far each pair is linked, a lower bound, and what each pair would add.

    `excess` tells by how much the highest degree exceeds the cap. The bound holds whatever the solver's
    rounding, as it is computed from the prices of the constraints alone (weak duality): an overlay that has
    the pair i costs at least `bound` + `reduced[i]`.
    """

    values: Values
    excess: float
    bound: float
    reduced: Values


class Relaxation:
    """A linear program over the pairs that are `active`; others join them when the prices say that it pays.

    It minimises links, each at a cost of its own, and the excess of the highest degree over a cap. That is
    only dear and not forbidden, so that there is always a solution. Without a cap degrees do not matter.
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
        """Solve over all pairs, some of them `linked` whatever it costs; None if time is up before.

        Constraints that have had no price for long are dropped on the way.
        """
        self.active |= linked
        while not clock.struck:
            solved = self._solve_active(clock, costs, linked)
            if solved is None:
                return None
            values, prices = solved
            point = self._priced(values, prices, costs, linked)
            paying = ~self.active & (point.reduced < -CLOSE)
            if not paying.any():
                self.cuts.drop_idle(prices[: len(self.cuts)])
                return point
            self.active |= paying
        return None

    def _solve_active(self, clock: Clock, costs: Values, linked: Chosen) -> tuple[Values, Values] | None:
        """Return the pairs' values with the excess after them, and the constraints' prices."""
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
        solver: Any = linprog  # its stubs know no array of bounds
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

    def _priced(self, values: Values, prices: Values, costs: Values, linked: Chosen) -> Point:
        """Compute bound and reduced costs from prices, whichever they are, as long as none is negative."""
        problem, cuts = self.problem, len(self.cuts)
        reduced = costs - self.cuts.rows().T @ prices[:cuts]
        bound = float(prices[:cuts] @ self.cuts.least)
        if self.cap is not None:
            of_node = prices[cuts:]
            if of_node.sum() > self.cost_of_excess:  # by rounding only: an excess would bring a gain
                of_node = of_node * (self.cost_of_excess / of_node.sum())
            reduced += of_node[problem.u] + of_node[problem.v]
            bound -= self.cap * float(of_node.sum())
        bound += float(np.where(linked, reduced, np.minimum(reduced, 0.0)).sum())
        return Point(np.clip(values[:-1], 0.0, 1.0), float(values[-1]), bound, reduced)


def degree_rows(problem: Problem, columns: Pairs) -> Any:
    """Return a row for each node that sums the pairs at it, with a column for each of these pairs."""
    from scipy.sparse import coo_array

    ends = np.concatenate((problem.u[columns], problem.v[columns]))
    place = np.tile(np.arange(len(columns)), 2)
    shape = (problem.interest.num_nodes, len(columns))
    return coo_array((np.ones(len(ends)), (ends, place)), shape=shape).tocsr()
