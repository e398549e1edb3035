"""From a point of the relaxation to an overlay: by rounding and pruning, or by diving."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.designs.exact.problem import CLOSE
from meshwright.greedy import grow, rules
from meshwright.measure import contributions, redundant_edges
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.designs.exact.problem import Chosen, Clock, Incumbent, Problem, Values
    from meshwright.designs.exact.relaxation import Point, Relaxation


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
