"""Rows of CSV files. A record is a line: a quote that is not closed spoils its own line and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from meshwright.errors import FormatError, InputError, first_five
from meshwright.pipeline.readers import rows, text
from meshwright.pipeline.readers.options import is_tabbed
from meshwright.pipeline.readers.rows import checked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.options import Reading
    from meshwright.pipeline.readers.sources import SourceFile

BAD_QUOTES = "quotes do not match"


class BadQuotesError(Exception):
    """A line whose quotes do not match."""


def read_csv(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of CSV files, plain or compressed, each with its own order of columns."""
    headers = text.first_lines(spark, files) if reading.header else {}

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _parsed(text.runs(batches), reading, headers)

    return text.lines_of(spark, files).mapInArrow(parse, rows.SCHEMA)


def _parsed(
    runs: Iterator[text.Run], reading: Reading, headers: Mapping[str, bytes]
) -> Iterator[pa.RecordBatch]:
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
            yield _rows(run, layout)


class Layout:
    """Which column of a file is which."""

    def __init__(self, header: bytes | None, reading: Reading, source: str) -> None:
        self.delimiter = reading.delimiter or ("\t" if is_tabbed(source) else ",")
        if header is None:
            names = [reading.node, reading.topic]
        else:
            try:
                names = _fields(header.decode(), self.delimiter)
            except (UnicodeDecodeError, BadQuotesError) as error:
                raise FormatError(f"{source} has a first line that is no header: mend it") from error
        self.width = len(names)
        self.places = {
            what: _place(names, column, needed, what, source)
            for what, column, needed in rows.column_roles(reading)
        }


def _place(names: Sequence[str], column: str, needed: bool, what: str, source: str) -> int | None:
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


def _rows(run: text.Run, layout: Layout) -> pa.RecordBatch:
    import pyarrow as pa
    import pyarrow.compute as pc

    only_names = all(layout.places.get(what) is None for what in rows.WHAT)
    plain = only_names and not pc.any(pc.match_substring(run.lines, '"')).as_py()
    if plain:
        try:
            return _split(run, run.lines.cast(pa.string()), layout)
        except pa.ArrowInvalid:
            pass  # some line is not UTF-8
    return _one_by_one(run, layout)


def _split(run: text.Run, lines: pa.Array, layout: Layout) -> pa.RecordBatch:
    """Read lines without quotes, all at once."""
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
    made = checked(lines, reasons, source=run.source, block=run.block, place=run.places, **columns)
    return made.filter(filled)


def _wrong_width(width: pa.Array, layout: Layout) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(width.cast(pa.string()), f" columns, not {layout.width}", "")


def _one_by_one(run: text.Run, layout: Layout) -> pa.RecordBatch:
    """Read lines with quotes, times or bytes that are no text."""
    made = rows.Rows(run)
    for place, line in enumerate(run.lines.to_pylist(), start=run.first):
        if not line:
            continue
        if len(line) > text.LONGEST_LINE:
            made.refuse(place, line, text.TOO_LONG)
            continue
        try:
            fields = _fields(line.decode(), layout.delimiter)
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


def _fields(line: str, delimiter: str) -> list[str]:
    """Cut a line into fields; one with quotes in it must be quoted as a whole, and have them twice.

    >>> _fields('a,"b,c","a 5"" pipe"', ",")
    ['a', 'b,c', 'a 5" pipe']
    """
    if '"' not in line:
        return line.split(delimiter)
    fields, at = [], 0
    while True:
        found = _field(delimiter).match(line, at)
        if found is None:
            raise BadQuotesError
        quoted, bare = found["quoted"], found["bare"]
        fields.append(bare if quoted is None else quoted.replace('""', '"'))
        if not found["end"]:
            return fields
        at = found.end()


@cache
def _field(delimiter: str) -> re.Pattern[str]:
    """Return what a field looks like: in quotes, or without any, up to the next delimiter or the end."""
    mark = re.escape(delimiter)
    return re.compile(rf'(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^"{mark}]*))(?P<end>{mark}|\Z)')
