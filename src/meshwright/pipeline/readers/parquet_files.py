"""Reader of Parquet files: the row groups that begin in a stretch, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import is_text
from meshwright.errors import InputError
from meshwright.pipeline.readers.fields import NOT_UTF8
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.rows import (
    LONGEST_RECORD,
    Bad,
    Rows,
    column_roles,
    make_rows,
    partition_roles,
)
from meshwright.pipeline.readers.sources import Stretch
from meshwright.pipeline.readers.text import is_utf8
from meshwright.store.row_files import find_column
from meshwright.store.tables import decode_batches, open_parquet

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from numpy.typing import NDArray


def read_parquet(stretch: Stretch, reading: Reading) -> Iterator[Rows]:
    """Yield the rows of the row groups that begin in a stretch; their places are those in the file."""
    with open_parquet(stretch.path) as parquet:
        metadata, schema = parquet.metadata, parquet.schema_arrow
    columns = find_columns(schema, reading, stretch.path)
    for place, batch in _batches(metadata, stretch, columns):
        yield batch_rows(batch, place, stretch, columns)


def read_columns(path: str, reading: Reading) -> dict[str, str]:
    """Return the column of each role in a file."""
    with open_parquet(path) as parquet:
        return find_columns(parquet.schema_arrow, reading, path)


def find_columns(schema: pa.Schema, reading: Reading, path: str) -> dict[str, str]:
    """Return the column of each role; times, operations and sequences may be absent.

    Raises
    ------
    InputError
        If nodes or topics have no column, or a column has an unsuitable type.
    """
    found, stated = {}, partition_roles(path, reading)
    for what, column, needed in column_roles(reading):
        if column in schema.names or (needed and what in ("node", "topic") and what not in stated):
            find_column(schema.names, column, source=path, fix=f"name the right one with --{what}")
            found[what] = column
    check_types(schema, found, path, values=reading.publications)
    return found


def check_types(schema: pa.Schema, columns: Mapping[str, str], path: str, *, values: bool = False) -> None:
    """Check that the columns of roles have suitable types; `values`: topics may be content values.

    Raises
    ------
    InputError
        If one has not.
    """
    wanted = {
        "time": "times are timestamps, texts or numbers",
        "sequence": "sequences are integers",
        "operation": "operations are texts",
    }
    for what, column in columns.items():
        kind = schema.field(column).type
        if not _suits(kind, what, values=values):
            names = wanted.get(what, f"{what} names are strings or integers")
            raise InputError(f"column {column!r} of {path} is {kind}, but {names}: convert it")


def _suits(kind: pa.DataType, what: str, *, values: bool) -> bool:
    """Return whether a type suits a role; `values`: whether topics may be content values."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = is_text(kind) or pa.types.is_null(kind)
    if what == "operation":
        return bool(text)
    if what == "time":
        return bool(
            text
            or pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_timestamp(kind)
            or pa.types.is_date(kind)
        )
    number = pa.types.is_integer(kind) or (values and what == "topic" and pa.types.is_floating(kind))
    return bool(text or number)


def _batches(
    metadata: pq.FileMetaData, stretch: Stretch, columns: Mapping[str, str]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the batches of the row groups that begin in a stretch, each with the place of its first row."""
    place, places = 0, {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if stretch.whole or stretch.begin <= _first_byte(group) < stretch.end:
            places[number] = place
        place += group.num_rows
    names = [columns[what] for what in ("node", "topic") if what in columns]
    read = list(dict.fromkeys(columns.values()))
    for number, batch in decode_batches(stretch.path, read, list(places), encoded=names):
        yield places[number], batch
        places[number] += batch.num_rows


def _first_byte(group: pq.RowGroupMetaData) -> int:
    """Return the offset of the first byte of a row group."""
    first = group.column(0)
    return int(first.dictionary_page_offset or first.data_page_offset)


def batch_rows(
    batch: pa.RecordBatch, place: int, stretch: Stretch, columns: Mapping[str, str], *, lines: int = 0
) -> Rows:
    """Return the rows of a batch, whose first row has this place."""
    bad = Bad()
    numbers: NDArray[np.int64] = np.arange(batch.num_rows)
    fields = {what: batch.column(name) for what, name in columns.items()}
    broken = np.zeros(batch.num_rows, dtype=bool)
    for column in fields.values():
        broken |= _broken_rows(column)
    if broken.any():
        short = {what: _cut_texts(column) for what, column in fields.items()}
        for row in np.flatnonzero(broken).tolist():
            bad.add(place + row, _record(short, row), NOT_UTF8)
        numbers = np.flatnonzero(~broken)
        fields = {what: column.take(pa.array(numbers)) for what, column in fields.items()}
    fields = {what: _plain(_without_broken(column), what) for what, column in fields.items()}
    cut = {what: _cut_texts(column) for what, column in fields.items()}
    return make_rows(stretch, lines, place + numbers, fields, lambda row: _record(cut, row), bad)


def _broken_rows(column: pa.Array) -> NDArray[np.bool_]:
    """Return which rows have texts that are not UTF-8; a dictionary is checked once."""
    if not pa.types.is_dictionary(column.type):
        return _broken_texts(column)
    values = np.append(_broken_texts(column.dictionary), False)
    rows: NDArray[np.bool_] = values[column.indices.fill_null(-1).to_numpy()]
    return rows


def _without_broken(column: pa.Array) -> pa.Array:
    """Return a column whose dictionary has empty texts in the place of those that are not UTF-8."""
    if not pa.types.is_dictionary(column.type):
        return column
    values = _broken_texts(column.dictionary)
    if not values.any():
        return column
    kept = pc.if_else(pa.array(values), pa.scalar("", column.dictionary.type), column.dictionary)
    return pa.DictionaryArray.from_arrays(column.indices, kept)


def _cut_texts(column: pa.Array) -> pa.Array:
    """Return a column for records, which keep the first letters of long texts only."""
    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    if not is_text(values.type) or (pc.max(pc.binary_length(values)).as_py() or 0) <= 4 * LONGEST_RECORD:
        return column
    cut = pc.binary_slice(values.cast(pa.binary()), 0, 4 * LONGEST_RECORD + 4)
    return cut if values is column else pa.DictionaryArray.from_arrays(column.indices, cut)


def _plain(column: pa.Array, what: str) -> pa.Array:
    """Return a column in a type that rows take: names encoded or not, numbers of content as texts."""
    if pa.types.is_dictionary(column.type) and what not in ("node", "topic"):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_floating(column.type) and what == "topic":
        return pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def _broken_texts(column: pa.Array) -> NDArray[np.bool_]:
    """Return which values are not UTF-8: Parquet does not check it."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        values = column.cast(pa.binary()).to_pylist()
        return np.array([value is not None and not is_utf8(value) for value in values], dtype=bool)
    return np.zeros(len(column), dtype=bool)


def _record(fields: Mapping[str, pa.Array], row: int) -> str:
    """Return the fields of a row as a text."""
    return ",".join(_text(column[row]) for column in fields.values())


def _text(value: Any) -> str:
    try:
        found = value.as_py()
    except UnicodeDecodeError:
        found = value.cast(pa.binary()).as_py().decode("utf-8", "backslashreplace")
    except (OverflowError, ValueError):  # a time beyond the years of Python
        found = value.value
    if isinstance(found, bytes):
        return found.decode("utf-8", "backslashreplace")
    return "" if found is None else str(found)
