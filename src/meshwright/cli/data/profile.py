"""`meshwright profile`: shows the properties of a dataset."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, Seed, ShowProgress, Source
from meshwright.cli.spark import Conf, Master

if TYPE_CHECKING:
    from rich.table import Table

    from meshwright.pipeline.dataset.profile import Profile

EXAMPLES = (
    "meshwright profile dataset",
    "meshwright profile sample --against dataset --chart profile.png",
)


def profile(
    source: Source,
    *,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="DATASET|FILE", help="A second dataset to compare with."),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw both distributions: a .png, .svg or .pdf file."),
    ] = None,
    seed: Seed = 0,
    master: Master = None,
    conf: Conf = None,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Show the sizes of interests, the popularity of topics, their skew, and the overlap of brokers.

    The overlap is measured on a random sample of 2000 brokers.
    """
    from meshwright.cli import output
    from meshwright.cli.spark import StageDrawing, open_session
    from meshwright.pipeline.dataset.profile import profile as profile_dataset
    from meshwright.pipeline.dataset.subscriptions import subscriptions
    from meshwright.pipeline.session.stages import report_stages
    from meshwright.report.charts import ccdf_chart
    from meshwright.report.sheet import check_chart

    if chart is not None:
        check_chart(chart)
    spark = open_session(master, conf)
    named = [source] if against is None else [source, against]
    with StageDrawing(forced=progress) as drawing, report_stages(spark, "profiling", drawing):
        profiles = {name: profile_dataset(subscriptions(spark, name), seed=seed) for name in named}
    if chart is not None:
        sizes = {name: (made.sizes.values, made.sizes.ccdf) for name, made in profiles.items()}
        popularity = {name: (made.popularity.values, made.popularity.ccdf) for name, made in profiles.items()}
        panels = {"Sizes of interests": sizes, "Popularity of topics": popularity}
        ccdf_chart(panels, ["topics per broker", "brokers per topic"], chart)
    if json:
        described = [{"source": name, **made.described()} for name, made in profiles.items()]
        output.answer_json({"profiles": described, "chart": chart and str(chart)})
        return
    output.answer(_table(profiles))
    for name, made in profiles.items():
        hottest = ", ".join(f"{topic} ({count:,})" for topic, count in made.hot[:5])
        output.answer(f"hot topics of {name}: {hottest}")
    output.answer(*([] if chart is None else [f"chart: {chart}"]))


def _table(profiles: "dict[str, Profile]") -> "Table":
    from rich import box
    from rich.table import Table

    from meshwright.formatting import amount, percentage

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("")
    for name in profiles:
        table.add_column(name, justify="right")
    rows: dict[str, Callable[[Profile], str]] = {
        "brokers": lambda made: f"{made.nodes:,}",
        "topics": lambda made: f"{made.topics:,}",
        "subscriptions": lambda made: f"{made.subscriptions:,}",
        "topics per broker: average": lambda made: amount(made.sizes.mean),
        "  median, 90 %, 99 %, most": lambda made: _quantiles(made.sizes.described()),
        "brokers per topic: average": lambda made: amount(made.popularity.mean),
        "  median, 90 %, 99 %, most ": lambda made: _quantiles(made.popularity.described()),
        "subscriptions to the top 1 % of topics": lambda made: percentage(made.popularity.share_of_top(0.01)),
        "subscriptions to the top 10 % of topics": lambda made: percentage(made.popularity.share_of_top(0.1)),
        "inequality of popularity (Gini)": lambda made: f"{made.popularity.gini:.3f}",
        "pairs of brokers that share a topic": lambda made: percentage(made.related),
        "topics that such a pair shares": lambda made: amount(made.shared),
    }
    for label, figure in rows.items():
        table.add_row(label, *(figure(made) for made in profiles.values()))
    return table


def _quantiles(figures: "dict[str, float]") -> str:
    return ", ".join(f"{figures[name]:,}" for name in ("p50", "p90", "p99", "max"))
