"""Lines of text files, compressed or not, each with where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.sources import SourceFile

LONGEST_LINE = 1 << 18
"""Bytes of a line: more than two names of the greatest length take."""
TOO_LONG = f"line longer than {LONGEST_LINE} bytes"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Run(NamedTuple):
    """Lines that follow each other in one block of one file; `first` is the place of the first of them."""

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
        """Whether its first line is the first one of the file."""
        return self.block == 0 and self.first == 0

    def without_first(self) -> Run:
        """Return the rest of it."""
        return self._replace(first=self.first + 1, lines=self.lines[1:])


def lines_of(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    """Return the lines of files as bytes, cut a little above the greatest length, with file and block."""
    from pyspark.sql import functions as sf

    from meshwright.pipeline.readers.sources import STRICTLY, escaped

    return (
        spark.read.options(**STRICTLY)
        .text([escaped(file.path) for file in files])
        .select(
            sf.substring(sf.col("value").cast("binary"), 1, LONGEST_LINE + 1).alias("line"),
            sf.col("_metadata.file_path").alias("source"),
            sf.col("_metadata.file_block_start").alias("block"),
        )
    )


def runs(batches: Iterator[pa.RecordBatch]) -> Iterator[Run]:
    """Cut the batches of a task where file or block change, and count places on."""
    from meshwright.pipeline.session.failures import plain

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
            yield _without_mark(Run(plain(at[0]), at[1], place, batch.column(0)[begin:end]))
            place += end - begin


def _without_mark(run: Run) -> Run:
    import pyarrow as pa

    if run.begins_file and run.lines[0].as_py().startswith(BYTE_ORDER_MARK):
        first = pa.array([run.lines[0].as_py()[len(BYTE_ORDER_MARK) :]], run.lines.type)
        return run._replace(lines=pa.concat_arrays([first, run.lines[1:]]))
    return run


def lines_before(spark: SparkSession, files: Sequence[SourceFile]) -> dict[tuple[str, int], int]:
    """Return how many lines each file has before each of its blocks."""
    from pyspark.sql import functions as sf

    from meshwright.pipeline.session.failures import plain

    counted = lines_of(spark, files).groupBy("source", "block").agg(sf.count(sf.lit(1)).alias("lines"))
    before: dict[tuple[str, int], int] = {}
    so_far = ("", 0)
    for row in sorted(counted.collect(), key=lambda row: (row.source, row.block)):
        if so_far[0] != row.source:
            so_far = (row.source, 0)
        before[plain(row.source), row.block] = so_far[1]
        so_far = (row.source, so_far[1] + row.lines)
    return before


def first_lines(spark: SparkSession, files: Sequence[SourceFile]) -> dict[str, bytes]:
    """Return the first line of each file that may be read in several blocks, for those that lack it."""
    at_once = min(
        _setting(spark, "spark.sql.files.openCostInBytes", 4 << 20),
        _setting(spark, "spark.sql.files.maxPartitionBytes", 128 << 20),
    )
    found = {}
    for file in files:
        if file.size > at_once:
            head = lines_of(spark, [file]).limit(1).collect()
            found[file.path] = bytes(head[0].line).removeprefix(BYTE_ORDER_MARK) if head else b""
    return found


def _setting(spark: SparkSession, name: str, default: int) -> int:
    """Return a setting in bytes, of which only plain numbers and the units b, k, m, g are understood."""
    text = (spark.conf.get(name, str(default)) or str(default)).lower().rstrip("b")
    scale = {"k": 2**10, "m": 2**20, "g": 2**30}.get(text[-1:], 1)
    return int(text.rstrip("kmg")) * scale
