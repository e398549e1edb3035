"""A growing folder of subscribes and unsubscribes, followed: events for a live overlay, each exactly once.

Spark's checkpoint fixes which files make up batch N before it is worked on. What batch N gives depends on
these files and on the state that batch N − 1 left, and on nothing else; all of it is written under the number
N, beside its place and then renamed. So a run that was killed anywhere goes on as if it had not been: what
batch N left is written again, the same.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import FormatError, InputError, OutputError
from meshwright.pipeline.follow.batch import STATE, Batch, apply_batch
from meshwright.pipeline.readers.formats import READERS
from meshwright.pipeline.readers.options import Reading
from meshwright.pipeline.readers.quarantine import quarantine_table
from meshwright.pipeline.readers.rows import SCHEMA
from meshwright.pipeline.readers.sources import escape_glob, list_files, spark_path
from meshwright.pipeline.session.failures import spark_errors, strip_scheme

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class BatchOutcome:
    """What became of the rows of a batch: read = applied + unchanged + superseded + quarantined."""

    batch: int
    files: int
    read: int
    applied: int
    unchanged: int
    superseded: int
    quarantined: int
    events: int
    next_sequence: int
    """The number that the next event will have."""


class BatchReporter:
    """Tells of the batches that end after it was made; the latest one before may be done again."""

    def __init__(self, place: Path, report: Callable[[BatchOutcome], None] | None) -> None:
        self.place, self.report = place, report
        self.latest, self.stamp = 0, 0
        self._look(None)

    def __call__(self) -> None:
        """Tell of what is new."""
        self._look(self.report)

    def _look(self, report: Callable[[BatchOutcome], None] | None) -> None:
        for number in count(self.latest):
            file = outcome_file(self.place, number)
            if not file.exists():
                return
            stamp = file.stat().st_mtime_ns
            if (number, stamp) == (self.latest, self.stamp):
                continue
            self.latest, self.stamp = number, stamp
            if report is not None:
                report(read_outcome(self.place, number))


def read_outcome(place: Path, number: int) -> BatchOutcome:
    """Return what a batch that ended says of itself."""
    return BatchOutcome(**json.loads(outcome_file(place, number).read_text(encoding="utf-8")))


def outcome_file(place: Path, number: int) -> Path:
    """Return the file that a batch leaves last."""
    return place / "batches" / f"{batch_name(number)}.json"


def batch_name(number: int) -> str:
    """Return under which name a batch leaves what it gives.

    >>> batch_name(7)
    'batch-00000007'
    """
    return f"batch-{number:08}"


FORMATS = ("csv", "jsonl", "parquet")
FILES = "path string, modificationTime timestamp, length long, content binary"
ANY_AGE = "36500d"
"""Spark would pass over files that are a week older than the latest; a rename keeps a file's time."""
LOOK_SECONDS = 1
"""How often it is looked whether a batch has ended."""


def follow(
    spark: SparkSession,
    source: str | Path,
    out: str | Path,
    reading: Reading,
    *,
    start: str | Path | None = None,
    every: float | None = None,
    report: Callable[[BatchOutcome], None] | None = None,
) -> None:
    """Turn the files of a folder, and those that come to it, into events, until interrupted.

    Parameters
    ----------
    spark
        The session to run on.
    source
        The folder; files must appear in it whole, as by a rename.
    out
        Where events, state and checkpoint go: `events/batch-….jsonl`, in order.
    reading
        How to read the files: csv, jsonl or parquet.
    start
        A dataset to begin with: its subscriptions are held already.
    every
        Look for new files so often, in seconds; None: take what is there, then end.
    report
        Told of every batch.

    Raises
    ------
    InputError
        If the folder is not there, or the format is another.
    FormatError
        If a file cannot be read: mended, it is taken up again by the next run.
    """
    if reading.format not in FORMATS:
        raise InputError(f"{reading.format} cannot be followed: choose one of {', '.join(FORMATS)}")
    if every is not None and not every > 0:
        raise InputError(f"to look every {every} s is not possible: give a time above zero")
    place = Path(spark_path(out))  # a Spark Connect service works in another folder
    _open_folder(place, start)
    begun = None if start is None else spark_path(start)
    files = (
        spark.readStream.format("binaryFile")
        .schema(FILES)
        .option("maxFileAge", ANY_AGE)
        .load(spark_path(source))
        .select("path")
    )
    failed: list[Exception] = []

    def take(batch: DataFrame, number: int) -> None:
        try:
            _run_batch(batch, number, place, reading, begun)
        except Exception as error:
            failed.append(error)  # Spark would only tell that there was one
            raise

    trigger: dict[str, Any] = (
        {"availableNow": True} if every is None else {"processingTime": f"{every} seconds"}
    )
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # it would print the whole of an error that we tell
    tell = BatchReporter(place, report)
    with spark_errors():
        query = (
            files.writeStream.foreachBatch(take)
            .option("checkpointLocation", spark_path(place / "checkpoint"))
            .trigger(**trigger)
            .start()
        )
        try:
            while not query.awaitTermination(LOOK_SECONDS):
                tell()
        except Exception as error:
            if failed:
                raise failed[0] from error
            raise
        finally:
            query.stop()
            tell()


def _open_folder(place: Path, start: str | Path | None) -> None:
    """Make the folder, or look that it is one of ours, begun with the same dataset."""
    header = place / "follow.json"
    described = {"format": "meshwright follow", "schema": 1, "start": None if start is None else str(start)}
    if header.is_file():
        try:
            found = json.loads(header.read_text(encoding="utf-8"))
        except ValueError as error:
            raise FormatError(f"{header} is damaged: choose another place") from error
        if found != described:
            raise InputError(
                f"{place} was begun with {found.get('start')}, not {start}: choose another place"
            )
        return
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise OutputError(f"{place} holds something else: choose another place, or empty it")
    place.mkdir(parents=True, exist_ok=True)
    beside = place / ".follow.json"
    beside.write_text(json.dumps(described) + "\n", encoding="utf-8")
    beside.rename(header)


def _run_batch(
    batch: DataFrame, number: int, place: Path, reading: Reading, start: str | Path | None
) -> None:
    """Work on one batch, and leave all it gives; doing so again gives the same."""
    spark = batch.sparkSession
    paths = sorted(
        escape_glob(strip_scheme(row.path)) for row in batch.collect()
    )  # without files of no bytes
    files = list_files(spark, paths) if paths else []
    before = read_outcome(place, number - 1) if number else None
    read = READERS[reading.format](spark, files, reading) if files else spark.createDataFrame([], SCHEMA)
    rows = read.persist()
    try:
        known = (
            spark.read.schema(STATE).parquet(spark_path(place / "state" / batch_name(number - 1)))
            if before
            else _initial_state(spark, start)
        )
        made = apply_batch(rows, known, before.next_sequence if before else 0)
        aside = quarantine_table(rows, files).to_pylist()
        _write_state(made, place / "state" / batch_name(number))
        done = BatchOutcome(
            batch=number,
            files=len(files),
            read=made.read,
            applied=made.read - made.unchanged - made.superseded - len(aside),
            unchanged=made.unchanged,
            superseded=made.superseded,
            quarantined=len(aside),
            events=len(made.events),
            next_sequence=(before.next_sequence if before else 0) + len(made.events),
        )
        _write_lines(made.events, place / "events" / f"{batch_name(number)}.jsonl")
        if aside:
            _write_lines(aside, place / "quarantine" / f"{batch_name(number)}.jsonl")
        _write_lines([asdict(done)], outcome_file(place, number))
        made.release()
    finally:
        rows.unpersist()
    # The state before the last is needed no more: batch N is only ever worked on again from N − 1.
    shutil.rmtree(place / "state" / batch_name(number - 2), ignore_errors=True)


def _initial_state(spark: SparkSession, start: str | Path | None) -> DataFrame:
    """Return the state before the first batch: nothing, or a dataset's subscriptions, older than all rows."""
    if start is None:
        return spark.createDataFrame([], STATE)
    from pyspark.sql import functions as sf

    from meshwright.pipeline.dataset.subscriptions import subscriptions

    opened = subscriptions(spark, start)
    names = {
        kind: spark.read.parquet(spark_path(Path(start) / f"{kind}s")).select(
            sf.col("id").alias(kind), sf.col("name").alias(f"{kind}_name")
        )
        for kind in ("node", "topic")
    }
    named = opened.table.join(names["node"], "node").join(names["topic"], "topic")
    return named.select(
        sf.col("node_name").alias("node"),
        sf.col("topic_name").alias("topic"),
        sf.lit(float("-inf")).alias("time"),
        sf.lit(-(2**63)).cast("long").alias("sequence"),
        sf.lit(True).alias("held"),
    )


def _write_state(made: Batch, target: Path) -> None:
    beside = target.with_name(f".{target.name}.writing")
    shutil.rmtree(beside, ignore_errors=True)
    made.state.write.parquet(spark_path(beside))
    shutil.rmtree(target, ignore_errors=True)
    beside.rename(target)


def _write_lines(records: Sequence[dict[str, Any]], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.writing")
    with beside.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    beside.rename(target)
