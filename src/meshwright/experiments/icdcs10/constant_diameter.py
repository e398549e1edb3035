"""icdcs10, section VI: overlays in which every topic has diameter 2 (Figure 5, Lemma 7)."""

from __future__ import annotations

from typing import Any

import meshwright as mw
from meshwright.experiments.checks import Claims, at_most, describe_change, falls, near
from meshwright.experiments.icdcs10.low_degree import build, certified, degrees
from meshwright.experiments.paper import Case, Figure, grid
from meshwright.experiments.plots import curve, finish
from meshwright.experiments.results import Results, Row, Spread, ratios

TITLES = {
    "gm": "GM",
    "cd": "CD-ODA",
    "cd1": "CD-ODA-I",
    "cd2": "CD-ODA-II",
    "cdmax": "ours: CD-Max, diameter 2",
    "ours-best-edges": "ours: best, any diameter",
}
EXACTLY = ", exactly"
"""Ends the name of a design on the workload in which every node takes exactly s topics."""
STARS = ("cd", "cd1", "cd2")
PAPERS = ("gm", *STARS)


def star_cell(case: Case) -> list[Row]:
    """Measure one design where every node takes every topic independently, or exactly `size` topics."""
    design = case["design"].removesuffix(EXACTLY)
    independent = design == case["design"]
    interest = mw.workloads.unif(100, 100, size=case["size"], independent=independent, seed=case.seed)
    plan = build(interest, design)
    limits = certified(interest) if design == "ours-best-edges" else {}
    return [{**degrees(plan), **limits, "max_diameter": mw.measure.diameters(plan.overlay).maximum}]


def draw_stars(results: Results, axes: list[Any]) -> None:
    """Draw the average degree by subscription size, and the maximum degree."""
    for panel, column, name, ours in (
        (axes[0], "average_degree", "average degree", "ours-best-edges"),
        (axes[1], "max_degree", "maximum degree", "cdmax"),
    ):
        for design in (*PAPERS, ours):
            own = results.where(design=design)
            curve(panel, own, "size", column, label=TITLES[design], ours=design == ours)
        curve(panel, results, "size", f"{column}_bound", label="ours: certified bound", ours=True)
        finish(panel, name.capitalize(), "topics per node", name, ylim=(0, None))


def _over(results: Results, design: str, other: str) -> dict[int, list[float]]:
    """Return the ratio of the links of two designs by size, seed by seed."""
    return ratios(*(results.where(design=name).by("size", "edges") for name in (design, other)))


def star_claims(results: Results, claims: Claims) -> None:
    """Compare with section VI-D."""
    held: dict[str, float] = {}
    for design in PAPERS:
        held |= falls(results.where(design=design).by("size", "average_degree"), label=TITLES[design])
    claims.check(
        "falls-with-size", "The average degree falls as nodes take more topics, for GM and all CD-ODAs",
        paper="falls", held=held,
        reason="From 10 to 20 topics per node, stars grow in size faster than they fall in number.",
        ours=f"GM {describe_change(results.where(design='gm').by('size', 'average_degree'))}; "
        f"CD-ODA-II {describe_change(results.where(design='cd2').by('size', 'average_degree'))}",
    )  # fmt: skip
    drawn = _over(results, f"cd2{EXACTLY}", f"gm{EXACTLY}")
    exactly = max(Spread.of(values).mean for values in drawn.values())
    for design, limit in (("cd", 2.3), ("cd2", 1.8)):
        means = {size: Spread.of(values).mean for size, values in _over(results, design, "gm").items()}
        largest = max(means, key=lambda size: means[size])
        claims.check(
            f"{design}-at-most", f"{TITLES[design]} needs at most {limit} times GM's links",
            paper=f"at most {limit} ×",
            ours=f"{means[largest]:.2f} × at most, at s = {largest}; {_mean(means):.2f} × on average",
            held=at_most(means[largest], limit, label="largest mean ratio"),
            reason="The paper does not say how nodes take topics. With exactly s topics, CD-ODA-II needs "
            f"up to {exactly:.2f} times GM's links.",
        )  # fmt: skip
    for other, saving, tolerance, loose in (("cd", 0.20, 0.25, 0.5), ("cd1", 0.01, 0.5, 1.5)):
        saved = {size: 1 - Spread.of(values).mean for size, values in _over(results, "cd2", other).items()}
        average = _mean(saved)
        sizes = f"{saved[min(saved)]:.1%} at s = {min(saved)}, {saved[max(saved)]:.1%} at s = {max(saved)}"
        claims.check(
            f"below-{other}", f"CD-ODA-II has {saving:.0%} fewer links than {TITLES[other]} on average",
            paper=f"{saving:.0%} (± {tolerance * saving:.1%})", ours=f"{average:.1%}: {sizes}",
            held=near(average, saving, tolerance=tolerance, loose=loose, label="share saved"),
            reason="The average depends on which sizes it is taken over.",
        )  # fmt: skip
    diameters = {design: results.where(design=design).spread("max_diameter") for design in PAPERS}
    claims.check(
        "diameter", "The diameter of every topic is 2 for all CD-ODAs, and more for GM (Lemma 7)",
        paper="2; GM Θ(n)", ours=f"{diameters['cd2']}; GM {diameters['gm']}",
        held={TITLES[design]: diameters[design].high <= 2 for design in STARS}
        | {"GM": diameters["gm"].low > 2},
    )  # fmt: skip


def _mean(values: dict[int, float]) -> float:
    return Spread.of(values.values()).mean


def _cases(seeds: int) -> tuple[Case, ...]:
    designs = (*TITLES, f"gm{EXACTLY}", f"cd2{EXACTLY}")
    return grid(seeds=seeds, design=designs, size=(10, 20, 30, 40, 50))


DIAMETER_2 = Figure(
    "fig5",
    "Average degree of overlays of diameter 2",
    "The average degree falls as nodes take more topics. CD-ODA needs at most 2.3 times GM's links, and "
    "CD-ODA-II at most 1.8 times, on average 20 % fewer than CD-ODA and 1 % fewer than CD-ODA-I. The "
    "diameter is always 2.",
    draw_stars,
    star_claims,
    star_cell,
    quick=_cases(5),
    full=_cases(30),
    panels=2,
    version=2,
    weight=lambda _: 0.02,
    note="100 nodes and 100 topics; every node takes every topic independently with probability s / 100, "
    "which the paper does not state and which is nearer to its numbers than exactly s topics per node.",
)
