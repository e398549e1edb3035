"""Follow a growing folder of subscribes and unsubscribes, and write events, each exactly once.

The files of batch N are fixed and kept in `inputs/` before the batch starts. The output of batch N depends
only on these files and on the state after batch N − 1. All of it has the number N in its name and appears
whole: on a disk it is written to a temporary file, flushed and renamed, in an object store by one request.
The outcome of the batch comes last. So a run that was killed at any point can continue: it writes the output
of batch N again, with the same contents, unless one of its files has changed since.

Spark's own streams fix the files of a batch too, but only where Hadoop has a file system with renames.

A batch writes the states of its own nodes only. Now and then, the states of all nodes are written at once.
Executors write events, states and quarantine; the driver receives counts.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from meshwright.errors import FormatError, InputError, OutputError
from meshwright.files.atomic import one_writer
from meshwright.files.remote import check_bucket, read_text, write_text
from meshwright.files.urls import file_system, inside, local_path, names_in
from meshwright.formatting import hide_secrets
from meshwright.pipeline.dataflow import Batches, each_number, make_batch
from meshwright.pipeline.dataset.subscriptions import require_dataset
from meshwright.pipeline.follow.events import apply_batch, latest_states
from meshwright.pipeline.follow.folder import (
    BatchOutcome,
    Checkpoint,
    batch_name,
    choose_files,
    known_states,
    outcome_file,
    read_checkpoint,
    read_outcome,
    release_files,
    remove_old,
    write_checkpoint,
    write_lines,
    write_record,
    write_state,
)
from meshwright.pipeline.readers import text
from meshwright.pipeline.readers.formats import ROW_FORMATS, Reading
from meshwright.pipeline.readers.rows import NO_SEQUENCE, Rows
from meshwright.pipeline.readers.shares import cut_shares, read_share
from meshwright.pipeline.readers.sources import SourceFile, Stretch, share_bytes
from meshwright.pipeline.session.jobs import spark_errors
from meshwright.store.dataset_parts import QUARANTINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.formats import Reading
    from meshwright.pipeline.readers.sources import SourceFile

ROW_COLUMNS = (
    "source string, block long, place long, node string, topic string, time double, sequence long, "
    "leaves boolean, line long, record string, reason string"
)


def read_rows(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of files, good and bad, by the reader of their format.

    Raises
    ------
    InputError
        If a file has a compression that cannot be read, or lacks a column.
    FormatError
        If a file is not of the format.
    """
    cut = cut_shares(files, reading, share_bytes(spark))
    return spark.range(0, len(cut), 1, max(len(cut), 1)).mapInArrow(partial(_read, cut, reading), ROW_COLUMNS)


def _read(cut: Sequence[Sequence[Stretch]], reading: Reading, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Read the shares with the given numbers, on an executor."""
    for number in each_number(batches):
        for rows in read_share(cut[number], reading, {}):
            if len(rows.node):
                yield _good(rows)
            if rows.bad.places:
                yield _bad(rows)


def _good(rows: Rows) -> pa.RecordBatch:
    """Return the good rows as a batch; their places are numbers that keep their order."""
    count = len(rows.node)
    columns: dict[str, Any] = {
        "source": pa.repeat(hide_secrets(rows.stretch.path), count),
        "block": pa.repeat(rows.stretch.begin, count),
        "place": pa.array(rows.places),
        "node": rows.node.cast(pa.string()),
        "topic": rows.topic.cast(pa.string()),
    }
    if rows.time is not None:
        columns["time"] = pa.array(rows.time, mask=np.isnan(rows.time))
    if rows.sequence is not None:
        columns["sequence"] = pa.array(rows.sequence, mask=rows.sequence == NO_SEQUENCE)
    if rows.leaves is not None:
        columns["leaves"] = pa.array(rows.leaves == 1, mask=rows.leaves < 0)
    return make_batch(ROW_COLUMNS, **columns)


def _bad(rows: Rows) -> pa.RecordBatch:
    """Return the bad records as a batch, with their lines in the file."""
    count = len(rows.bad.places)
    before = lines_before(rows.stretch)
    return make_batch(
        ROW_COLUMNS,
        source=[hide_secrets(rows.stretch.path)] * count,
        block=[rows.stretch.begin] * count,
        place=rows.bad.places,
        line=[before + place + 1 for place in rows.bad.places],
        record=rows.bad.records,
        reason=rows.bad.reasons,
    )


def lines_before(stretch: Stretch) -> int:
    """Return the number of lines before a stretch, by reading them."""
    if not stretch.begin or stretch.path.lower().endswith(".parquet"):
        return 0
    return sum(len(window) for window in text.windows(stretch._replace(begin=0, end=stretch.begin)))


def quarantine_frame(rows: DataFrame) -> DataFrame:
    """Return the records of bad rows in the order of files and lines."""
    from pyspark.sql import functions as sf

    bad = rows.where(sf.col("reason").isNotNull()).select(*QUARANTINE.names)
    return bad.orderBy("source", "line", "reason")


FORGET_SECONDS = 30 * 86400.0
"""By default, unsubscribes are forgotten after 30 days, by the times of rows."""
SCHEMA = 2
"""The version of the folder; in the first one, Spark's streams chose the files of batches."""
DELTAS = 16
"""The number of batches after which the states of all nodes are written at once."""


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
        The folder, by path or URL; files must appear in it complete, for example by a rename.
    out
        The folder, by path or URL, for events (`events/batch-….jsonl`, in order), states and progress.
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
    check_request(source, out, reading, start=start, every=every)
    if max_files is not None and max_files < 1:
        raise InputError(f"--max-files {max_files} is not possible: give at least one")
    place = _place(out)
    if local_path(out) is not None:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
    with one_writer(place):
        if not _is_ours(place, start):
            write_text(inside(place, "follow.json"), json.dumps(_header(start)) + "\n")
        reached = read_checkpoint(place)
        while True:
            files = choose_files(spark, source, place, reached, max_files)
            if files:
                reached.seen.update(hide_secrets(file.path) for file in files)
                try:
                    with spark_errors():
                        done = _run_batch(spark, files, reached, place, reading, start, forget)
                except (InputError, FormatError):
                    release_files(place, reached.number)
                    raise
                reached.number += 1
                if report is not None:
                    report(done)
            elif every is None:
                return
            else:
                time.sleep(every)


def check_request(
    source: str | Path,
    out: str | Path,
    reading: Reading,
    *,
    start: str | Path | None = None,
    every: float | None = None,
) -> None:
    """Check what can be checked without Spark, and before it starts; see `follow`."""
    if reading.format not in ROW_FORMATS:
        raise InputError(f"{reading.format} cannot be followed: choose one of {', '.join(ROW_FORMATS)}")
    if every is not None and not every > 0:
        raise InputError(f"--every {every} is not possible: give a time above zero")
    folder = local_path(source)
    if folder is None:
        file_system(os.fspath(source))  # refuse unknown kinds of URLs and invalid addresses
    elif not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder}: create it, then put files into it")
    if local_path(out) is None:
        check_bucket(os.fspath(out))
    _is_ours(_place(out), start)
    if start is not None:
        require_dataset(start)


def _place(out: str | Path) -> str:
    local = local_path(out)
    return os.fspath(out).rstrip("/") if local is None else str(Path(local).absolute())


def _header(start: str | Path | None) -> dict[str, object]:
    return {"format": "meshwright follow", "schema": SCHEMA, "start": start and hide_secrets(str(start))}


def _is_ours(place: str, start: str | Path | None) -> bool:
    """Return whether a folder belongs to `follow` and started with the same dataset, or is still to be made.

    Raises
    ------
    InputError, FormatError, OutputError
        If it belongs to another one, or to something else.
    """
    header = inside(place, "follow.json")
    text = read_text(header)
    if text is not None:
        try:
            found = json.loads(text)
        except ValueError as error:
            raise FormatError(f"{header} is damaged: choose another folder") from error
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise FormatError(f"{place} was written by another version of follow: choose another folder")
        if found != _header(start):
            raise InputError(
                f"{place} was started with --start {found.get('start')}, not {start}: choose another folder"
            )
        return True
    local = local_path(place)
    if names_in(place) or (local is not None and Path(local).is_file()):
        raise OutputError(f"{place} has other contents: choose another folder, or empty it")
    return False


def _run_batch(
    spark: SparkSession,
    files: Sequence[SourceFile],
    reached: Checkpoint,
    place: str,
    reading: Reading,
    start: str | Path | None,
    forget: float | None,
) -> BatchOutcome:
    """Process one batch and write its output; doing so again writes the same."""
    number = reached.number
    before = read_outcome(place, number - 1) if number else None
    rows = read_rows(spark, files, reading).persist()
    try:
        states = known_states(spark, place, before, start)
        latest = None if before is None else before.latest
        horizon = None if latest is None or forget is None else latest - forget
        made = apply_batch(rows, states, number, horizon)
        write_state(made.state, inside(place, "state", batch_name(number)))
        first = before.next_sequence if before else 0
        events = write_lines(made.events, inside(place, "events", f"{batch_name(number)}.jsonl"), first)
        if made.quarantined:
            aside = quarantine_frame(rows).repartition(1).sortWithinPartitions("source", "line", "reason")
            write_lines(aside, inside(place, "quarantine", f"{batch_name(number)}.jsonl"), None)
        base = before.base if before else -1
        if number - base >= DELTAS:
            whole = latest_states(states.unionByName(made.state), horizon)
            write_state(whole, inside(place, "state", f"base-{number:08}"))
            write_checkpoint(place, reached)
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
        made.made.unpersist()
    finally:
        rows.unpersist()
    remove_old(place, before)
    return done
