"""One task on one case, in a process of its own: `python -m benchmarks.worker CASE TASK` prints JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.best import compare_best
from benchmarks.cases import (
    BEST,
    BOUND,
    CHURN,
    CONTENT,
    CONTENT_EVALUATION,
    CONTENT_MEMORY,
    DATA,
    DESIGNS,
    ENGINE,
    FULL,
    PAPER,
    PRODUCT,
    QUICK,
    ROUTES,
    RULES,
    SPARK,
    THREADS,
    TIDY,
    WORKLOAD,
    Case,
)
from benchmarks.content import compare_content, evaluate_content, measure_large
from benchmarks.data_on_spark import measure_data
from benchmarks.live import compare_repairs, compare_tidy
from benchmarks.making import measure_bound, measure_workload
from benchmarks.on_spark import measure_on_spark
from benchmarks.paper_gm import paper_gm
from benchmarks.routing import measure_routes
from benchmarks.timing import cpu_seconds, peak_memory, reset_peak
from meshwright.designs import find
from meshwright.greedy import grow, rules
from meshwright.interest import Interest

WARM_NODES = 3_000
"""Kernels are warmed on the same workload with at most so many nodes."""


def measure(case: Case, task: str) -> dict[str, Any]:
    """Run one task with warm kernels."""
    if task == BEST:
        return compare_best(case)
    if task in (CHURN, TIDY):
        return {CHURN: compare_repairs, TIDY: compare_tidy}[task](case)
    if task in (ROUTES, WORKLOAD, BOUND):
        return {ROUTES: measure_routes, WORKLOAD: measure_workload, BOUND: measure_bound}[task](case)
    if task in (CONTENT, CONTENT_EVALUATION):
        return {CONTENT: compare_content, CONTENT_EVALUATION: evaluate_content}[task](case)
    if task == CONTENT_MEMORY:
        return measure_large(case)
    small = case.workload(seed=1, most_nodes=WARM_NODES)
    if task == SPARK:
        return measure_on_spark(case.workload(), small)
    if task == DATA:
        return measure_data(case.workload(), small)
    for warm in _calls(small, task).values():
        warm()
    del small
    interest = case.workload()
    calls = _calls(interest, task)
    if task == THREADS:
        return _compare_threads(calls)
    if task == DESIGNS:
        return _compare_designs(calls)
    idle = reset_peak()
    first_name, first = next(iter(calls.items()))
    seconds, result = cpu_seconds(first)
    peak = peak_memory()
    record: dict[str, Any] = {"peak_mb": None if idle is None or peak is None else peak - idle}
    if task == ENGINE:
        degree = np.bincount(np.concatenate((result.u, result.v)), minlength=interest.num_nodes)
        record |= {
            "edges": len(result),
            "average_degree": float(degree.mean()),
            "max_degree": int(degree.max()),
        }
    elif task == PAPER:
        record["edges"] = len(result[0])
    del result
    runs = 2 if task in (PAPER, PRODUCT) else 3
    spent: dict[str, list[float]] = {name: [seconds] if name == first_name else [] for name in calls}
    while any(_is_early(times, runs) for times in spent.values()):
        # In turn, so that a machine that gets slower is slower for all.
        for name, call in calls.items():
            spent[name].append(cpu_seconds(call)[0])
    return record | {name: min(times) for name, times in spent.items()}


def _is_early(times: list[float], runs: int) -> bool:
    """Say whether a call was measured too few times: so many, or more if they are short."""
    return (len(times) < runs and sum(times) < 20) or (len(times) < 20 and sum(times) < 1)


def _calls(interest: Interest, task: str) -> dict[str, Callable[[], Any]]:
    """Return what a task times, by name."""
    if task == ENGINE:
        return {"seconds": lambda: grow(interest, rules.gm)}
    if task == RULES:
        return {
            "gm": lambda: grow(interest, rules.gm),
            "minmax": lambda: grow(interest, rules.minmax),
            "low": lambda: grow(interest, rules.low(3)),
        }
    if task == PAPER:
        return {"seconds": lambda: paper_gm(interest)}
    if task == PRODUCT:
        incidence = interest.to_scipy()
        return {"seconds": lambda: incidence @ incidence.T}
    if task == DESIGNS:
        return _designs(interest)
    return {str(threads): _on_threads(interest, threads) for threads in (1, 2)}


def _designs(interest: Interest) -> dict[str, Callable[[], Any]]:
    """Return GM and the designs that do not run on the engine; budgets are GM's links, and 8 a node."""
    budgets = {
        "gm": {},
        **{name: {} for name in ("cd", "cd1", "cd2", "cdmax", "spidercast")},
        "spidercastm": {"max_degree": 8},
        "randoma": {"max_edges": len(grow(interest, rules.gm))},
        "randomm": {"max_degree": 8},
    }
    return {name: _build(interest, name, budget) for name, budget in budgets.items()}


def _build(interest: Interest, name: str, budget: dict[str, int]) -> Callable[[], Any]:
    return lambda: find(name).build(interest, **budget)


def _on_threads(interest: Interest, threads: int) -> Callable[[], Any]:
    return lambda: grow(interest, rules.gm, threads=threads)


def _compare_threads(calls: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Measure wall time by number of threads, best of two; the edges must be the same."""
    wall: dict[str, float] = {}
    edges: dict[str, Any] = {}
    for _ in range(2):
        for threads, call in calls.items():
            began = time.perf_counter()
            overlay = call()
            wall[threads] = min(time.perf_counter() - began, wall.get(threads, np.inf))
            edges[threads] = np.stack((overlay.u, overlay.v, overlay.contribution))
    if not np.array_equal(edges["1"], edges["2"]):
        raise AssertionError("two threads gave other edges than one")
    return {"one": wall["1"], "two": wall["2"]}


def _compare_designs(calls: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Measure each design, best of ten rounds in which all take their turn, and what comes out of it."""
    record: dict[str, Any] = {}
    for _ in range(10):
        for name, call in calls.items():
            seconds, overlay = cpu_seconds(call)
            degrees = np.bincount(np.concatenate((overlay.u, overlay.v)))
            best = min(seconds, record[name]["seconds"]) if name in record else seconds
            record[name] = {"seconds": best, "edges": len(overlay), "max_degree": int(degrees.max())}
    return record


if __name__ == "__main__":
    _chosen = next(case for case in (*QUICK, *FULL) if case.name == sys.argv[1])
    print(json.dumps(measure(_chosen, sys.argv[2])))
