"""icdcs16, sections IX-F and IX-G: support under fixed budgets by topics and sizes (Figures 7 and 8)."""

from __future__ import annotations

from typing import Any

from meshwright.experiments.checks import Claims, at_most, describe_change, falls, near, roughly
from meshwright.experiments.drawing import paper_points
from meshwright.experiments.paper import Case, Figure, grid
from meshwright.experiments.papers.icdcs16.budgets import (
    RANGE,
    SIZES,
    UNSTATED,
    budget_cell,
    budget_claim,
    draw_panels,
    gap_claim,
    order_claim,
    pareto_claim,
    weight,
)
from meshwright.experiments.papers.icdcs16.overlays import (
    EXPONENT,
    NAMES,
    ORDER,
    TITLES,
    WORKLOADS,
    gaps,
    means,
    synthetic,
    under_budget,
)
from meshwright.experiments.results import Results, Row, Spread


def draw_by_topics(results: Results, axes: list[Any]) -> None:
    """Draw Figure 7, with the values that the text states for GPM, whose workload it does not name."""
    paper_points(axes[0], [1000, 10000], [0.653, 0.244], label="paper: GPM, workload not stated")
    draw_panels(results, axes, "topics", "topics")


def draw_by_size(results: Results, axes: list[Any]) -> None:
    """Draw Figure 8."""
    draw_panels(results.where(workload=WORKLOADS), axes, "middle", "middle of the subscription sizes")


def topics_claims(results: Results, claims: Claims) -> None:
    """Compare with section IX-F."""
    order_claim(results, claims, "topics")
    held: dict[str, float] = {}
    for name in WORKLOADS:
        for design in ORDER:
            points = results.where(workload=name, design=design).by("topics", "support")
            held |= falls(points, label=f"{TITLES[design]}, {NAMES[name]}", slack=0.01)
    gpm = {name: results.where(workload=name, design="gpm").by("topics", "support") for name in WORKLOADS}
    text = "; ".join(f"{NAMES[name]} {describe_change(points)}" for name, points in gpm.items())
    claims.check(
        "falls-with-topics", "Support of all designs falls as topics are added", paper="falls",
        ours=f"GPM: {text}", held=held,
        reason="Under Zipf the curves of GPM, SpiderCastM and RandomM change by about as much as the seeds "
        "differ.",
    )  # fmt: skip
    first, last = min(gpm["expo"]), max(gpm["expo"])
    start, end = (Spread.of(gpm["expo"][topics]).mean for topics in (first, last))
    claims.check(
        "gpm-falls", "GPM's support falls from 0.653 to 0.244 from 1,000 to 10,000 topics",
        paper="0.653 to 0.244 (± 0.1 or 25 %; the workload is not stated)", ours=text,
        held=roughly(start, 0.653, share=True, label="exponential, first:")
        | roughly(end, 0.244, share=True, label="exponential, last:"),
        reason=f"Exponential popularity comes nearest. {UNSTATED}",
    )  # fmt: skip
    drop = {
        name: Spread.of(points[first]).mean - Spread.of(points[last]).mean for name, points in gpm.items()
    }
    claims.check(
        "zipf-insensitive", "Under Zipf, GPM's support falls by only 0.0039 from 1,000 to 10,000 topics",
        paper="0.0039, less than under the others (we take up to 0.05)",
        ours=", ".join(f"{NAMES[name]} {value:.4f}" for name, value in drop.items()),
        held={"least under Zipf": drop["zipf"] < min(drop["expo"], drop["unif"])}
        | at_most(drop["zipf"], 0.05, label="Zipf:"),
        reason=UNSTATED,
    )  # fmt: skip
    pareto_claim(
        results, claims, "topics",
        reason="With more topics both fall under exponential popularity. The paper's own GPM, at 0.653 "
        "and 0.244 under a workload that it does not name, is below 0.8 too.",
    )  # fmt: skip
    gap_claim(results, claims, "topics", (0.267, 0.22, 0.147))
    budget_claim(
        results, claims,
        reason="The maximum degree of MinMax-ODA grows several-fold with the number of topics, so that one d "
        "is not 20 % of it everywhere; it is nearest at 1,000 topics.",
    )  # fmt: skip


def size_cell(case: Case) -> list[Row]:
    """Measure all designs for sizes from `low` to `low` + 80; in workload `all`, nodes take every topic."""
    import meshwright as mw

    low, nodes = case["low"], case["nodes"]
    if case["workload"] == "all":
        interest = mw.workloads.unif(nodes, low, size=low, seed=case.seed)
    else:
        interest = synthetic(case["workload"], nodes, 1000, low, low + 80, seed=case.seed)
    return [
        {"middle": low + 40, "d": 4, "exponent": EXPONENT, **row}
        for row in under_budget(interest, 2 * nodes, 4, case.seed)
    ]


def size_claims(results: Results, claims: Claims) -> None:
    """Compare with section IX-G."""
    main = results.where(workload=WORKLOADS)
    order_claim(main, claims, "middle")
    held: dict[str, float] = {}
    text = []
    for name in WORKLOADS:
        for design in ORDER:
            points = means(main.where(workload=name, design=design), "middle")
            change = points[max(points)] - points[min(points)]
            complete = points[max(points)] == points[min(points)] == 1
            falling = name == "zipf"
            held[f"{TITLES[design]}, {NAMES[name]}: {change:+.3f}"] = complete or (change < 0) == falling
            if design == "gpm":
                text.append(f"{NAMES[name]} {points[min(points)]:.3f} to {points[max(points)]:.3f}")
    claims.check(
        "size",
        "Larger subscriptions raise support under exponential and uniform popularity, and lower it under "
        "Zipf",
        paper="rises, rises, falls", ours=f"GPM: {'; '.join(text)}", held=held,
        reason="Under Zipf, GPA and GPM fall as stated, but designs that choose without looking at all "
        "pairs gain from larger subscriptions.",
    )  # fmt: skip
    held, text = {}, []
    for name in WORKLOADS:
        gap = gaps(main.where(workload=name), "gpa", "randomm", "middle")
        held |= {f"GPA and RandomM, {NAMES[name]}, " + key: value for key, value in falls(gap).items()}
        text.append(f"{NAMES[name]} {describe_change(gap)}")
    claims.check(
        "gaps-shrink", "The gaps between the designs shrink as subscriptions grow", paper="shrink",
        ours=f"GPA less RandomM: {'; '.join(text)}", held=held,
        reason="Under Zipf, random pairs share popular topics at any size; larger sizes add rare ones.",
    )  # fmt: skip
    every = results.where(workload="all", design=ORDER)
    spread = every.spread("support")
    claims.check(
        "all-equal", "If every node takes every topic, all designs converge to the same support",
        paper="the same", ours=", ".join(
            f"{TITLES[name]} {every.where(design=name).spread('support')}" for name in ORDER
        ),
        held=near(spread.low, spread.high, tolerance=0.01, loose=0.1, label="lowest"),
        reason="SpiderCastM's nodes all pick the same neighbours first, and its pieces need not meet.",
    )  # fmt: skip
    budget_claim(main, claims)


def _by_topics(nodes: int, topics: tuple[int, ...], seeds: int) -> tuple[Case, ...]:
    shape: dict[str, Any] = {"workload": WORKLOADS, "nodes": nodes, **RANGE, "d": 3, "exponent": EXPONENT}
    return grid(seeds=seeds, **shape, topics=topics)


def _by_size(nodes: int, lows: tuple[int, ...], seeds: int) -> tuple[Case, ...]:
    return grid(seeds=seeds, workload=WORKLOADS, nodes=nodes, low=lows) + grid(
        seeds=seeds, workload="all", nodes=500, low=100
    )


BY_TOPICS = Figure(
    "fig7",
    "Support by topics: d = 3, m = 3|V| / 2",
    "Support falls with the number of topics: GPM's from 0.653 to 0.244, but by 0.0039 only under Zipf.",
    draw_by_topics,
    topics_claims,
    budget_cell,
    quick=_by_topics(1000, (1000, 4000, 10000), seeds=2),
    full=_by_topics(2000, tuple(range(1000, 10001, 1000)), seeds=5),
    panels=3,
    weight=weight,
    note=f"2,000 nodes with --full, as in the paper; otherwise 1,000. {SIZES}",
)
BY_SIZE = Figure(
    "fig8",
    "Support by subscription size: d = 4, m = 2|V|",
    "With larger subscriptions, support rises under exponential and uniform popularity and falls under Zipf; "
    "the designs come closer to each other.",
    draw_by_size,
    size_claims,
    size_cell,
    quick=_by_size(1000, (10, 40, 70, 100), seeds=2),
    full=_by_size(2000, tuple(range(10, 101, 10)), seeds=5),
    panels=3,
    weight=weight,
    note="1,000 topics; 2,000 nodes with --full, as in the paper, otherwise 1,000. Sizes n to n + 80 by a "
    f"power law with exponent {EXPONENT:g}.",
)
