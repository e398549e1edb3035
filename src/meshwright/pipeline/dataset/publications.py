"""Publish logs to traffic: messages, bytes and rates per publisher and channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.formatting import percentage
from meshwright.pipeline.dataset.ingest import MOST_BAD, check_columns_used
from meshwright.pipeline.readers.formats import Reading, common_format
from meshwright.pipeline.readers.row_frames import quarantine_frame, read_rows
from meshwright.pipeline.readers.sources import check_unchanged, list_files
from meshwright.pipeline.session.failures import spark_errors
from meshwright.pipeline.session.stages import report_stages
from meshwright.store.traffic import CHANNELS, RATES, Traffic

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, Row, SparkSession

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


def traffic(
    spark: SparkSession,
    sources: Sequence[str | Path],
    asked: Publications | None = None,
    *,
    max_bad: float = MOST_BAD,
    progress: Progress | None = None,
) -> Traffic:
    """Read publish logs and sum them up.

    Raises
    ------
    InputError
        If there are no rows, a column is missing, too many rows are bad, or the length of the log is unknown.
    FormatError
        If a file is truncated or unreadable, or changes while it is read.
    """
    from pyspark.sql import functions as sf

    asked = asked or Publications()
    with spark_errors(), report_stages(spark, "reading", progress):
        files = list_files(spark, sources)
        reading = asked.reading(asked.format or common_format(files))
        rows = read_rows(spark, files, reading)
        channel, wrong = _channel(asked)
        reason = sf.coalesce("reason", sf.when(sf.col("sequence") < 0, NEGATIVE), wrong)
        made = rows.withColumns(
            {
                "channel": channel,
                "record": sf.coalesce("record", "topic"),
                "line": sf.coalesce("line", sf.col("place") + 1),
                "reason": _name_columns(reason, asked),
            }
        ).persist()
        try:
            seen = _count_rows(made)
            if not seen.read:
                raise InputError(f"no rows in {', '.join(map(str, sources[:5]))}: give files that have some")
            _check_bad(made, seen, max_bad)
            check_columns_used(reading, seen.asDict())
            aside = quarantine_frame(made).toArrow() if seen.bad else None
            seconds = asked.seconds or ((seen.last - seen.first) if seen.first is not None else 0.0)
            if not seconds > 0:
                raise InputError(
                    "the length of the log is unknown: give --seconds, or a column of times with --time"
                )
            rates, channels = _sum_messages(made.where(sf.col("reason").isNull()), seconds)
            check_unchanged(spark, files)
        finally:
            made.unpersist()
    counts = {"read": seen.read, "kept": seen.read - seen.bad, "quarantined": seen.bad}
    described = {"counts": counts, "seconds": seconds, "sources": sorted(map(str, sources))}
    made_by = {"made_by": {"command": "traffic", **_non_default(asked)}}
    return Traffic(rates, channels, {**described, **made_by}, aside)


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


def _sum_messages(good: DataFrame, seconds: float) -> tuple[pa.Table, pa.Table]:
    """Return the traffic per publisher and channel, and per channel."""
    from pyspark.sql import functions as sf

    rates = _sum_by(good, ["node", "channel"], seconds).withColumnRenamed("node", "publisher")
    channels = _sum_by(good, ["channel"], seconds, publishers=sf.count_distinct("node"))
    return (
        rates.orderBy("publisher", "channel").toArrow().select(RATES.names).cast(RATES),
        channels.orderBy("channel").toArrow().select(CHANNELS.names).cast(CHANNELS),
    )


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
