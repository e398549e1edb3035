"""`meshwright compare`: several designs of the same interest, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import (
    Certify,
    Costs,
    CoverageGreedy,
    CoverageRandom,
    Json,
    K,
    MaxDegree,
    MaxEdges,
    Metric,
    Objective,
    Rounds,
    Seconds,
    Seed,
    ShowProgress,
    Source,
    Steps,
    Threads,
    TimeLimit,
)

if TYPE_CHECKING:
    from meshwright.designs import Plan

EXAMPLES = (
    "meshwright compare subscriptions.csv --chart comparison.png",
    "meshwright compare dataset --algorithms gm,low,gpm --k 5 --max-degree 8",
)


def compare(
    source: Source,
    *,
    algorithms: Annotated[
        str, typer.Option("--algorithms", metavar="A,B,C", help="Designs, separated by commas.")
    ] = "gm,low,minmax,ring",
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw degrees and support: a .png, .svg or .pdf file."),
    ] = None,
    k: K = None,
    rounds: Rounds = None,
    max_edges: MaxEdges = None,
    max_degree: MaxDegree = None,
    coverage_greedy: CoverageGreedy = None,
    coverage_random: CoverageRandom = None,
    objective: Objective = None,
    time_limit: TimeLimit = None,
    seconds: Seconds = None,
    steps: Steps = None,
    costs: Costs = None,
    metric: Metric = False,
    certify: Certify = False,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Design by several algorithms and show them side by side.

    Each algorithm gets the parameters that it takes. With --costs the table shows the total cost of each
    design, with --certify the largest possible excess over the fewest links.
    """
    from meshwright.cli import output
    from meshwright.cli.plans import design_runs
    from meshwright.report import comparison, degree_and_support
    from meshwright.report.sheet import check_chart

    names = design_runs.split_algorithms(algorithms)
    given = {
        "k": k,
        "rounds": rounds,
        "max_edges": max_edges,
        "max_degree": max_degree,
        "coverage_greedy": coverage_greedy,
        "coverage_random": coverage_random,
        "objective": objective,
        "time_limit": time_limit,
        "seconds": seconds,
        "steps": steps,
    }
    design_runs.check_parameters(names, given)
    if chart is not None:
        check_chart(chart)
    interest = design_runs.load(source)
    link_costs = design_runs.load_costs(costs, interest, metric=metric)
    plans: list[Plan] = []
    for name in names:
        made = design_runs.make(
            interest, name, design_runs.used_parameters(name, given), seed=seed, threads=threads,
            progress=progress, costs=link_costs, certify=certify, prices=plans[0].prices if plans else None,
        )  # fmt: skip
        plans.append(made)
    title = f"{source}: {design_runs.format_size(interest)}"
    if chart is not None:
        degree_and_support(plans, chart, title=title)
    if json:
        described = [design_runs.described(plan) for plan in plans]
        output.answer_json({"source": source, "plans": described, "chart": chart and str(chart)})
    else:
        output.answer(title, comparison(plans), *([] if chart is None else [f"chart: {chart}"]))
