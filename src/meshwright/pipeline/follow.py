"""Follow a growing folder of subscribes and unsubscribes, and write events, each exactly once.

Spark's checkpoint fixes the files of batch N before the batch starts. The output of batch N depends only on
these files and on the state after batch N − 1. All of it has the number N in its name and is written to a
temporary file first, then renamed. So a run that was killed at any point can continue: it writes the output
of batch N again, with the same contents.
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
from meshwright.pipeline.event_batches import STATE, Batch, apply_batch
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.row_frames import SCHEMA, quarantine_frame, read_rows
from meshwright.pipeline.readers.sources import list_files, spark_path
from meshwright.pipeline.session.failures import spark_errors, strip_scheme

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


FORMATS = ("csv", "jsonl", "parquet")
FILES = "path string, modificationTime timestamp, length long, content binary"
ANY_AGE = "36500d"
"""By default, Spark skips files that are a week older than the latest, and a rename keeps the old time."""
POLL_SECONDS = 1
"""The time between two checks for batches that ended."""


@dataclass(frozen=True)
class BatchOutcome:
    """The counts of a batch: read = applied + unchanged + superseded + quarantined."""

    batch: int
    files: int
    read: int
    applied: int
    unchanged: int
    superseded: int
    quarantined: int
    events: int
    next_sequence: int
    """The number of the next event."""


class BatchReporter:
    """Reports the batches that end after it is created.

    A killed run leaves its last batch to be done again. Then its file gets a new modification time, and the
    batch is reported too.
    """

    def __init__(self, place: Path, report: Callable[[BatchOutcome], None] | None) -> None:
        self.place = place
        self.latest, self.stamp = 0, 0
        self._report_new(None)
        self.report = report

    def __call__(self) -> None:
        """Report the batches that ended since the last call."""
        self._report_new(self.report)

    def _report_new(self, report: Callable[[BatchOutcome], None] | None) -> None:
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
    """Return the outcome of a batch that ended."""
    return BatchOutcome(**json.loads(outcome_file(place, number).read_text(encoding="utf-8")))


def outcome_file(place: Path, number: int) -> Path:
    """Return the file with the outcome of a batch, which is written last."""
    return place / "batches" / f"{batch_name(number)}.json"


def batch_name(number: int) -> str:
    """Return the name of the files of a batch.

    >>> batch_name(7)
    'batch-00000007'
    """
    return f"batch-{number:08}"


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
    """Turn the files of a folder, and those that appear in it, into events, until interrupted.

    Parameters
    ----------
    spark
        The Spark session.
    source
        The folder; files must appear in it complete, for example by a rename.
    out
        The folder for events (`events/batch-….jsonl`, in order), state and checkpoint.
    reading
        How to read the files: csv, jsonl or parquet.
    start
        A dataset whose subscriptions hold from the beginning.
    every
        The seconds between two checks for new files; None: read the files that are there, then end.
    report
        A callback for the outcome of each batch.

    Raises
    ------
    InputError
        If the folder does not exist, or the format is not supported.
    FormatError
        If a file cannot be read. Once it is repaired, the next run reads it again.
    """
    if reading.format not in FORMATS:
        raise InputError(f"{reading.format} cannot be followed: choose one of {', '.join(FORMATS)}")
    if every is not None and not every > 0:
        raise InputError(f"--every {every} is not possible: give a time above zero")
    # A Spark Connect service has another working folder, so paths must be absolute.
    place = Path(spark_path(out))
    _open_folder(place, start)
    start_path = None if start is None else spark_path(start)
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
            _run_batch(batch, number, place, reading, start_path)
        except Exception as error:
            # Spark would report only that there was an error.
            failed.append(error)
            raise

    trigger: dict[str, Any] = (
        {"availableNow": True} if every is None else {"processingTime": f"{every} seconds"}
    )
    # py4j would print the full error, which we report in one line.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    report_batches = BatchReporter(place, report)
    with spark_errors():
        query = (
            files.writeStream.foreachBatch(take)
            .option("checkpointLocation", spark_path(place / "checkpoint"))
            .trigger(**trigger)
            .start()
        )
        try:
            while not query.awaitTermination(POLL_SECONDS):
                report_batches()
        except Exception as error:
            if failed:
                raise failed[0] from error
            raise
        finally:
            query.stop()
            report_batches()


def _open_folder(place: Path, start: str | Path | None) -> None:
    """Create the folder, or check that it belongs to `follow` and started with the same dataset."""
    header = place / "follow.json"
    described = {"format": "meshwright follow", "schema": 1, "start": None if start is None else str(start)}
    if header.is_file():
        try:
            found = json.loads(header.read_text(encoding="utf-8"))
        except ValueError as error:
            raise FormatError(f"{header} is damaged: choose another folder") from error
        if found != described:
            raise InputError(
                f"{place} was started with --start {found.get('start')}, not {start}: choose another folder"
            )
        return
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise OutputError(f"{place} has other contents: choose another folder, or empty it")
    place.mkdir(parents=True, exist_ok=True)
    temporary = place / ".follow.json"
    temporary.write_text(json.dumps(described) + "\n", encoding="utf-8")
    temporary.rename(header)


def _run_batch(
    batch: DataFrame, number: int, place: Path, reading: Reading, start: str | Path | None
) -> None:
    """Process one batch and write its output; doing so again writes the same."""
    spark = batch.sparkSession
    paths = sorted(strip_scheme(row.path) for row in batch.collect())
    files = list_files(spark, paths) if paths else []
    before = read_outcome(place, number - 1) if number else None
    read = read_rows(spark, files, reading) if files else spark.createDataFrame([], SCHEMA)
    rows = read.persist()
    try:
        known = (
            spark.read.schema(STATE).parquet(spark_path(place / "state" / batch_name(number - 1)))
            if before
            else _initial_state(spark, start)
        )
        made = apply_batch(rows, known, before.next_sequence if before else 0)
        aside = quarantine_frame(rows).toArrow().to_pylist()
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
    # Batch N is only ever repeated from the state N − 1, so older states can go.
    shutil.rmtree(place / "state" / batch_name(number - 2), ignore_errors=True)


def _initial_state(spark: SparkSession, start: str | Path | None) -> DataFrame:
    """Return the state before the first batch: empty, or the subscriptions of a dataset."""
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
    named = opened.table(spark).join(names["node"], "node").join(names["topic"], "topic")
    return named.select(
        sf.col("node_name").alias("node"),
        sf.col("topic_name").alias("topic"),
        sf.lit(float("-inf")).alias("time"),
        sf.lit(-(2**63)).cast("long").alias("sequence"),
        sf.lit(True).alias("held"),
    )


def _write_state(made: Batch, target: Path) -> None:
    """Write the state to a temporary folder, then rename it."""
    temporary = target.with_name(f".{target.name}.writing")
    shutil.rmtree(temporary, ignore_errors=True)
    made.state.write.parquet(spark_path(temporary))
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)


def _write_lines(records: Sequence[dict[str, Any]], target: Path) -> None:
    """Write JSON lines to a temporary file, then rename it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.writing")
    with temporary.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    temporary.rename(target)
