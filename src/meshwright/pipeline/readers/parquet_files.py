"""Readers of Parquet files: any columns through Spark, and pairs of nodes and topics without Spark's rows.

Spark converts every value from columns to rows and back. For files with only nodes and topics, the executors
read them directly with Arrow and turn them into blocks. Files that only Spark can reach, or with other types,
go through Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from meshwright.errors import InputError, first_five
from meshwright.pipeline.readers import rows
from meshwright.pipeline.readers.formats import MILLISECONDS_FROM
from meshwright.pipeline.readers.name_blocks import BLOCK, encode_blocks, to_blocks
from meshwright.pipeline.readers.rows import name_reason
from meshwright.pipeline.readers.sources import STRICT, escape_glob

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import Column, DataFrame, SparkSession

    from meshwright.pipeline.readers.formats import Reading
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


BYTES_IN_A_SHARE = 64 << 20
"""One task reads about this many bytes, plus at most one row group."""
ROWS_AT_ONCE = 1 << 17
KINDS: Mapping[str, Sequence[str]] = {
    "string": ("string", "large_string"),
    "tinyint": ("int8",),
    "smallint": ("int16",),
    "int": ("int32",),
    "bigint": ("int64",),
}
"""The Spark types of names, each with its Arrow types; other types go through Spark."""
Columns: TypeAlias = "Sequence[tuple[str, str]]"
"""Column names, each with its Spark type."""


class Stretch(NamedTuple):
    """The row groups of a file that begin in a range of its bytes."""

    path: str
    begin: int
    end: int


def pair_blocks(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame | None:
    """Return nodes and topics in blocks, or None if the rows are events."""
    table = read_table(spark, files)
    found = find_columns(table, reading)
    if set(found) != {"node", "topic"}:
        return None
    names = [name_column(table, found[what], what, ()).alias(what) for what in ("node", "topic")]
    kinds = dict(table.dtypes)
    blocks = encode_files(spark, files, [(found[what], kinds[found[what]]) for what in ("node", "topic")])
    return encode_blocks(table.select(*names)) if blocks is None else blocks


def encode_files(spark: SparkSession, files: Sequence[SourceFile], columns: Columns) -> DataFrame | None:
    """Return two columns of files as blocks, or None if only Spark can reach the files.

    An unexpected file gives one pair without names. The caller then reads the files through Spark, which
    reports the problem.
    """
    if not all(file.path.startswith("/") for file in files):
        return None
    cut = shares(files, BYTES_IN_A_SHARE)
    return spark.range(0, len(cut), 1, len(cut)).mapInArrow(partial(_read_shares, cut, columns), BLOCK)


def shares(files: Sequence[SourceFile], most: int) -> list[list[Stretch]]:
    """Divide files into shares of about the same size: split large files, combine small ones.

    >>> from meshwright.pipeline.readers.sources import SourceFile
    >>> [len(share) for share in shares([SourceFile(name, 5, "") for name in "abc"], 10)]
    [2, 1]
    """
    cut: list[list[Stretch]] = []
    room = 0
    for file in files:
        pieces = max(-(-file.size // most), 1)
        for piece in range(pieces):
            stretch = Stretch(file.path, file.size * piece // pieces, file.size * (piece + 1) // pieces)
            length = stretch.end - stretch.begin
            if not cut or length > room:
                cut.append([])
                room = most
            cut[-1].append(stretch)
            room -= length
    return cut


def _read_shares(
    cut: Sequence[Sequence[Stretch]], columns: Columns, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read the shares with the given numbers, on an executor."""
    import pyarrow as pa

    stretches = (part for batch in batches for number in batch.column(0).to_pylist() for part in cut[number])
    try:
        yield from to_blocks(found for part in stretches for found in _read_pairs(part, columns))
    except (pa.ArrowException, OSError):
        nameless = pa.nulls(1, pa.string())
        yield from to_blocks(iter([pa.record_batch([nameless, nameless], ["node", "topic"])]))


def _read_pairs(part: Stretch, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the pairs in the row groups of a stretch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [name for name, _ in columns]
    with pq.ParquetFile(part.path) as parquet:
        for name, kind in columns:
            found = parquet.schema_arrow.get_all_field_indices(name)
            if len(found) != 1 or str(parquet.schema_arrow.field(found[0]).type) not in KINDS[kind]:
                raise pa.ArrowTypeError(f"{name} of {part.path} differs from the schema that Spark found")
        groups = [
            group
            for group in range(parquet.num_row_groups)
            if part.begin <= _first_byte(parquet.metadata.row_group(group)) < part.end
        ]
        for batch in parquet.iter_batches(ROWS_AT_ONCE, groups, names, use_threads=False):
            yield batch.select(names)


def _first_byte(group: pq.RowGroupMetaData) -> int:
    """Return the offset of the first byte of a row group."""
    first = group.column(0)
    return int(first.dictionary_page_offset or first.data_page_offset)
