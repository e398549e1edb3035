"""The content-based half: its speed beside plain numpy, the paper's evaluation, and its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import content_numpy
from benchmarks.cases import NETWORKS, Case
from benchmarks.timing import cpu_seconds, peak_memory
from meshwright.content import Workload, assign, cost, synthetic
from meshwright.content.assignment.baselines import clustering, packing
from meshwright.content.assignment.descent import descent
from meshwright.content.assignment.steiner_mixing import steiner, steiner_literal

POPULATIONS = (1, 2, 5, 10)
"""Parts in ten of a case's users that the paper's evaluation is repeated for."""
RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Mean access cost over mean core cost: the paper's Fig. 10."""
LENGTHS = (None, 0.03)
"""Each user's part of the content: one channel, or three and a bit."""
LONGEST = 20.0
"""Seconds of descent for many users."""
COMPARED = ("packing", "clustering", "steiner", "steiner-literal", "descent")


def drawn(case: Case, *, users: int | None = None, seed: int = 0, **more: Any) -> Workload:
    """Make a case's workload up: its nodes are users, its topics channels, its popularity the cost model."""
    workload = synthetic(users or case.nodes, channels=case.topics, model=case.popularity, seed=seed, **more)  # type: ignore[arg-type]
    workload.load, workload.audience  # noqa: B018  worked out before any clock runs
    return workload


def compare_content(case: Case) -> dict[str, Any]:
    """Measure each algorithm beside its numpy reading; both must give the same."""
    small = drawn(case, users=min(case.nodes, 300), seed=1)
    for name in COMPARED:
        assign(small, name)
    workload = drawn(case)
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
            raise AssertionError(f"{name} and its numpy reading differ")
        record[name] = {"seconds": seconds, "numpy": plain_seconds}
    record["steiner-literal"] = {"seconds": cpu_seconds(lambda: steiner_literal(workload))[0], "numpy": None}
    record["networks"] = [_descend(drawn(case, seed=seed)) for seed in NETWORKS]
    record["descent"] = {"seconds": max(one["seconds"] for one in record["networks"]), "numpy": None}
    return record


def _descend(workload: Workload) -> dict[str, float]:
    """Return descent's time, and by which part of mixing's cost it is below that."""
    seconds, found = cpu_seconds(lambda: descent(workload), 1)
    mixing = cost(workload, steiner(workload)).total
    return {"seconds": seconds, "below_mixing": 1 - cost(workload, found).total / mixing}


def evaluate_content(case: Case) -> dict[str, Any]:
    """Repeat the paper's evaluation: CRR by number of users (Fig. 9) and by ratio of costs (Fig. 10)."""
    assign(drawn(case, users=300), "descent")
    populations = [case.nodes * tenths // 10 for tenths in POPULATIONS]
    return {
        "users": [
            {"users": users, "length": length, **_ratios(case, users=users, length=length)}
            for length in LENGTHS
            for users in populations
        ],
        "ratios": [
            {"ratio": ratio, "length": length, **_ratios(case, networks=1, length=length, ratio=ratio)}
            for length in LENGTHS
            for ratio in RATIOS
        ],
    }


def measure_large(case: Case) -> dict[str, Any]:
    """Run every algorithm on many users, and tell the process's highest memory, everything counted."""
    assign(drawn(case, users=300), "descent")
    workload = drawn(case, brokers=case.sizes[1])
    record: dict[str, Any] = {}
    for name in ("random", *COMPARED):
        plan = assign(workload, name, seconds=LONGEST if name == "descent" else None)
        record[name] = {"seconds": plan.seconds, "crr": plan.crr}
    record["peak_mb"] = peak_memory()
    return record


def _ratios(case: Case, *, networks: int | None = None, **shape: Any) -> dict[str, Any]:
    """Return mean CRR over some networks, with the mean audience of a channel and the core's share."""
    made: dict[str, list[float]] = {name: [] for name in (*COMPARED, "audience", "core_share")}
    for seed in range(networks or case.rounds):
        workload = drawn(case, seed=seed, **shape)
        for name in COMPARED:
            plan = assign(workload, name, seed=seed)
            made[name].append(plan.crr or 0.0)
            if name == "packing":
                made["audience"].append(plan.figures["subscribers_per_channel"])
                made["core_share"].append(plan.figures["core_share"])
    return {name: float(np.mean(values)) for name, values in made.items()}
