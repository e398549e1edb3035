"""`meshwright report`: the page of a plan, one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from meshwright.cli.options import (
    Costs,
    Delimiter,
    Json,
    NodeColumn,
    NoHeader,
    ShowProgress,
    Source,
    TopicColumn,
    file_columns,
)

if TYPE_CHECKING:
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.interest import Interest
    from meshwright.report.plan_facts import PlanFacts

REPORT_EXAMPLES = (
    "meshwright report plan subscriptions.csv",
    "meshwright report plan subscriptions.csv --out federation.html",
    "meshwright report plan subscriptions.csv --today bridges.csv --out federation.html",
)

ReportFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write the page of the plan, one HTML file."),
]

Today: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--today",
        metavar="FILE|PLAN",
        help="The bridges of today, to compare with: a CSV or Parquet file with columns u and v, or a plan.",
    ),
]


def report(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder, by path or URL.")],
    source: Source,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The page to write; PLAN/report.html by default."),
    ] = None,
    today: Today = None,
    costs: Costs = None,
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Verify a plan and write its page: one HTML file that works without a network.

    It shows the figures and the verdict, what the plan saves, degrees, support, the busiest brokers, the
    topics that are hardest to connect, the trees, and the graph with search and zoom. The exit code is 1 if
    the plan is not verified; the page is written all the same.
    """
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.store.plans import read_plan

    check_page(out)
    read_plan(plan)  # reject a bad plan before reading the data
    interest = design_runs.load(source, file_columns(node, topic, delimiter, no_header))
    link_costs = design_runs.load_costs(costs, interest)
    page, facts = write_page(plan, interest, out, today=today, costs=link_costs, progress=progress)
    verdict = facts.verdict
    if json:
        output.answer_json({"plan": str(plan), "report": str(page), **verdict.to_dict()})
    else:
        output.answer(
            "verified" if verdict.passed else "NOT verified: the page says why", f"written to {page}"
        )
    if not verdict.passed:
        raise typer.Exit(ANSWER_IS_NO)


def check_page(file: Path | None) -> None:
    """Check before long work that a page can be drawn and written."""
    from meshwright.errors import OutputError
    from meshwright.files.atomic import check_place
    from meshwright.report.sheet import check_matplotlib

    check_matplotlib()
    if file is None:
        return
    if file.is_dir():
        raise OutputError(f"{str(file)!r} is a folder: name a file for the page, such as {file}/report.html")
    if not file.absolute().parent.is_dir():
        raise OutputError(f"no folder {str(file.parent)!r} for the page: make it first")
    check_place(file)


def write_page(
    plan: str | Path,
    interest: Interest,
    file: Path | None,
    *,
    today: str | None = None,
    costs: LinkCosts | None = None,
    progress: bool = False,
) -> tuple[str, PlanFacts]:
    """Write the page of a stored plan, and return its path or URL and what it shows."""
    from meshwright.cli.output import note, working
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.face import REPORT
    from meshwright.files.urls import inside
    from meshwright.report.plan_facts import facts_of_stored_plan
    from meshwright.report.plan_page import write_plan_page
    from meshwright.store.bridges import load_bridges

    bridges = None if today is None else load_bridges(today, interest)
    if bridges is not None and bridges.unknown:
        note(f"left out {bridges.unknown:,} of the bridges of {today}: a broker is not in the dataset")
    with ProgressBar("Verification", forced=progress) as drawing:
        facts = facts_of_stored_plan(plan, interest, today=bridges, costs=costs, progress=drawing)
    with working("drawing the page"):
        target = str(file or inside(plan, REPORT))
        write_plan_page(facts, target)
    return target, facts
