"""`meshwright report`: the page of a plan, one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from meshwright.cli.options import Costs, FileColumns, Json, ShowProgress, Source

REPORT_EXAMPLES = (
    "meshwright report plan subscriptions.csv",
    "meshwright report plan subscriptions.csv --out federation.html",
    "meshwright report plan subscriptions.csv --today bridges.csv --out federation.html",
)

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
    columns: FileColumns,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Verify a plan and write its page: one HTML file that works without a network.

    It shows the figures and the verdict, what the plan saves, degrees, support, the busiest brokers, the
    topics that are hardest to connect, the trees, and the graph with search and zoom. The exit code is 1 if
    the plan is not verified; the page is written all the same.
    """
    from meshwright.actions.report import report_plan
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import ProgressBar

    with ProgressBar(forced=progress) as bar:
        page = report_plan(plan, source, columns.resolved(), out=out, today=today, costs=costs, progress=bar)
    verdict = "verified" if page.verdict.passed else "NOT verified: the page says why"
    output.show(page, verdict, f"written to {page.path}", json=json)
    if not page.verdict.passed:
        raise typer.Exit(ANSWER_IS_NO)
