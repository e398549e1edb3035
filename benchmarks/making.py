"""What stands before and beside a design: making a workload up, and the bound on links."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.cases import Case
from benchmarks.timing import cpu_seconds
from meshwright import bounds
from meshwright.greedy import grow, rules

RUNS = 3


def measure_workload(case: Case) -> dict[str, Any]:
    """Measure how long the case's workload takes to be made up."""
    case.workload(most_nodes=1_000)
    seconds, interest = cpu_seconds(case.workload, RUNS)
    return {"seconds": seconds, "subscriptions": interest.num_subscriptions}


def measure_bound(case: Case) -> dict[str, Any]:
    """Measure the first bound and the full one beside GM, on one thread, and what each proves."""
    bounds.prices(case.workload(most_nodes=100))  # compile its kernels before anything is timed
    interest = case.workload()
    record: dict[str, Any] = {}
    record["gm"], overlay = cpu_seconds(lambda: grow(interest, rules.gm), RUNS)
    record["edges"] = len(overlay)
    for effort in ("first", "full"):
        runs = RUNS if effort == "first" else 1
        seconds, proven = cpu_seconds(partial(bounds.prices, interest, effort=effort), runs)
        record[effort] = {"seconds": seconds, "bound": proven.bound}
    return record
