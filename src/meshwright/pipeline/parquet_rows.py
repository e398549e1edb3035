"""Rows of Parquet files, read and looked at by Spark itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshwright.errors import InputError, first_five
from meshwright.pipeline import events, rows
from meshwright.pipeline.checking import name_reason
from meshwright.pipeline.coding import coded
from meshwright.pipeline.options import MILLISECONDS_FROM
from meshwright.pipeline.parquet_pairs import coded_files
from meshwright.pipeline.sources import STRICTLY, escaped

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from meshwright.pipeline.options import Reading
    from meshwright.pipeline.sources import SourceFile

DATED = r"^\s*\d{4}-\d{2}-\d{2}([T ]|\s*$)"
INTEGERS = ("tinyint", "smallint", "int", "bigint")


def read_parquet(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of Parquet files; integer names become texts, places are those of the rows."""
    from pyspark.sql import functions as sf

    table = _table(spark, files)
    found = columns_of(table, reading)
    values = ("float", "double") if reading.publications else ()
    names = {what: _name(table, found[what], what, values) for what in ("node", "topic")}
    time, bad_time = _time(table, found.get("time"))
    sequence, bad_sequence = _sequence(found.get("sequence"))
    leaves, bad_operation = _leaves(found.get("operation"))
    reason = sf.coalesce(
        bad_time,
        bad_operation,
        bad_sequence,
        name_reason(names["node"], "node"),
        name_reason(names["topic"], "topic"),
    )
    given = [sf.col(f"`{column}`").cast("string") for column in found.values()]
    made = {
        "source": sf.expr("url_decode(replace(_metadata.file_path, '+', '%2B'))"),
        "block": sf.lit(0).cast("long"),
        "place": sf.col("_metadata.row_index"),
        **names,
        "time": time,
        "sequence": sequence,
        "leaves": leaves,
        "broker": sf.lit(None).cast("string"),
        "held": sf.lit(None).cast("string"),
        "record": sf.when(
            reason.isNotNull(), sf.left(sf.concat_ws(",", *given), sf.lit(rows.LONGEST_RECORD))
        ),
        "reason": reason,
    }
    return table.select([value.alias(name) for name, value in made.items()])


def plain_pairs(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame | None:
    """Return nodes and topics as they are, in blocks of codes, unless rows are events."""
    table = _table(spark, files)
    found = columns_of(table, reading)
    if set(found) != {"node", "topic"}:
        return None
    names = [_name(table, found[what], what, ()).alias(what) for what in ("node", "topic")]
    kinds = dict(table.dtypes)
    blocks = coded_files(spark, files, [(found[what], kinds[found[what]]) for what in ("node", "topic")])
    return coded(table.select(*names)) if blocks is None else blocks


def _table(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    """Return the files as one table with the columns of all: a column that a file lacks is null there."""
    paths = [escaped(file.path) for file in files]
    return spark.read.options(**STRICTLY).option("mergeSchema", str(len(paths) > 1)).parquet(*paths)


def columns_of(table: DataFrame, reading: Reading) -> dict[str, str]:
    """Return which column is which; times, operations and sequences may be absent."""
    found = {}
    for what, column, needed in events.columns(reading):
        if column in table.columns:
            found[what] = column
        elif needed:
            raise InputError(
                f"no column {column!r}; the columns are {first_five(table.columns)}: "
                f"name the right one with --{what}"
            )
    return found


def _name(table: DataFrame, column: str, what: str, further: Sequence[str]) -> Column:
    from pyspark.sql import functions as sf

    kind = dict(table.dtypes)[column]
    if kind not in ("string", *INTEGERS, *further):
        raise InputError(f"column {column!r} is {kind}, and {what} names are strings or integers: convert it")
    return sf.col(f"`{column}`").cast("string")


def _time(table: DataFrame, column: str | None) -> tuple[Column, Column]:
    from pyspark.sql import functions as sf

    none = sf.lit(None).cast("string")
    if column is None:
        return sf.lit(None).cast("double"), none
    given = sf.col(f"`{column}`")
    kind = dict(table.dtypes)[column]
    if kind.startswith("timestamp") or kind == "date":
        return given.cast("timestamp").cast("double"), none
    number = given.try_cast("double")
    seconds = sf.when(sf.abs(number) >= MILLISECONDS_FROM, number / 1000).otherwise(number)
    read = seconds
    if kind == "string":  # a date at least: of a bare time Spark would say that it is today
        dated = sf.when(given.rlike(DATED), given.try_cast("timestamp").cast("double"))
        read = sf.coalesce(seconds, dated)
    usable = sf.when(~sf.isnan(read) & (sf.abs(read) != float("inf")), read)
    blank = given.isNull() | (given.cast("string") == "")
    return usable, sf.when(~blank & usable.isNull(), rows.BAD_TIME)


def _sequence(column: str | None) -> tuple[Column, Column]:
    from pyspark.sql import functions as sf

    if column is None:
        return sf.lit(None).cast("long"), sf.lit(None).cast("string")
    given = sf.col(f"`{column}`")
    number = given.try_cast("long")
    blank = given.isNull() | (given.cast("string") == "")
    return number, sf.when(~blank & number.isNull(), rows.BAD_SEQUENCE)


def _leaves(column: str | None) -> tuple[Column, Column]:
    from pyspark.sql import functions as sf

    if column is None:
        return sf.lit(None).cast("boolean"), sf.lit(None).cast("string")
    word = sf.lower(sf.trim(sf.col(f"`{column}`").cast("string")))
    blank = word.isNull() | (word == "")
    leaving = [operation for operation, leaves in events.OPERATIONS.items() if leaves]
    return (
        sf.when(~blank, word.isin(leaving)),
        sf.when(~blank & ~word.isin([*events.OPERATIONS]), rows.UNKNOWN_OPERATION),
    )
