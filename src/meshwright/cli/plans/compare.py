"""`meshwright compare` and `meshwright advise`: designs side by side, and the one that fits."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.design_options import DesignParameters
from meshwright.cli.options import (
    Costs,
    FileColumns,
    Force,
    Json,
    Metric,
    ReportFile,
    Seed,
    ShowProgress,
    Source,
    Threads,
    Topics,
)

COMPARE_EXAMPLES = (
    "meshwright compare subscriptions.csv --chart comparison.png",
    "meshwright compare dataset --algorithms gm,low,gpm --k 5 --max-degree 8",
    "meshwright compare dataset --algorithms gpa,gpm,spidercastm,randomm --ratio 0.2",
)

ADVISE_EXAMPLES = (
    "meshwright advise subscriptions.csv --chart advice.png",
    "meshwright advise subscriptions.csv --max-degree 8 --out plan --report advice.html",
    "meshwright advise dataset --resilient",
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
    parameters: DesignParameters,
    costs: Costs = None,
    metric: Metric = False,
    certify: Annotated[
        bool | None,
        typer.Option(
            "--certify/--no-certify",
            help="Prove a lower bound on links; by default if there are at most 50,000 subscriptions.",
            show_default=False,
        ),
    ] = None,
    columns: FileColumns,
    topics: Topics,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Design by several algorithms and show them side by side.

    Each algorithm gets the parameters that it takes; --ratio gives each a budget from one and the same run of
    the literal MinMax-ODA. With --costs the table shows the total cost of each
    design; "above the fewest" is the largest possible excess over the fewest links, proven by prices, and for
    designs that keep degrees low over the fewest links at the same maximum degree.
    """
    from meshwright.actions import sources
    from meshwright.actions.compare import compare_designs
    from meshwright.actions.plan import DesignChoice
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.report import comparison, refuting_lines

    read = sources.Source(source, columns.resolved(), topics)
    choice = DesignChoice(parameters=parameters, seed=seed, threads=threads)
    with ProgressBar(forced=progress, goal=parameters.get("max_edges")) as bar:
        made = compare_designs(
            read, algorithms, choice, certify=certify, costs=costs, metric=metric, chart=chart, progress=bar
        )
    plans, drawn = made.comparison.plans, [] if chart is None else [f"chart: {chart}"]
    lines = [*refuting_lines(plans), *made.source.lines, *drawn]
    output.show(made, made.source.size, comparison(plans), *lines, json=json)


def advise(
    source: Source,
    *,
    max_degree: Annotated[
        int | None,
        typer.Option("--max-degree", metavar="D", min=1, help="Maximum number of links of a broker."),
    ] = None,
    max_edges: Annotated[
        int | None, typer.Option("--max-edges", metavar="M", min=1, help="Maximum number of links in total.")
    ] = None,
    resilient: Annotated[
        bool, typer.Option("--resilient", help="Topics must stay connected when any single broker fails.")
    ] = False,
    diameter: Annotated[
        int | None,
        typer.Option(
            "--diameter",
            metavar="D",
            min=1,
            help="Maximum number of hops between two subscribers of a topic, through subscribers of it.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="PLAN", help="Write the chosen plan to this folder.")
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw links against degree: a .png, .svg or .pdf file."),
    ] = None,
    report: ReportFile = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="S",
            min=0,
            help="Seconds for each search, and once more for all proofs; 20 by default.",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            min=0,
            help="Or steps for each search, the same on every machine; proofs take what they need.",
        ),
    ] = None,
    columns: FileColumns,
    topics: Topics,
    force: Force = False,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Try the designs that fit, and say which one to take and why.

    With --out the chosen plan has its page, report.html, in its folder; --report writes it elsewhere.

    Every figure of the table is measured; "spare links" counts the links that could each be removed alone.
    The exit code is 1 if no design that connects every topic meets the requirements. Within limits that are
    too tight for that, the answer is the plan that connects the most.

    With --seconds S it takes about 3·S, or 4·S with --max-degree, and a little more on large data: greedy
    designs and measures take as long as they take.
    """
    from meshwright.actions import sources
    from meshwright.actions.advise import SearchBudget, advise_on
    from meshwright.actions.plan import DesignChoice
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.report import advice_lines, advice_table

    read = sources.Source(source, columns.resolved(), topics)
    wishes = {"max_degree": max_degree, "max_edges": max_edges, "resilient": resilient, "diameter": diameter}
    with ProgressBar(forced=progress) as bar:
        made = advise_on(
            read, wishes, SearchBudget(seconds, steps), DesignChoice(seed=seed, threads=threads), out=out,
            report=report, chart=chart, force=force, progress=bar,
        )  # fmt: skip
    files = [] if chart is None else [f"chart: {chart}"]
    files += [] if made.report is None else [f"report: {made.report}"]
    files += [] if made.plan is None else [f"written to {made.plan}"]
    lines = [*made.source.lines, *advice_lines(made.advice), *files]
    output.show(made, made.source.size, advice_table(made.advice), *lines, json=json)
    if not made.passed:
        raise typer.Exit(ANSWER_IS_NO)
