"""Reader of Parquet files with any columns, through Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshwright.errors import InputError, first_five
from meshwright.pipeline.readers import rows
from meshwright.pipeline.readers.options import MILLISECONDS_FROM
from meshwright.pipeline.readers.rows import name_reason
from meshwright.pipeline.readers.sources import STRICT, escape_glob

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from meshwright.pipeline.readers.options import Reading
    from meshwright.pipeline.readers.sources import SourceFile

DATED = r"^\s*\d{4}-\d{2}-\d{2}([T ]|\s*$)"
"""A text that begins with a date."""
INTEGERS = ("tinyint", "smallint", "int", "bigint")


def read_parquet(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of Parquet files; integer names become strings."""
    from pyspark.sql import functions as sf

    table = read_table(spark, files)
    found = find_columns(table, reading)
    values = ("float", "double") if reading.publications else ()
    names = {what: name_column(table, found[what], what, values) for what in ("node", "topic")}
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


def read_table(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    """Return the files as one table with the columns of all files; columns that a file lacks are null."""
    paths = [escape_glob(file.path) for file in files]
    return spark.read.options(**STRICT).option("mergeSchema", str(len(paths) > 1)).parquet(*paths)


def find_columns(table: DataFrame, reading: Reading) -> dict[str, str]:
    """Return the column of each role; times, operations and sequences may be absent."""
    found = {}
    for what, column, needed in rows.column_roles(reading):
        if column in table.columns:
            found[what] = column
        elif needed:
            raise InputError(
                f"no column {column!r}; the columns are {first_five(table.columns)}: "
                f"name the right one with --{what}"
            )
    return found


def name_column(table: DataFrame, column: str, what: str, further: Sequence[str]) -> Column:
    """Return a column of names as strings; `further` lists additional types to accept."""
    from pyspark.sql import functions as sf

    kind = dict(table.dtypes)[column]
    if kind not in ("string", *INTEGERS, *further):
        raise InputError(f"column {column!r} is {kind}, but {what} names are strings or integers: convert it")
    return sf.col(f"`{column}`").cast("string")


def _time(table: DataFrame, column: str | None) -> tuple[Column, Column]:
    """Return the times in seconds since 1970, and the reasons of those that are invalid."""
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
    if kind == "string":
        # Require a date: Spark would take a bare time of day as today.
        dated = sf.when(given.rlike(DATED), given.try_cast("timestamp").cast("double"))
        read = sf.coalesce(seconds, dated)
    usable = sf.when(~sf.isnan(read) & (sf.abs(read) != float("inf")), read)
    blank = given.isNull() | (given.cast("string") == "")
    return usable, sf.when(~blank & usable.isNull(), rows.BAD_TIME)


def _sequence(column: str | None) -> tuple[Column, Column]:
    """Return the sequence numbers, and the reasons of those that are invalid."""
    from pyspark.sql import functions as sf

    if column is None:
        return sf.lit(None).cast("long"), sf.lit(None).cast("string")
    given = sf.col(f"`{column}`")
    number = given.try_cast("long")
    blank = given.isNull() | (given.cast("string") == "")
    return number, sf.when(~blank & number.isNull(), rows.BAD_SEQUENCE)


def _leaves(column: str | None) -> tuple[Column, Column]:
    """Return whether each row is an unsubscribe, and the reasons of unknown operations."""
    from pyspark.sql import functions as sf

    if column is None:
        return sf.lit(None).cast("boolean"), sf.lit(None).cast("string")
    word = sf.lower(sf.trim(sf.col(f"`{column}`").cast("string")))
    blank = word.isNull() | (word == "")
    leaving = [operation for operation, leaves in rows.OPERATIONS.items() if leaves]
    return (
        sf.when(~blank, word.isin(leaving)),
        sf.when(~blank & ~word.isin([*rows.OPERATIONS]), rows.UNKNOWN_OPERATION),
    )
