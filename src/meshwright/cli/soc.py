"""`meshwright soc`: whether a plan keeps limits, or whether some overlay does."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import typer

from meshwright.actions import soc as action
from meshwright.actions import sources
from meshwright.cli.main import Words
from meshwright.cli.options import Columns, Force, Seed, Topics
from meshwright.cli.output import Answer, ProgressBar
from meshwright.errors import InputError

SOC_EXAMPLES = (
    "meshwright soc plan subscriptions.csv --degree 3 --cost 0",
    "meshwright soc plan subscriptions.csv --degree 3 --cost 4 --measure diameter",
    "meshwright soc subscriptions.csv --degree 3 --cost 0 --out witness",
    "meshwright soc subscriptions.csv --average-degree 2.5 --cost 4 --measure diameter",
    "meshwright soc subscriptions.csv --links 10",
)


LEAST: dict[str, Any] = {"min": 0}

LimitOptions: TypeAlias = Annotated[
    action.SocQuestion,
    Words(
        degree=("D", "Maximum number of links per broker.", LEAST),
        average_degree=("D", "Without a plan: links per broker on average, at most.", LEAST),
        cost=("C", "Maximum routing cost.", LEAST),
        measure=(
            "filtering|diameter",
            "Uninterested relays over all topics, the default, or the longest path between two subscribers "
            "of a topic, through any brokers.",
        ),
        links=("K", "Without a plan: do K links connect every topic?", LEAST),
    ),
]


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
    asked: LimitOptions,
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
    force: Force = False,
    columns: Columns,
    topics: Topics,
    seed: Seed = 0,
) -> Answer:
    """Check whether a plan keeps a degree limit and a routing limit, or whether some overlay does.

    With a plan, the figures follow from its links alone. Without one, the question is that of the paper: is
    there any overlay within the limits? Yes comes with a witness, no with a proof (by counting, by certified
    prices, or by exact on small instances); both questions are hard, so the answer may be unknown. --links K
    asks whether K links can connect every topic. The exit code is 0 for yes, and 1 for no or unknown.

    MQTT filters that overlap count as one topic, as for `meshwright plan`; with a plan, as it was planned.
    """
    answer: action.PlanAnswer | action.ExistenceAnswer
    with ProgressBar() as bar:
        if source is None:
            read = sources.Source(plan, columns, topics)
            answer = action.soc_of_any(
                read, asked, seconds=seconds, seed=seed, out=out, force=force, progress=bar
            )
        else:
            alone = {
                "average-degree": asked.average_degree, "links": asked.links, "seconds": seconds, "out": out,
                "force": force or None,
                "topic-kind": topics.topic_kind, "exclude-topic": topics.exclude or None,
                "expand": topics.expand or None, "rates": topics.rates,
            }  # fmt: skip
            wrong = ", ".join(f"--{name}" for name, value in alone.items() if value is not None)
            if wrong:
                raise InputError(f"{wrong} asks whether some overlay exists: leave the plan out")
            answer = action.soc_of_plan(plan, source, asked, columns, progress=bar)
    return Answer(answer)
