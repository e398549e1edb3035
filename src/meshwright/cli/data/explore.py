"""Commands that explore a dataset on Spark: `profile` shows its properties, `sample` takes a part of it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import (
    Delimiter,
    Json,
    NodeColumn,
    NoHeader,
    Seed,
    ShowProgress,
    Source,
    TopicColumn,
    file_columns,
)
from meshwright.cli.spark import Conf, ConnectTimeout, Master

if TYPE_CHECKING:
    from rich.table import Table

    from meshwright.pipeline.dataset.profile import Profile
    from meshwright.pipeline.dataset.sample import Sample

PROFILE_EXAMPLES = (
    "meshwright profile dataset",
    "meshwright profile sample --against dataset --chart profile.png",
)
SAMPLE_EXAMPLES = (
    "meshwright sample dataset --nodes 1000 --out sample",
    "meshwright sample dataset --nodes 100 --from berlin --from oslo --by topics --out sample",
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
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    seed: Seed = 0,
    master: Master = None,
    conf: Conf = None,
    connect_timeout: ConnectTimeout = 30.0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Show the sizes of interests, the popularity of topics, their skew, and the overlap of brokers.

    The overlap is measured on a random sample of 2000 brokers.
    """
    from meshwright.actions.spark import SparkOptions
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar, amounts
    from meshwright.pipeline.dataset.profile import profile as profile_dataset
    from meshwright.pipeline.dataset.subscriptions import fits_here, subscriptions
    from meshwright.pipeline.session.stages import report_stages
    from meshwright.report.charts import ccdf_chart
    from meshwright.report.sheet import check_chart

    if chart is not None:
        check_chart(chart)
    columns = file_columns(node, topic, delimiter, no_header)
    named = [source] if against is None else [source, against]
    small = [fits_here(name) for name in named]  # a wrong path is an error before Java starts
    here = all(small) and not SparkOptions(master, conf or ()).wanted
    spark = None if here else SparkOptions(master, conf or (), connect_timeout).open()
    profiles = {}
    with ProgressBar(wording=amounts("subscriptions"), forced=progress) as drawing:
        for name in named:
            given = subscriptions(spark, name, columns)
            output.end_if_empty(name, given.count, json=json)
            with report_stages(spark, f"profiling {name}", drawing, amount=given.count):
                profiles[name] = profile_dataset(given, seed=seed)
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


def explain_missing(made: "Sample", asked: int, *, given: bool) -> str | None:
    """Say why a sample has fewer brokers than were asked for, if it has; `given` says that the seeds were.

    A search along who follows whom also takes users who follow nobody; they have no subscription, so they
    are topics of the sample and no brokers.
    """
    from meshwright.formatting import counted

    found = made.interest.num_nodes
    reasons = []
    if made.silent:
        are = (
            "subscribes to nothing and is a topic"
            if made.silent == 1
            else "subscribe to nothing and are topics"
        )
        reasons.append(f"{made.silent:,} of those found {are} only")
    if found + made.silent < asked:
        reasons.append("the search from --from reaches no more" if given else "there are no more")
    return f"{found:,} of {counted(asked, 'broker')}: {', and '.join(reasons)}" if reasons else None


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


def sample(
    source: Source,
    *,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="The number of brokers to take.")],
    out: Annotated[
        str, typer.Option("--out", metavar="DATASET", help="The folder or URL to write the sample to.")
    ],
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="NAME", help="Start with this broker; can be repeated; random by default."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="follow|topics",
            help="Neighbours follow each other, or share a topic; by default from the names.",
        ),
    ] = None,
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    seed: Seed = 0,
    master: Master = None,
    conf: Conf = None,
    connect_timeout: ConnectTimeout = 30.0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Take a sample by breadth-first search from a few seeds, with all relations among its brokers."""
    from meshwright.actions.outputs import check_target
    from meshwright.actions.sources import format_size
    from meshwright.actions.spark import SparkOptions
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar, amounts
    from meshwright.formatting import counted
    from meshwright.names import guess_topic_kind
    from meshwright.pipeline.dataset.sample import sample as sample_dataset
    from meshwright.pipeline.dataset.subscriptions import fits_here, subscriptions
    from meshwright.pipeline.session.stages import report_stages
    from meshwright.store.datasets import read_topic_kind, write_dataset

    check_target(out, "dataset")
    here = fits_here(source) and not SparkOptions(master, conf or ()).wanted
    spark = None if here else SparkOptions(master, conf or (), connect_timeout).open()
    given = subscriptions(spark, source, file_columns(node, topic, delimiter, no_header))
    output.end_if_empty(source, given.count, json=json)
    report = partial(report_stages, spark, "sampling", amount=given.count)
    with ProgressBar(wording=amounts("subscriptions"), forced=progress) as drawing, report(drawing):
        made = sample_dataset(given, nodes, start=start or (), by=by, seed=seed)
    made_by = {"command": "sample", "nodes": nodes, "by": made.by, "from": made.seeds, "seed": seed}
    topic_kind = read_topic_kind(source) or guess_topic_kind(made.interest.topic_names)
    write_dataset(made.interest, out, sources=[source], made_by=made_by, topic_kind=topic_kind)
    missing = explain_missing(made, nodes, given=bool(start))
    if missing is not None:
        output.note(missing)
    if json:
        counts = {"nodes": made.interest.num_nodes, "topics": made.interest.num_topics}
        found = {"seeds": made.seeds, "levels": made.levels, "by": made.by}
        figures = {**counts, "subscriptions": made.interest.num_subscriptions, **found}
        output.answer_json({**figures, "dataset": str(out)})
    else:
        begun = ", ".join(made.seeds[:5])
        output.answer(
            format_size(made.interest),
            f"from {begun}, {counted(made.levels, 'level')}",
            f"written to {out}",
        )
