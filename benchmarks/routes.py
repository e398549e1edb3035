"""Trees for all topics: their time next to scipy, and how much `load` relieves the busiest link."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases_and_floors import ROUTES, Case
from benchmarks.competitors.routes_scipy import tree_depths
from benchmarks.page import FLOOR, Page, figure
from benchmarks.resources import cpu_seconds
from meshwright.greedy import grow, rules
from meshwright.routes import Trees, figures, route

FIGURES = ("mean_hops", "max_hops", "max_link_load", "mean_link_load")


def measure_routes(case: Case) -> dict[str, Any]:
    """Route the overlay of Low-ODA(3) by hops and by load, with Zipf rates independent of popularity.

    scipy runs too where it has a floor or the case is small. Its trees must be as deep as ours.
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
        measured = figures(trees)
        record[objective] = {"seconds": seconds, **{name: measured[name] for name in FIGURES}}
    if case.plain_over_routes is not None or interest.num_subscriptions < 10_000:
        record["plain"], depths = cpu_seconds(lambda: tree_depths(overlay))
        if not np.array_equal(depths, _depths(route(overlay))):
            raise AssertionError("scipy finds trees of other depths")
    return record


def _depths(trees: Trees) -> Any:
    """Return the depth of each tree, level by level."""
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


TASKS = {ROUTES: measure_routes}


def add_tables(page: Page) -> None:
    """Add the table on trees."""
    rows = []
    for case, record in page.measured(ROUTES):
        hops, load = record["hops"], record["load"]
        plain = record["plain"] / hops["seconds"] if "plain" in record else None
        share = load["max_link_load"] / hops["max_link_load"]
        cells = [case.name, f"{record['subscriptions']:,}", figure(hops["seconds"]), figure(load["seconds"])]
        cells += ["–" if plain is None else figure(plain)]
        cells += page.floor(plain or 0.0, "≥", case.plain_over_routes)
        cells += [f"{share:.2f}", *page.floor(share, "≤", case.load_over_hops)]
        rows.append([*cells, f"{hops['mean_hops']:.2f} → {load['mean_hops']:.2f}"])
    page.table(
        "Trees for all topics",
        "CPU time of one tree per topic on the overlay of Low-ODA(3). scipy computes all distances, then "
        "searches (`competitors/routes_scipy.py`); its trees are as deep. The busiest link is what it "
        "carries with `load` over what it carries with `hops`, at Zipf rates. Mean hops are those of "
        "`hops` → `load`.",
        [
            "case",
            "subscriptions",
            "hops s",
            "load s",
            "scipy / hops",
            *FLOOR,
            "busiest link",
            *FLOOR,
            "mean hops",
        ],
        rows,
    )
