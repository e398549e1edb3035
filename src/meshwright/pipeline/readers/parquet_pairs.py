"""Reader of Parquet pairs: files with only nodes and topics, read by the executors without Spark's rows.

Spark would convert every value from columns to rows and back. Here, Arrow reads the files directly, and the
executors turn them into blocks. Files that only Spark can reach, or with other types, go through Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from meshwright.pipeline.readers.name_blocks import BLOCK, encode_blocks, to_blocks
from meshwright.pipeline.readers.parquet_files import find_columns, name_column, read_table

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.options import Reading
    from meshwright.pipeline.readers.sources import SourceFile

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
