"""Link costs for hypothesis to draw, and the slow, obvious twin of weighted growth."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

import naive
from meshwright.costs.link_costs import LinkCosts
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest

CostOf = dict[naive.Edge, float]
"""What each pair u < v costs."""


def some_costs(rng: np.random.Generator, interest: Interest) -> tuple[LinkCosts, CostOf]:
    """Choose costs of any kind for an interest: a table or places, with many equal costs or few."""
    nodes = interest.num_nodes
    names, kind = interest.node_names.to_pylist(), rng.integers(4)
    if kind < 2:
        # On a small grid, distances repeat and nodes share places.
        x, y = rng.integers(0, 4, (2, nodes)).astype(float) if kind else rng.random((2, nodes))
        return LinkCosts.from_coordinates(interest, names, x, y), by_place(x.tolist(), y.tolist())
    pairs = list(combinations(range(nodes), 2))
    drawn = rng.choice([0.5, 1.0, 2.0, 3.0], len(pairs)) if kind == 2 else rng.random(len(pairs)) + 0.01
    return table(interest, dict(zip(pairs, drawn.tolist(), strict=True)))


def table(interest: Interest, cost: CostOf) -> tuple[LinkCosts, CostOf]:
    """Return link costs made from a table, and the table."""
    names = interest.node_names.to_pylist()
    us, vs = ([names[pair[end]] for pair in cost] for end in (0, 1))
    return LinkCosts.from_pairs(interest, us, vs, list(cost.values())), cost


def by_place(x: list[float], y: list[float]) -> CostOf:
    """Return the distance of each pair, but at least a millionth of the diagonal, or 1 if there is none."""
    width, height = (max(side, default=0) - min(side, default=0) for side in (x, y))
    least = 1e-6 * math.sqrt(width * width + height * height) or 1.0
    return {
        (u, v): max(least, math.sqrt((x[u] - x[v]) * (x[u] - x[v]) + (y[u] - y[v]) * (y[u] - y[v])))
        for u, v in combinations(range(len(x)), 2)
    }


def twin(
    interest: Interest,
    rule: Rule,
    cost: CostOf,
    *,
    max_edges: int | None = None,
    max_degree: int | None = None,
) -> list[tuple[int, int, int]]:
    """Return the links (u, v, contribution) in order: evaluate every pair in every step.

    A pair that merges nothing is dropped: what is connected stays connected.
    """
    components = naive.Components(interest)
    degree = [0] * interest.num_nodes
    pairs = sorted(cost)
    added: list[tuple[int, int, int]] = []
    while max_edges is None or len(added) < max_edges:
        # The best link, and the best that does not raise the maximum degree.
        best = sparing = None
        top = max(degree, default=0)
        gains = [(pair, len(components.merged_topics(*pair))) for pair in pairs]
        pairs = [pair for pair, gain in gains if gain]
        for pair, gain in gains:
            highest = max(degree[end] for end in pair)
            if not gain or (max_degree is not None and highest >= max_degree):
                continue
            if best is None or gain / cost[pair] > best[1] / cost[best[0]]:
                best = (pair, gain)
            if highest < top and (sparing is None or gain / cost[pair] > sparing[1] / cost[sparing[0]]):
                sparing = (pair, gain)
        if best is None:
            break
        if rule.k is not None and sparing is not None:
            ratio = cost[sparing[0]] / cost[best[0]]
            if sparing[1] * rule.k >= best[1] * ratio:
                best = sparing
        (u, v), gain = best
        components.link(u, v)
        degree[u] += 1
        degree[v] += 1
        added.append((u, v, gain))
    return added
