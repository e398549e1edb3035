"""Content-based assignment: speed next to numpy, the evaluation of the paper, and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases_and_floors import CONTENT, CONTENT_EVALUATION, CONTENT_MEMORY, NETWORKS, Case
from benchmarks.competitors import content_numpy
from benchmarks.page import FLOOR, Page, figure, megabytes
from benchmarks.resources import cpu_seconds, peak_memory
from meshwright.content import Workload, assign, cost, synthetic
from meshwright.content.descent import descent
from meshwright.content.sequential import clustering, mixing, packing, steiner

ALGORITHMS = ("packing", "clustering", "mixing", "steiner", "descent")
POPULATIONS = (1, 2, 5, 10)
"""Numbers of users in the paper's evaluation, in tenths of the users of the case."""
RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Mean access cost over mean core cost (Fig. 10 of the paper)."""
LENGTHS = (None, 0.03)
"""Length of a user's interval of the content: one channel, or 3%, which touches three to four channels."""
DESCENT_SECONDS = 20.0
"""Time limit of descent for many users."""

NUMPY_OVER_OURS = {"cost": 20.0, "packing": 10.0, "clustering": 10.0, "steiner": 10.0}
"""Minimum ratio of the time of numpy to ours."""
MOST_SECONDS = {"packing": 2.0, "clustering": 2.0, "mixing": 2.0, "steiner": 2.0, "descent": 5.0}
LEAST_BELOW_MIXING = 0.02
"""Minimum share by which descent is cheaper than our Steiner mixing, on average."""
MOST_MEMORY_MB = 2048.0


def compare_content(case: Case) -> dict[str, Any]:
    """Measure each algorithm next to its numpy version. Both must return the same result."""
    small = _generate(case, users=min(case.nodes, 300), seed=1)
    for name in ALGORITHMS:
        assign(small, name)  # Compile before the clock starts.
    workload = _generate(case)
    sent, taken = content_numpy.tables(workload)
    packed = packing(workload)
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "cost": (
            lambda: cost(workload, packed).total,
            lambda: content_numpy.cost(workload, packed, sent, taken),
        ),
        "packing": (lambda: packing(workload), lambda: content_numpy.packing(workload)),
        "clustering": (
            lambda: clustering(workload),
            lambda: content_numpy.clustering(workload, sent, taken),
        ),
        "steiner": (lambda: steiner(workload), lambda: content_numpy.steiner(workload)),
    }
    record: dict[str, Any] = {}
    for name, (ours, plain) in pairs.items():
        seconds, made = cpu_seconds(ours)
        plain_seconds, expected = cpu_seconds(plain, 1 if name == "clustering" else 3)
        same = np.isclose(made, expected, rtol=1e-9) if name == "cost" else np.array_equal(made, expected)
        if not same:
            raise AssertionError(f"{name} and its numpy version differ")
        record[name] = {"seconds": seconds, "numpy": plain_seconds}
    record["mixing"] = {"seconds": cpu_seconds(lambda: mixing(workload))[0], "numpy": None}
    record["networks"] = [_descend(_generate(case, seed=seed)) for seed in NETWORKS]
    record["descent"] = {"seconds": max(one["seconds"] for one in record["networks"]), "numpy": None}
    return record


def _generate(case: Case, *, users: int | None = None, seed: int = 0, **shape: Any) -> Workload:
    """Generate the workload of a case: nodes are users, topics channels, popularity the cost model."""
    workload = synthetic(users or case.nodes, channels=case.topics, model=case.popularity, seed=seed, **shape)  # type: ignore[arg-type]
    workload.load, workload.audience  # noqa: B018  Compute these cached properties before the clock starts.
    return workload


def _descend(workload: Workload) -> dict[str, float]:
    """Return the time of descent, and the share by which it is cheaper than our Steiner mixing."""
    seconds, found = cpu_seconds(lambda: descent(workload), 1)
    mixing = cost(workload, steiner(workload)).total
    return {"seconds": seconds, "below_mixing": 1 - cost(workload, found).total / mixing}


def evaluate_content(case: Case) -> dict[str, Any]:
    """Repeat the evaluation of the paper: cost reduction by users (Fig. 9) and by cost ratio (Fig. 10)."""
    assign(_generate(case, users=300), "descent")  # Compile before the clock starts.
    populations = [case.nodes * tenths // 10 for tenths in POPULATIONS]
    return {
        "users": [
            {"users": users, "length": length, **_mean_reductions(case, users=users, length=length)}
            for length in LENGTHS
            for users in populations
        ],
        "ratios": [
            {
                "ratio": ratio,
                "length": length,
                **_mean_reductions(case, networks=1, length=length, ratio=ratio),
            }
            for length in LENGTHS
            for ratio in RATIOS
        ],
    }


def _mean_reductions(case: Case, *, networks: int | None = None, **shape: Any) -> dict[str, Any]:
    """Return means over some networks: cost reductions (CRR), audience per channel, share of core cost."""
    values: dict[str, list[float]] = {name: [] for name in (*ALGORITHMS, "audience", "core_share")}
    for seed in range(networks or case.rounds):
        workload = _generate(case, seed=seed, **shape)
        for name in ALGORITHMS:
            plan = assign(workload, name, seed=seed)
            values[name].append(plan.crr or 0.0)
            if name == "packing":
                values["audience"].append(plan.figures["subscribers_per_channel"])
                values["core_share"].append(plan.figures["core_share"])
    return {name: float(np.mean(found)) for name, found in values.items()}


def measure_many_users(case: Case) -> dict[str, Any]:
    """Run every algorithm on many users, and return the peak memory of the whole process."""
    assign(_generate(case, users=300), "descent")  # Compile before the clock starts.
    workload = _generate(case, brokers=case.sizes[1])
    record: dict[str, Any] = {}
    for name in ("random", *ALGORITHMS):
        plan = assign(workload, name, seconds=DESCENT_SECONDS if name == "descent" else None)
        record[name] = {"seconds": plan.seconds, "crr": plan.crr}
    record["peak_mb"] = peak_memory()
    return record


TASKS = {CONTENT: compare_content, CONTENT_EVALUATION: evaluate_content, CONTENT_MEMORY: measure_many_users}


def add_tables(page: Page) -> None:
    """Add the tables on speed, on descent, on the paper's evaluation and on memory."""
    _speed(page)
    _descent(page)
    _evaluation(page)
    _memory(page)


def _speed(page: Page) -> None:
    rows = []
    for case, record in page.measured(CONTENT):
        for name in ("cost", *ALGORITHMS):
            ours, plain = record[name]["seconds"], record[name]["numpy"]
            cells = [case.name, name, figure(ours)]
            cells += page.floor(ours, "≤", MOST_SECONDS.get(name) if case.content_floors else None)
            cells += ["–", "–"] if plain is None else [figure(plain), figure(plain / ours)]
            floor = NUMPY_OVER_OURS.get(name) if case.content_floors else None
            rows.append([*cells, *page.floor(plain / ours if plain else 0.0, "≥", floor)])
    page.table(
        "Users on brokers: speed",
        "A case is users x channels x subscriptions per user - cost model, with one broker per 100 users. "
        "CPU seconds next to a vectorised numpy version of the same algorithm "
        "(`competitors/content_numpy.py`); assignments and costs are the same, or the case fails. For "
        "descent: the slowest of several networks.",
        ["case", "what", "seconds", *FLOOR, "numpy s", "numpy / ours", *FLOOR],
        rows,
    )


def _descent(page: Page) -> None:
    rows = []
    for case, record in page.measured(CONTENT):
        floor = LEAST_BELOW_MIXING if case.content_floors and case.popularity == "plane" else None
        below = [one["below_mixing"] for one in record["networks"]]
        mean = sum(below) / len(below)
        cells = [str(len(below)), *(f"{share:.2%}" for share in (min(below), max(below), mean))]
        reached = "–" if floor is None else str(sum(share >= floor for share in below))
        rows.append([case.name, *cells, *page.floor(mean, "≥", floor), reached])
    page.table(
        "Users on brokers: descent",
        "How much cheaper descent is than `steiner`, on several networks. The floor applies to the "
        "mean; the last column counts the networks that reach it.",
        ["case", "networks", "least", "most", "mean", *FLOOR, "networks that reach it"],
        rows,
    )


def _evaluation(page: Page) -> None:
    for part, first, title in (
        (
            "users",
            "users",
            "by number of users, one broker per 100 users (cbps, Fig. 9); means over networks",
        ),
        ("ratios", "ratio", "by ratio of mean access cost to mean core cost (cbps, Fig. 10)"),
    ):
        rows = []
        for case, record in page.measured(CONTENT_EVALUATION):
            for it in record[part]:
                length = "one channel" if it["length"] is None else f"{it['length']:g}"
                cells = [case.popularity, f"{it[first]:,g}", length]
                cells += [f"{it['audience']:.0f}", f"{it['core_share']:.1%}"]
                rows.append([*cells, *(f"{it[name]:.3f}" for name in ALGORITHMS)])
        page.table(
            f"Users on brokers: cost reduction by {first}",
            f"Cost of a random assignment over the cost of each algorithm, {title}.",
            ["cost model", first, "length", "subscribers per channel", "core share of packing", *ALGORITHMS],
            rows,
        )


def _memory(page: Page) -> None:
    rows = []
    for case, record in page.measured(CONTENT_MEMORY):
        cells = [case.name, megabytes(record["peak_mb"])]
        cells += page.floor(record["peak_mb"] or 0.0, "≤", MOST_MEMORY_MB if case.content_floors else None)
        rows.append([*cells, *(f"{figure(record[name]['seconds'])} s" for name in ALGORITHMS)])
    page.table(
        "Users on brokers: memory",
        "Peak memory of the whole process, which generates the workload and runs every algorithm, and the "
        "wall time of each algorithm.",
        ["case", "MB", *FLOOR, *ALGORITHMS],
        rows,
    )
