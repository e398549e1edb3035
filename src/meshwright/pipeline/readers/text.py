"""Lines of text files, plain or compressed, each with its position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.sources import SourceFile

LONGEST_LINE = 1 << 18
"""The longest line in bytes; two names of the maximum length fit."""
TOO_LONG = f"line longer than {LONGEST_LINE} bytes"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Run(NamedTuple):
    """Consecutive lines of one block of one file; `first` is the place of the first line in the block."""

    source: str
    block: int
    first: int
    lines: pa.Array

    @property
    def places(self) -> pa.Array:
        """The place of each line in its block."""
        import pyarrow as pa

        return pa.array(np.arange(self.first, self.first + len(self.lines), dtype=np.int64))

    @property
    def begins_file(self) -> bool:
        """Whether the first line is also the first line of the file."""
        return self.block == 0 and self.first == 0

    def without_first(self) -> Run:
        """Return the run without its first line."""
        return self._replace(first=self.first + 1, lines=self.lines[1:])


def read_lines(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    """Return the lines of files as bytes, cut one byte above the maximum length, with file and block."""
    from pyspark.sql import functions as sf

    from meshwright.pipeline.readers.sources import STRICT, escape_glob

    return (
        spark.read.options(**STRICT)
        .text([escape_glob(file.path) for file in files])
        .select(
            sf.substring(sf.col("value").cast("binary"), 1, LONGEST_LINE + 1).alias("line"),
            sf.col("_metadata.file_path").alias("source"),
            sf.col("_metadata.file_block_start").alias("block"),
        )
    )


def runs(batches: Iterator[pa.RecordBatch]) -> Iterator[Run]:
    """Split the batches of a task where the file or the block changes, and number the places."""
    from meshwright.pipeline.session.failures import readable_path

    at, place = ("", -1), 0
    for batch in batches:
        sources = batch.column(1).to_pylist()
        blocks = batch.column(2).to_numpy()
        begins = [0] if batch.num_rows else []
        begins += [
            i for i in range(1, batch.num_rows) if sources[i] != sources[i - 1] or blocks[i] != blocks[i - 1]
        ]
        for begin, end in zip(begins, [*begins[1:], batch.num_rows], strict=True):
            if at != (sources[begin], int(blocks[begin])):
                at, place = (sources[begin], int(blocks[begin])), 0
            yield _strip_mark(Run(readable_path(at[0]), at[1], place, batch.column(0)[begin:end]))
            place += end - begin


def _strip_mark(run: Run) -> Run:
    """Remove the byte order mark at the beginning of a file."""
    import pyarrow as pa

    if run.begins_file and run.lines[0].as_py().startswith(BYTE_ORDER_MARK):
        first = pa.array([run.lines[0].as_py()[len(BYTE_ORDER_MARK) :]], run.lines.type)
        return run._replace(lines=pa.concat_arrays([first, run.lines[1:]]))
    return run


def lines_before(spark: SparkSession, files: Sequence[SourceFile]) -> dict[tuple[str, int], int]:
    """Return the number of lines before each block of each file."""
    from pyspark.sql import functions as sf

    from meshwright.pipeline.session.failures import readable_path

    counted = read_lines(spark, files).groupBy("source", "block").agg(sf.count(sf.lit(1)).alias("lines"))
    before: dict[tuple[str, int], int] = {}
    so_far = ("", 0)
    for row in sorted(counted.collect(), key=lambda row: (row.source, row.block)):
        if so_far[0] != row.source:
            so_far = (row.source, 0)
        before[readable_path(row.source), row.block] = so_far[1]
        so_far = (row.source, so_far[1] + row.lines)
    return before


def first_lines(spark: SparkSession, files: Sequence[SourceFile]) -> dict[str, bytes]:
    """Return the first line of each file that Spark may read in several blocks: later blocks need it."""
    at_once = min(
        _bytes_setting(spark, "spark.sql.files.openCostInBytes", 4 << 20),
        _bytes_setting(spark, "spark.sql.files.maxPartitionBytes", 128 << 20),
    )
    found = {}
    for file in files:
        if file.size > at_once:
            head = read_lines(spark, [file]).limit(1).collect()
            found[file.path] = bytes(head[0].line).removeprefix(BYTE_ORDER_MARK) if head else b""
    return found


def _bytes_setting(spark: SparkSession, name: str, default: int) -> int:
    """Return a size setting in bytes: a number, or a number with the unit b, k, m or g."""
    text = (spark.conf.get(name, str(default)) or str(default)).lower().rstrip("b")
    scale = {"k": 2**10, "m": 2**20, "g": 2**30}.get(text[-1:], 1)
    return int(text.rstrip("kmg")) * scale
