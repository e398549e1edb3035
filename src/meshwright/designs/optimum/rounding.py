"""From a point of the relaxation to an overlay that connects everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy import grow, rules
from meshwright.measure import contributions, redundant_edges
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.designs.optimum.problem import Chosen, Problem, Values

CLEAR = 1e-6
"""Pairs that are linked less than this are not looked at."""


def rounded(problem: Problem, values: Values, cap: int | None = None) -> Chosen | None:
    """Link the pairs of the largest values as long as they contribute, complete by Greedy Merge, and prune.

    None if the cap on links per node leaves something unconnected.
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
    return pruned(problem, problem.chosen(grown), values)


def pruned(problem: Problem, chosen: Chosen, values: Values) -> Chosen:
    """Unlink pairs that no topic needs, one after another, those of the smallest value first."""
    chosen = chosen.copy()
    while True:
        spare = redundant_edges(problem.overlay(chosen))
        if not len(spare):
            return chosen
        places = np.flatnonzero(chosen)[spare]
        chosen[places[np.argmin(values[places])]] = False


def _within(problem: Problem, order: list[int], cap: int) -> list[bool]:
    """Take pairs in order as long as both ends have room."""
    degree = [0] * problem.interest.num_nodes
    taken = []
    for pair in order:
        u, v = int(problem.u[pair]), int(problem.v[pair])
        taken.append(max(degree[u], degree[v]) < cap)
        degree[u] += taken[-1]
        degree[v] += taken[-1]
    return taken


def _joins(problem: Problem) -> int:
    """Count the joins that connect every topic."""
    return int(np.maximum(np.diff(problem.interest.topic_ptr) - 1, 0).sum())
