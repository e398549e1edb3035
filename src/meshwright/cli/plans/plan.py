"""`meshwright plan`: design an overlay and keep it, or the whole trade-off with `--front`."""

from __future__ import annotations

from typing import Annotated

import typer

from meshwright.cli.commands import PROJECT
from meshwright.cli.design_options import Algorithm, DesignParameters
from meshwright.cli.exit_codes import ANSWER_IS_NO
from meshwright.cli.options import (
    AllowEmpty,
    Certify,
    Costs,
    FileColumns,
    Force,
    Json,
    Metric,
    ReportFile,
    Seed,
    ShowProgress,
    Source,
    Spark,
    Threads,
    Topics,
)

EXAMPLES = (
    "meshwright plan subscriptions.csv --algorithm low --out plan",
    "meshwright plan dataset --algorithm gpa --max-edges 500 --out plan",
    "meshwright plan subscriptions.csv --algorithm minmax --literal --out plan",
    "meshwright plan subscriptions.csv --algorithm low --k 1 --strict --out plan",
    "meshwright plan dataset --algorithm gpm --ratio 0.2 --out plan",
    "meshwright plan dataset --algorithm randomm --max-degree 8 --arbitrary --out plan",
    "meshwright plan subscriptions.csv --costs places.csv --out plan",
    "meshwright plan subscriptions.csv --algorithm best --steps 2000 --certify --out plan",
    "meshwright plan subscriptions.csv --out plan --report plan.html",
    "meshwright plan subscriptions.csv --algorithm best --front --seconds 60 --out front",
    "meshwright plan dataset --parts 8 --coverage 3 --out plan",
    "meshwright plan dataset --parts 200 --master spark://head:7077 --out plan",
    "meshwright plan filters.csv --topic-kind mqtt --expand '#' --skip-unusable --out plan",
    "meshwright plan export.txt --delimiter ';' --node Broker --topic Filter --out plan",
)


def plan(
    source: Source,
    *,
    context: typer.Context,
    out: Annotated[
        str, typer.Option("--out", metavar="PLAN", help="The folder to write the plan to, by path or URL.")
    ],
    algorithm: Algorithm = "gm",
    parameters: DesignParameters,
    costs: Costs = None,
    metric: Metric = False,
    certify: Certify = False,
    report: ReportFile = None,
    front: Annotated[
        bool,
        typer.Option("--front", help="Best: one plan per maximum degree on the trade-off, and a chart."),
    ] = False,
    spark: Spark,
    parts: Annotated[
        int | None,
        typer.Option(
            "--parts",
            metavar="P",
            min=1,
            help="On Spark: plan this many parts separately; less memory, more links.",
        ),
    ] = None,
    coverage: Annotated[
        int | None,
        typer.Option(
            "--coverage",
            metavar="N",
            min=1,
            help="With parts: representatives per topic of a part; 3 by default.",
        ),
    ] = None,
    columns: FileColumns,
    topics: Topics,
    allow_empty: AllowEmpty = False,
    force: Force = False,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Design which brokers to link, and write the plan.

    With --parts, gm, minmax and low run on Spark (--master) by divide and conquer, for an interest that does
    not fit into the memory of this machine. Without --parts, every plan is made on this machine.

    MQTT filters that overlap are planned as one topic: a group, whose brokers share one tree.

    With a project file, changed logs are read first, and the trees are chosen as route does.
    """
    from functools import partial

    from meshwright.actions import plan as action
    from meshwright.actions import sources
    from meshwright.actions.project import ProjectPlan, plan_project
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.report import comparison

    read = sources.Source(source, columns.resolved(), topics)
    choice = action.DesignChoice(algorithm, parameters, seed, threads, certify)
    with ProgressBar(forced=progress, goal=parameters.get("max_edges")) as bar:
        if front:
            found = action.plan_front(
                read, out, choice, costs=costs, report=report, allow_empty=allow_empty, progress=bar
            )
        else:
            project = context.meta.get(PROJECT)
            make = action.plan if project is None else partial(plan_project, project)
            made = make(
                read, out, choice, costs=costs, metric=metric, parts=action.Parts(parts, coverage, spark),
                report=report, allow_empty=allow_empty, force=force, progress=bar,
            )  # fmt: skip
    if front:
        written = f"written to {out}: a plan for each row, and front.png"
        output.show(found, found.source.size, comparison(found.plans), written, json=json)
    else:
        output.show(made, *made.lines, json=json)
        if isinstance(made, ProjectPlan) and not made.passed:
            raise typer.Exit(ANSWER_IS_NO)
