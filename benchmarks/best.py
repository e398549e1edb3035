"""What `best` saves against the greedy design that it starts from, and how near to the fewest links it is."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks.cases import SEEDS, Case
from meshwright import bounds, measure
from meshwright.designs import best
from meshwright.greedy import grow, rules
from meshwright.verify import gap, verify_overlay

BASELINES = {"edges": rules.gm, "degree": rules.minmax, "balanced": rules.low(3)}


def compare_best(case: Case) -> dict[str, Any]:
    """Return for each objective one row for each seed, or one only where there is no floor.

    As many are measured at a time as there are cores.
    """
    best.best(case.workload(most_nodes=50), steps=1)  # compile once, before processes start
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        futures = {
            objective: [pool.submit(_one, case, objective, seed) for seed in (SEEDS if floor else SEEDS[:1])]
            for objective, floor in zip(BASELINES, case.best_saves, strict=True)
        }
        return {objective: [future.result() for future in rows] for objective, rows in futures.items()}


def _one(case: Case, objective: str, seed: int) -> dict[str, Any]:
    interest = case.workload(seed=seed)
    greedy = grow(interest, BASELINES[objective])
    overlay = best.best(interest, objective=objective, seconds=case.best_seconds, seed=seed)
    if not verify_overlay(overlay).connected:
        raise AssertionError("best left a topic split")
    bound = bounds.prices(interest).bound
    return {
        "greedy_edges": len(greedy),
        "greedy_degree": measure.degrees(greedy).maximum,
        "edges": len(overlay),
        "max_degree": measure.degrees(overlay).maximum,
        "saved": 1 - len(overlay) / len(greedy),
        "gap": gap(len(overlay), bound),
    }
