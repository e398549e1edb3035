"""Reader of JSON-lines files: Arrow parses whole windows, and Python those that Arrow refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright.pipeline.readers import text
from meshwright.pipeline.readers.fields import BAD_SEQUENCE, NOT_UTF8, UNKNOWN_OPERATION
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.rows import Bad, Rows, column_roles, make_rows
from meshwright.pipeline.readers.sources import Stretch
from meshwright.pipeline.readers.text import Window
from meshwright.pipeline.readers.times import BAD_TIME
from meshwright.store.row_files import Record, is_encodable, parse_record

NOT_JSON = "not JSON"
NO_OBJECT = "not a JSON object"
TWICE = "JSON object has a key twice"
LONGEST_INTEGER = 4000
"""Python refuses to convert more digits; such an integer stays a text."""
DEEP = 500
"""Python cannot parse lines with deeply nested brackets, so lines with this many are not left to Arrow."""
WRONG_NAME = "{} name is neither a string nor an integer"
TYPES: Mapping[type, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def read_json_lines(stretch: Stretch, reading: Reading) -> Iterator[Rows]:
    """Yield the rows of a stretch of a JSON-lines file, window by window."""
    roles = {what: column for what, column, _ in column_roles(reading)}
    for window in text.windows(stretch):
        yield parse_window(window, stretch, roles, numbers=reading.publications)


def parse_window(
    window: Window, stretch: Stretch, roles: Mapping[str, str], *, numbers: bool = False
) -> Rows:
    """Parse the lines of a window; with `numbers`, topics may be fractions, as content values are."""
    columns = _parse_arrow(window, roles)
    if columns is not None:
        return make_rows(stretch, len(window), window.places, columns, window.line, Bad())
    return _parse_lines(window, stretch, roles, numbers)


def _parse_arrow(window: Window, roles: Mapping[str, str]) -> dict[str, pa.Array] | None:
    """Return the fields of objects by role, or None if some line is unusual."""
    from pyarrow import json as arrow_json

    data = window.data
    # Every line must be one object: begin with {, end with }.
    letters = np.frombuffer(data, np.uint8)
    if not len(window) or (window.lengths < 2).any() or window.lengths.max() > text.LONGEST_LINE:
        return None
    if (letters[window.starts] != 0x7B).any() or (letters[window.ends - 1] != 0x7D).any():
        return None
    if any(_is_deep(window.line(number)) for number in np.flatnonzero(window.lengths > 2 * DEEP).tolist()):
        return None
    types = _guess_types(window, roles)
    if types is None:
        return None
    try:
        table = arrow_json.read_json(
            pa.BufferReader(data),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pa.schema(types), unexpected_field_behavior="ignore"
            ),
        )
        if table.num_rows != len(window):
            return None
        columns = {what: table.column(name).combine_chunks() for what, name in roles.items() if name in types}
        for column in columns.values():
            column.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if any(what not in columns for what in ("node", "topic")):
        return None
    return columns


def _guess_types(window: Window, roles: Mapping[str, str]) -> dict[str, pa.DataType] | None:
    """Return the types of the columns, from the first record; Arrow refuses records of other types."""
    try:
        first = json.loads(window.line(0))
    except (ValueError, RecursionError):
        return None
    allowed = {"node": (str, int), "topic": (str, int), "time": (str, int, float), "operation": (str,)}
    found = {}
    for what, name in roles.items():
        kind = type(first.get(name, "")) if what != "sequence" else type(first.get(name, 0))
        if kind not in allowed.get(what, (str, int)):
            return None
        # Numbers may be fractions later on.
        found[name] = pa.float64() if what == "time" and kind is int else TYPES[kind]
    # A column with two roles has one type.
    return found if len(found) == len(roles) else None


def _parse_lines(window: Window, stretch: Stretch, roles: Mapping[str, str], numbers: bool) -> Rows:
    """Parse lines one by one."""
    bad = Bad()
    kept: list[int] = []
    fields: dict[str, list[str | None]] = {what: [] for what in roles}
    lines = window.lines()
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        record, reason = _load(line)
        if reason is None and not record.repeated.isdisjoint(roles.values()):
            reason = TWICE
        if reason is None:
            read, reason = _fields(record, roles, numbers)
            if reason is None:
                kept.append(number)
                for what, value in read.items():
                    fields[what].append(value)
                continue
        bad.add(int(window.places[number]), line, reason)
    columns = {what: pa.array(values, pa.string()) for what, values in fields.items()}
    places = window.places[np.array(kept, dtype=np.int64)]
    return make_rows(stretch, len(window), places, columns, lambda row: lines[kept[row]], bad)


def _load(line: bytes) -> tuple[Record, str | None]:
    """Return the object in a line, or why there is none."""
    if len(line) > text.LONGEST_LINE:
        return Record(), text.TOO_LONG
    try:
        record = parse_record(line.decode(), integer=_integer)
    except UnicodeDecodeError:
        return Record(), NOT_UTF8
    except ValueError:
        return Record(), NOT_JSON
    return (record, None) if isinstance(record, Record) else (Record(), NO_OBJECT)


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONGEST_INTEGER else digits


def _is_deep(line: bytes) -> bool:
    return line.count(b"[") + line.count(b"{") > DEEP


def _fields(
    record: Mapping[str, Any], roles: Mapping[str, str], numbers: bool
) -> tuple[dict[str, str | None], str | None]:
    """Return the fields of an object as texts, or why it cannot be used."""
    read: dict[str, str | None] = {}
    for what, name in roles.items():
        value = record.get(name)
        if value is None:
            read[what] = None
        elif (
            isinstance(value, bool)
            or not isinstance(value, (str, int, float))
            or (isinstance(value, float) and not (what == "time" or (numbers and what == "topic")))
        ):
            return {}, _wrong_type(what)
        elif isinstance(value, int) and what == "operation":
            return {}, UNKNOWN_OPERATION
        else:
            text_of = repr(value) if isinstance(value, float) else str(value)
            if not is_encodable(text_of):
                return {}, NOT_UTF8
            read[what] = text_of
    return read, None


def _wrong_type(what: str) -> str:
    reasons = {"time": BAD_TIME, "operation": UNKNOWN_OPERATION, "sequence": BAD_SEQUENCE}
    return reasons.get(what, WRONG_NAME.format(what))
