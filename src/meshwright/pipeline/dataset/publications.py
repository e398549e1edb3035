"""Publish logs to traffic: per publisher and channel, messages, bytes and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.pipeline.dataset.ingest import MOST_BAD, ROLE_COLUMNS, check_bad, check_columns_used
from meshwright.pipeline.readers.formats import READERS, common_format
from meshwright.pipeline.readers.options import Reading
from meshwright.pipeline.readers.quarantine import quarantine_table
from meshwright.pipeline.readers.sources import check_unchanged, list_files
from meshwright.pipeline.session.failures import spark_errors
from meshwright.pipeline.session.stages import Progress, report_stages
from meshwright.store.traffic import CHANNELS, RATES, Traffic

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORMATS = ("csv", "jsonl", "parquet")
NEGATIVE = "size below zero"
OUTSIDE = "value outside of the content space"
NO_NUMBER = "value is no number"


@dataclass(frozen=True)
class Publications:
    """Which columns a publish log has, and which channels its messages belong to."""

    format: str | None = None
    publisher: str = "publisher"
    topic: str = "topic"
    size: str | None = None
    time: str | None = None
    value: str | None = None
    """The column of content values, if messages have those and no topics."""
    channels: int = 100
    """The content space is cut into so many equal channels, numbered from 0."""
    low: float = 0.0
    high: float = 1.0
    seconds: float | None = None
    """How long the log is; from its first to its last message unless told."""

    def __post_init__(self) -> None:
        if self.channels < 1:
            raise InputError(f"{self.channels} channels: give at least one")
        if not self.low < self.high:
            raise InputError(f"the content space from {self.low} to {self.high} is empty: give low < high")
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"a log of {self.seconds} s: give a time above zero")
        if self.format is not None:
            self.reading(self.format)

    def reading(self, found: str) -> Reading:
        """Return how to read it in a format: as subscriptions are, but for the names of the columns."""
        if found not in FORMATS:
            raise InputError(f"{found} is no publish log: choose csv, jsonl or parquet with --format")
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
        If there is nothing to read, a column is missing, more rows are bad than may be, or no time is known.
    FormatError
        If a file is cut off, unreadable, or changes while it is read.
    """
    from pyspark.sql import functions as sf

    asked = asked or Publications()
    with spark_errors(), report_stages(spark, "reading", progress):
        files = list_files(spark, sources)
        reading = asked.reading(asked.format or common_format(files))
        rows = READERS[reading.format](spark, files, reading)
        channel, wrong = _channel(asked)
        reason = sf.coalesce("reason", sf.when(sf.col("sequence") < 0, NEGATIVE), wrong)
        made = rows.withColumns(
            {"channel": channel, "record": sf.coalesce("record", "topic"), "reason": _name_columns(reason, asked)}
        ).persist()
        try:
            seen = made.agg(
                sf.count(sf.lit(1)).alias("read"),
                sf.count("reason").alias("bad"),
                *(sf.count(column).alias(what) for what, column in ROLE_COLUMNS.items()),
                sf.min(sf.when(sf.col("reason").isNull(), sf.col("time"))).alias("first"),
                sf.max(sf.when(sf.col("reason").isNull(), sf.col("time"))).alias("last"),
            ).collect()[0]
            if not seen.read:
                raise InputError(
                    f"nothing to read in {', '.join(map(str, sources[:5]))}: the files hold no rows"
                )
            check_bad(made, files, seen.read, seen.bad, max_bad)
            check_columns_used(reading, seen.asDict())
            aside = quarantine_table(made, files) if seen.bad else None
            seconds = asked.seconds or ((seen.last - seen.first) if seen.first is not None else 0.0)
            if not seconds > 0:
                raise InputError(
                    "the messages span no time: give --seconds, or a column of times with --time"
                )
            good = made.where(sf.col("reason").isNull())
            rates = _sum_by(good, ["node", "channel"], seconds).withColumnRenamed("node", "publisher")
            channels = _sum_by(good, ["channel"], seconds, publishers=sf.count_distinct("node"))
            tables = [
                table.orderBy(*order).toArrow().select(schema.names).cast(schema)
                for table, order, schema in (
                    (rates, ["publisher", "channel"], RATES),
                    (channels, ["channel"], CHANNELS),
                )
            ]
            check_unchanged(spark, files)
        finally:
            made.unpersist()
    counts = {"read": seen.read, "kept": seen.read - seen.bad, "quarantined": seen.bad}
    described = {"counts": counts, "seconds": seconds, "sources": sorted(map(str, sources))}
    made_by = {"made_by": {"command": "traffic", **_non_default(asked)}}
    return Traffic(tables[0], tables[1], {**described, **made_by}, aside)


def _non_default(asked: Publications) -> dict[str, Any]:
    plain = asdict(Publications())
    return {name: value for name, value in asdict(asked).items() if value != plain[name]}


def _channel(asked: Publications) -> tuple[Column, Column]:
    """Return the channel of a message, and why it has none."""
    from pyspark.sql import functions as sf

    if asked.value is None:
        return sf.col("topic"), sf.lit(None).cast("string")
    value = sf.col("topic").try_cast("double")
    place = sf.floor((value - asked.low) / (asked.high - asked.low) * asked.channels)
    number = sf.least(place, sf.lit(asked.channels - 1))  # the upper end belongs to the last one
    width = len(str(asked.channels - 1))
    inside = value.between(asked.low, asked.high)
    return (
        sf.lpad(number.cast("string"), width, "0"),
        sf.when(value.isNull() | sf.isnan(value), NO_NUMBER).when(~inside, OUTSIDE),
    )


def _name_columns(reason: Column, asked: Publications) -> Column:
    """Name columns of a publish log as such."""
    from pyspark.sql import functions as sf

    words = {"node name": "publisher name", "sequence": "size"}
    for ours, theirs in (words if asked.value is None else words | {"topic name": "value"}).items():
        reason = sf.replace(reason, sf.lit(ours), sf.lit(theirs))
    return reason


def _sum_by(good: DataFrame, by: list[str], seconds: float, **more: Column) -> DataFrame:
    from pyspark.sql import functions as sf

    messages = sf.count(sf.lit(1)).alias("messages")
    size = sf.coalesce(sf.sum("sequence"), sf.lit(0)).alias("bytes")
    summed = good.groupBy(*by).agg(messages, size, *(column.alias(name) for name, column in more.items()))
    return summed.withColumns({"rate": sf.col("messages") / seconds, "byte_rate": sf.col("bytes") / seconds})
