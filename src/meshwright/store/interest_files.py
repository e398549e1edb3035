"""Interests from anything: Python objects, tables, dataset folders, CSV, JSON-lines and Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from meshwright.arrow import from_strings
from meshwright.errors import FormatError, InputError, first_five
from meshwright.files.header import parse_json
from meshwright.files.urls import local_copy
from meshwright.interest import MOST_SUBSCRIPTIONS, Interest
from meshwright.store.datasets import read_dataset
from meshwright.store.tables import check_names, errors_name_file, read_csv, read_parquet

if TYPE_CHECKING:
    from typing import TypeAlias

    Reader: TypeAlias = Callable[[Path, str, str], pa.Table]


def read_json_line_by_line(path: Path, node: str, topic: str) -> pa.Table:
    """Read JSON lines with string or integer names as a table of strings: slow, but errors name the line."""
    names: dict[str, list[str]] = {node: [], topic: []}
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            record = _record(line, number, names)
            for column, so_far in names.items():
                so_far.append(_name(record, column, number))
    return pa.table({column: from_strings(found) for column, found in names.items()})


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
        raise FormatError(f"line {number} is not a JSON object: give one object {{…}} per line")
    return record


def _name(record: dict[str, object], column: str, number: int) -> str:
    if column not in record:
        raise InputError(
            f"no column {column!r} in line {number}; it has {first_five(record)}: rename one of them"
        )
    name = record[column]
    if name is None:
        raise InputError(f"no {column} name in line {number}: fill or drop it")
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise InputError(f"the {column} name in line {number} is {name!r}: give a string or an integer")
    text = str(name)
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"the {column} name in line {number} holds half a surrogate pair: fix its escapes")
    return text


def load_interest(source: Any, *, node: str = "node", topic: str = "topic") -> Interest:
    """Make an interest from a Python object, a table, a file or a dataset folder.

    Parameters
    ----------
    source
        An `Interest`, a mapping of nodes to topics, a networkx graph, a scipy sparse matrix, anything with
        `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow), or a path or URL: a dataset folder, or a file in
        .csv, .csv.gz, .jsonl, .ndjson or .parquet. Names in files are strings, even if they look like
        numbers.
    node, topic
        The columns to read from tables and files.

    Raises
    ------
    InputError
        If the file, a column or a name is missing.
    FormatError
        If the content of a file does not match its format.
    """
    if hasattr(source, "__arrow_c_stream__"):
        return Interest.from_arrow(source, node=node, topic=topic)
    if not isinstance(source, (str, Path)):
        return Interest.of(source)
    with local_copy(source) as path:
        if not path.exists():
            raise InputError(f"no file or folder {path}: nothing is there")
        return read_dataset(path) if path.is_dir() else _read_file(path, node, topic)


def _read_file(path: Path, node: str, topic: str) -> Interest:
    read = next((reader for ending, reader in READERS.items() if path.name.lower().endswith(ending)), None)
    if read is None:
        raise InputError(
            f"{path} does not end in any of {', '.join(READERS)}: rename it, or give a dataset folder"
        )
    with errors_name_file(path):
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty: it needs the columns {node!r} and {topic!r}")
        table = read(path, node, topic)
        for column in (node, topic):
            check_names(table.column(column), column)
        return Interest.from_pairs(table.column(node), table.column(topic))


def _read_csv(path: Path, node: str, topic: str) -> pa.Table:
    return read_csv(path, (node, topic))


def _read_json_lines(path: Path, node: str, topic: str) -> pa.Table:
    from pyarrow import json

    schema = pa.schema({node: pa.string(), topic: pa.string()})
    strict = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = json.read_json(path, parse_options=strict)
    except pa.ArrowInvalid:
        # Integer names, or an error: read line by line, to name the line.
        table = None
    if table is None or any(column.null_count for column in table.columns):
        return read_json_line_by_line(path, node, topic)
    return table


def _read_parquet(path: Path, node: str, topic: str) -> pa.Table:
    return read_parquet(path, (node, topic), MOST_SUBSCRIPTIONS)


READERS: dict[str, Reader] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}
