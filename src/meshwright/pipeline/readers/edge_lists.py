"""Reader of edge lists in SNAP format: one `follower followee` per line; # or % starts a comment line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from meshwright.pipeline.readers import rows, text
from meshwright.pipeline.readers.rows import check_names

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.options import Reading
    from meshwright.pipeline.readers.sources import SourceFile

COMMENT = r"^\s*([#%]|$)"
GAP = r"[\s,;]+"
ONE_END = "fewer than two columns"


def read_edges(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of edge lists: `u v` means that u subscribes to v and, both ways, v also to u.

    Further columns, such as weights, are ignored.
    """

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for run in text.runs(batches):
            made = _parse_run(run)
            yield made
            if reading.both_ways:
                yield _reverse(made)

    return text.read_lines(spark, files).mapInArrow(parse, rows.SCHEMA)


def _parse_run(run: text.Run) -> pa.RecordBatch:
    """Parse all lines of a run at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        lines = run.lines.cast(pa.string())
    except pa.ArrowInvalid:
        return _parse_line_by_line(run)
    fields = pc.split_pattern_regex(pc.utf8_trim_whitespace(lines), GAP)
    fits = pc.greater_equal(pc.list_value_length(fields), 2)
    reasons = pc.if_else(fits, pa.scalar(None, pa.string()), ONE_END)
    reasons = pc.if_else(pc.greater(pc.binary_length(lines), text.LONGEST_LINE), text.TOO_LONG, reasons)
    both = pc.if_else(fits, fields, pa.scalar(["", ""], fields.type))
    ends = {"node": pc.list_element(both, 0), "topic": pc.list_element(both, 1)}
    made = check_names(lines, reasons, source=run.source, block=run.block, place=run.places, **ends)
    return made.filter(pc.invert(pc.match_substring_regex(lines, COMMENT)))


def _parse_line_by_line(run: text.Run) -> pa.RecordBatch:
    """Parse a run in which some lines are not UTF-8."""
    import pyarrow as pa

    made = rows.RowBuilder(run)
    pieces = []
    for place, line in enumerate(run.lines.to_pylist(), start=run.first):
        try:
            line.decode()
        except UnicodeDecodeError:
            made.refuse(place, line, rows.NOT_UTF8)
        else:
            pieces.append(_parse_run(text.Run(run.source, run.block, place, pa.array([line], pa.binary()))))
    return pa.Table.from_batches([made.batch(), *pieces]).combine_chunks().to_batches()[0]


def _reverse(made: pa.RecordBatch) -> pa.RecordBatch:
    """Return the good rows with node and topic swapped."""
    import pyarrow.compute as pc

    good = made.filter(pc.is_null(made.column("reason")))
    columns = {name: good.column(name) for name in good.schema.names}
    columns["node"], columns["topic"] = columns["topic"], columns["node"]
    return rows.batch(good.num_rows, **columns)
