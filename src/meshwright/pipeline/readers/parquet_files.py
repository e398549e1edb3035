"""Rows of Parquet files, read by Spark, or by the executors directly where the files hold plain pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from meshwright.errors import InputError, first_five
from meshwright.pipeline.readers import rows
from meshwright.pipeline.readers.name_blocks import BLOCK, to_blocks, encode_blocks
from meshwright.pipeline.readers.options import MILLISECONDS_FROM
from meshwright.pipeline.readers.rows import name_reason
from meshwright.pipeline.readers.sources import STRICT, escape_glob

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import Column, DataFrame, SparkSession

    from meshwright.pipeline.readers.options import Reading
    from meshwright.pipeline.readers.sources import SourceFile


BYTES_IN_A_SHARE = 64 << 20
"""So much of the files, and a row group more at most, is read by one task."""
ROWS_AT_ONCE = 1 << 17
KINDS: Mapping[str, Sequence[str]] = {
    "string": ("string", "large_string"),
    "tinyint": ("int8",),
    "smallint": ("int16",),
    "int": ("int32",),
    "bigint": ("int64",),
}
"""The types of Spark that names may have, and what Arrow calls them; others are left to Spark."""
Columns: TypeAlias = "Sequence[tuple[str, str]]"
"""Names of columns, each with its type in Spark."""


class Stretch(NamedTuple):
    """The row groups of a file that begin in a stretch of its bytes."""

    path: str
    begin: int
    end: int


def encode_files(spark: SparkSession, files: Sequence[SourceFile], columns: Columns) -> DataFrame | None:
    """Return two columns of files as blocks; None if only Spark knows how to reach the files.

    A file that is not as expected gives a pair without names: then Spark is to tell what is the matter.
    """
    if not all(file.path.startswith("/") for file in files):
        return None
    cut = shares(files, BYTES_IN_A_SHARE)
    return spark.range(0, len(cut), 1, len(cut)).mapInArrow(partial(_read_shares, cut, columns), BLOCK)


def shares(files: Sequence[SourceFile], most: int) -> list[list[Stretch]]:
    """Cut files into shares of about the same size: large ones into several, small ones together.

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
    """Read, on an executor, the shares whose numbers come."""
    import pyarrow as pa

    stretches = (part for batch in batches for number in batch.column(0).to_pylist() for part in cut[number])
    try:
        yield from to_blocks(found for part in stretches for found in _read_pairs(part, columns))
    except (pa.ArrowException, OSError):
        nameless = pa.nulls(1, pa.string())
        yield from to_blocks(iter([pa.record_batch([nameless, nameless], ["node", "topic"])]))


def _read_pairs(part: Stretch, columns: Columns) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [name for name, _ in columns]
    with pq.ParquetFile(part.path) as parquet:
        for name, kind in columns:
            found = parquet.schema_arrow.get_all_field_indices(name)
            if len(found) != 1 or str(parquet.schema_arrow.field(found[0]).type) not in KINDS[kind]:
                raise pa.ArrowTypeError(f"{name} of {part.path} is not as Spark saw it")
        groups = [
            group
            for group in range(parquet.num_row_groups)
            if part.begin <= _first_byte(parquet.metadata.row_group(group)) < part.end
        ]
        for batch in parquet.iter_batches(ROWS_AT_ONCE, groups, names, use_threads=False):
            yield batch.select(names)


def _first_byte(group: pq.RowGroupMetaData) -> int:
    """Return at which byte a row group begins."""
    first = group.column(0)
    return int(first.dictionary_page_offset or first.data_page_offset)


DATED = r"^\s*\d{4}-\d{2}-\d{2}([T ]|\s*$)"
INTEGERS = ("tinyint", "smallint", "int", "bigint")


def read_parquet(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of Parquet files; integer names become texts, places are those of the rows."""
    from pyspark.sql import functions as sf

    table = _table(spark, files)
    found = find_columns(table, reading)
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


def pair_blocks(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame | None:
    """Return nodes and topics as they are, in blocks of codes, unless rows are events."""
    table = _table(spark, files)
    found = find_columns(table, reading)
    if set(found) != {"node", "topic"}:
        return None
    names = [_name(table, found[what], what, ()).alias(what) for what in ("node", "topic")]
    kinds = dict(table.dtypes)
    blocks = encode_files(spark, files, [(found[what], kinds[found[what]]) for what in ("node", "topic")])
    return encode_blocks(table.select(*names)) if blocks is None else blocks


def _table(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    """Return the files as one table with the columns of all: a column that a file lacks is null there."""
    paths = [escape_glob(file.path) for file in files]
    return spark.read.options(**STRICT).option("mergeSchema", str(len(paths) > 1)).parquet(*paths)


def find_columns(table: DataFrame, reading: Reading) -> dict[str, str]:
    """Return which column is which; times, operations and sequences may be absent."""
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
    leaving = [operation for operation, leaves in rows.OPERATIONS.items() if leaves]
    return (
        sf.when(~blank, word.isin(leaving)),
        sf.when(~blank & ~word.isin([*rows.OPERATIONS]), rows.UNKNOWN_OPERATION),
    )
