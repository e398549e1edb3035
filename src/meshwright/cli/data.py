"""Commands that look at datasets, or make them up: `profile`, `sample` and `workload`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from meshwright.actions.sources import format_size
from meshwright.actions.workload import CASES, Shape, make_workload
from meshwright.cli.main import Words
from meshwright.cli.options import Columns, Seed, Source, Spark, chart_of
from meshwright.cli.output import Answer, ProgressBar, amounts
from meshwright.formatting import amount, counted, percentage

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
    chart: Annotated[Path | None, chart_of("both distributions")] = None,
    columns: Columns,
    seed: Seed = 0,
    spark: Spark,
) -> Answer:
    """Show the sizes of interests, the popularity of topics, their skew, and the overlap of brokers.

    The overlap is measured on a random sample of 2000 brokers.
    """
    from meshwright.actions.profile import profile_sources

    with ProgressBar(wording=amounts("subscriptions")) as bar:
        made = profile_sources(
            [source] if against is None else [source, against],
            columns,
            chart=chart,
            seed=seed,
            spark=spark,
            progress=bar,
        )
    lines = [] if chart is None else [f"chart: {chart}"]
    return Answer(made, _profile_table(made), *made.hot_topics, *lines)


def _profile_table(made: Profiles) -> Table:
    from rich import box
    from rich.table import Table

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


def _quantiles(figures: dict[str, float]) -> str:
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
    columns: Columns,
    seed: Seed = 0,
    spark: Spark,
) -> Answer:
    """Take a sample by breadth-first search from a few seeds, with all relations among its brokers."""
    from meshwright.actions.sample import sample_source

    with ProgressBar(wording=amounts("subscriptions")) as bar:
        made = sample_source(
            source,
            out,
            nodes,
            columns,
            start=start or (),
            by=by,
            seed=seed,
            spark=spark,
            progress=bar,
        )
    return Answer(
        made,
        format_size(made.sample.interest),
        f"from {', '.join(made.sample.seeds[:5])}, {counted(made.sample.levels, 'level')}",
        f"written to {out}",
    )


WORKLOAD_EXAMPLES = (
    "meshwright workload zipf --nodes 2000 --topics 500 --min-size 5 --max-size 50 --out dataset",
    "meshwright workload unif --nodes 10000 --topics 200 --size 10 --seed 7 --out dataset",
    "meshwright workload unif --nodes 100 --topics 100 --size 30 --independent --out dataset",
    "meshwright workload social --nodes 5000 --min-size 5 --max-size 200 --exponent 2 --out dataset",
    "meshwright workload hard --case cuboid --k 3 --m 4 --out dataset",
    "meshwright workload hard --case single-node --sets '1,2;2,3;3,4' --out dataset",
)

ShapeOptions: TypeAlias = Annotated[
    Shape,
    Words(
        nodes=("N", "The number of brokers, also of lemma1."),
        topics=("N", "The number of topics; social has one per broker."),
        size=("S", "Topics of each broker; 10 by default."),
        min_size=("A", "With --max-size: from A to B topics, by a power law."),
        max_size=("B", "See --min-size."),
        exponent=("E", "Exponent of the power law of sizes; 1.5 by default."),
        independent="Each broker takes each topic or not, whatever else it takes; sizes are means.",
        alpha=("A", "Zipf's exponent: 0 is uniform, more is more unequal."),
        locality=("P", "social: the share of choices in the own community."),
        both_ways="social: everybody follows back, as friends do.",
        case=("|".join(CASES), "hard: the construction of a paper."),
        k=("K", "cuboid: the number of slabs."),
        m=("M", "cuboid: layers; set-cover: copies, sets squared by default."),
        sets=("'A,B;B,C'", "The sets to cover: elements with commas, sets with semicolons."),
    ),
]


def workload(
    popularity: Annotated[
        str,
        typer.Argument(
            metavar="zipf|expo|unif|social|hard",
            help="The distribution of popularity; social: users follow others; hard: see --case.",
        ),
    ],
    *,
    out: Annotated[
        str, typer.Option("--out", metavar="DATASET", help="The folder or URL to write the dataset to.")
    ],
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="DIR", help="Also write logs with the usual dirt, for ingest."),
    ] = None,
    shape: ShapeOptions,
    seed: Seed = 0,
) -> Answer:
    """Generate a synthetic dataset: which broker subscribes to which topic.

    hard makes the constructions of the papers' proofs: cuboid (podc07, Lemma 6.6: GM makes too many links),
    lemma1 (icdcs10, Lemma 1: MinMax-ODA does), set-cover (podc07, Lemma 7.1: few links find small covers),
    set-cover-soc (podc07, Lemma 5.2: so does a low degree of one broker, 'hub') and single-node (podc07,
    Lemma 5.1: so does a low maximum degree, as all other brokers are copied).
    """
    with ProgressBar() as bar:
        made = make_workload(popularity, shape, out, raw=raw, seed=seed, progress=bar)
    logs = [] if raw is None else [f"logs of them in {raw}"]
    return Answer(made, format_size(made.interest), f"written to {out}", *logs)
