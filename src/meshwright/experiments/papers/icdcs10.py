"""icdcs10: MinMax-ODA, Low-ODA and overlays of constant diameter (Onus, Richa; ICDCS 2010).

Sections I and V: degrees of GM, MinMax-ODA and Low-ODA (Figures 1 to 4), and Lemma 1. Section VI: overlays in
which every topic has diameter 2 (Figure 5, Lemma 7).
"""

from __future__ import annotations

import math
from functools import partial
from statistics import fmean
from typing import Any

import meshwright as mw
from meshwright.experiments.checks import Claims, at_most, below, describe_change, every, falls, near, rises
from meshwright.experiments.paper import BEST_STEPS, Case, Figure, Paper, grid
from meshwright.experiments.plots import curve, finish, level
from meshwright.experiments.results import Results, Row, Spread, ratios


def build(interest: mw.Interest, name: str, *, k: float = 3, seed: int = 0) -> mw.Plan:
    """Build a design of the paper to the letter, or one of ours by the name `ours-…`.

    MinMax-ODA takes useless pairs too while they do not raise the maximum degree. Low-ODA(k) takes the edge
    that spares the degree only if it weighs more than the k-th part of the best, as section III says.
    """
    if name == "minmax":
        return mw.design(interest, "minmax", literal=True)
    if name == "low":
        return mw.design(interest, "low", k=k, strict=True)
    if name == "ours-low":
        return mw.design(interest, "low", k=k)
    if name == "ours-minmax":
        return mw.design(interest, "minmax")
    if name.startswith("ours-best-"):
        objective = name.removeprefix("ours-best-")
        return mw.design(interest, "best", objective=objective, steps=BEST_STEPS, seed=seed)
    return mw.design(interest, name)


def certified(interest: mw.Interest) -> Row:
    """Return lower limits on the average and the maximum degree of any overlay, from the bound on links."""
    average = 2 * mw.bounds.prices(interest).bound / interest.num_nodes
    return {"average_degree_bound": average, "max_degree_bound": math.ceil(average)}


def degrees(plan: mw.Plan) -> Row:
    """Return the figures that the paper plots."""
    return {name: plan.figures[name] for name in ("edges", "average_degree", "max_degree")}


TITLES = {
    "gm": "GM",
    "minmax": "MinMax-ODA",
    "low": "Low-ODA",
    "ours-minmax": "MinMax-ODA, useful links only",
    "ours-low": "ours: Low-ODA, ties spare the degree",
    "ours-best-degree": "ours: best, by degree",
    "ours-best-balanced": "ours: best, balanced",
    "cd": "CD-ODA",
    "cd1": "CD-ODA-I",
    "cd2": "CD-ODA-II",
    "cdmax": "ours: CD-Max, diameter 2",
    "ours-best-edges": "ours: best, any diameter",
}
PAPERS = ("gm", "low", "minmax")
COLUMNS = {"max_degree": "maximum degree", "average_degree": "average degree"}


def degree_cell(case: Case) -> list[Row]:
    """Measure one design on a Zipf workload with 100 topics, 10 per node."""
    interest = mw.workloads.zipf(case["nodes"], 100, size=10, alpha=0.5, seed=case.seed)
    row = degrees(build(interest, case["design"], k=case["k"], seed=case.seed))
    return [row | certified(interest) if case["design"].startswith("ours-best") else row]


def draw_by_nodes(results: Results, axes: list[Any], *, column: str) -> None:
    """Draw one curve per design."""
    for design in results.values("design"):
        own = results.where(design=design)
        curve(axes[0], own, "nodes", column, label=TITLES[design], ours=design not in PAPERS)
    curve(axes[0], results, "nodes", f"{column}_bound", label="ours: certified bound", ours=True)
    finish(axes[0], f"{COLUMNS[column].capitalize()} by nodes", "nodes", COLUMNS[column])


def nodes_claims(results: Results, claims: Claims, *, column: str) -> None:
    """Compare with Figures 1 and 2: Low-ODA lies between the others."""
    gm, low, minmax = (results.where(design=design).by("nodes", column) for design in PAPERS)
    lowest, highest = (minmax, gm) if column == "max_degree" else (gm, minmax)
    names = ("MinMax-ODA", "GM") if column == "max_degree" else ("GM", "MinMax-ODA")
    last = max(low)
    claims.check(
        "between", f"Low-ODA lies between GM and MinMax-ODA in {COLUMNS[column]}",
        paper=f"{names[0]} < Low-ODA < {names[1]}",
        ours=f"at {last} nodes {Spread.of(lowest[last])}, {Spread.of(low[last])}, {Spread.of(highest[last])}",
        held=below(lowest, low, label=f"above {names[0]}") | below(low, highest, label=f"below {names[1]}"),
        reason=f"Low-ODA is as good as {names[0]} there, or better by less than one link.",
    )  # fmt: skip
    better, mean = ratios(low, highest), Spread.over(ratios(low, lowest))
    claims.check(
        "better", f"Low-ODA has a better {COLUMNS[column]} than {names[1]}", paper="better",
        ours=f"{describe_change(better)} × {names[1]}'s", held=below(low, highest, label=f"below {names[1]}"),
    )  # fmt: skip
    claims.check(
        "small-price", f"Low-ODA's {COLUMNS[column]} is only a small degradation of {names[0]}'s",
        paper="small (at most 1.5 ×)", ours=f"{mean} × {names[0]}'s",
        held=at_most(mean.mean, 1.5, loose=1 / 3, label="mean ratio"),
        reason="The paper gives no number; we take half more as small, and twice as much as partly small.",
    )  # fmt: skip


def theorem_claims(results: Results, claims: Claims) -> None:
    """Compare with Figure 2, and with Theorem 1: at most k·ln Σ|T(v)| times the fewest links."""
    nodes_claims(results, claims, column="average_degree")
    low = results.where(design="low").by("nodes", "average_degree")
    bound = results.by("nodes", "average_degree_bound")
    found = {nodes: fmean(low[nodes]) / fmean(values) for nodes, values in bound.items() if values}
    limits = {nodes: 3 * math.log(10 * nodes) for nodes in found}
    claims.check(
        "theorem-1", "Low-ODA uses at most k·ln Σ|T(v)| times the fewest links (Theorem 1)",
        paper=f"at most {min(limits.values()):.3g} ×",
        ours=f"{Spread.of(found.values())} × a certified bound on the fewest links",
        held={f"{nodes} nodes: {ratio:.2f} ×": ratio <= limits[nodes] for nodes, ratio in found.items()},
    )  # fmt: skip


def draw_by_k(results: Results, axes: list[Any], *, column: str) -> None:
    """Draw Low-ODA by k, with GM and MinMax-ODA as levels."""
    curve(axes[0], results.where(design="low"), "k", column, label="Low-ODA, strict")
    for number, design in enumerate(("gm", "minmax", "ours-minmax"), start=1):
        level(axes[0], results.where(design=design).mean(column), label=TITLES[design], number=number)
    curve(axes[0], results.where(design="ours-low"), "k", column, label=TITLES["ours-low"], ours=True)
    best = "ours-best-degree" if column == "max_degree" else "ours-best-balanced"
    level(axes[0], results.where(design=best).mean(column), label=TITLES[best], ours=True)
    level(axes[0], results.mean(f"{column}_bound"), label="ours: certified bound", ours=True)
    finish(axes[0], f"{COLUMNS[column].capitalize()} by k, 100 nodes", "k", COLUMNS[column])


def k_claims(results: Results, claims: Claims, *, column: str) -> None:
    """Compare with Figures 3 and 4."""
    low = results.where(design="low").by("k", column)
    gm, minmax, useful = (
        results.where(design=design).spread(column) for design in ("gm", "minmax", "ours-minmax")
    )
    falling = column == "max_degree"
    first, last = Spread.of(low[min(low)]), Spread.of(low[max(low)])
    claims.check(
        "falls-with-k" if falling else "rises-with-k",
        f"The {COLUMNS[column]} {'falls' if falling else 'rises'} as k grows",
        paper="falls" if falling else "rises",
        ours=f"{describe_change(low)}; with ties sparing the degree "
        f"{describe_change(results.where(design='ours-low').by('k', column))}",
        held=(falls if falling else rises)(low, slack=0.02),
        reason="Single steps between neighbouring k are within the spread of the seeds.",
    )  # fmt: skip
    claims.check(
        "k-1-is-gm", f"At k = 1, Low-ODA behaves basically as GM in {COLUMNS[column]}", paper="as GM (± 5 %)",
        ours=f"{first} against GM's {gm}", held=near(first.mean, gm.mean, tolerance=0.05, label="k = 1:"),
        reason="With ≥ in place of >, ties spare the degree, and k = 1 is not GM.",
    )  # fmt: skip
    claims.check(
        "k-8-is-minmax", f"At k = 8, Low-ODA behaves basically as MinMax-ODA in {COLUMNS[column]}",
        paper="as MinMax-ODA", ours=f"{last} against MinMax-ODA's {useful}, {minmax} to the letter",
        held=near(last.mean, useful.mean, label="k = 8:"),
    )  # fmt: skip


def _grid_by_nodes(nodes: tuple[int, ...], seeds: int) -> tuple[Case, ...]:
    return grid(seeds=seeds, design=PAPERS, nodes=nodes, k=3) + grid(
        seeds=seeds, design=("ours-best-degree", "ours-best-balanced"), nodes=nodes[::2], k=3
    )


def _grid_by_k(seeds: int) -> tuple[Case, ...]:
    return (
        grid(seeds=seeds, design=("low", "ours-low"), nodes=100, k=tuple(range(1, 9)))
        + grid(seeds=seeds, design=("gm", "minmax", "ours-minmax"), nodes=100, k=0)
        + grid(seeds=min(seeds, 10), design=("ours-best-degree", "ours-best-balanced"), nodes=100, k=0)
    )


SETTING = "100 topics, exactly 10 per node, Zipf with exponent 0.5."
MAXIMUM_BY_NODES = Figure(
    "fig1",
    "Maximum degree of GM, MinMax-ODA and Low-ODA",
    "Low-ODA takes values between GM and MinMax-ODA, at k = 3.",
    partial(draw_by_nodes, column="max_degree"),
    partial(nodes_claims, column="max_degree"),
    degree_cell,
    quick=_grid_by_nodes((100, 200, 400, 700, 1000), seeds=3),
    full=_grid_by_nodes(tuple(range(100, 1001, 100)), seeds=10),
    version=2,
    weight=lambda case: case["nodes"] / (2000 if case["design"].startswith("ours-best") else 20000),
    note=SETTING,
)
AVERAGE_BY_NODES = Figure(
    "fig2",
    "Average degree of GM, MinMax-ODA and Low-ODA",
    "Low-ODA takes values between GM and MinMax-ODA, at k = 3.",
    partial(draw_by_nodes, column="average_degree"),
    theorem_claims,
    table="fig1",
    note=SETTING,
)
MAXIMUM_BY_K = Figure(
    "fig3",
    "Maximum degree of Low-ODA by its parameter k",
    "The maximum degree falls as k grows: at k = 1 Low-ODA behaves as GM, at k = 8 as MinMax-ODA.",
    partial(draw_by_k, column="max_degree"),
    partial(k_claims, column="max_degree"),
    degree_cell,
    quick=_grid_by_k(seeds=20),
    full=_grid_by_k(seeds=50),
    version=2,
    weight=lambda _: 0.01,
    note=f"{SETTING} Section III takes the sparing edge if it weighs more than the k-th part of the best, "
    "the pseudo-code also if it weighs as much. The figure follows the text; our default is the second.",
)
AVERAGE_BY_K = Figure(
    "fig4",
    "Average degree of Low-ODA by its parameter k",
    "The average degree rises as k grows.",
    partial(draw_by_k, column="average_degree"),
    partial(k_claims, column="average_degree"),
    table="fig3",
    note=f"{SETTING} Low-ODA never takes a link without use, so we compare k = 8 with a MinMax-ODA that "
    "takes none either; to the letter, MinMax-ODA takes them while they do not raise the maximum degree.",
)


def lemma1_cell(case: Case) -> list[Row]:
    """Count the links of GM and of both variants of MinMax-ODA."""
    n = case["n"]
    interest = mw.workloads.lemma1(n)
    links = {
        name: len(build(interest, design).overlay)
        for name, design in (("literal", "minmax"), ("sensible", "ours-minmax"), ("gm", "gm"))
    }
    return [{**links, "bound": mw.bounds.prices(interest).bound, "paper": n * (n - 2) // 2}]


def draw_lemma1(results: Results, axes: list[Any]) -> None:
    """Draw the links by n."""
    curve(axes[0], results, "n", "paper", label="paper: n(n − 2)/2")
    curve(axes[0], results, "n", "literal", label="MinMax-ODA, to the letter")
    curve(axes[0], results, "n", "gm", label="GM")
    curve(axes[0], results, "n", "sensible", label="ours: MinMax-ODA, useful links only", ours=True)
    curve(axes[0], results, "n", "bound", label="ours: certified bound", ours=True)
    finish(axes[0], "Links by nodes", "n", "links", ylim=(0, None))


def lemma1_claims(results: Results, claims: Claims) -> None:
    """Compare with Lemma 1."""
    literal = results.by("n", "literal")
    held = every(
        near(row["literal"], row["paper"], tolerance=0.05, label=f"n = {row['n']}: links")
        for row in results.rows
    )
    claims.check(
        "matchings", "MinMax-ODA makes n(n − 2)/2 links, by n − 2 maximal matchings",
        paper=", ".join(f"{row['paper']}" for row in results.rows) + " (± 5 %)",
        ours=", ".join(f"{row['literal']}" for row in results.rows) + " to the letter, "
        + ", ".join(f"{row['sensible']}" for row in results.rows) + " with useful links only", held=held,
        reason="Ties between matchings decide how soon every topic is connected.",
    )  # fmt: skip
    held = {f"n = {row['n']}": row["gm"] == row["bound"] == row["n"] - 1 for row in results.rows}
    claims.check(
        "star", "The optimum is the star around v1, n − 1 links", paper="n − 1", held=held,
        ours=f"GM's and the certified bound in {sum(held.values())} of {len(held)} cases",
    )  # fmt: skip
    found = {n: [links / (n - 1) for links in values] for n, values in literal.items()}
    claims.check(
        "linear-ratio", "The ratio to the optimum grows with n", paper="n(n − 2)/2 : (n − 1)",
        ours=describe_change(found), held=rises(found),
    )  # fmt: skip


LEMMA_1 = Figure(
    "lemma1",
    "Links of MinMax-ODA on the interest of Lemma 1",
    "MinMax-ODA makes n(n − 2)/2 links where a star of n − 1 links is enough: its average degree can be Θ(n) "
    "times the optimum.",
    draw_lemma1,
    lemma1_claims,
    lemma1_cell,
    quick=grid(seeds=1, n=(6, 8, 10, 12)),
    full=grid(seeds=1, n=(6, 8, 10, 12, 14, 16, 20)),
    weight=lambda _: 0.05,
    note="To the letter, MinMax-ODA also takes links that connect nothing new while they do not raise the "
    "maximum degree. Our default leaves them out.",
)


EXACTLY = ", exactly"
"""Ends the name of a design on the workload in which every node takes exactly s topics."""
STARS = ("cd", "cd1", "cd2")
GM_AND_STARS = ("gm", *STARS)


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
        for design in (*GM_AND_STARS, ours):
            own = results.where(design=design)
            curve(panel, own, "size", column, label=TITLES[design], ours=design == ours)
        curve(panel, results, "size", f"{column}_bound", label="ours: certified bound", ours=True)
        finish(panel, name.capitalize(), "topics per node", name, ylim=(0, None))


def _over(results: Results, design: str, other: str) -> dict[int, list[float]]:
    """Return the ratio of the links of two designs by size, seed by seed."""
    return ratios(*(results.where(design=name).by("size", "edges") for name in (design, other)))


def star_claims(results: Results, claims: Claims) -> None:
    """Compare with section VI-D."""
    curves = {name: results.where(design=name).by("size", "average_degree") for name in GM_AND_STARS}
    claims.check(
        "falls-with-size", "The average degree falls as nodes take more topics, for GM and all CD-ODAs",
        paper="falls", held=every(falls(curves[name], label=TITLES[name]) for name in GM_AND_STARS),
        reason="From 10 to 20 topics per node, stars grow in size faster than they fall in number.",
        ours=f"GM {describe_change(curves['gm'])}; CD-ODA-II {describe_change(curves['cd2'])}",
    )  # fmt: skip
    exactly = max(fmean(values) for values in _over(results, f"cd2{EXACTLY}", f"gm{EXACTLY}").values())
    for design, limit in (("cd", 2.3), ("cd2", 1.8)):
        means = {size: fmean(values) for size, values in _over(results, design, "gm").items()}
        largest = max(means, key=lambda size: means[size])
        claims.check(
            f"{design}-at-most", f"{TITLES[design]} needs at most {limit} times GM's links",
            paper=f"at most {limit} ×",
            ours=f"{means[largest]:.2f} × at most, at s = {largest}; "
            f"{fmean(means.values()):.2f} × on average",
            held=at_most(means[largest], limit, label="largest mean ratio"),
            reason="The paper does not say how nodes take topics. With exactly s topics, CD-ODA-II needs "
            f"up to {exactly:.2f} times GM's links.",
        )  # fmt: skip
    for other, saving, tolerance, loose in (("cd", 0.20, 0.25, 0.5), ("cd1", 0.01, 0.5, 1.5)):
        saved = {size: 1 - fmean(values) for size, values in _over(results, "cd2", other).items()}
        average = fmean(saved.values())
        sizes = f"{saved[min(saved)]:.1%} at s = {min(saved)}, {saved[max(saved)]:.1%} at s = {max(saved)}"
        claims.check(
            f"below-{other}", f"CD-ODA-II has {saving:.0%} fewer links than {TITLES[other]} on average",
            paper=f"{saving:.0%} (± {tolerance * saving:.1%})", ours=f"{average:.1%}: {sizes}",
            held=near(average, saving, tolerance=tolerance, loose=loose, label="share saved"),
            reason="The average depends on which sizes it is taken over.",
        )  # fmt: skip
    diameters = {design: results.where(design=design).spread("max_diameter") for design in GM_AND_STARS}
    claims.check(
        "diameter", "The diameter of every topic is 2 for all CD-ODAs, and more for GM (Lemma 7)",
        paper="2; GM Θ(n)", ours=f"{diameters['cd2']}; GM {diameters['gm']}",
        held={TITLES[design]: diameters[design].high <= 2 for design in STARS}
        | {"GM": diameters["gm"].low > 2},
    )  # fmt: skip


def _star_cases(seeds: int) -> tuple[Case, ...]:
    designs = (*GM_AND_STARS, "cdmax", "ours-best-edges", f"gm{EXACTLY}", f"cd2{EXACTLY}")
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
    quick=_star_cases(5),
    full=_star_cases(30),
    panels=2,
    version=2,
    weight=lambda _: 0.02,
    note="100 nodes and 100 topics; every node takes every topic independently with probability s / 100, "
    "which the paper does not state and which is nearer to its numbers than exactly s topics per node.",
)

PAPER = Paper(
    "icdcs10",
    "Parameterized Maximum and Average Degree Approximation in Topic-based Publish-Subscribe Overlay Network "
    "Design",
    "Onus, Richa (ICDCS 2010)",
    (LEMMA_1, MAXIMUM_BY_NODES, AVERAGE_BY_NODES, MAXIMUM_BY_K, AVERAGE_BY_K, DIAMETER_2),
)
