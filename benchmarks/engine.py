"""The greedy engine: GM next to the paper's GM and a sparse product; rules, memory, growth, threads."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases_and_floors import (
    ENGINE,
    GROWTH,
    LISTED_GROWTH,
    MOST_LISTED_GROWTH,
    PAPER,
    PATHS,
    PRODUCT,
    RULE_PATHS,
    RULES,
    THREADS,
    Case,
)
from benchmarks.competitors.paper_gm import paper_gm
from benchmarks.page import FLOOR, Page, figure, megabytes
from benchmarks.resources import cpu_seconds, peak_memory, reset_peak
from meshwright.greedy import Tuning, grow, rules
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest
from meshwright.overlay import Overlay

WARM_NODES = 3_000
"""Most nodes of the workload that warms the kernels."""


def compare_speed(case: Case, task: str) -> dict[str, Any]:
    """Return the CPU seconds of each call of a task, with warm kernels, and the peak memory of the first."""
    for warm in _calls(case.workload(seed=1, most_nodes=WARM_NODES), task).values():
        warm()
    interest = case.workload()
    calls = _calls(interest, task)
    idle = reset_peak()
    first_name, first = next(iter(calls.items()))
    seconds, result = cpu_seconds(first)
    peak = peak_memory()
    record: dict[str, Any] = {"peak_mb": None if idle is None or peak is None else peak - idle}
    if task == ENGINE:
        degree = np.bincount(np.concatenate((result.u, result.v)), minlength=interest.num_nodes)
        record["edges"] = len(result)
        record["average_degree"], record["max_degree"] = float(degree.mean()), int(degree.max())
    elif task == PAPER:
        record["edges"] = len(result[0])
    del result
    runs = 2 if task in (PAPER, PRODUCT) else 3
    spent: dict[str, list[float]] = {name: [seconds] if name == first_name else [] for name in calls}
    while any(_needs_more_runs(times, runs) for times in spent.values()):
        # Take turns, so that a machine that slows down slows all calls alike.
        for name, call in calls.items():
            spent[name].append(cpu_seconds(call)[0])
    return record | {name: min(times) for name, times in spent.items()}


def _needs_more_runs(times: list[float], runs: int) -> bool:
    """Ask for `runs` runs within 20 s, and for up to 20 runs while they take less than a second in total."""
    return (len(times) < runs and sum(times) < 20) or (len(times) < 20 and sum(times) < 1)


def _calls(interest: Interest, task: str) -> dict[str, Callable[[], Any]]:
    """Return the calls that a task times, by name."""
    if task == ENGINE:
        return {"seconds": partial(grow, interest, rules.gm)}
    if task == RULES:
        by_name = {"gm": rules.gm, "minmax": rules.minmax, "low": rules.low(3)}
        return {name: partial(grow, interest, rule) for name, rule in by_name.items()}
    if task == PAPER:
        return {"seconds": partial(paper_gm, interest)}
    incidence = interest.to_scipy()
    return {"seconds": lambda: incidence @ incidence.T}


def compare_paths(case: Case, rule: Rule = rules.gm) -> dict[str, Any]:
    """Return the CPU seconds of a rule by the path that the engine chooses, and by each path alone.

    The edges must be identical. Kernels of both paths are warmed.
    """
    small = case.workload(seed=1, most_nodes=WARM_NODES)
    for index in (0, 4):
        grow(small, rule, tuning=Tuning(index=index))
    interest = case.workload()
    calls = {"chosen": partial(grow, interest, rule)}
    if not case.only_chosen:
        calls["swept"] = partial(grow, interest, rule, tuning=Tuning(index=0))
    if case.index_too:
        calls["listed"] = partial(grow, interest, rule, tuning=Tuning(index=4))
    spent: dict[str, list[float]] = {name: [] for name in calls}
    digests: set[str] = set()
    record: dict[str, Any] = {}
    while any(_needs_more_runs(times, 5) for times in spent.values()):
        for name, call in calls.items():
            if not _needs_more_runs(spent[name], 5):
                continue
            idle = reset_peak()
            seconds, overlay = cpu_seconds(call)
            peak = peak_memory()
            spent[name].append(seconds)
            digests.add(_digest(overlay))
            record |= {
                "edges": len(overlay),
                f"{name}_mb": None if idle is None or peak is None else peak - idle,
            }
            del overlay
    if len(digests) > 1:
        raise AssertionError("the two paths return different edges")
    return record | {name: min(times) for name, times in spent.items()}


def _digest(overlay: Overlay) -> str:
    """Return a digest of the edges in order, with their contributions."""
    digest = hashlib.sha256()
    for column in (overlay.u, overlay.v, overlay.contribution):
        digest.update(column.tobytes())
    return digest.hexdigest()


def compare_rule_paths(case: Case) -> dict[str, Any]:
    """Return, for MinMax-ODA and Low-ODA(3), what `compare_paths` does for GM."""
    case = replace(case, only_chosen=case.rules_only_chosen)
    return {
        name: compare_paths(case, rule) for name, rule in (("minmax", rules.minmax), ("low", rules.low(3)))
    }


def compare_threads(case: Case) -> dict[str, Any]:
    """Return the median wall time of GM on one thread and on two. The edges must be identical."""
    small, interest = case.workload(seed=1, most_nodes=WARM_NODES), case.workload()
    wall: dict[str, list[float]] = {"one": [], "two": []}
    edges: dict[str, Any] = {}
    for threads in (1, 2):
        grow(small, rules.gm, threads=threads)
    for _ in range(5):
        for name, threads in (("one", 1), ("two", 2)):
            began = time.perf_counter()
            overlay = grow(interest, rules.gm, threads=threads)
            wall[name].append(time.perf_counter() - began)
            edges[name] = np.stack((overlay.u, overlay.v, overlay.contribution))
    if not np.array_equal(edges["one"], edges["two"]):
        raise AssertionError("two threads return other edges than one")
    return {name: float(np.median(times)) for name, times in wall.items()}


TASKS = {
    **{task: partial(compare_speed, task=task) for task in (ENGINE, RULES, PAPER, PRODUCT)},
    PATHS: compare_paths,
    RULE_PATHS: compare_rule_paths,
    THREADS: compare_threads,
}


def add_tables(page: Page) -> None:
    """Add the tables on speed, memory and rules."""
    _against_paper(page)
    _against_product(page)
    _memory(page)
    _rules(page)
    _paths(page)
    _rule_paths(page)
    _growth(page)
    _threads(page)


def _against_paper(page: Page) -> None:
    rows = []
    for case, engine in page.measured(ENGINE):
        paper = page.get(case.name, PAPER)
        if paper:
            ratio = paper["seconds"] / engine["seconds"]
            cells = [case.name, figure(engine["seconds"]), figure(paper["seconds"]), figure(ratio)]
            rows.append([*cells, *page.floor(ratio, "≥", case.paper_over_engine)])
    page.table(
        "Engine against the paper's own algorithm",
        "CPU time of GM as podc07 prints it (`competitors/paper_gm.py`: compiled, all pairs in memory) "
        "over GM of the engine.",
        ["case", "engine s", "paper s", "paper / engine", *FLOOR],
        rows,
    )


def _against_product(page: Page) -> None:
    rows = []
    for case, engine in page.measured(ENGINE):
        product = page.get(case.name, PRODUCT)
        if product:
            ratio = engine["seconds"] / product["seconds"]
            cells = [case.name, figure(engine["seconds"]), figure(product["seconds"]), figure(ratio)]
            rows.append([*cells, *page.floor(ratio, "≤", case.engine_over_product)])
    page.table(
        "Engine against one sparse product",
        "CPU time of GM over one A·Aᵀ of `scipy.sparse`, which only counts the common topics of all pairs.",
        ["case", "engine s", "A·Aᵀ s", "engine / A·Aᵀ", *FLOOR],
        rows,
    )


def _memory(page: Page) -> None:
    rows = []
    for case, engine in page.measured(ENGINE):
        if engine["peak_mb"] is None:
            continue
        paper = (page.get(case.name, PAPER) or {}).get("peak_mb")
        cells = [
            case.name,
            f"{engine['edges']:,}",
            f"{engine['average_degree']:.2f}",
            f"{engine['max_degree']}",
        ]
        cells += [figure(engine["seconds"]), f"{engine['peak_mb']:,.1f}"]
        cells += ["–" if paper is None else f"{paper:,.0f}"]
        rows.append([*cells, *page.floor(engine["peak_mb"], "≤", case.memory_mb)])
    degrees = ["average degree", "maximum degree"]
    page.table(
        "Memory and degrees of GM",
        "Peak memory of GM above the idle process, which has the libraries, the kernels and the interest "
        "loaded.",
        ["case", "edges", *degrees, "engine s", "engine MB", "paper MB", *FLOOR],
        rows,
    )


def _rules(page: Page) -> None:
    rows = []
    for case, record in page.measured(RULES):
        minmax, low = record["minmax"] / record["gm"], record["low"] / record["gm"]
        first = [figure(minmax), *page.floor(minmax, "≤", case.minmax_over_gm)]
        second = [figure(low), *page.floor(low, "≤", case.low_over_gm)]
        rows.append([case.name, figure(record["gm"]), *first, *second])
    page.table(
        "The other rules",
        "CPU time of MinMax-ODA and of Low-ODA(3) over GM, in one process.",
        ["case", "GM s", "MinMax-ODA / GM", *FLOOR, "Low-ODA / GM", *FLOOR],
        rows,
    )


def _path_cells(page: Page, record: dict[str, Any], floor: float | None) -> list[str]:
    """Return the cells of a row on the paths: edges, seconds, a ratio with its floor, and memory."""
    cells = [f"{record['edges']:,}", figure(record["chosen"])]
    if "swept" in record:
        gain = record["swept"] / record["chosen"]
        cells += [figure(record["swept"]), figure(gain), *page.floor(gain, "≥", floor)]
    else:
        cells += ["–", "–", "–", ""]
    cells.insert(3, figure(record["listed"]) if "listed" in record else "–")
    return [*cells, megabytes(record["chosen_mb"]), megabytes(record.get("swept_mb"))]


def _paths(page: Page) -> None:
    rows = []
    for case, record in page.measured(PATHS):
        memory = record["chosen_mb"]
        cells = [case.name, *_path_cells(page, record, case.swept_over_chosen)]
        rows.append(
            [*cells, *(["–", ""] if memory is None else page.floor(memory, "≤", case.chosen_memory_mb))]
        )
    page.table(
        "The level sweep and the index",
        "CPU time and peak memory of GM by the path that the engine chooses, and by the sweep alone; near "
        "the crossover also the time by the index alone. The edges are identical, or the case fails.",
        [
            "case",
            "edges",
            "chosen s",
            "sweep s",
            "index s",
            "sweep / chosen",
            *FLOOR,
            "chosen MB",
            "sweep MB",
            *FLOOR,
        ],
        rows,
    )


def _rule_paths(page: Page) -> None:
    rows = []
    for case, record in page.measured(RULE_PATHS):
        for name, title in (("minmax", "MinMax-ODA"), ("low", "Low-ODA(3)")):
            rows.append([case.name, title, *_path_cells(page, record[name], case.rules_swept_over_chosen)])
    page.table(
        "The level sweep and the index under rules that look at degrees",
        "As above, for MinMax-ODA and Low-ODA(3).",
        [
            "case",
            "rule",
            "edges",
            "chosen s",
            "sweep s",
            "index s",
            "sweep / chosen",
            *FLOOR,
            "chosen MB",
            "sweep MB",
        ],
        rows,
    )


def _growth(page: Page) -> None:
    rows = []
    nodes = {case.name: case.nodes for case in page.cases}
    measured: list[Any] = [(*pair, ENGINE, "seconds", None) for pair in GROWTH]
    measured += [
        (*LISTED_GROWTH, PATHS, "chosen", MOST_LISTED_GROWTH),
        (*LISTED_GROWTH, PATHS, "swept", None),
    ]
    for small, large, task, name, most in measured:
        before, after = page.get(small, task), page.get(large, task)
        if before and after:
            exponent = math.log(after[name] / before[name]) / math.log(nodes[large] / nodes[small])
            swept = ", sweep only" if name == "swept" else ""
            cells = [f"{small} → {large}{swept}", figure(before[name]), figure(after[name])]
            rows.append([*cells, f"{exponent:.2f}", *page.floor(exponent, "≤", most)])
    page.table(
        "Growth",
        "Ten times the nodes. The CPU time of GM grows as (number of nodes)^exponent.",
        ["cases", "seconds before", "seconds after", "exponent", *FLOOR],
        rows,
    )


def _threads(page: Page) -> None:
    rows = []
    for case, record in page.measured(THREADS):
        gain = record["one"] / record["two"]
        cells = [case.name, figure(record["one"]), figure(record["two"]), figure(gain)]
        rows.append([*cells, *page.floor(gain, "≥", case.two_threads_gain)])
    page.table(
        "Two threads",
        "Wall time of GM on one thread and on two. The edges are identical, or the case fails.",
        ["case", "one s", "two s", "one / two", *FLOOR],
        rows,
    )
