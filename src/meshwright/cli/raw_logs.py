"""Commands that read raw logs, on Spark if they are large: `ingest`, `follow` and `traffic`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from meshwright.actions.follow import Watch
from meshwright.actions.ingest import Ingested, Reading
from meshwright.actions.traffic import Publications, sum_traffic
from meshwright.cli.main import Json, Words
from meshwright.cli.options import (
    DELIMITER,
    NODE,
    TOPIC,
    TOPIC_KIND,
    AllowEmpty,
    ExcludeTopic,
    MaxBad,
    NoHeader,
    Spark,
)
from meshwright.cli.output import Answer, ProgressBar, amounts
from meshwright.formatting import counted

SHOWN_REASONS = 5

QUOTED = "CSV: quoted values may have line breaks; slower."
TIME = ("COLUMN", "The column of times; 'time' if there is one.")
ROWS: dict[str, str | tuple[Any, ...]] = {
    "node": NODE,
    "topic": TOPIC,
    "time": TIME,
    "operation": ("COLUMN", "The column that says subscribe or unsubscribe; 'operation' if there is one."),
    "sequence": ("COLUMN", "The column that orders events of the same time; 'sequence' if there is one."),
    "delimiter": DELIMITER,
    "quoted_newlines": QUOTED,
}
RowOptions: TypeAlias = Annotated[Reading, Words(**ROWS)]
ReadingOptions: TypeAlias = Annotated[
    Reading,
    Words(
        format=(
            "NAME",
            "csv, jsonl, parquet, edges, mosquitto-log, nats-connz or emqx; by default from file names.",
        ),
        **ROWS,
        both_ways="Edges: each end subscribes to the other.",
        node_from=(
            "broker|client",
            "Broker logs: the nodes; by default brokers if there are several, else clients.",
        ),
        bridges=(
            "REGEX",
            "Broker logs: leave out clients with such ids, which are bridges.",
            {"show_default": False},
        ),
        topic_kind=TOPIC_KIND,
    ),
]
PublicationOptions: TypeAlias = Annotated[
    Publications,
    Words(
        format=("NAME", "csv, jsonl or parquet; by default from file names."),
        publisher=("COLUMN", "The column of publishers."),
        topic=TOPIC,
        size=("COLUMN", "The column of bytes; 'size' by default."),
        time=TIME,
        value=("COLUMN", "The column of content values, instead of topics."),
        channels=("C", "The number of channels of the content space."),
        low=("X", "Where the content space begins."),
        high=("X", "Where the content space ends."),
        seconds=("S", "The length of the logs; by default from first to last message."),
        delimiter=DELIMITER,
        quoted_newlines=QUOTED,
    ),
]
WatchOptions: TypeAlias = Annotated[
    Watch,
    Words(
        start=("DATASET", "Subscriptions that hold from the beginning."),
        once="Read the files that are there, then end.",
        every=("S", "Seconds between two checks for new files."),
        max_files=("N", "The most files in a batch; all by default.", {"min": 1}),
        forget=("DAYS", "Unsubscribes older than this, by their times, are forgotten.", {"min": 0.0}),
    ),
]

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
    reading: ReadingOptions,
    no_header: NoHeader = False,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="The state at this time: ISO 8601, or seconds."),
    ] = None,
    exclude_topic: ExcludeTopic = None,
    allow_empty: AllowEmpty = False,
    max_bad: MaxBad = 0.1,
    spark: Spark,
) -> Answer:
    """Read raw subscriptions, or subscribe and unsubscribe events, into a dataset.

    Rows that cannot be used go to the quarantine of the dataset, with source, line and reason:
    read = kept + duplicates + superseded + quarantined. If nothing is kept, nothing is written, and the exit
    code is 1.
    """
    from meshwright.actions.ingest import ingest as run

    reading = replace(reading, header=not no_header, excluded=tuple(exclude_topic or ()))
    with ProgressBar(wording=amounts("MB")) as bar:
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
    ending = (f"written to {out}",) if made.dataset else (f"  {row}" for row in made.first_quarantined)
    return Answer(made, *_outcome_lines(made), *ending, passed=made.dataset is not None)


def _outcome_lines(made: Ingested) -> list[str]:
    """Return what was found, and what became of the rows."""
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
    watch: WatchOptions,
    rows: RowOptions,
    spark: Spark,
    json: Json = False,
) -> Answer:
    """Turn the rows of a folder into join, leave, subscribe and unsubscribe events, each exactly once.

    Events are in DIR/events, in order. Ctrl-C ends the command. A killed run continues where it stopped.
    """
    from meshwright.actions.follow import follow as run
    from meshwright.cli import output

    with ProgressBar() as bar:

        def say(line: str) -> None:
            bar.stop()
            output.note(line)

        made = run(
            source,
            out,
            replace(rows, format=kind),
            watch,
            spark=spark,
            say=None if json else say,
            progress=bar,
        )
    counts = made.counts
    return Answer(
        made,
        f"{counted(counts['events'], 'event')} from {counted(counts['read'], 'row')} written to "
        f"{made.events}",
    )


def traffic(
    sources: Annotated[
        list[str], typer.Argument(metavar="SRC…", help="Publish logs in csv, jsonl or parquet; also globs.")
    ],
    *,
    out: Annotated[Path, typer.Option("--out", metavar="TRAFFIC", help="The folder to write to.")],
    publications: PublicationOptions,
    max_bad: MaxBad = 0.1,
    spark: Spark,
) -> Answer:
    """Sum up publish logs: messages, bytes and rates per publisher and channel, and per channel."""
    with ProgressBar(wording=amounts("MB")) as bar:
        made = sum_traffic(sources, out, publications, max_bad=max_bad, spark=spark, progress=bar)
    found = made.to_dict()
    return Answer(
        made,
        f"{found['publishers']:,} publishers, {found['channels']:,} channels, "
        f"{found['kept']:,} messages in {found['seconds']:,.1f} s",
        f"read {found['read']:,} rows = {found['kept']:,} kept + {found['quarantined']:,} quarantined",
        *_reason_lines(found["reasons"]),
        f"written to {out}",
    )
