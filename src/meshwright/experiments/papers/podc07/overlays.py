"""The cells of podc07, section 8: GM, the ring per topic, and our best overlay on its workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.experiments.paper import Case, grid
from meshwright.experiments.papers.podc07.greedy_steps import count_steps
from meshwright.experiments.results import Results, Row

if TYPE_CHECKING:
    from meshwright.interest import Interest

WORKLOADS = ("zipf", "expo", "unif")
NAMES = {"zipf": "Zipf", "expo": "exponential", "unif": "uniform"}
BEST_STEPS = 2000
"""Steps of our search: the same on every machine."""


def interest_of(case: Case) -> Interest:
    """Make a workload of section 8: every node draws exactly `size` topics."""
    import meshwright as mw

    make = mw.workloads.WORKLOADS[case["workload"]]
    return make(case["nodes"], case["topics"], size=case["size"], seed=case.seed)


def overlay_cell(case: Case) -> list[Row]:
    """Measure one design: GM with its steps, the ring with both counts, or `best` with the bound."""
    import meshwright as mw
    from meshwright import bounds

    interest = interest_of(case)
    if case["design"] == "best":
        prices = bounds.prices(interest)
        plan = mw.design(interest, "best", steps=BEST_STEPS, prices=prices, seed=case.seed)
        more: Row = {"bound_degree": 2 * prices.bound / interest.num_nodes}
    elif case["design"] == "ring":
        plan = mw.design(interest, "ring")
        more = {"parallel_degree": plan.figures["parallel_average_degree"]}
    else:
        plan = mw.design(interest, "gm")
        more = count_steps(interest, plan.overlay)
    return [{"edges": len(plan.overlay), "average_degree": plan.figures["average_degree"], **more}]


def curves_by_nodes(results: Results, column: str) -> dict[tuple[str, int], dict[Any, list[Any]]]:
    """Return a column by nodes, for each workload and number of topics."""
    return {
        (workload, topics): results.where(workload=workload, topics=topics).by("nodes", column)
        for topics in results.values("topics")
        for workload in WORKLOADS
    }


def weight(case: Case) -> float:
    """Estimate the seconds of a cell, as measured on one machine."""
    thousands: float = case["nodes"] / 1000
    if case["design"] == "ring":
        return 0.01 * thousands
    return 0.35 * thousands if case["design"] == "best" else 0.05 * thousands**2


def grid_by_nodes(nodes: tuple[int, ...], best: tuple[int, ...], seeds: int) -> tuple[Case, ...]:
    """Return the cells of Figures 2, 3 and 4(a)."""
    shape: dict[str, Any] = {"workload": WORKLOADS, "size": 10}
    return (
        grid(seeds=seeds, design="gm", **shape, topics=(100, 200), nodes=nodes)
        + grid(seeds=seeds, design="ring", **shape, topics=100, nodes=nodes)
        + grid(seeds=1, design="best", workload="zipf", size=10, topics=(100, 200), nodes=best)
    )


def grid_by_topics(nodes: tuple[int, ...], topics: tuple[int, ...], seeds: int) -> tuple[Case, ...]:
    """Return the cells of Figure 4(b)."""
    shape: dict[str, Any] = {"workload": "zipf", "size": (10, 20), "topics": topics}
    return grid(seeds=seeds, design=("gm", "ring"), **shape, nodes=nodes) + grid(
        seeds=1, design="best", **shape, nodes=nodes[0]
    )
