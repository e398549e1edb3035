"""Pairs of names in Parquet files, read by the executors without Spark's help: columns stay columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from meshwright.pipeline.coding import BLOCK, code

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.sources import SourceFile

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


def coded_files(spark: SparkSession, files: Sequence[SourceFile], columns: Columns) -> DataFrame | None:
    """Return two columns of files as blocks; None if only Spark knows how to reach the files.

    A file that is not as expected gives a pair without names: then Spark is to tell what is the matter.
    """
    if not all(file.path.startswith("/") for file in files):
        return None
    cut = shares(files, BYTES_IN_A_SHARE)
    return spark.range(0, len(cut), 1, len(cut)).mapInArrow(partial(_read, cut, columns), BLOCK)


def shares(files: Sequence[SourceFile], most: int) -> list[list[Stretch]]:
    """Cut files into shares of about the same size: large ones into several, small ones together.

    >>> from meshwright.pipeline.sources import SourceFile
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


def _read(
    cut: Sequence[Sequence[Stretch]], columns: Columns, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read, on an executor, the shares whose numbers come."""
    import pyarrow as pa

    stretches = (part for batch in batches for number in batch.column(0).to_pylist() for part in cut[number])
    try:
        yield from code(found for part in stretches for found in _pairs(part, columns))
    except (pa.ArrowException, OSError):
        nameless = pa.nulls(1, pa.string())
        yield from code(iter([pa.record_batch([nameless, nameless], ["node", "topic"])]))


def _pairs(part: Stretch, columns: Columns) -> Iterator[pa.RecordBatch]:
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
            if part.begin <= _begin(parquet.metadata.row_group(group)) < part.end
        ]
        for batch in parquet.iter_batches(ROWS_AT_ONCE, groups, names, use_threads=False):
            yield batch.select(names)


def _begin(group: pq.RowGroupMetaData) -> int:
    """Return at which byte a row group begins."""
    first = group.column(0)
    return int(first.dictionary_page_offset or first.data_page_offset)
