"""Rows of edge lists as SNAP gives them: `follower followee` a line, comments after # or %."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from meshwright.pipeline.readers import rows, text
from meshwright.pipeline.readers.rows import checked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.options import Reading
    from meshwright.pipeline.readers.sources import SourceFile

COMMENT = r"^\s*([#%]|$)"
GAP = r"[\s,;]+"
ONE_END = "fewer than two columns"


def read_edges(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of edge lists: `u v` says that u subscribes to v, and both ways also v to u.

    Further columns, such as weights, do not count.
    """

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for run in text.runs(batches):
            made = _parsed(run)
            yield made
            if reading.both_ways:
                yield _turned(made)

    return text.lines_of(spark, files).mapInArrow(parse, rows.SCHEMA)


def _parsed(run: text.Run) -> pa.RecordBatch:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        lines = run.lines.cast(pa.string())
    except pa.ArrowInvalid:
        return _one_by_one(run)
    fields = pc.split_pattern_regex(pc.utf8_trim_whitespace(lines), GAP)
    fits = pc.greater_equal(pc.list_value_length(fields), 2)
    reasons = pc.if_else(fits, pa.scalar(None, pa.string()), ONE_END)
    reasons = pc.if_else(pc.greater(pc.binary_length(lines), text.LONGEST_LINE), text.TOO_LONG, reasons)
    both = pc.if_else(fits, fields, pa.scalar(["", ""], fields.type))
    ends = {"node": pc.list_element(both, 0), "topic": pc.list_element(both, 1)}
    made = checked(lines, reasons, source=run.source, block=run.block, place=run.places, **ends)
    return made.filter(pc.invert(pc.match_substring_regex(lines, COMMENT)))


def _one_by_one(run: text.Run) -> pa.RecordBatch:
    """Read lines of which some are not UTF-8."""
    import pyarrow as pa

    made = rows.Rows(run)
    pieces = []
    for place, line in enumerate(run.lines.to_pylist(), start=run.first):
        try:
            line.decode()
        except UnicodeDecodeError:
            made.refuse(place, line, rows.NOT_UTF8)
        else:
            pieces.append(_parsed(text.Run(run.source, run.block, place, pa.array([line], pa.binary()))))
    return pa.Table.from_batches([made.batch(), *pieces]).combine_chunks().to_batches()[0]


def _turned(made: pa.RecordBatch) -> pa.RecordBatch:
    """Return the good rows with both ends exchanged."""
    import pyarrow.compute as pc

    good = made.filter(pc.is_null(made.column("reason")))
    columns = {name: good.column(name) for name in good.schema.names}
    columns["node"], columns["topic"] = columns["topic"], columns["node"]
    return rows.batch(good.num_rows, **columns)
