"""Interests from anything: Python objects, tables, dataset folders, CSV, JSON-lines and Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from meshwright.errors import InputError
from meshwright.interest import MOST_SUBSCRIPTIONS, Interest
from meshwright.store.columns import check_names, read_csv, read_parquet, reading
from meshwright.store.datasets import read_dataset

if TYPE_CHECKING:
    from typing import TypeAlias

    Reader: TypeAlias = Callable[[Path, str, str], pa.Table]


def load_interest(source: Any, *, node: str = "node", topic: str = "topic") -> Interest:
    """Make an interest from whatever holds one.

    Parameters
    ----------
    source
        An `Interest`, a mapping of nodes to topics, a scipy sparse matrix, anything with
        `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow), or a path: a dataset folder, or a file ending in
        .csv, .csv.gz, .jsonl, .ndjson or .parquet. Names in files are strings, also where they look like
        numbers.
    node, topic
        The columns to read, where there are columns.

    Raises
    ------
    InputError
        If something is missing: the file, a column, a name.
    FormatError
        If a file is not what it seems to be.
    """
    if isinstance(source, Interest):
        return source
    if isinstance(source, Mapping):
        return Interest.from_dict(source)
    if hasattr(source, "tocoo"):
        return Interest.from_scipy(source)
    if hasattr(source, "__arrow_c_stream__"):
        return Interest.from_arrow(source, node=node, topic=topic)
    if not isinstance(source, (str, Path)):
        raise InputError(
            f"no interest can be made from {type(source).__name__}: "
            "give a table, a mapping, a sparse matrix or a path"
        )
    path = Path(source)
    if not path.exists():
        raise InputError(f"no file or folder {path}: nothing is there")
    return read_dataset(path) if path.is_dir() else _read_file(path, node, topic)


def _read_file(path: Path, node: str, topic: str) -> Interest:
    read = next((reader for ending, reader in READERS.items() if path.name.lower().endswith(ending)), None)
    if read is None:
        raise InputError(f"{path} ends in none of {', '.join(READERS)}: rename it, or give a dataset folder")
    with reading(path):
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
        # Integers among the names, or something wrong: read line by line, which knows the line.
        table = None
    if table is None or any(column.null_count for column in table.columns):
        from meshwright.store.json_lines import read_line_by_line

        return read_line_by_line(path, node, topic)
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
