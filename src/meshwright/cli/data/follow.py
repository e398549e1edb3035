"""`meshwright follow`: a growing folder of subscribes and unsubscribes, as events for a live overlay."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, NodeColumn, OperationColumn, SequenceColumn, TimeColumn, TopicColumn
from meshwright.cli.spark import Conf, Master

if TYPE_CHECKING:
    from meshwright.pipeline.follow.follow import BatchOutcome

EXAMPLES = (
    "meshwright follow incoming --format jsonl --out events",
    "meshwright follow incoming --format csv --start dataset --once --out events",
)


def follow(
    source: Annotated[str, typer.Argument(metavar="FOLDER", help="Where files of rows appear, each whole.")],
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where events, state and checkpoint are kept.")
    ],
    kind: Annotated[str, typer.Option("--format", metavar="NAME", help="csv, jsonl or parquet.")] = "jsonl",
    start: Annotated[
        Path | None,
        typer.Option("--start", metavar="DATASET", help="Subscriptions that are held from the beginning."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Take what is there, then end.")] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="S", help="Look for new files so often, in seconds.")
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
    """Follow a folder: its rows become join, leave, subscribe and unsubscribe events, each exactly once.

    Events are in DIR/events, in order. A run that was killed goes on where it was; Ctrl-C ends it.
    """
    from meshwright.cli import output
    from meshwright.cli.spark import open_session
    from meshwright.errors import InputError
    from meshwright.pipeline.follow.follow import follow as followed
    from meshwright.pipeline.readers.options import Reading

    if not Path(source).is_dir() and "://" not in source:
        raise InputError(f"no folder {source}: make it, then let files appear in it")
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
    followed(spark, source, out, reading, start=start, every=None if once else every, report=report)
    counts = {
        name: sum(getattr(batch, name) for batch in done)
        for name in ("read", "applied", "unchanged", "superseded", "quarantined", "events")
    }
    if json:
        output.answer_json({"batches": len(done), **counts, "out": str(out)})
    else:
        output.answer(f"{counts['events']:,} events of {counts['read']:,} rows written to {out / 'events'}")
