"""Readers of text formats with one record per line: CSV, JSON lines, and edge lists in SNAP format.

Because a record is one line, an unclosed quote in a CSV file affects its own line only. An edge list has one
`follower followee` per line; # or % starts a comment line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from meshwright.errors import FormatError, InputError, first_five
from meshwright.pipeline.readers import rows, text
from meshwright.pipeline.readers.formats import is_tab_separated
from meshwright.pipeline.readers.rows import check_names

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.formats import Reading
    from meshwright.pipeline.readers.sources import SourceFile

BAD_QUOTES = "quotes do not match"


class BadQuotesError(Exception):
    """A line whose quotes do not match."""


def read_csv(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of CSV files, plain or compressed; each file has its own column order."""
    headers = text.first_lines(spark, files) if reading.header else {}

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _parse_csv_runs(text.runs(batches), reading, headers)

    return text.read_lines(spark, files).mapInArrow(parse, rows.SCHEMA)


def _parse_csv_runs(
    runs: Iterator[text.Run], reading: Reading, headers: Mapping[str, bytes]
) -> Iterator[pa.RecordBatch]:
    """Parse runs, each with the layout of its file."""
    at = ""
    layout: Layout | None = None
    for each in runs:
        run = each
        if at != run.source:
            at, layout = run.source, None
        if reading.header and run.begins_file:
            layout = Layout(run.lines[0].as_py(), reading, run.source)
            run = run.without_first()
        if layout is None:
            layout = Layout(headers[run.source] if reading.header else None, reading, run.source)
        if len(run.lines):
            yield _parse_csv(run, layout)


class Layout:
    """The positions of the columns in a file."""

    def __init__(self, header: bytes | None, reading: Reading, source: str) -> None:
        self.delimiter = reading.delimiter or ("\t" if is_tab_separated(source) else ",")
        if header is None:
            names = [reading.node, reading.topic]
        else:
            try:
                names = _split_fields(header.decode(), self.delimiter)
            except (UnicodeDecodeError, BadQuotesError) as error:
                raise FormatError(f"the first line of {source} is not a header: correct it") from error
        self.width = len(names)
        self.places = {
            what: _column_place(names, column, needed, what, source)
            for what, column, needed in rows.column_roles(reading)
        }


def _column_place(names: Sequence[str], column: str, needed: bool, what: str, source: str) -> int | None:
    """Return the position of a column, or None if it is absent and not needed."""
    if column in names:
        if names.count(column) > 1:
            raise InputError(f"{source} has more than one column {column!r}: rename one")
        return names.index(column)
    if not needed:
        return None
    raise InputError(
        f"no column {column!r} in {source}; the columns are {first_five(names)}: "
        f"name the right one with --{what}"
    )


def _parse_csv(run: text.Run, layout: Layout) -> pa.RecordBatch:
    """Parse a run: all lines at once if that is possible, else line by line."""
    import pyarrow as pa
    import pyarrow.compute as pc

    only_names = all(layout.places.get(what) is None for what in rows.OPTIONAL_ROLES)
    plain = only_names and not pc.any(pc.match_substring(run.lines, '"')).as_py()
    if plain:
        try:
            return _parse_unquoted(run, run.lines.cast(pa.string()), layout)
        except pa.ArrowInvalid:
            # Some line is not UTF-8.
            pass
    return _parse_csv_line_by_line(run, layout)


def _parse_unquoted(run: text.Run, lines: pa.Array, layout: Layout) -> pa.RecordBatch:
    """Parse lines without quotes, all at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = pc.split_pattern(lines, layout.delimiter)
    width = pc.list_value_length(fields)
    fits = pc.equal(width, layout.width)
    reasons = pc.if_else(fits, pa.scalar(None, pa.string()), _wrong_width(width, layout))
    reasons = pc.if_else(pc.greater(pc.binary_length(lines), text.LONGEST_LINE), text.TOO_LONG, reasons)
    columns = {}
    for what in ("node", "topic"):
        place = layout.places[what]
        columns[what] = pc.list_element(
            pc.if_else(fits, fields, pa.scalar([""] * layout.width, fields.type)), place
        )
    filled = pc.not_equal(lines, "")
    made = check_names(lines, reasons, source=run.source, block=run.block, place=run.places, **columns)
    return made.filter(filled)


def _wrong_width(width: pa.Array, layout: Layout) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(width.cast(pa.string()), f" columns, not {layout.width}", "")


def _parse_csv_line_by_line(run: text.Run, layout: Layout) -> pa.RecordBatch:
    """Parse lines that have quotes, times or invalid UTF-8."""
    made = rows.RowBuilder(run)
    for place, line in enumerate(run.lines.to_pylist(), start=run.first):
        if not line:
            continue
        if len(line) > text.LONGEST_LINE:
            made.refuse(place, line, text.TOO_LONG)
            continue
        try:
            fields = _split_fields(line.decode(), layout.delimiter)
        except UnicodeDecodeError:
            made.refuse(place, line, rows.NOT_UTF8)
        except BadQuotesError:
            made.refuse(place, line, BAD_QUOTES)
        else:
            if len(fields) == layout.width:
                made.take(
                    place, line, {what: fields[i] for what, i in layout.places.items() if i is not None}
                )
            else:
                made.refuse(place, line, f"{len(fields)} columns, not {layout.width}")
    return made.batch()


def _split_fields(line: str, delimiter: str) -> list[str]:
    """Split a line into fields; a field with quotes must be quoted, with each inner quote doubled.

    >>> _split_fields('a,"b,c","a 5"" pipe"', ",")
    ['a', 'b,c', 'a 5" pipe']
    """
    if '"' not in line:
        return line.split(delimiter)
    fields, at = [], 0
    while True:
        found = _field_pattern(delimiter).match(line, at)
        if found is None:
            raise BadQuotesError
        quoted, bare = found["quoted"], found["bare"]
        fields.append(bare if quoted is None else quoted.replace('""', '"'))
        if not found["end"]:
            return fields
        at = found.end()


@cache
def _field_pattern(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of a field, quoted or bare, up to the next delimiter or the end."""
    mark = re.escape(delimiter)
    return re.compile(rf'(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^"{mark}]*))(?P<end>{mark}|\Z)')


def read_json_lines(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of JSON-lines files, plain or compressed."""

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for run in text.runs(batches):
            yield _parse_json(run, reading)

    return text.read_lines(spark, files).mapInArrow(parse, rows.SCHEMA)


def _parse_json(run: text.Run, reading: Reading) -> pa.RecordBatch:
    made = rows.RowBuilder(run)
    wanted = [(what, column) for what, column, _ in rows.column_roles(reading)]
    for place, line in enumerate(run.lines.to_pylist(), start=run.first):
        if not line.strip():
            continue
        if len(line) > text.LONGEST_LINE:
            made.refuse(place, line, text.TOO_LONG)
            continue
        try:
            record = json.loads(line.decode())
        except UnicodeDecodeError:
            made.refuse(place, line, rows.NOT_UTF8)
        except (ValueError, RecursionError):
            made.refuse(place, line, "not JSON")
        else:
            if isinstance(record, dict):
                fields = {what: record.get(column) for what, column in wanted}
                # In publish logs, the topic may be a content value.
                if reading.publications and isinstance(fields["topic"], float):
                    fields["topic"] = repr(fields["topic"])
                made.take(place, line, fields)
            else:
                made.refuse(place, line, "not a JSON object")
    return made.batch()


COMMENT = r"^\s*([#%]|$)"
GAP = r"[\s,;]+"
ONE_END = "fewer than two columns"


def read_edges(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of edge lists: `u v` means that u subscribes to v and, both ways, v also to u.

    Further columns, such as weights, are ignored.
    """

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for run in text.runs(batches):
            made = _parse_edges(run)
            yield made
            if reading.both_ways:
                yield _reverse(made)

    return text.read_lines(spark, files).mapInArrow(parse, rows.SCHEMA)


def _parse_edges(run: text.Run) -> pa.RecordBatch:
    """Parse all lines of a run at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        lines = run.lines.cast(pa.string())
    except pa.ArrowInvalid:
        return _parse_edges_line_by_line(run)
    fields = pc.split_pattern_regex(pc.utf8_trim_whitespace(lines), GAP)
    fits = pc.greater_equal(pc.list_value_length(fields), 2)
    reasons = pc.if_else(fits, pa.scalar(None, pa.string()), ONE_END)
    reasons = pc.if_else(pc.greater(pc.binary_length(lines), text.LONGEST_LINE), text.TOO_LONG, reasons)
    both = pc.if_else(fits, fields, pa.scalar(["", ""], fields.type))
    ends = {"node": pc.list_element(both, 0), "topic": pc.list_element(both, 1)}
    made = check_names(lines, reasons, source=run.source, block=run.block, place=run.places, **ends)
    return made.filter(pc.invert(pc.match_substring_regex(lines, COMMENT)))


def _parse_edges_line_by_line(run: text.Run) -> pa.RecordBatch:
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
            pieces.append(_parse_edges(text.Run(run.source, run.block, place, pa.array([line], pa.binary()))))
    return pa.Table.from_batches([made.batch(), *pieces]).combine_chunks().to_batches()[0]


def _reverse(made: pa.RecordBatch) -> pa.RecordBatch:
    """Return the good rows with node and topic swapped."""
    import pyarrow.compute as pc

    good = made.filter(pc.is_null(made.column("reason")))
    columns = {name: good.column(name) for name in good.schema.names}
    columns["node"], columns["topic"] = columns["topic"], columns["node"]
    return rows.batch(good.num_rows, **columns)
