"""`meshwright ingest`: turns raw subscription data into a dataset, on Spark."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import (
    Json,
    MaxBad,
    NodeColumn,
    OperationColumn,
    SequenceColumn,
    ShowProgress,
    TimeColumn,
    TopicColumn,
)
from meshwright.cli.spark import Conf, Master

EXAMPLES = (
    "meshwright ingest subscriptions.csv --out dataset",
    "meshwright ingest 'events/*.jsonl.gz' --node broker --as-of 2026-01-31T12:00:00Z --out dataset",
    "meshwright ingest logs/*.log --format mosquitto-log --node-from broker --out dataset",
    "meshwright ingest follows.txt --format edges --both-ways --master spark://head:7077 --out dataset",
)


def ingest(
    sources: Annotated[
        list[str], typer.Argument(metavar="SRC…", help="Files, folders or globs; also .gz and .bz2.")
    ],
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DATASET", help="The folder to write the dataset to.")
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
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            metavar="C",
            help="The separator of CSV columns, or tab; by default from file names.",
        ),
    ] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="CSV without a header: node, then topic.")
    ] = False,
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
            help="Broker logs: what is a node; by default brokers if there are several, else clients.",
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
    max_bad: MaxBad = 0.1,
    master: Master = None,
    conf: Conf = None,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Read raw subscriptions, or subscribe and unsubscribe events, into a dataset.

    Rows that cannot be used go to the quarantine of the dataset, with source, line and reason:
    read = kept + duplicates + superseded + quarantined.
    """
    from meshwright.cli import output
    from meshwright.cli.output import check_target
    from meshwright.cli.spark import StageDrawing, open_session
    from meshwright.errors import InputError
    from meshwright.pipeline.dataset import ingest as pipeline
    from meshwright.pipeline.readers.formats import common_format
    from meshwright.pipeline.readers.options import BRIDGES, Reading, parse_time
    from meshwright.pipeline.readers.sources import list_files

    moment = None if as_of is None else parse_time(as_of)
    if as_of is not None and moment is None:
        raise InputError(
            f"--as-of {as_of} is not a time: give ISO 8601, as in 2026-01-31T12:00:00Z, or seconds"
        )
    check_target(out, "dataset")
    if kind is not None:
        # Refuse an unknown format before Spark starts.
        Reading(kind)
    spark = open_session(master, conf)
    reading = Reading(
        kind or common_format(list_files(spark, sources, exclude=out)),
        node=node,
        topic=topic,
        time=time,
        operation=operation,
        sequence=sequence,
        delimiter="\t" if delimiter == "tab" else delimiter,
        header=not no_header,
        both_ways=both_ways,
        as_of=moment,
        node_from=node_from,
        bridges=BRIDGES if bridges is None else bridges,
    )
    with StageDrawing(forced=progress) as drawing:
        outcome = pipeline.ingest(spark, sources, out, reading, max_bad=max_bad, progress=drawing)
    reasons = pipeline.quarantine_reasons(out)
    if json:
        output.answer_json({**outcome.described(), "reasons": reasons, "dataset": str(out)})
        return
    output.answer(
        f"{outcome.nodes:,} brokers, {outcome.topics:,} topics, {outcome.kept:,} subscriptions",
        f"read {outcome.read:,} rows = {outcome.kept:,} kept + {outcome.duplicates:,} duplicates + "
        f"{outcome.superseded:,} superseded + {outcome.quarantined:,} quarantined",
        *output.format_reasons(reasons),
        f"written to {out}",
    )
