"""Publish logs to traffic: messages, bytes and rates per publisher and channel."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError, OutputError
from meshwright.files.atomic import new_folder
from meshwright.files.header import TRAFFIC, write_header
from meshwright.formatting import percentage
from meshwright.pipeline.dataset.ingest import MOST_BAD, check_columns_used
from meshwright.pipeline.readers.formats import Reading, common_format
from meshwright.pipeline.readers.row_frames import quarantine_frame, read_rows
from meshwright.pipeline.readers.sources import check_unchanged, list_files, megabytes
from meshwright.pipeline.session.failures import spark_errors
from meshwright.pipeline.session.stages import report_stages
from meshwright.store.dataset_parts import QUARANTINE
from meshwright.store.tables import ROWS_AT_ONCE, write_table
from meshwright.store.traffic import CHANNELS, RATES, Traffic, read_traffic

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from meshwright.pipeline.flow import Batches
    from meshwright.progress import Progress

FORMATS = ("csv", "jsonl", "parquet")
ROLE_COLUMNS = {"time": "time", "operation": "leaves", "sequence": "sequence"}
"""The optional roles, each with the column that is not null if a row states it."""
NEGATIVE = "size below zero"
OUTSIDE = "value outside of the content space"
NOT_A_NUMBER = "value is not a number"


@dataclass(frozen=True)
class Publications:
    """The columns of a publish log, and the channels of its messages."""

    format: str | None = None
    publisher: str = "publisher"
    topic: str = "topic"
    size: str | None = None
    time: str | None = None
    value: str | None = None
    """The column of content values, if messages have values instead of topics."""
    channels: int = 100
    """The number of equal channels that divide the content space."""
    low: float = 0.0
    high: float = 1.0
    seconds: float | None = None
    """The length of the log; by default, the time from its first to its last message."""

    def __post_init__(self) -> None:
        if self.channels < 1:
            raise InputError(f"{self.channels} channels are too few: give at least one")
        if not self.low < self.high:
            raise InputError(f"the content space from {self.low} to {self.high} is empty: give low < high")
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"a log cannot take {self.seconds} s: give a time above zero")
        if self.format is not None:
            self.reading(self.format)

    def reading(self, found: str) -> Reading:
        """Return how to read a log in a format: like subscriptions, with other column names."""
        if found not in FORMATS:
            raise InputError(f"publish logs cannot have the format {found}: choose csv, jsonl or parquet")
        return Reading(
            found,
            node=self.publisher,
            topic=self.value or self.topic,
            time=self.time,
            sequence=self.size,
            publications=True,
        )


@dataclass(frozen=True)
class Summary:
    """What `sum_traffic` has written."""

    publishers: int
    channels: int
    described: dict[str, Any]
    reasons: dict[str, int]
    """The number of quarantined records by reason, the most frequent first."""


def traffic(
    spark: SparkSession,
    sources: Sequence[str | Path],
    asked: Publications | None = None,
    *,
    max_bad: float = MOST_BAD,
    progress: Progress | None = None,
) -> Traffic:
    """Read publish logs, sum them up, and return the sums; see `sum_traffic` for more than fits in memory."""
    with tempfile.TemporaryDirectory(prefix="meshwright-traffic-") as folder:
        place = Path(folder) / "traffic"
        sum_traffic(spark, sources, place, asked, max_bad=max_bad, progress=progress)
        return read_traffic(place)


def sum_traffic(
    spark: SparkSession,
    sources: Sequence[str | Path],
    out: str | Path,
    asked: Publications | None = None,
    *,
    max_bad: float = MOST_BAD,
    progress: Progress | None = None,
) -> Summary:
    """Read publish logs, sum them up, and write the sums as a traffic folder; executors write the tables.

    Raises
    ------
    InputError
        If there are no rows, a column is missing, too many rows are bad, or the length of the log is unknown.
    FormatError
        If a file is truncated or unreadable, or changes while it is read.
    """
    asked = asked or Publications()
    files = list_files(spark, sources)
    with spark_errors(), report_stages(spark, "summing", progress, amount=megabytes(files)):
        reading = asked.reading(asked.format or common_format(files))
        made = _messages(read_rows(spark, files, reading), asked).persist()
        try:
            seen = _count_rows(made)
            if not seen.read:
                raise InputError(f"no rows in {', '.join(map(str, sources[:5]))}: give files that have some")
            _check_bad(made, seen, max_bad)
            check_columns_used(reading, seen.asDict())
            seconds = asked.seconds or ((seen.last - seen.first) if seen.first is not None else 0.0)
            if not seconds > 0:
                raise InputError(
                    "the length of the log is unknown: give --seconds, or a column of times with --time"
                )
            counts = {"read": seen.read, "kept": seen.read - seen.bad, "quarantined": seen.bad}
            described = {
                "counts": counts,
                "seconds": seconds,
                "sources": sorted(map(str, sources)),
                "made_by": {"command": "traffic", **_non_default(asked)},
            }
            with new_folder(out, TRAFFIC) as folder:
                publishers, channels = _write_sums(made, seconds, folder)
                if seen.bad:
                    _write(
                        quarantine_frame(made), folder / "quarantine.parquet", QUARANTINE, "source", "line"
                    )
                check_unchanged(spark, files)
                write_header(folder, TRAFFIC, described)
            return Summary(publishers, channels, described, _count_reasons(made) if seen.bad else {})
        finally:
            made.unpersist()


def _messages(rows: DataFrame, asked: Publications) -> DataFrame:
    """Return rows with their channels, and with the reasons that only messages have."""
    from pyspark.sql import functions as sf

    channel, wrong = _channel(asked)
    reason = sf.coalesce("reason", sf.when(sf.col("sequence") < 0, NEGATIVE), wrong)
    return rows.withColumns(
        {
            "channel": channel,
            "record": sf.coalesce("record", "topic"),
            "line": sf.coalesce("line", sf.col("place") + 1),
            "reason": _name_columns(reason, asked),
        }
    )


def _count_reasons(made: DataFrame) -> dict[str, int]:
    """Return the number of bad rows by reason, the most frequent first."""
    counted = {row[0]: row[1] for row in made.groupBy("reason").count().collect() if row[0] is not None}
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _write_sums(made: DataFrame, seconds: float, folder: Path) -> tuple[int, int]:
    """Write the traffic per publisher and channel, and per channel; return how many of either there are."""
    from pyspark.sql import functions as sf

    good = made.where(sf.col("reason").isNull())
    rates = _sum_by(good, ["node", "channel"], seconds).withColumnRenamed("node", "publisher")
    channels = _sum_by(good, ["channel"], seconds, publishers=sf.count_distinct("node"))
    publishers = _write(rates, folder / "rates.parquet", RATES, "publisher", "channel")
    return publishers, _write(channels, folder / "channels.parquet", CHANNELS, "channel")


def _write(table: DataFrame, file: Path, schema: pa.Schema, *order: str) -> int:
    """Let an executor write a sorted table; return the number of values in its first column."""
    ordered = table.select(*schema.names).repartition(1).sortWithinPartitions(*order)
    rows = ordered.mapInArrow(partial(_write_file, str(file), schema), "values long").collect()
    if not file.is_file():
        if rows:
            raise OutputError(
                f"workers wrote {file} where this machine does not see it: choose a folder that the driver "
                "and every worker share"
            )
        write_table(schema.empty_table(), file)
    return sum(row[0] for row in rows)


def _write_file(file: str, schema: pa.Schema, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Write a table from its batches in row groups of fixed size, so that they do not show."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    values, last = 0, None
    beside = Path(file).with_name(f".{uuid.uuid4().hex}")
    if not beside.parent.is_dir():
        raise InputError(f"workers cannot see {beside.parent}: choose a folder that every worker has")
    held = schema.empty_table()
    with pq.ParquetWriter(beside, schema, compression="zstd") as writer:
        for batch in batches:
            for value in batch.column(0).to_pylist():
                values, last = values + (value != last), value
            held = pa.concat_tables([held, pa.Table.from_batches([batch]).cast(schema)])
            while held.num_rows >= ROWS_AT_ONCE:
                writer.write_table(held[:ROWS_AT_ONCE].combine_chunks(), ROWS_AT_ONCE)
                held = held[ROWS_AT_ONCE:]
        writer.write_table(held.combine_chunks(), ROWS_AT_ONCE)
    beside.replace(file)
    yield pa.record_batch({"values": pa.array([values], pa.int64())})


def _check_bad(made: DataFrame, seen: Row, max_bad: float) -> None:
    """Refuse too large a share of bad rows, and name the first one."""
    if seen.bad <= max_bad * seen.read:
        return
    [first] = quarantine_frame(made).limit(1).collect()
    raise InputError(
        f"{seen.bad} of {seen.read} rows cannot be used, more than --max-bad {percentage(max_bad)}: "
        f"the first is line {first.line} of {first.source} ({first.reason}); "
        "correct them, or raise --max-bad"
    )


def _count_rows(made: DataFrame) -> Row:
    """Return the numbers of all rows, of bad rows and of rows with each role, and the first and last time."""
    from pyspark.sql import functions as sf

    good_time = sf.when(sf.col("reason").isNull(), sf.col("time"))
    return made.agg(
        sf.count(sf.lit(1)).alias("read"),
        sf.count("reason").alias("bad"),
        *(sf.count(column).alias(what) for what, column in ROLE_COLUMNS.items()),
        sf.min(good_time).alias("first"),
        sf.max(good_time).alias("last"),
    ).collect()[0]


def _non_default(asked: Publications) -> dict[str, Any]:
    """Return the options that differ from the defaults."""
    plain = asdict(Publications())
    return {name: value for name, value in asdict(asked).items() if value != plain[name]}


def _channel(asked: Publications) -> tuple[Column, Column]:
    """Return the channel of each message, and the reason of those without one."""
    from pyspark.sql import functions as sf

    if asked.value is None:
        return sf.col("topic"), sf.lit(None).cast("string")
    value = sf.col("topic").try_cast("double")
    place = sf.floor((value - asked.low) / (asked.high - asked.low) * asked.channels)
    # The upper end of the content space belongs to the last channel.
    number = sf.least(place, sf.lit(asked.channels - 1))
    width = len(str(asked.channels - 1))
    inside = value.between(asked.low, asked.high)
    return (
        sf.lpad(number.cast("string"), width, "0"),
        sf.when(value.isNull() | sf.isnan(value), NOT_A_NUMBER).when(~inside, OUTSIDE),
    )


def _name_columns(reason: Column, asked: Publications) -> Column:
    """Replace the column names of subscriptions in a reason by those of publish logs."""
    from pyspark.sql import functions as sf

    words = {"node name": "publisher name", "sequence": "size"}
    for ours, theirs in (words if asked.value is None else words | {"topic name": "value"}).items():
        reason = sf.replace(reason, sf.lit(ours), sf.lit(theirs))
    return reason


def _sum_by(good: DataFrame, by: list[str], seconds: float, **more: Column) -> DataFrame:
    """Return messages, bytes and rates by these columns."""
    from pyspark.sql import functions as sf

    messages = sf.count(sf.lit(1)).alias("messages")
    size = sf.coalesce(sf.sum("sequence"), sf.lit(0)).alias("bytes")
    summed = good.groupBy(*by).agg(messages, size, *(column.alias(name) for name, column in more.items()))
    return summed.withColumns({"rate": sf.col("messages") / seconds, "byte_rate": sf.col("bytes") / seconds})
