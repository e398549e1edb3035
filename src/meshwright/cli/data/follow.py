"""`meshwright follow`: turns a growing folder of subscribes and unsubscribes into events."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, NodeColumn, OperationColumn, SequenceColumn, TimeColumn, TopicColumn
from meshwright.cli.spark import Conf, Master

if TYPE_CHECKING:
    from meshwright.pipeline.follow.outcome import BatchOutcome

EXAMPLES = (
    "meshwright follow incoming --format jsonl --out events",
    "meshwright follow incoming --format csv --start dataset --once --out events",
)


def follow(
    source: Annotated[
        str, typer.Argument(metavar="FOLDER", help="The folder in which complete files appear.")
    ],
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder for events, state and checkpoint.")
    ],
    kind: Annotated[str, typer.Option("--format", metavar="NAME", help="csv, jsonl or parquet.")] = "jsonl",
    start: Annotated[
        Path | None,
        typer.Option("--start", metavar="DATASET", help="Subscriptions that hold from the beginning."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Read the files that are there, then end.")] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="S", help="Seconds between two checks for new files.")
    ] = 5.0,
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    time: TimeColumn = None,
    operation: OperationColumn = None,
    sequence: SequenceColumn = None,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Turn the rows of a folder into join, leave, subscribe and unsubscribe events, each exactly once.

    Events are in DIR/events, in order. Ctrl-C ends the command. A killed run continues where it stopped.
    """
    from meshwright.cli import output
    from meshwright.cli.spark import open_session
    from meshwright.errors import InputError
    from meshwright.pipeline.follow.follow import follow as follow_folder
    from meshwright.pipeline.readers.options import Reading

    if not Path(source).is_dir() and "://" not in source:
        raise InputError(f"there is no folder {source}: create it, then put files into it")
    reading = Reading(kind, node=node, topic=topic, time=time, operation=operation, sequence=sequence)
    done: list[BatchOutcome] = []

    def report(batch: "BatchOutcome") -> None:
        done.append(batch)
        if not json:
            output.note(
                f"batch {batch.batch}: read {batch.read:,} rows = {batch.applied:,} applied + "
                f"{batch.unchanged:,} unchanged + {batch.superseded:,} superseded + "
                f"{batch.quarantined:,} quarantined; {batch.events:,} events"
            )

    spark = open_session(master, conf)
    follow_folder(spark, source, out, reading, start=start, every=None if once else every, report=report)
    counts = {
        name: sum(getattr(batch, name) for batch in done)
        for name in ("read", "applied", "unchanged", "superseded", "quarantined", "events")
    }
    if json:
        output.answer_json({"batches": len(done), **counts, "out": str(out)})
    else:
        output.answer(f"{counts['events']:,} events from {counts['read']:,} rows written to {out / 'events'}")
