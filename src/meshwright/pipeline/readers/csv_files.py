"""Reader of CSV files: Arrow parses whole windows, and Python the lines that are unusual.

A record is one line, so an unclosed quote affects its own line only. With `quoted_newlines`, a quoted value
may have line breaks; then files are not split.

Edge lists in SNAP format have one `follower followee` per line, with # or % before comments. Further columns,
such as weights, are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from meshwright.errors import FormatError
from meshwright.formatting import counted
from meshwright.pipeline.readers import text
from meshwright.pipeline.readers.fields import NOT_UTF8
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.rows import Bad, Rows, column_roles, make_rows, partition_roles
from meshwright.pipeline.readers.sources import Stretch
from meshwright.pipeline.readers.text import Window
from meshwright.store.row_files import delimiter_of, find_column, other_delimiter

BAD_QUOTES = "quotes do not match"
OPEN_QUOTE = "quote without an end in its line: if values have line breaks, use --quoted-newlines"
COMMENT = "comment line"
MOST_STATED = 1000
"""Reasons state numbers of columns up to this one."""


class BadQuotesError(Exception):
    """A line whose quotes do not match."""


class Layout:
    """The positions of the columns in a file."""

    def __init__(self, header: bytes | None, reading: Reading, source: str) -> None:
        self.open_quote = BAD_QUOTES if reading.quoted_newlines else OPEN_QUOTE
        self.delimiter = delimiter_of(source, reading.delimiter)
        if header is None:
            names = [reading.node, reading.topic]
        else:
            try:
                names = split_fields(header.decode(), self.delimiter)
            except (UnicodeDecodeError, BadQuotesError) as error:
                raise FormatError(f"the first line of {source} is not a header: correct it") from error
        self.width, stated = len(names), partition_roles(source, reading)
        self.places = {
            what: _column_place(names, column, needed and what not in stated, what, source)
            for what, column, needed in column_roles(reading)
        }
        self.roles = {what: place for what, place in self.places.items() if place is not None}

    def wrong_width(self, width: int) -> str:
        """Return the reason for a line with this many columns; counts above `MOST_STATED` share one."""
        stated = counted(width, "column") if width <= MOST_STATED else f"more than {MOST_STATED} columns"
        return f"{stated}, not {self.width}"


def _column_place(names: Sequence[str], column: str, needed: bool, what: str, source: str) -> int | None:
    """Return the position of a column, or None if it is absent and not needed."""
    if column not in names and not needed:
        return None
    option = other_delimiter(names)
    fix = f"name the right one with --{what}" if option is None else f"add {option}"
    return find_column(names, column, source=source, fix=fix)


def read_layout(path: str, reading: Reading) -> Layout | None:
    """Return the layout of a file from its header, or None if the file has no line with text.

    Raises
    ------
    FormatError
        If the first line is not a header.
    """
    if not reading.header:
        return Layout(None, reading, path)
    header, more = text.first_line(path)
    if len(header) >= text.LONGEST_LINE:
        raise FormatError(f"the first line of {path} is longer than {text.LONGEST_LINE:,} bytes: correct it")
    if not header and more:
        raise FormatError(f"the first line of {path} is blank, not a header: remove the blank lines")
    return Layout(header, reading, path) if header else None


def read_csv(stretch: Stretch, reading: Reading) -> Iterator[Rows]:
    """Yield the rows of a stretch of a CSV file, window by window."""
    layout = read_layout(stretch.path, reading)
    if layout is None:
        return
    lines = text.windows(stretch)
    for window in text.records_of_lines(lines) if reading.quoted_newlines else lines:
        skip = int(reading.header and stretch.begin == 0 and window.first == 0)
        yield parse_window(window, stretch, layout, skip)


def parse_window(window: Window, stretch: Stretch, layout: Layout, skip: int = 0) -> Rows:
    """Parse the lines of a window, without the first ones if they are to be skipped."""
    data = window.data if not skip else window.data[window.ends[skip - 1] + 1 :]
    plain = (
        b'"' not in data
        and b"\n\n" not in data
        and not data.startswith((b"\n", b"#"))
        and b"\n# " not in data
    )
    if plain and (len(window) < 2 or window.lengths[skip:].max(initial=0) <= text.LONGEST_LINE):
        made = _parse_plain(data, window, stretch, layout, skip)
        if made is not None:
            return made
    return _parse_lines(window, stretch, layout, skip)


def _parse_plain(data: bytes, window: Window, stretch: Stretch, layout: Layout, skip: int) -> Rows | None:
    """Parse lines without quotes, comments and gaps, all at once; None if Arrow refuses them."""
    if not _is_utf8(data):  # Arrow raises while it calls `refuse`, where nobody catches it
        return None
    count = len(window) - skip
    bad, wrong = Bad(), []

    def refuse(row: csv.InvalidRow) -> str:
        wrong.append(row.number - 1)
        line = skip + row.number - 1
        bad.add(int(window.places[line]), window.line(line), layout.wrong_width(row.actual_columns))
        return "skip"

    columns = _parse_arrow(data, layout, refuse) if count else {}
    if columns is None:
        return None
    kept = np.delete(np.arange(count), wrong) if wrong else np.arange(count)
    if columns and len(next(iter(columns.values()))) != len(kept):
        return None
    columns = columns or {what: pa.array([], pa.string()) for what in layout.roles}

    def record_of(row: int) -> bytes:
        return window.line(skip + int(kept[row]))

    return make_rows(stretch, len(window), window.places[skip + kept], columns, record_of, bad)


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _parse_arrow(data: bytes, layout: Layout, refuse: object) -> dict[str, pa.Array] | None:
    """Return the columns of lines by role, or None if they are not UTF-8 or Arrow refuses them."""
    numbered = [str(number) for number in range(layout.width)]
    wanted = [numbered[place] for place in layout.roles.values()]
    try:
        table = csv.read_csv(
            pa.py_buffer(data),
            read_options=csv.ReadOptions(
                column_names=numbered, use_threads=False, block_size=max(len(data) + 1, 1024)
            ),
            parse_options=csv.ParseOptions(
                delimiter=layout.delimiter, invalid_row_handler=refuse, ignore_empty_lines=False
            ),
            convert_options=csv.ConvertOptions(
                include_columns=wanted,
                column_types=dict.fromkeys(wanted, pa.string()),
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowInvalid, ValueError):
        return None
    return {what: table.column(numbered[place]).combine_chunks() for what, place in layout.roles.items()}


def _parse_lines(window: Window, stretch: Stretch, layout: Layout, skip: int) -> Rows:
    """Parse lines of any kind: sort out those that cannot be read, and let Arrow read the others."""
    bad, kept = Bad(), []
    lines = window.lines()
    for number in range(skip, len(lines)):
        line = lines[number]
        if not line:
            continue
        reason = _unreadable(line, layout)
        if reason is None:
            kept.append(number)
        else:
            bad.add(int(window.places[number]), line, reason)
    where = np.array(kept, dtype=np.int64)
    columns = _parse_arrow(b"".join(lines[number] + b"\n" for number in kept), layout, None) if kept else None
    if columns is None or len(next(iter(columns.values()))) != len(kept):
        fields = [split_fields(lines[number].decode(), layout.delimiter) for number in kept]
        columns = {
            what: pa.array([row[i] for row in fields], pa.string()) for what, i in layout.roles.items()
        }

    def record_of(row: int) -> bytes:
        return lines[kept[row]]

    return make_rows(stretch, len(window), window.places[where], columns, record_of, bad)


def _unreadable(line: bytes, layout: Layout) -> str | None:
    """Return why a line cannot be split into the columns of its file, or None."""
    if len(line) > text.LONGEST_LINE:
        return text.TOO_LONG
    if line.startswith(b"# "):
        return COMMENT
    try:
        decoded = line.decode()
    except UnicodeDecodeError:
        return NOT_UTF8
    if '"' in decoded:
        try:
            width = len(split_fields(decoded, layout.delimiter))
        except BadQuotesError:
            return layout.open_quote if decoded.count('"') % 2 else BAD_QUOTES
    else:
        width = decoded.count(layout.delimiter) + 1
    return None if width == layout.width else layout.wrong_width(width)


def split_fields(line: str, delimiter: str) -> list[str]:
    """Split a line into fields; a field with quotes must be quoted, with each inner quote doubled.

    >>> split_fields('a,"b,c","a 5"" pipe"', ",")
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


NO_PAIR = r"^\s*([#%]|$)"
GAP = r"[\s,;]+"
ONE_END = "fewer than two columns"


def read_edges(stretch: Stretch, reading: Reading) -> Iterator[Rows]:
    """Yield the rows of a stretch: `u v` means that u subscribes to v and, both ways, v also to u."""
    for window in text.windows(stretch):
        made = parse_edges(window, stretch)
        yield made
        if reading.both_ways:
            good = len(made.node)
            yield replace(made, lines=0, node=made.topic, topic=made.node, bad=Bad(), read=good)


def parse_edges(window: Window, stretch: Stretch) -> Rows:
    """Parse the lines of a window, all at once."""
    bad = Bad()
    lines, numbers = window.lines(), np.arange(len(window))
    try:
        given = pa.array(lines, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        numbers = np.array([at for at, line in enumerate(lines) if text.is_utf8(line)], dtype=np.int64)
        for at in sorted(set(range(len(lines))) - set(numbers.tolist())):
            bad.add(int(window.places[at]), lines[at], NOT_UTF8)
        given = pa.array([lines[at].decode() for at in numbers], pa.string())
    rows = pc.invert(pc.match_substring_regex(given, NO_PAIR))
    given, numbers = given.filter(rows), numbers[rows.to_numpy(zero_copy_only=False)]
    too_long = pc.greater(pc.binary_length(given), text.LONGEST_LINE).to_numpy(zero_copy_only=False)
    fields = pc.split_pattern_regex(pc.utf8_trim_whitespace(given), GAP)
    fits = pc.greater_equal(pc.list_value_length(fields), 2)
    both = pc.if_else(fits, fields, pa.scalar(["-", "-"], fields.type))
    columns = {"node": pc.list_element(both, 0), "topic": pc.list_element(both, 1)}
    reasons = [(too_long, text.TOO_LONG), (~fits.to_numpy(zero_copy_only=False), ONE_END)]
    return make_rows(
        stretch,
        len(window),
        window.places[numbers],
        columns,
        lambda row: lines[numbers[row]],
        bad,
        further=reasons,
    )
