"""Designs beyond the greedy rules, `best`, workload generation and the bound on links."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases_and_floors import BEST, BOUND, DESIGNS, SEEDS, WORKLOAD, Case
from benchmarks.engine import WARM_NODES
from benchmarks.page import FLOOR, Page, figure
from benchmarks.resources import cpu_seconds
from meshwright import bounds, measure
from meshwright.designs import best
from meshwright.designs.registry import find
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.verify import gap, verify_overlay

RUNS = 3
BASELINES = {"edges": rules.gm, "degree": rules.minmax, "balanced": rules.low(3)}
"""The greedy rule that `best` is compared with, by objective."""


def compare_designs(case: Case) -> dict[str, Any]:
    """Return the CPU seconds of each design, best of ten alternating rounds, with its links and degree."""
    for warm in _design_calls(case.workload(seed=1, most_nodes=WARM_NODES)).values():
        warm()
    record: dict[str, Any] = {}
    calls = _design_calls(case.workload())
    for _ in range(10):
        for name, call in calls.items():
            seconds, overlay = cpu_seconds(call)
            degrees = np.bincount(np.concatenate((overlay.u, overlay.v)))
            least = min(seconds, record[name]["seconds"]) if name in record else seconds
            record[name] = {"seconds": least, "edges": len(overlay), "max_degree": int(degrees.max())}
    return record


def _design_calls(interest: Interest) -> dict[str, Callable[[], Any]]:
    """Return GM and the designs that do not use the engine."""
    budgets = {
        "gm": {},
        **{name: {} for name in ("cd", "cd1", "cd2", "cdmax", "spidercast")},
        "spidercastm": {"max_degree": 8},
        "randoma": {"max_edges": len(grow(interest, rules.gm))},
        "randomm": {"max_degree": 8},
    }
    return {name: partial(find(name).load(), interest, **budget) for name, budget in budgets.items()}


def compare_best(case: Case) -> dict[str, Any]:
    """Return one row per objective and seed (a single seed if the objective has no floor).

    One process per core measures at a time.
    """
    best.best(case.workload(most_nodes=50), steps=1)  # Compile once, before the processes start.
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        futures = {
            objective: [
                pool.submit(_compare_one, case, objective, seed) for seed in (SEEDS if floor else SEEDS[:1])
            ]
            for objective, floor in zip(BASELINES, case.best_saves, strict=True)
        }
        return {objective: [future.result() for future in rows] for objective, rows in futures.items()}


def _compare_one(case: Case, objective: str, seed: int) -> dict[str, Any]:
    interest = case.workload(seed=seed)
    greedy = grow(interest, BASELINES[objective])
    overlay = best.best(interest, objective=objective, seconds=case.best_seconds, seed=seed)
    if not verify_overlay(overlay).connected:
        raise AssertionError("best leaves a topic disconnected")
    prices = bounds.prices(interest)
    degree = measure.degrees(overlay).maximum
    at_degree = None
    if objective != "edges":
        at_degree = gap(len(overlay), bounds.prove_degrees(prices, degree).links.bound)
    return {
        "greedy_edges": len(greedy),
        "greedy_degree": measure.degrees(greedy).maximum,
        "edges": len(overlay),
        "max_degree": degree,
        "saved": 1 - len(overlay) / len(greedy),
        "gap": gap(len(overlay), prices.bound),
        "gap_at_degree": at_degree,
    }


def measure_workload(case: Case) -> dict[str, Any]:
    """Return the CPU seconds of generating the workload."""
    case.workload(most_nodes=1_000)  # Compile before the clock starts.
    seconds, interest = cpu_seconds(case.workload, RUNS)
    return {"seconds": seconds, "subscriptions": interest.num_subscriptions}


def measure_bound(case: Case) -> dict[str, Any]:
    """Return the CPU seconds of the first bound, the full bound and GM, and the proven numbers of links."""
    bounds.prices(case.workload(most_nodes=100))  # Compile before the clock starts.
    interest = case.workload()
    record: dict[str, Any] = {}
    record["gm"], overlay = cpu_seconds(lambda: grow(interest, rules.gm), RUNS)
    record["edges"] = len(overlay)
    for effort in ("first", "full"):
        runs = RUNS if effort == "first" else 1
        seconds, proven = cpu_seconds(partial(bounds.prices, interest, effort=effort), runs)
        record[effort] = {"seconds": seconds, "bound": proven.bound}
    return record


TASKS = {
    DESIGNS: compare_designs,
    BEST: compare_best,
    WORKLOAD: measure_workload,
    BOUND: measure_bound,
}


def add_tables(page: Page) -> None:
    """Add the tables on designs, `best`, workloads and the bound."""
    _designs(page)
    _best(page)
    page.table(
        "Workload generation",
        "CPU seconds, best of three.",
        ["case", "subscriptions", "seconds"],
        [
            [case.name, f"{it['subscriptions']:,}", figure(it["seconds"])]
            for case, it in page.measured(WORKLOAD)
        ],
    )
    _bound(page)


def _designs(page: Page) -> None:
    rows = []
    for case, record in page.measured(DESIGNS):
        for name, it in record.items():
            ratio = it["seconds"] / record["gm"]["seconds"]
            cells = [case.name, name, figure(it["seconds"]), figure(ratio)]
            cells += page.floor(ratio, "≤", None if name == "gm" else case.design_over_gm)
            rows.append([*cells, f"{it['edges']:,}", f"{it['max_degree']}"])
    page.table(
        "Other designs of the papers",
        "CPU time over GM, side by side in one process. Budgets: the links of GM for `randoma`, a degree "
        "of 8 for `spidercastm` and `randomm`.",
        ["case", "design", "seconds", "design / GM", *FLOOR, "links", "maximum degree"],
        rows,
    )


def _best(page: Page) -> None:
    rows = []
    for case, record in page.measured(BEST):
        for (objective, seeds), floor in zip(record.items(), case.best_saves, strict=False):
            saved, proven_gap = min(it["saved"] for it in seeds), max(it["gap"] for it in seeds)
            median = sorted(seeds, key=lambda it: it["saved"])[len(seeds) // 2]
            cells = [case.name, objective, f"{case.best_seconds:g}"]
            cells += [f"{median['greedy_edges']:,} / {median['greedy_degree']}"]
            cells += [f"{median['edges']:,} / {median['max_degree']}"]
            cells += [f"{saved:.1%}", *page.floor(saved, "≥", floor)]
            cells += [f"{proven_gap:.1%}", *page.floor(proven_gap, "≤", case.best_gap)]
            at_degree, limit = None, None
            if objective != "edges":
                at_degree = max(it["gap_at_degree"] for it in seeds)
                limit = case.best_gap_at_degree[objective == "balanced"]
            cells += ["" if at_degree is None else f"{at_degree:.1%}"]
            rows.append([*cells, *page.floor(at_degree or 0.0, "≤", limit)])
    page.table(
        "Best against the greedy designs",
        "Links and maximum degree of GM (edges), MinMax-ODA (degree) or Low-ODA(3) (balanced), and of `best` "
        "after the given seconds: the median of three seeds, or a single seed where there is no floor. Saved "
        "links and the proven gaps are the worst of the seeds: to the fewest possible links, and to the "
        "fewest with at most as many links per node. The proofs are made afterwards, without a time limit.",
        ["case", "objective", "seconds", "greedy: links / degree", "best: links / degree", "saved", *FLOOR,
         "proven gap", *FLOOR, "at its degree", *FLOOR],
        rows,
    )  # fmt: skip


def _bound(page: Page) -> None:
    rows = []
    for case, record in page.measured(BOUND):
        cells = [case.name, figure(record["gm"]), f"{record['edges']:,}"]
        for effort in ("first", "full"):
            it = record[effort]
            cells += [figure(it["seconds"]), figure(it["seconds"] / record["gm"]), f"{it['bound']:,}"]
        rows.append(cells)
    page.table(
        "The price bound",
        "CPU seconds of the first bound on links and of the full one (`plan --certify`), next to GM in the "
        "same process, and the number of links that each proves necessary.",
        ["case", "GM s", "GM links", "first s", "first / GM", "proves", "full s", "full / GM", "proves"],
        rows,
    )
