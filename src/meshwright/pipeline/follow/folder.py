"""The files of `follow`, at a path or URL: outcomes of batches, states of nodes, and events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import FormatError, InputError, OutputError, first_five
from meshwright.files.atomic import new_file
from meshwright.files.exchange import flush, take_place
from meshwright.files.remote import (
    exists,
    make_folder,
    read_text,
    remove_file,
    remove_folder,
    write_text,
)
from meshwright.files.urls import SMALL_TABLE, files_in, inside, local_path, names_in
from meshwright.formatting import hide_secrets
from meshwright.pipeline.dataflow import Batches, arrow_schema, each_number
from meshwright.pipeline.follow.events import FIRST, STAMP, STATE
from meshwright.pipeline.readers.sources import SourceFile, list_files
from meshwright.pipeline.session.jobs import tasks_at_once
from meshwright.store.tables import decode_batches

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


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
    base: int = -1
    """The last batch after which the states of all nodes were written at once."""
    latest: float | None = None
    """The latest time of all rows so far."""


def read_outcome(place: str, number: int) -> BatchOutcome:
    """Return the outcome of a batch that ended."""
    text = read_text(outcome_file(place, number))
    if text is None:
        raise FormatError(f"{outcome_file(place, number)} is missing: choose another folder")
    return BatchOutcome(**json.loads(text))


def outcome_file(place: str, number: int) -> str:
    """Return the file with the outcome of a batch, which is written last."""
    return inside(place, "batches", f"{batch_name(number)}.json")


def batch_name(number: int) -> str:
    """Return the name of the files of a batch.

    >>> batch_name(7)
    'batch-00000007'
    """
    return f"batch-{number:08}"


@dataclass
class Checkpoint:
    """The number of the next batch, and the files of all batches before it."""

    number: int
    seen: set[str]


def read_checkpoint(place: str) -> Checkpoint:
    """Return where an earlier run stopped."""
    number = len(names_in(inside(place, "batches")))
    kept = [name for name in names_in(inside(place, "inputs")) if _number(name) < number]
    last = max((_number(name) for name in kept if name.startswith("seen-")), default=-1)
    seen: set[str] = set()
    for name in kept:
        text = read_text(inside(place, "inputs", name)) or "[]" if _number(name) >= last else "[]"
        listed = json.loads(text)
        seen.update(listed if name.startswith("seen-") else (path for path, *_ in listed))
    return Checkpoint(number, seen)


def write_checkpoint(place: str, reached: Checkpoint) -> None:
    """Write the files of all batches so far at once, so that the next run need not read them one by one."""
    write_record(sorted(reached.seen), inside(place, "inputs", f"seen-{reached.number:08}.json"))


def _number(name: str) -> int:
    """Return the number in the name of a file or folder of a batch.

    >>> _number("batch-00000007.json")
    7
    """
    return int(name.rpartition("-")[2].partition(".")[0])


def choose_files(
    spark: SparkSession, source: str | Path, place: str, reached: Checkpoint, most: int | None
) -> list[SourceFile]:
    """Return the files of the next batch, the oldest first if there are more than `most`; keep their state.

    A batch that began before has the files that it had then.

    Raises
    ------
    FormatError
        If one of those has changed.
    """
    kept = inside(place, "inputs", f"{batch_name(reached.number)}.json")
    text = read_text(kept)
    if text is not None:
        return _same_files(spark, source, place, json.loads(text), reached.number)
    files = list_files(spark, [source], exclude=place, allow_none=True)
    new = [file for file in files if hide_secrets(file.path) not in reached.seen]
    new = sorted(sorted(new, key=_age)[:most])
    if new:
        write_record([_stored(file) for file in new], kept)
    return new


def _stored(file: SourceFile) -> list[object]:
    return [hide_secrets(file.path), file.size, file.modified]


def release_files(place: str, number: int) -> None:
    """Let a batch that failed while it read its files begin with other ones; not if it has written states."""
    if batch_name(number) not in names_in(inside(place, "state")):
        remove_file(inside(place, "inputs", f"{batch_name(number)}.json"))


def _age(file: SourceFile) -> tuple[int, str]:
    """Return what orders files by age; some stores do not state times."""
    return (int(file.modified) if file.modified.isdigit() else 0, file.path)


def _same_files(
    spark: SparkSession, source: str | Path, place: str, before: Sequence[Sequence[object]], number: int
) -> list[SourceFile]:
    listed = {
        tuple(_stored(file)): file for file in list_files(spark, [source], exclude=place, allow_none=True)
    }
    changed = [str(each[0]) for each in before if tuple(each) not in listed]
    if changed:
        raise FormatError(
            f"{first_five(changed)} changed since batch {number} began, or vanished, and the batch may be "
            "written in part: restore it"
        )
    return [listed[tuple(each)] for each in before]


def known_states(
    spark: SparkSession, place: str, before: BatchOutcome | None, start: str | Path | None
) -> DataFrame:
    """Return the states before a batch: a base, and the states of the nodes of each batch since."""
    if before is None or before.base < 0:
        found = _initial_state(spark, start)
        folders = [batch_name(number) for number in range(0 if before is None else before.batch + 1)]
    else:
        found = None
        later = range(before.base + 1, before.batch + 1)
        folders = [f"base-{before.base:08}", *map(batch_name, later)]
    files = [file for name in folders for file in files_in(inside(place, "state", name), ".parquet")]
    states = read_frame(spark, files, STATE)
    return states if found is None else found.unionByName(states)


def remove_old(place: str, before: BatchOutcome | None) -> None:
    """Remove the states that repeating the last batch would not need."""
    if before is None:
        return
    for name in names_in(inside(place, "state")):
        old = name.startswith("batch-") and _number(name) <= before.base
        if old or (name.startswith("base-") and _number(name) < before.base):
            remove_folder(inside(place, "state", name))


def _initial_state(spark: SparkSession, start: str | Path | None) -> DataFrame:
    """Return the state before the first batch: empty, or the subscriptions of a dataset."""
    if start is None:
        return spark.createDataFrame([], STATE)
    from pyspark.sql import functions as sf

    from meshwright.pipeline.dataset.subscriptions import require_dataset

    place = require_dataset(start)

    def table(kind: str, columns: str) -> DataFrame:
        return read_frame(spark, files_in(inside(place, kind), ".parquet"), columns)

    names = {
        kind: table(f"{kind}s", "id int, name string").select(
            sf.col("id").alias(kind), sf.col("name").alias(f"{kind}_name")
        )
        for kind in ("node", "topic")
    }
    pairs = table("subscriptions", "node int, topic int")
    # By default, Spark would send small tables to all executors, through the driver.
    named = pairs.join(names["node"].hint("merge"), "node").join(names["topic"].hint("merge"), "topic")
    first = [sf.lit(value).alias(name) for name, value in zip(STAMP, FIRST, strict=True)]
    return named.select(
        sf.col("node_name").alias("node"),
        sf.col("topic_name").alias("topic"),
        *first,
        sf.lit(True).alias("held"),
        sf.lit(-1).alias("batch"),
    ).to(spark.createDataFrame([], STATE).schema)


def read_frame(spark: SparkSession, files: Sequence[str], columns: str) -> DataFrame:
    """Return the rows of Parquet files at paths or URLs; executors read them with Arrow."""
    if not files:
        return spark.createDataFrame([], columns)
    tasks = min(len(files), max(tasks_at_once(spark), len(files) // FILES_IN_A_TASK))
    shares = [list(files[task::tasks]) for task in range(tasks)]
    return spark.range(0, tasks, 1, tasks).mapInArrow(partial(read_shares, shares, columns), columns)


def read_shares(shares: Sequence[Sequence[str]], columns: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Read the Parquet files of the shares with the given numbers, on an executor."""
    schema = arrow_schema(columns)
    for number in each_number(batches):
        for file in shares[number]:
            for _, batch in decode_batches(file, schema.names, least=SMALL_TABLE):
                # Files may differ in what they state of nulls.
                yield batch.select(schema.names).cast(schema)


FILES_IN_A_TASK = 16
"""A task reads about this many files of states: they are small, except after many batches."""


def write_state(state: DataFrame, target: str) -> None:
    """Let executors write states, whole: on a disk to a temporary folder, which is flushed and then renamed.

    In an object store, states count only once the outcome of their batch is there.
    """
    local = local_path(target)
    place = target if local is None else str(Path(local).with_name(f".{Path(local).name}.writing-0"))
    remove_folder(place)
    make_folder(place)
    written = state.mapInArrow(partial(write_state_part, place), "part int").collect()
    if local is None:
        return
    missing = [row.part for row in written if not Path(place, _part_name(row.part)).exists()]
    if missing:
        raise OutputError(f"workers wrote {place} where this machine does not see it: share the folder")
    flush(place)
    take_place(Path(place), Path(local))


def _part_name(number: int) -> str:
    return f"part-{number:05}.parquet"


def write_state_part(place: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Write the states of one partition, on an executor."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark import TaskContext

    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return
    context = TaskContext.get()
    assert context is not None
    number = context.partitionId()
    _require_seen(place)
    with (
        new_file(inside(place, _part_name(number))) as file,
        pq.ParquetWriter(file, first.schema, compression="zstd") as writer,
    ):
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
    yield pa.record_batch({"part": pa.array([number], pa.int32())})


def _require_seen(folder: str) -> None:
    local = local_path(folder)
    if local is not None and not Path(local).is_dir():
        raise InputError(f"workers cannot see {folder}: choose a folder that every worker has, or a URL")


def write_lines(table: DataFrame, target: str, first: int | None) -> int:
    """Let an executor write the rows of one partition as JSON lines, numbered from `first`; count them."""
    make_folder(target.rpartition("/")[0])
    rows = table.mapInArrow(partial(write_json_lines, target, first), "lines long").collect()
    if not rows:
        write_text(target, "")
    elif not exists(target):
        raise OutputError(f"workers wrote {target} where this machine does not see it: share the folder")
    return sum(row[0] for row in rows)


def write_json_lines(target: str, first: int | None, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Write rows as JSON lines and flush them, on an executor."""
    import pyarrow as pa

    _require_seen(target.rpartition("/")[0])
    count = 0
    with new_file(target) as file, file.open("w", encoding="utf-8") as lines:
        for batch in batches:
            for row in batch.to_pylist():
                record = row if first is None else {"sequence": first + count, **row}
                lines.write(json.dumps(record, ensure_ascii=False) + "\n")
                count += 1
    yield pa.record_batch({"lines": pa.array([count], pa.int64())})


def write_record(record: object, target: str) -> None:
    """Write JSON, whole or not at all."""
    write_text(target, json.dumps(record, ensure_ascii=False) + "\n")
