"""Follow a growing folder of subscribes and unsubscribes, and write events, each exactly once.

Spark's checkpoint fixes the files of batch N before the batch starts. The output of batch N depends only on
these files and on the state after batch N − 1. All of it has the number N in its name and is written to a
temporary file first, flushed, then renamed. So a run that was killed at any point can continue: it writes the
output of batch N again, with the same contents, unless one of its files has changed since.

A batch writes the states of its own nodes only. Now and then, the states of all nodes are written at once.
Executors write events, states and quarantine; the driver receives counts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import FormatError, InputError, OutputError
from meshwright.pipeline.event_batches import apply_batch, latest_states
from meshwright.pipeline.follow_files import (
    BatchOutcome,
    batch_name,
    check_files,
    known_states,
    outcome_file,
    read_outcome,
    remove_old,
    write_lines,
    write_record,
    write_state,
)
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
FORGET_SECONDS = 30 * 86400.0
"""By default, unsubscribes are forgotten after 30 days, by the times of rows."""
DELTAS = 16
"""The number of batches after which the states of all nodes are written at once."""
POLL_SECONDS = 1
"""The time between two checks for batches that ended."""


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


def follow(
    spark: SparkSession,
    source: str | Path,
    out: str | Path,
    reading: Reading,
    *,
    start: str | Path | None = None,
    every: float | None = None,
    max_files: int | None = None,
    forget: float | None = FORGET_SECONDS,
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
    max_files
        The most files in a batch; by default, all that are there.
    forget
        An unsubscribe is forgotten this many seconds before the latest time of all rows; older rows that
        arrive later are superseded, unless their node and topic have a newer state. None: never.
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
    if max_files is not None and max_files < 1:
        raise InputError(f"--max-files {max_files} is not possible: give at least one")
    # A Spark Connect service has another working folder, so paths must be absolute.
    place = Path(spark_path(out))
    _open_folder(place, start)
    start_path = None if start is None else spark_path(start)
    stream = spark.readStream.format("binaryFile").schema(FILES).option("maxFileAge", ANY_AGE)
    if max_files is not None:
        stream = stream.option("maxFilesPerTrigger", str(max_files))
    files = stream.load(spark_path(source)).select("path")
    failed: list[Exception] = []

    def take(batch: DataFrame, number: int) -> None:
        try:
            _run_batch(batch, number, place, reading, start_path, forget)
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
    batch: DataFrame,
    number: int,
    place: Path,
    reading: Reading,
    start: str | Path | None,
    forget: float | None,
) -> None:
    """Process one batch and write its output; doing so again writes the same."""
    spark = batch.sparkSession
    paths = sorted(strip_scheme(row.path) for row in batch.collect())
    files = list_files(None, paths) if paths else []
    check_files(place, number, files)
    before = read_outcome(place, number - 1) if number else None
    read = read_rows(spark, files, reading) if files else spark.createDataFrame([], SCHEMA)
    rows = read.persist()
    try:
        known = known_states(spark, place, before, start)
        latest = None if before is None else before.latest
        horizon = None if latest is None or forget is None else latest - forget
        made = apply_batch(rows, known, number, horizon)
        delta = place / "state" / batch_name(number)
        write_state(made.state, delta)
        first = before.next_sequence if before else 0
        events = write_lines(made.events, place / "events" / f"{batch_name(number)}.jsonl", first)
        if made.quarantined:
            aside = quarantine_frame(rows).repartition(1).sortWithinPartitions("source", "line", "reason")
            write_lines(aside, place / "quarantine" / f"{batch_name(number)}.jsonl", None)
        base = before.base if before else -1
        if number - base >= DELTAS:
            states = latest_states(known.unionByName(made.state), horizon)
            write_state(states, place / "state" / f"base-{number:08}")
            base = number
        done = BatchOutcome(
            batch=number,
            files=len(files),
            read=made.read,
            applied=made.read - made.unchanged - made.superseded - made.quarantined,
            unchanged=made.unchanged,
            superseded=made.superseded,
            quarantined=made.quarantined,
            events=events,
            next_sequence=first + events,
            base=base,
            latest=max((time for time in (latest, made.latest) if time is not None), default=None),
        )
        write_record(asdict(done), outcome_file(place, number))
        made.release()
    finally:
        rows.unpersist()
    remove_old(place, before)
