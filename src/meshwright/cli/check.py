"""Commands that judge a plan: `verify`, `report`, and `soc`, which also asks whether a plan exists."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from meshwright.cli.options import Costs, FileColumns, Seed, ShowProgress, Source, Spark, Topics
from meshwright.cli.output import Answer
from meshwright.cli.progress_bar import LINKS, ProgressBar, amounts
from meshwright.errors import InputError

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
    columns: FileColumns,
    spark: Spark,
    progress: ShowProgress = False,
) -> Answer:
    """Check a plan against the subscriptions it was made for.

    Connectivity and every figure are recomputed, by code other than that which made the plan. The exit code
    is 1 if something is not as stated, if a plan without a budget leaves a topic split, or if --k is not met.
    A plan made by resilient must meet its own k. Groups of MQTT filters are derived again. Which algorithm,
    other parameters and seed made the plan is not checked. Left out, and named, are the total cost without
    --costs, and loads of trees that were chosen with --rates: the plan does not keep the rates.

    With --master topics are verified on Spark, and the subscriptions of a dataset stay on the cluster; only
    groups of MQTT filters are first derived on this machine.
    """
    from meshwright.actions.verify import verify_plan
    from meshwright.report import verdict_lines

    wording = amounts("subscriptions") if spark.asked else LINKS
    with ProgressBar(wording=wording, forced=progress) as bar:
        found = verify_plan(plan, source, columns.resolved(), k=k, costs=costs, spark=spark, progress=bar)
    return Answer(found, *verdict_lines(found.report), passed=found.report.passed)


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
) -> Answer:
    """Verify a plan and write its page: one HTML file that works without a network.

    It shows the figures and the verdict, what the plan saves, degrees, support, the busiest brokers, the
    topics that are hardest to connect, the trees, and the graph with search and zoom. The exit code is 1 if
    the plan is not verified; the page is written all the same.
    """
    from meshwright.actions.report import report_plan

    with ProgressBar(forced=progress) as bar:
        page = report_plan(plan, source, columns.resolved(), out=out, today=today, costs=costs, progress=bar)
    verdict = "verified" if page.verdict.passed else "NOT verified: the page says why"
    return Answer(page, verdict, f"written to {page.path}", passed=page.verdict.passed)


SOC_EXAMPLES = (
    "meshwright soc plan subscriptions.csv --degree 3 --cost 0",
    "meshwright soc plan subscriptions.csv --degree 3 --cost 4 --measure diameter",
    "meshwright soc subscriptions.csv --degree 3 --cost 0 --out witness",
    "meshwright soc subscriptions.csv --average-degree 2.5 --cost 4 --measure diameter",
    "meshwright soc subscriptions.csv --links 10",
)


def soc(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN|SUBSCRIPTIONS",
            help="A plan's folder or, to ask about any overlay, a dataset or file of subscriptions.",
        ),
    ],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SUBSCRIPTIONS",
            help="With a plan: what it was made for, a dataset, or a .csv, .jsonl or .parquet file.",
        ),
    ] = None,
    *,
    degree: Annotated[
        int | None, typer.Option("--degree", metavar="D", min=0, help="Maximum number of links per broker.")
    ] = None,
    average_degree: Annotated[
        float | None,
        typer.Option(
            "--average-degree",
            metavar="D",
            min=0,
            help="Without a plan: links per broker on average, at most.",
        ),
    ] = None,
    cost: Annotated[
        int | None, typer.Option("--cost", metavar="C", min=0, help="Maximum routing cost.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            metavar="filtering|diameter",
            help="Uninterested relays over all topics, the default, or the longest path between two "
            "subscribers of a topic, through any brokers.",
        ),
    ] = None,
    links: Annotated[
        int | None,
        typer.Option("--links", metavar="K", min=0, help="Without a plan: do K links connect every topic?"),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="S", min=0, help="Without a plan: search about S seconds; 20 by default."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", metavar="PLAN", help="Without a plan: write the overlay found here, for a yes."
        ),
    ] = None,
    columns: FileColumns,
    topics: Topics,
    seed: Seed = 0,
    progress: ShowProgress = False,
) -> Answer:
    """Check whether a plan keeps a degree limit and a routing limit, or whether some overlay does.

    With a plan, the figures follow from its links alone. Without one, the question is that of the paper: is
    there any overlay within the limits? Yes comes with a witness, no with a proof (by counting, by certified
    prices, or by exact on small instances); both questions are hard, so the answer may be unknown. --links K
    asks whether K links can connect every topic. The exit code is 0 for yes, and 1 for no or unknown.

    MQTT filters that overlap count as one topic, as for `meshwright plan`; with a plan, as it was planned.
    """
    from meshwright.actions import soc as action
    from meshwright.actions import sources

    asked = action.SocQuestion(degree, average_degree, cost, measure, links)
    answer: action.PlanAnswer | action.ExistenceAnswer
    with ProgressBar(forced=progress) as bar:
        if source is None:
            read = sources.Source(plan, columns.resolved(), topics)
            answer = action.soc_of_any(read, asked, seconds=seconds, seed=seed, out=out, progress=bar)
        else:
            alone = {
                "average-degree": average_degree, "links": links, "seconds": seconds, "out": out,
                "topic-kind": topics.topic_kind, "exclude-topic": topics.exclude or None,
                "expand": topics.expand or None, "skip-unusable": topics.skip_unusable or None,
                "rates": topics.rates,
            }  # fmt: skip
            wrong = ", ".join(f"--{name}" for name, value in alone.items() if value is not None)
            if wrong:
                raise InputError(f"{wrong} asks whether some overlay exists: leave the plan out")
            answer = action.soc_of_plan(plan, source, asked, columns.resolved(), progress=bar)
    return Answer(answer)
