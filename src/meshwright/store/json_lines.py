"""JSON-lines read one by one: slow, but every oddity is told with its line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from meshwright.errors import FormatError, InputError, first_five
from meshwright.store.json_text import parse_json


def read_line_by_line(path: Path, node: str, topic: str) -> pa.Table:
    """Read a file of one JSON object a line, names being strings or integers, as a table of strings."""
    names: dict[str, list[str]] = {node: [], topic: []}
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            record = _record(line, number, names)
            for column, so_far in names.items():
                so_far.append(_name(record, column, number))
    return pa.table({column: pa.array(found, pa.string()) for column, found in names.items()})


def _record(line: str, number: int, columns: Iterable[str]) -> dict[str, object]:
    def gathered(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in pairs]
        for column in columns:
            if keys.count(column) > 1:
                raise InputError(f"line {number} has more than one {column!r}: keep one of them")
        return dict(pairs)

    try:
        record = parse_json(line, gather=gathered)
    except InputError:
        raise
    except ValueError as error:
        raise FormatError(f"line {number} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise FormatError(f"line {number} is not a JSON object: give one {{…}} a line")
    return record


def _name(record: dict[str, object], column: str, number: int) -> str:
    if column not in record:
        raise InputError(
            f"no column {column!r} in line {number}; it has {first_five(record)}: rename one to that"
        )
    name = record[column]
    if name is None:
        raise InputError(f"no {column} name in line {number}: fill or drop it")
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise InputError(f"the {column} name in line {number} is {name!r}: give a string or an integer")
    text = str(name)
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"the {column} name in line {number} holds half a surrogate pair: mend its escapes")
    return text
