"""Commands that judge a plan: `verify` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from meshwright.cli.options import Columns, Costs, Source, Spark, Threads
from meshwright.cli.output import LINKS, Answer, ProgressBar, amounts

VERIFY_EXAMPLES = (
    "meshwright verify plan subscriptions.csv",
    "meshwright verify plan subscriptions.csv --k 2",
    "meshwright verify plan subscriptions.csv --master 'local[2]'",
)


def verify(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder, by path or URL.")],
    source: Source,
    *,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            metavar="K",
            min=1,
            max=2,
            help="Every topic must be connected (1), or stay so when any one broker fails (2).",
        ),
    ] = None,
    costs: Costs = None,
    columns: Columns,
    spark: Spark,
) -> Answer:
    """Check a plan against the subscriptions it was made for.

    Connectivity and every figure are recomputed, by code other than that which made the plan. The exit code
    is 1 if something is not as stated, if a plan without a budget leaves a topic split, or if --k is not met.
    A plan made by resilient must meet its own k. Groups of MQTT filters are derived again, and so are the
    filters that each link of a plan with trees must carry. Which algorithm, other parameters and seed made
    the plan is not checked. Left out, and named, are the total cost without
    --costs, and loads of trees that were chosen with --rates: the plan does not keep the rates.

    With --master topics are verified on Spark, and the subscriptions of a dataset stay on the cluster; only
    groups of MQTT filters are first derived on this machine.
    """
    from meshwright.actions.verify import verify_plan
    from meshwright.report import verdict_lines

    wording = amounts("subscriptions") if spark.asked else LINKS
    with ProgressBar(wording=wording) as bar:
        found = verify_plan(plan, source, columns, k=k, costs=costs, spark=spark, progress=bar)
    return Answer(found, *verdict_lines(found.report), passed=found.report.passed)


CERTIFY_EXAMPLES = ("meshwright certify plan subscriptions.csv --seconds 60",)


def certify(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder, by path or URL.")],
    source: Source,
    *,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="S", min=0, help="Stop the proof in time; by default it ends by itself."
        ),
    ] = None,
    columns: Columns,
    threads: Threads = 1,
) -> Answer:
    """Prove how few links a plan needs at least, and store the proof in it.

    A plan that has a proof already continues from its prices: the bound never gets worse. Links and trees
    stay. Where the time ends the proof, the answer says how fast the bound was still rising.
    """
    from meshwright.actions.certify import certify_plan

    with ProgressBar(wording=LINKS) as bar:
        return Answer(
            certify_plan(plan, source, seconds=seconds, columns=columns, threads=threads, progress=bar)
        )


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
    columns: Columns,
) -> Answer:
    """Verify a plan and write its page: one HTML file that works without a network.

    It shows the figures and the verdict, what the plan saves, degrees, support, the busiest brokers, the
    topics that are hardest to connect, the trees, and the graph with search and zoom. The exit code is 1 if
    the plan is not verified; the page is written all the same.
    """
    from meshwright.actions.report import report_plan

    with ProgressBar() as bar:
        page = report_plan(plan, source, columns, out=out, today=today, costs=costs, progress=bar)
    verdict = "verified" if page.verdict.passed else "NOT verified: the page says why"
    return Answer(page, verdict, f"written to {page.path}", passed=page.verdict.passed)
