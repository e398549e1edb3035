"""The linear relaxation, and the ways from its points to overlays.

In the relaxation pairs may be linked in part, and only the cuts found so far apply. A point becomes an
overlay by rounding and pruning, or by diving.

A cut constraint holds for every solution; a point of the relaxation may violate it. For a partition of a
group into p parts, at least p − 1 of the pairs that cross it are linked. With two parts this is the plain
cut. For a single group these constraints suffice: a point that satisfies all of them is a mixture of
connected graphs, or lies above one (Nash-Williams, Tutte).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from meshwright.designs.exact_problem import CLOSE, Chosen, Group, Incumbent, Pairs, Problem, Values
from meshwright.greedy import grow, rules
from meshwright.jit.announce import Clock
from meshwright.measure import contributions, redundant_edges
from meshwright.overlay import unchecked_overlay

TOLERANCE = 1e-3
"""Cuts violated by less are not added."""
CUTS_OF_GROUP = 3
"""Maximum number of cuts of one group per round: the deepest ones."""
PATIENCE = 20
"""A cut that does not bind for this many consecutive solutions is dropped; it can be found again."""


class Cuts:
    """The constraints in use: of the pairs in each row of `rows`, at least `least` must be linked.

    Initially each group has as many links as a tree, and each member has at least one.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._pairs: list[Pairs] = []
        self._least: list[int] = []
        self._idle: list[int] = []
        self._known: set[bytes] = set()
        self._rows: Any = None
        for group in problem.groups:
            places = np.arange(len(group))
            self._add(group, places)
            for member in range(len(group)):
                self._add(group, (places == member).astype(np.int64))
        self._lasting = len(self)

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def least(self) -> Values:
        """The number of pairs that each constraint requires."""
        return np.array(self._least, dtype=np.float64)

    def rows(self) -> Any:
        """Return the constraints as a sparse array of ones, with a column for each pair of the problem."""
        from scipy.sparse import csr_array

        if self._rows is None:
            ends = np.cumsum([0, *(len(crossing) for crossing in self._pairs)])
            columns = np.concatenate([np.zeros(0, dtype=np.int64), *self._pairs])
            shape = (len(self), len(self._problem))
            self._rows = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
        return self._rows

    def separate(self, values: Values) -> int:
        """Add constraints that a point violates, and return their number.

        For a fractional point, 0 does not prove that no constraint is violated. For a point of zeros and ones
        it does: then the components of each group are among the partitions.
        """
        added = 0
        for group in self._problem.groups:
            if len(group) > 2:
                added += sum(self._add(group, part) for part in violated(group, values[group.pairs]))
        return added

    def drop_idle(self, prices: Values) -> None:
        """Record which constraints have a price, and drop those without one for long."""
        self._idle = [0 if price > 0 else idle + 1 for price, idle in zip(prices, self._idle, strict=True)]
        keep = [i for i, idle in enumerate(self._idle) if i < self._lasting or idle < PATIENCE]
        if len(keep) == len(self):
            return
        self._pairs = [self._pairs[i] for i in keep]
        self._least = [self._least[i] for i in keep]
        self._idle = [self._idle[i] for i in keep]
        self._known = {_name(*cut) for cut in zip(self._pairs, self._least, strict=True)}
        self._rows = None

    def _add(self, group: Group, part: Pairs) -> bool:
        """Add the constraint of a partition (`part[i]` for member i of a group), unless it is in use."""
        crossing = group.pairs[part[group.a] != part[group.b]]
        least = len(np.unique(part)) - 1
        name = _name(crossing, least)
        if name in self._known:
            return False
        self._known.add(name)
        self._pairs.append(crossing)
        self._least.append(least)
        self._idle.append(0)
        self._rows = None
        return True


def _name(crossing: Pairs, least: int) -> bytes:
    return crossing.tobytes() + least.to_bytes(4)


def violated(group: Group, values: Values) -> list[Pairs]:
    """Return the partitions of a group that a point violates most, deepest first."""
    found = []
    for slack, part in _agglomerate(group, values):
        if slack < -TOLERANCE:
            found.append((slack, part))
    return [part for _, part in sorted(found, key=lambda deep: deep[0])[:CUTS_OF_GROUP]]


def _agglomerate(group: Group, values: Values) -> Iterator[tuple[float, Pairs]]:
    """Yield partitions from single members on, merging the two parts with the largest value between.

    Each comes with its slack: the value that crosses it minus what must cross. Below 0 it is violated.
    """
    count = len(group)
    between = np.zeros((count, count))
    between[group.a, group.b] = between[group.b, group.a] = values
    part = np.arange(count)
    crossing = float(values.sum())
    for parts in range(count, 1, -1):
        yield crossing - (parts - 1), part.copy()
        a, b = divmod(int(between.argmax()), count)
        a, b = min(a, b), max(a, b)
        crossing -= between[a, b]
        part[part == b] = a
        between[a] += between[b]
        between[:, a] += between[:, b]
        between[a, a] = 0.0
        between[b] = between[:, b] = 0.0


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
    start = unchecked_overlay(problem.interest, u, v, contributions(problem.interest, u, v))
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
