"""Columns of CSV and Parquet files, read as text, with errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.errors import FormatError, InputError, first_five, first_rows
from meshwright.store.tables import first_line


@contextmanager
def errors_name_file(path: Path) -> Iterator[None]:
    """Turn errors while reading into one line that names the file."""
    try:
        yield
    except (UnicodeDecodeError, pa.ArrowException, OSError) as error:
        text = first_line(error)
        if isinstance(error, UnicodeDecodeError) or "UTF8" in text or "UTF-8" in text:
            raise FormatError(f"{path} is not UTF-8 text: save it as UTF-8") from error
        raise FormatError(f"{path} cannot be read: {text}") from error
    except (InputError, FormatError) as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error


def csv_names(path: Path) -> list[str]:
    """Return the column names of a CSV file."""
    from pyarrow import csv

    with csv.open_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True)) as head:
        names: list[str] = head.schema.names
    return names


def read_csv(path: Path, columns: Sequence[str]) -> pa.Table:
    """Read columns of a CSV file as strings: 007 stays 007, and "NULL" is a name."""
    from pyarrow import csv

    check_columns(csv_names(path), columns)
    convert = csv.ConvertOptions(
        include_columns=list(dict.fromkeys(columns)),
        column_types=dict.fromkeys(columns, pa.string()),
        strings_can_be_null=False,
    )
    return csv.read_csv(
        path, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=convert
    )


def parquet_names(path: Path) -> list[str]:
    """Return the column names of a Parquet file."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as parquet:
        names: list[str] = parquet.schema_arrow.names
    return names


def read_parquet(path: Path, columns: Sequence[str], most_rows: int) -> pa.Table:
    """Read columns of a Parquet file; integers become strings, as in other formats."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as parquet:
        check_columns(parquet.schema_arrow.names, columns)
        if parquet.metadata.num_rows > most_rows:
            raise InputError(
                f"{parquet.metadata.num_rows} rows are more than {most_rows} (2³¹ − 1): "
                "sample the data, or split it by topic"
            )
        table = parquet.read(columns=list(columns))
    return pa.table({name: _as_strings(table.column(name)) for name in columns})


def _as_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn integers into strings, so that the order of names does not depend on the file format."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_integer(column.type) else column


def check_columns(found: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise an InputError if a column is missing or occurs more than once."""
    for column in wanted:
        if column not in found:
            raise InputError(f"no column {column!r}; the columns are {first_five(found)}: rename one of them")
        if found.count(column) > 1:
            raise InputError(f"more than one column {column!r}: keep one of them")


def check_names(column: pa.ChunkedArray, what: str) -> None:
    """Raise an InputError if some names of a column are blank."""
    blank = column.is_null()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        blank = pc.or_kleene(blank, pc.equal(pc.utf8_trim_whitespace(column), ""))
    rows = np.flatnonzero(pc.fill_null(blank, True).to_numpy())
    if len(rows):
        raise InputError(
            f"no {what} name in {first_rows(rows)} (counted from 1, without the header): "
            "fill the gaps, or drop these rows"
        )
