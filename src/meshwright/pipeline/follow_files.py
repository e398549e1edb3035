"""The files of `follow`: outcomes of batches, states of nodes, events; each flushed and then renamed."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import FormatError, InputError, OutputError, first_five
from meshwright.pipeline.event_batches import FIRST, STAMP, STATE
from meshwright.pipeline.readers.sources import SourceFile, spark_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.flow import Batches


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


def check_files(place: Path, number: int, files: Sequence[SourceFile]) -> None:
    """Keep what the files of a batch were when it began; refuse to repeat it with others."""
    kept = place / "inputs" / f"{batch_name(number)}.json"
    listed = [[file.path, file.size, file.modified] for file in files]
    if not kept.exists():
        write_record(listed, kept)
        return
    before = json.loads(kept.read_text(encoding="utf-8"))
    changed = [path for path, *_ in (each for each in before if each not in listed)]
    if changed or len(before) != len(listed):
        raise FormatError(
            f"{first_five(changed)} changed since batch {number} began, which may be written in part: "
            "restore it"
        )


def known_states(
    spark: SparkSession, place: Path, before: BatchOutcome | None, start: str | Path | None
) -> DataFrame:
    """Return the states before a batch: a base, and the states of the nodes of each batch since."""
    if before is None or before.base < 0:
        found = _initial_state(spark, start)
        numbers = range(0 if before is None else before.batch + 1)
    else:
        found = spark.read.schema(STATE).parquet(spark_path(place / "state" / f"base-{before.base:08}"))
        numbers = range(before.base + 1, before.batch + 1)
    deltas = [spark_path(place / "state" / batch_name(number)) for number in numbers]
    return found.unionByName(spark.read.schema(STATE).parquet(*deltas)) if deltas else found


def remove_old(place: Path, before: BatchOutcome | None) -> None:
    """Remove the states that repeating the last batch would not need."""
    if before is None:
        return
    for folder in (place / "state").iterdir():
        kind, _, number = folder.name.rpartition("-")
        old = kind == "batch" and int(number) <= before.base
        if old or (kind == "base" and int(number) < before.base):
            shutil.rmtree(folder, ignore_errors=True)


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
    first = [sf.lit(value).alias(name) for name, value in zip(STAMP, FIRST, strict=True)]
    return named.select(
        sf.col("node_name").alias("node"),
        sf.col("topic_name").alias("topic"),
        *first,
        sf.lit(True).alias("held"),
        sf.lit(-1).alias("batch"),
    ).to(spark.createDataFrame([], STATE).schema)


def write_state(state: DataFrame, target: Path) -> None:
    """Write states to a temporary folder, flush it, then rename it."""
    temporary = target.with_name(f".{target.name}.writing")
    shutil.rmtree(temporary, ignore_errors=True)
    state.write.parquet(spark_path(temporary))
    for file in temporary.iterdir():
        _flush(file)
    _flush(temporary)
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
    _flush(target.parent)


def write_lines(table: DataFrame, target: Path, first: int | None) -> int:
    """Let an executor write the rows of one partition as JSON lines, numbered from `first`; count them."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.writing")
    rows = table.mapInArrow(partial(write_json_lines, str(temporary), first), "lines long").collect()
    if not rows:
        temporary.write_text("", encoding="utf-8")
    elif not temporary.exists():
        raise OutputError(f"workers wrote {temporary} where this machine does not see it: share the folder")
    temporary.rename(target)
    _flush(target.parent)
    return sum(row[0] for row in rows)


def write_json_lines(file: str, first: int | None, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Write rows as JSON lines and flush them, on an executor."""
    import pyarrow as pa

    place = Path(file)
    if not place.parent.is_dir():
        raise InputError(f"workers cannot see {place.parent}: choose a folder that every worker has")
    beside = place.with_name(f"{place.name}-{uuid.uuid4().hex}")
    count = 0
    with beside.open("w", encoding="utf-8") as lines:
        for batch in batches:
            for row in batch.to_pylist():
                record = row if first is None else {"sequence": first + count, **row}
                lines.write(json.dumps(record, ensure_ascii=False) + "\n")
                count += 1
        lines.flush()
        os.fsync(lines.fileno())
    beside.replace(place)
    yield pa.record_batch({"lines": pa.array([count], pa.int64())})


def write_record(record: object, target: Path) -> None:
    """Write JSON to a temporary file, flush it, then rename it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.writing")
    temporary.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    _flush(temporary)
    temporary.rename(target)
    _flush(target.parent)


def _flush(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
