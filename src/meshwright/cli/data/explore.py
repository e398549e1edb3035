"""Commands that explore a dataset on Spark: `profile` shows its properties, `sample` takes a part of it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import FileColumns, Json, Seed, ShowProgress, Source, Spark

if TYPE_CHECKING:
    from rich.table import Table

    from meshwright.actions.profile import Profiles

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
    columns: FileColumns,
    seed: Seed = 0,
    spark: Spark,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Show the sizes of interests, the popularity of topics, their skew, and the overlap of brokers.

    The overlap is measured on a random sample of 2000 brokers.
    """
    from meshwright.actions.profile import profile_sources
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar, amounts

    with ProgressBar(wording=amounts("subscriptions"), forced=progress) as bar:
        made = profile_sources(
            [source] if against is None else [source, against],
            columns.resolved(),
            chart=chart,
            seed=seed,
            spark=spark,
            progress=bar,
        )
    if json:
        output.answer_json(made.to_dict())
        return
    output.answer(_table(made))
    for name, each in made.profiles.items():
        hottest = ", ".join(f"{topic} ({count:,})" for topic, count in each.hot[:5])
        output.answer(f"hot topics of {name}: {hottest}")
    output.answer(*([] if chart is None else [f"chart: {chart}"]))


def _table(made: "Profiles") -> "Table":
    from rich import box
    from rich.table import Table

    from meshwright.formatting import amount, percentage

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("")
    for name in made.profiles:
        table.add_column(name, justify="right")
    rows: dict[str, Callable[[Any], str]] = {
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
        table.add_row(label, *(figure(each) for each in made.profiles.values()))
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
    columns: FileColumns,
    seed: Seed = 0,
    spark: Spark,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Take a sample by breadth-first search from a few seeds, with all relations among its brokers."""
    from meshwright.actions.sample import sample_source
    from meshwright.actions.sources import format_size
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar, amounts
    from meshwright.formatting import counted

    with ProgressBar(wording=amounts("subscriptions"), forced=progress) as bar:
        made = sample_source(
            source,
            out,
            nodes,
            columns.resolved(),
            start=start or (),
            by=by,
            seed=seed,
            spark=spark,
            progress=bar,
        )
    output.show(
        made,
        format_size(made.sample.interest),
        f"from {', '.join(made.sample.seeds[:5])}, {counted(made.sample.levels, 'level')}",
        f"written to {out}",
        json=json,
    )
