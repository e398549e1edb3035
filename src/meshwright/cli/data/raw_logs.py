"""Commands that read raw logs on Spark: `ingest`, `follow` and `traffic`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import (
    AllowEmpty,
    Delimiter,
    ExcludeTopic,
    Json,
    MaxBad,
    NodeColumn,
    NoHeader,
    OperationColumn,
    QuotedNewlines,
    SequenceColumn,
    ShowProgress,
    TimeColumn,
    TopicColumn,
    TopicKind,
    delimiter_character,
)
from meshwright.cli.spark import Conf, ConnectTimeout, Master

if TYPE_CHECKING:
    from meshwright.pipeline.dataset.ingest import Outcome
    from meshwright.pipeline.follow_files import BatchOutcome

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
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    time: TimeColumn = None,
    operation: OperationColumn = None,
    sequence: SequenceColumn = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    quoted_newlines: QuotedNewlines = False,
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
    master: Master = None,
    conf: Conf = None,
    connect_timeout: ConnectTimeout = 30.0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Read raw subscriptions, or subscribe and unsubscribe events, into a dataset.

    Rows that cannot be used go to the quarantine of the dataset, with source, line and reason:
    read = kept + duplicates + superseded + quarantined. If nothing is kept, nothing is written, and the exit
    code is 1.
    """
    from meshwright.actions.spark import SparkOptions
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.output import check_target
    from meshwright.cli.progress_bar import ProgressBar, amounts
    from meshwright.errors import InputError
    from meshwright.names import check_topic_kind
    from meshwright.pipeline.dataset import ingest as pipeline
    from meshwright.pipeline.readers.formats import BRIDGES, Reading, common_format
    from meshwright.pipeline.readers.reading import CHECKED_HEADERS, check_headers, fits_here
    from meshwright.pipeline.readers.sources import list_files
    from meshwright.pipeline.readers.times import parse_time

    moment = None if as_of is None else parse_time(as_of)
    if as_of is not None and moment is None:
        raise InputError(
            f"--as-of {as_of} is not a time: give ISO 8601, as in 2026-01-31T12:00:00Z, or seconds"
        )
    check_topic_kind(topic_kind)
    check_target(out, "dataset")
    if kind is not None:
        Reading(kind)  # an unknown format is an error before anything is read
    remote = bool(master and master.startswith("sc://")) or "SPARK_REMOTE" in os.environ
    if kind is None and remote:
        # A service lists the files itself.
        files = list_files(SparkOptions(master, conf or (), connect_timeout).open(), sources, exclude=out)
    else:
        files = [] if remote else list_files(None, sources, exclude=out)
    reading = Reading(
        kind or common_format(files),
        node=node,
        topic=topic,
        time=time,
        operation=operation,
        sequence=sequence,
        delimiter=delimiter_character(delimiter),
        header=not no_header,
        both_ways=both_ways,
        as_of=moment,
        node_from=node_from,
        bridges=BRIDGES if bridges is None else bridges,
        quoted_newlines=quoted_newlines,
        topic_kind=topic_kind,
        excluded=tuple(exclude_topic or ()),
    )
    check_headers(files[:CHECKED_HEADERS], reading)
    # Java takes longer to start than a small file to read.
    small = not SparkOptions(master, conf or ()).wanted and fits_here(files)
    spark = None if small else SparkOptions(master, conf or (), connect_timeout).open()
    with ProgressBar(wording=amounts("MB"), forced=progress) as drawing, _named_option():
        refused: pipeline.NothingKeptError | None = None
        try:
            outcome = pipeline.ingest(
                spark, sources, out, reading, max_bad=max_bad, allow_empty=allow_empty, progress=drawing
            )
        except pipeline.NothingKeptError as error:
            outcome, refused = error.outcome, error
    if refused is None:
        fields: dict[str, Any] = {"dataset": str(out)}
        ending = [f"written to {out}"]
    else:
        output.note(f"{refused.finding}, or accept an empty dataset with --allow-empty")
        fields = {"dataset": None, "first_quarantined": list(refused.examples)}
        ending = [f"  {example}" for example in refused.examples]
    if json:
        output.answer_json({**outcome.described(), **fields})
    else:
        output.answer(*_outcome_lines(outcome), *ending)
    if refused is not None:
        raise typer.Exit(ANSWER_IS_NO)


@contextmanager
def _named_option() -> Iterator[None]:
    """Name the option of a command where an error of the library names its parameter `max_bad`."""
    from meshwright.errors import InputError
    from meshwright.pipeline.dataset.ingest import TooManyBadError

    try:
        yield
    except TooManyBadError as error:
        raise InputError(f"{error.finding}; correct them, or raise --max-bad") from error


def _outcome_lines(outcome: "Outcome") -> list[str]:
    """Return what was found, and what became of the rows."""
    from meshwright.cli import output
    from meshwright.formatting import counted

    excluded = f" + {outcome.excluded:,} excluded" if outcome.excluded else ""
    return [
        f"{counted(outcome.nodes, 'broker')}, {counted(outcome.topics, 'topic')}, "
        f"{counted(outcome.kept, 'subscription')}",
        f"read {counted(outcome.read, 'row')} = {outcome.kept:,} kept + "
        f"{counted(outcome.duplicates, 'duplicate')} + {outcome.superseded:,} superseded + "
        f"{outcome.quarantined:,} quarantined{excluded}",
        *output.format_reasons(outcome.reasons),
        *(f"cleaned {count:,} × {what}" for what, count in outcome.cleaned.items()),
    ]


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
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    time: TimeColumn = None,
    operation: OperationColumn = None,
    sequence: SequenceColumn = None,
    delimiter: Delimiter = None,
    quoted_newlines: QuotedNewlines = False,
    master: Master = None,
    conf: Conf = None,
    connect_timeout: ConnectTimeout = 30.0,
    json: Json = False,
) -> None:
    """Turn the rows of a folder into join, leave, subscribe and unsubscribe events, each exactly once.

    Events are in DIR/events, in order. Ctrl-C ends the command. A killed run continues where it stopped.
    """
    from meshwright.actions.spark import SparkOptions
    from meshwright.cli import output
    from meshwright.files.urls import inside
    from meshwright.formatting import counted
    from meshwright.pipeline.follow import check_request
    from meshwright.pipeline.follow import follow as follow_folder
    from meshwright.pipeline.readers.formats import Reading

    reading = Reading(
        kind,
        node=node,
        topic=topic,
        time=time,
        operation=operation,
        sequence=sequence,
        delimiter=delimiter_character(delimiter),
        quoted_newlines=quoted_newlines,
    )
    check_request(source, out, reading, start=start, every=None if once else every)
    done: list[BatchOutcome] = []

    def report(batch: "BatchOutcome") -> None:
        done.append(batch)
        if not json:
            output.note(
                f"batch {batch.batch}: read {counted(batch.read, 'row')} = {batch.applied:,} applied + "
                f"{batch.unchanged:,} unchanged + {batch.superseded:,} superseded + "
                f"{batch.quarantined:,} quarantined; {counted(batch.events, 'event')}"
            )

    spark = SparkOptions(master, conf or (), connect_timeout).open()
    follow_folder(
        spark,
        source,
        out,
        reading,
        start=start,
        every=None if once else every,
        max_files=max_files,
        forget=forget * 86400,
        report=report,
    )
    counts = {
        name: sum(getattr(batch, name) for batch in done)
        for name in ("read", "applied", "unchanged", "superseded", "quarantined", "events")
    }
    if json:
        output.answer_json({"batches": len(done), **counts, "out": str(out)})
    else:
        output.answer(
            f"{counted(counts['events'], 'event')} from {counted(counts['read'], 'row')} written to "
            f"{inside(out, 'events')}"
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
    master: Master = None,
    conf: Conf = None,
    connect_timeout: ConnectTimeout = 30.0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Sum up publish logs: messages, bytes and rates per publisher and channel, and per channel."""
    from meshwright.actions.spark import SparkOptions
    from meshwright.cli import output
    from meshwright.cli.output import check_target
    from meshwright.cli.progress_bar import ProgressBar, amounts
    from meshwright.pipeline.dataset.publications import Publications, sum_traffic
    from meshwright.pipeline.readers.formats import common_format
    from meshwright.pipeline.readers.reading import CHECKED_HEADERS, check_headers, fits_here
    from meshwright.pipeline.readers.sources import list_files

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
        delimiter=delimiter_character(delimiter),
        quoted_newlines=quoted_newlines,
    )
    check_target(out, "traffic")
    remote = bool(master and master.startswith("sc://")) or "SPARK_REMOTE" in os.environ
    # A service lists the files itself.
    files = [] if remote else list_files(None, sources)
    if files:
        check_headers(files[:CHECKED_HEADERS], asked.reading(kind or common_format(files)))
    small = not remote and not SparkOptions(master, conf or ()).wanted and fits_here(files)
    spark = None if small else SparkOptions(master, conf or (), connect_timeout).open()
    with ProgressBar(wording=amounts("MB"), forced=progress) as drawing, _named_option():
        made = sum_traffic(spark, sources, out, asked, max_bad=max_bad, progress=drawing)
    counts = made.described["counts"]
    if json:
        found = {"publishers": made.publishers, "channels": made.channels, "reasons": made.reasons}
        output.answer_json({**counts, **found, "seconds": made.described["seconds"], "traffic": str(out)})
    else:
        output.answer(
            f"{made.publishers:,} publishers, {made.channels:,} channels, "
            f"{counts['kept']:,} messages in {made.described['seconds']:,.1f} s",
            f"read {counts['read']:,} rows = {counts['kept']:,} kept + {counts['quarantined']:,} quarantined",
            *output.format_reasons(made.reasons),
            f"written to {out}",
        )
