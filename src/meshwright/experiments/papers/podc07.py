"""podc07: Greedy Merge, against a ring per topic (Chockler, Melamed, Tock, Vitenberg; PODC 2007)."""

from __future__ import annotations

from typing import Any

from meshwright.experiments.checks import Claims, describe_change, falls
from meshwright.experiments.drawing import curve, finish
from meshwright.experiments.paper import Case, Figure, Paper, grid
from meshwright.experiments.results import Results, Row

WORKLOADS = ("zipf", "expo", "unif")


def degree_cell(case: Case) -> list[Row]:
    """Measure the average degree of a design on a workload of section 8."""
    import meshwright as mw

    interest = mw.workloads.WORKLOADS[case["workload"]](
        case["nodes"], case["topics"], size=10, seed=case.seed
    )
    plan = mw.design(interest, "gm")
    return [{"average_degree": plan.figures["average_degree"]}]


def draw_degrees(results: Results, axes: list[Any]) -> None:
    """Draw one curve per workload and number of topics."""
    for topics in results.values("topics"):
        for workload in results.values("workload"):
            chosen = results.where(workload=workload, topics=topics)
            curve(axes[0], chosen, "nodes", "average_degree", label=f"{workload}, |T| = {topics}")
    finish(axes[0], "Average degree", "nodes", "average degree")


def degree_claims(results: Results, claims: Claims) -> None:
    """Compare with section 8.1."""
    held: dict[str, bool] = {}
    for topics in results.values("topics"):
        for workload in results.values("workload"):
            points = results.where(workload=workload, topics=topics).by("nodes", "average_degree")
            held |= falls(points, label=f"{workload}, |T| = {topics}")
    zipf = results.where(workload="zipf", topics=100).by("nodes", "average_degree")
    claims.check(
        "falls-with-nodes",
        "The average degree falls as nodes are added, for every distribution",
        paper="falls everywhere",
        ours=f"Zipf, 100 topics: {describe_change(zipf)}",
        held=held,
    )


FIGURES = (
    Figure(
        "fig2",
        "Average degree of GM by nodes and popularity",
        "The average degree falls as nodes are added. It is lowest for exponential popularity, and higher "
        "for 200 topics than for 100.",
        quick=grid(seeds=3, workload=WORKLOADS, topics=(100, 200), nodes=(200, 400, 800)),
        full=grid(seeds=3, workload=WORKLOADS, topics=(100, 200), nodes=tuple(range(1000, 10001, 1000))),
        cell=degree_cell,
        draw=draw_degrees,
        claims=degree_claims,
        weight=lambda case: case["nodes"] ** 2,
    ),
)
PAPER = Paper(
    "podc07",
    "Constructing Scalable Overlays for Pub-Sub with Many Topics",
    "Chockler, Melamed, Tock, Vitenberg (PODC 2007)",
    FIGURES,
)
