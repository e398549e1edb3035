"""Interests from anything: Python objects, tables, dataset folders, CSV, JSON-lines and Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.errors import FormatError, InputError, first_five
from meshwright.interest import MOST_SUBSCRIPTIONS, Interest
from meshwright.store.datasets import read_dataset
from meshwright.store.tables import first_line

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
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty: it needs the columns {node!r} and {topic!r}")
        table = read(path, node, topic)
        for column in (node, topic):
            _check_names(table.column(column), column)
        return Interest.from_pairs(table.column(node), table.column(topic))

    except (UnicodeDecodeError, pa.ArrowException, OSError) as error:
        text = first_line(error)
        if isinstance(error, UnicodeDecodeError) or "UTF8" in text or "UTF-8" in text:
            raise FormatError(f"{path} is not UTF-8 text: save it as UTF-8") from error
        raise FormatError(f"{path} cannot be read: {text}") from error
    except (InputError, FormatError) as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error


def _read_csv(path: Path, node: str, topic: str) -> pa.Table:
    from pyarrow import csv

    # Everything is a string: no 007 becomes 7, no "NULL" a null.
    parse = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, parse_options=parse) as head:
        _check_columns(head.schema.names, node, topic)
    convert = csv.ConvertOptions(
        include_columns=list(dict.fromkeys((node, topic))),
        column_types={node: pa.string(), topic: pa.string()},
        strings_can_be_null=False,
    )
    return csv.read_csv(path, parse_options=parse, convert_options=convert)


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
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as parquet:
        _check_columns(parquet.schema_arrow.names, node, topic)
        if parquet.metadata.num_rows > MOST_SUBSCRIPTIONS:
            raise InputError(
                f"{parquet.metadata.num_rows} rows are more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
                "sample the data, or split it by topic"
            )
        table = parquet.read(columns=[node, topic])
    return pa.table({name: _as_strings(table.column(name)) for name in (node, topic)})


def _as_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn integers into strings, so that the order does not depend on the file's format."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_integer(column.type) else column


def _check_columns(found: list[str], *wanted: str) -> None:
    for column in wanted:
        if column not in found:
            raise InputError(f"no column {column!r}; the columns are {first_five(found)}: rename one to that")


def _check_names(column: pa.ChunkedArray, what: str) -> None:
    blank = column.is_null()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        blank = pc.or_kleene(blank, pc.equal(pc.utf8_trim_whitespace(column), ""))
    rows = np.flatnonzero(pc.fill_null(blank, True).to_numpy())
    if len(rows):
        raise InputError(
            f"no {what} name in rows {first_five((rows + 1).tolist())} (from 1, the header not counted): "
            "fill or drop these rows"
        )


READERS: dict[str, Reader] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}
