"""Commands that read raw logs on Spark: `ingest`, `follow` and `traffic`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from meshwright.cli.options import (
    AllowEmpty,
    Delimiter,
    ExcludeTopic,
    Json,
    MaxBad,
    NodeColumn,
    NoHeader,
    ShowProgress,
    Spark,
    TopicColumn,
    TopicKind,
)

if TYPE_CHECKING:
    from meshwright.actions.ingest import Ingested

SHOWN_REASONS = 5

TimeColumn: TypeAlias = Annotated[
    str | None, typer.Option("--time", metavar="COLUMN", help="The column of times; 'time' if there is one.")
]

QuotedNewlines: TypeAlias = Annotated[
    bool, typer.Option("--quoted-newlines", help="CSV: quoted values may have line breaks; slower.")
]


@dataclass(frozen=True)
class RowColumns:
    """Where rows have what, and how CSV files separate it: fields of a `Reading`."""

    node: NodeColumn = "node"
    topic: TopicColumn = "topic"
    time: TimeColumn = None
    operation: Annotated[
        str | None,
        typer.Option(
            "--operation",
            metavar="COLUMN",
            help="The column that says subscribe or unsubscribe; 'operation' if there is one.",
        ),
    ] = None
    sequence: Annotated[
        str | None,
        typer.Option(
            "--sequence",
            metavar="COLUMN",
            help="The column that orders events of the same time; 'sequence' if there is one.",
        ),
    ] = None
    delimiter: Delimiter = None
    quoted_newlines: QuotedNewlines = False


INGEST_EXAMPLES = (
    "meshwright ingest subscriptions.csv --out dataset",
    "meshwright ingest 'events/*.jsonl.gz' --node broker --as-of 2026-01-31T12:00:00Z --out dataset",
    "meshwright ingest logs/*.log --format mosquitto-log --node-from broker --out dataset",
    "meshwright ingest follows.txt --format edges --both-ways --master spark://head:7077 --out dataset",
)
FOLLOW_EXAMPLES = (
    "meshwright follow incoming --format jsonl --out events",
    "meshwright follow incoming --format csv --start dataset --once --out events",
)
TRAFFIC_EXAMPLES = (
    "meshwright traffic 'published/*.csv.gz' --out traffic",
    "meshwright traffic messages.jsonl --value price --low 0 --high 500 --channels 50 --out traffic",
)


def ingest(
    sources: Annotated[
        list[str], typer.Argument(metavar="SRC…", help="Files, folders or globs; also .gz and .bz2.")
    ],
    *,
    out: Annotated[
        str, typer.Option("--out", metavar="DATASET", help="The folder or URL to write the dataset to.")
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="csv, jsonl, parquet, edges, mosquitto-log, nats-connz or emqx; by default from file names.",
        ),
    ] = None,
    columns: RowColumns,
    no_header: NoHeader = False,
    both_ways: Annotated[
        bool, typer.Option("--both-ways", help="Edges: each end subscribes to the other.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="The state at this time: ISO 8601, or seconds."),
    ] = None,
    node_from: Annotated[
        str | None,
        typer.Option(
            "--node-from",
            metavar="broker|client",
            help="Broker logs: the nodes; by default brokers if there are several, else clients.",
        ),
    ] = None,
    bridges: Annotated[
        str | None,
        typer.Option(
            "--bridges",
            metavar="REGEX",
            help="Broker logs: leave out clients with such ids, which are bridges.",
        ),
    ] = None,
    topic_kind: TopicKind = None,
    exclude_topic: ExcludeTopic = None,
    allow_empty: AllowEmpty = False,
    max_bad: MaxBad = 0.1,
    spark: Spark,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Read raw subscriptions, or subscribe and unsubscribe events, into a dataset.

    Rows that cannot be used go to the quarantine of the dataset, with source, line and reason:
    read = kept + duplicates + superseded + quarantined. If nothing is kept, nothing is written, and the exit
    code is 1.
    """
    from meshwright.actions.ingest import BRIDGES, Reading
    from meshwright.actions.ingest import ingest as run
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import ProgressBar, amounts

    reading = Reading(
        kind or "",
        **vars(columns),
        header=not no_header,
        both_ways=both_ways,
        node_from=node_from,
        bridges=BRIDGES if bridges is None else bridges,
        topic_kind=topic_kind,
        excluded=tuple(exclude_topic or ()),
    )
    with ProgressBar(wording=amounts("MB"), forced=progress) as bar:
        made = run(
            sources,
            out,
            reading,
            as_of=as_of,
            max_bad=max_bad,
            allow_empty=allow_empty,
            spark=spark,
            progress=bar,
        )
    output.notes(made.notes)
    if json:
        output.answer_json(made.to_dict())
    else:
        ending = (f"written to {out}",) if made.dataset else (f"  {row}" for row in made.first_quarantined)
        output.answer(*_outcome_lines(made), *ending)
    if not made.dataset:
        raise typer.Exit(ANSWER_IS_NO)


def _outcome_lines(made: "Ingested") -> list[str]:
    """Return what was found, and what became of the rows."""
    from meshwright.formatting import counted

    outcome = made.outcome
    excluded = f" + {outcome.excluded:,} excluded" if outcome.excluded else ""
    return [
        f"{counted(outcome.nodes, 'broker')}, {counted(outcome.topics, 'topic')}, "
        f"{counted(outcome.kept, 'subscription')}",
        f"read {counted(outcome.read, 'row')} = {outcome.kept:,} kept + "
        f"{counted(outcome.duplicates, 'duplicate')} + {outcome.superseded:,} superseded + "
        f"{outcome.quarantined:,} quarantined{excluded}",
        *_reason_lines(outcome.reasons),
        *(f"cleaned {count:,} × {what}" for what, count in outcome.cleaned.items()),
    ]


def _reason_lines(reasons: Mapping[str, int]) -> list[str]:
    """Return lines with the most frequent reasons for quarantine."""
    return [f"  {count:,} × {reason}" for reason, count in list(reasons.items())[:SHOWN_REASONS]]


def follow(
    source: Annotated[
        str, typer.Argument(metavar="FOLDER", help="The folder or URL where complete files appear.")
    ],
    *,
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="The folder or URL for events, states and progress.")
    ],
    kind: Annotated[str, typer.Option("--format", metavar="NAME", help="csv, jsonl or parquet.")] = "jsonl",
    start: Annotated[
        str | None,
        typer.Option("--start", metavar="DATASET", help="Subscriptions that hold from the beginning."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Read the files that are there, then end.")] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="S", help="Seconds between two checks for new files.")
    ] = 5.0,
    max_files: Annotated[
        int | None,
        typer.Option("--max-files", metavar="N", min=1, help="The most files in a batch; all by default."),
    ] = None,
    forget: Annotated[
        float,
        typer.Option(
            "--forget",
            metavar="DAYS",
            min=0.0,
            help="Unsubscribes older than this, by their times, are forgotten.",
        ),
    ] = 30.0,
    columns: RowColumns,
    spark: Spark,
    json: Json = False,
) -> None:
    """Turn the rows of a folder into join, leave, subscribe and unsubscribe events, each exactly once.

    Events are in DIR/events, in order. Ctrl-C ends the command. A killed run continues where it stopped.
    """
    from meshwright.actions.follow import Watch
    from meshwright.actions.follow import follow as run
    from meshwright.actions.ingest import Reading
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.formatting import counted

    reading = Reading(kind, **vars(columns))
    watch = Watch(start, None if once else every, max_files, forget)
    with ProgressBar() as bar:

        def say(line: str) -> None:
            bar.stop()
            output.note(line)

        made = run(source, out, reading, watch, spark=spark, say=None if json else say, progress=bar)
    if json:
        output.answer_json(made.to_dict())
    else:
        counts = made.counts
        output.answer(
            f"{counted(counts['events'], 'event')} from {counted(counts['read'], 'row')} written to "
            f"{made.events}"
        )


def traffic(
    sources: Annotated[
        list[str], typer.Argument(metavar="SRC…", help="Publish logs in csv, jsonl or parquet; also globs.")
    ],
    *,
    out: Annotated[Path, typer.Option("--out", metavar="TRAFFIC", help="The folder to write to.")],
    kind: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="csv, jsonl or parquet; by default from file names."),
    ] = None,
    publisher: Annotated[
        str, typer.Option("--publisher", metavar="COLUMN", help="The column of publishers.")
    ] = "publisher",
    topic: TopicColumn = "topic",
    size: Annotated[
        str | None, typer.Option("--size", metavar="COLUMN", help="The column of bytes; 'size' by default.")
    ] = None,
    time: TimeColumn = None,
    value: Annotated[
        str | None,
        typer.Option("--value", metavar="COLUMN", help="The column of content values, instead of topics."),
    ] = None,
    channels: Annotated[
        int, typer.Option("--channels", metavar="C", help="The number of channels of the content space.")
    ] = 100,
    low: Annotated[float, typer.Option("--low", metavar="X", help="Where the content space begins.")] = 0.0,
    high: Annotated[float, typer.Option("--high", metavar="X", help="Where the content space ends.")] = 1.0,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="S", help="The length of the logs; by default from first to last message."
        ),
    ] = None,
    delimiter: Delimiter = None,
    quoted_newlines: QuotedNewlines = False,
    max_bad: MaxBad = 0.1,
    spark: Spark,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Sum up publish logs: messages, bytes and rates per publisher and channel, and per channel."""
    from meshwright.actions.traffic import Publications, sum_traffic
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar, amounts

    asked = Publications(
        format=kind,
        publisher=publisher,
        topic=topic,
        size=size,
        time=time,
        value=value,
        channels=channels,
        low=low,
        high=high,
        seconds=seconds,
        delimiter=delimiter,
        quoted_newlines=quoted_newlines,
    )
    with ProgressBar(wording=amounts("MB"), forced=progress) as bar:
        made = sum_traffic(sources, out, asked, max_bad=max_bad, spark=spark, progress=bar)
    found = made.to_dict()
    if json:
        output.answer_json(found)
    else:
        output.answer(
            f"{found['publishers']:,} publishers, {found['channels']:,} channels, "
            f"{found['kept']:,} messages in {found['seconds']:,.1f} s",
            f"read {found['read']:,} rows = {found['kept']:,} kept + {found['quarantined']:,} quarantined",
            *_reason_lines(found["reasons"]),
            f"written to {out}",
        )
