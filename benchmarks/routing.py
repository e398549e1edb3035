"""Trees for all topics: their time beside a plain reading's, and what `load` takes off the busiest link."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.plain_routes import plain_routes
from benchmarks.timing import cpu_seconds
from meshwright.greedy import grow, rules
from meshwright.routes import Trees, figures, route


def measure_routes(case: Case) -> dict[str, Any]:
    """Route Low-ODA(3)'s overlay by hops and by load, with Zipf rates that no popularity goes with.

    Where there is a floor for it, the plain reading runs too, on all topics, and must find trees as deep.
    """
    warm = grow(case.workload(seed=1, most_nodes=200), rules.low(3))
    for objective in ("hops", "load"):
        figures(route(warm, objective))
    interest = case.workload()
    overlay = grow(interest, rules.low(3))
    rates = 1000.0 / np.arange(1, interest.num_topics + 1)
    np.random.Generator(np.random.PCG64(0)).shuffle(rates)
    record: dict[str, Any] = {"links": len(overlay), "subscriptions": interest.num_subscriptions}
    for objective in ("hops", "load"):
        seconds, trees = cpu_seconds(partial(route, overlay, objective, rates=rates), runs=2)
        shown = figures(trees)
        names = ("mean_hops", "max_hops", "max_link_load", "mean_link_load")
        record[objective] = {"seconds": seconds, **{name: shown[name] for name in names}}
    if case.plain_over_routes is not None or interest.num_subscriptions < 10_000:
        record["plain"], depth = cpu_seconds(lambda: plain_routes(overlay))
        if not np.array_equal(depth, _depths(route(overlay))):
            raise AssertionError("the plain reading found trees of another depth")
    return record


def _depths(trees: Trees) -> Any:
    """Return how deep each tree is, level by level."""
    depth = np.zeros(len(trees.nodes), dtype=np.int64)
    at = trees.ptr[trees.topics] + np.maximum(trees.above, 0)
    for _ in range(len(depth)):
        deeper = np.where(trees.above < 0, 0, depth[at] + 1)
        if np.array_equal(deeper, depth):
            break
        depth = deeper
    deepest = np.zeros(len(trees.ptr) - 1, dtype=np.int64)
    np.maximum.at(deepest, trees.topics, depth)
    return deepest
