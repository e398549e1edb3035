"""Tables on disk: Parquet with the columns of a contract, and columns of names."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.arrow import from_strings, to_numpy
from meshwright.errors import FormatError, InputError, first_five, first_rows
from meshwright.files.header import damaged
from meshwright.files.urls import SMALL_ROWS, SMALL_TABLE, STEP, Decoded, files_in, open_input

ROWS_AT_ONCE = 1 << 20
"""Rows per row group of a Parquet file; fixed, so that the bytes do not depend on how rows arrive."""


def write_table(table: pa.Table, file: Path) -> None:
    """Write one Parquet file, and make its folder; the same table gives the same bytes."""
    import pyarrow.parquet as pq

    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file, compression="zstd", row_group_size=ROWS_AT_ONCE)


def table_digest(table: pa.Table) -> str:
    """Return the digest of the file that `write_table` makes of a table."""
    import pyarrow.parquet as pq

    held = pa.BufferOutputStream()
    pq.write_table(table, held, compression="zstd", row_group_size=ROWS_AT_ONCE)
    return hashlib.sha256(held.getvalue()).hexdigest()


def read_table(file: Path, schema: pa.Schema) -> pa.Table:
    """Read one Parquet file that must have these columns and types, without nulls."""
    if not file.exists():
        raise damaged(file.parent, f"{file.name} is missing")
    with open_parquet(str(file)) as parquet:
        check_columns(file, parquet.schema_arrow, schema)
    return _check_values(file, decode_table(file, schema.names), schema)


def check_columns(file: str | Path, found: pa.Schema, schema: pa.Schema) -> None:
    """Check that a file has the columns of a schema, each once and of its type.

    Raises
    ------
    FormatError
        If it does not.
    """
    absent = [name for name in schema.names if name not in found.names]
    if absent:
        raise damaged(file, f"no column {first_five(absent)}")
    repeated = [name for name in schema.names if found.names.count(name) > 1]
    if repeated:
        raise damaged(file, f"more than one column {first_five(repeated)}")
    for field in schema:
        if found.field(field.name).type != field.type:
            raise damaged(file, f"column {field.name!r} is {found.field(field.name).type}, not {field.type}")


def _check_values(file: str | Path, table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table without nulls where the schema has none, and with texts that are UTF-8."""
    for field, column in zip(schema, table.columns, strict=True):
        if column.null_count and not field.nullable:
            raise damaged(file, f"column {field.name!r} has nulls")
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise damaged(file, f"column {field.name!r} is not UTF-8") from error
    return table.cast(schema)


@contextmanager
def open_parquet(file: str, **options: Any) -> Iterator[Any]:
    """Yield a Parquet file by path or URL, here or on an executor; errors are one line that names it.

    The options are those of `pyarrow.parquet.ParquetFile`.

    Raises
    ------
    InputError
        If it cannot be seen from here.
    FormatError
        If it cannot be read.
    """
    import pyarrow.parquet as pq

    try:
        with open_input(file) as opened, pq.ParquetFile(opened, **options) as parquet:
            yield parquet
    except FileNotFoundError as error:
        raise missing_error(file) from error
    except (pa.ArrowException, OSError) as error:
        raise parquet_error(file, error) from error


DECODED_ROWS = 1 << 18
"""Rows of a batch."""


def decode_table(file: str | Path, columns: Sequence[str], groups: Sequence[int] | None = None) -> pa.Table:
    """Return columns of a Parquet file, or of some of its row groups; see `decode_batches`."""
    with open_parquet(str(file)) as parquet:
        found = parquet.schema_arrow
    repeated = [name for name in dict.fromkeys(columns) if found.names.count(name) > 1]
    if repeated:
        raise damaged(file, f"more than one column {first_five(repeated)}")
    schema = pa.schema([found.field(name) for name in dict.fromkeys(columns)])
    batches = [batch for _, batch in decode_batches(file, schema.names, groups, least=SMALL_TABLE)]
    schema = pa.schema([(field.name, _plain_type(field.type)) for field in schema])
    return pa.Table.from_batches(batches, schema)


def decode_batches(
    file: str | Path,
    columns: Sequence[str],
    groups: Sequence[int] | None = None,
    *,
    encoded: Sequence[str] = (),
    least: int = SMALL_ROWS,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield columns of a Parquet file in batches, each with the number of its row group.

    A few bytes may stand for gigabytes: one long text for many rows, many rows for one value, a page of
    zeros. So texts are read as positions in a dictionary, and what they take is counted before they become
    texts. Those of the columns that stay `encoded` take their dictionary, and four bytes per row.

    Raises
    ------
    InputError
        If the file expands too far.
    FormatError
        If a column is nested, or the file cannot be read.
    """
    with open_parquet(str(file)) as parquet:
        metadata, schema = parquet.metadata, parquet.schema_arrow
    nested = [name for name in columns if pa.types.is_nested(schema.field(name).type)]
    if nested:
        raise FormatError(f"column {nested[0]!r} of {file} is {schema.field(nested[0]).type}: make it flat")
    with open_input(str(file)) as opened:
        decoded = Decoded(file, opened.seek(0, os.SEEK_END), least)
    place = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
    groups = range(metadata.num_row_groups) if groups is None else groups
    chunks = {
        (group, name): metadata.row_group(group).column(place[name]) for group in groups for name in columns
    }
    stated = sum(max(chunk.total_uncompressed_size, 4 * chunk.num_values) for chunk in chunks.values())
    decoded.add(stated)
    decoded.count = 0
    texts = [name for name in columns if _plain_type(schema.field(name).type) in TEXTS]
    # Arrow has no dictionaries for texts that state how they differ from the one before.
    shared = {
        name
        for (_, name), chunk in chunks.items()
        if name in texts and any(encoding.startswith("DELTA") for encoding in chunk.encodings)
    }
    options = {"metadata": metadata, "read_dictionary": [name for name in texts if name not in shared]}
    with open_parquet(str(file), **options) as parquet:
        for group in groups:
            rows = DECODED_ROWS
            for name in shared:  # each may be as long as all that is stored
                rows = min(rows, max(STEP // max(chunks[group, name].total_uncompressed_size, 1), 64))
            before: dict[str, int] = {}
            for batch in parquet.iter_batches(rows, [group], list(columns), use_threads=False):
                if not columns:  # rows alone
                    yield group, batch
                    continue
                made = []
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    decoded.add(_decoded_size(column, name in encoded, name, before))
                    made.append(column if name in encoded else _decoded(column, schema.field(name).type))
                yield group, pa.RecordBatch.from_arrays(made, names=batch.schema.names)


TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _decoded(column: pa.Array, stated: pa.DataType) -> pa.Array:
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    kind = _plain_type(stated)
    return plain if plain.type == kind else plain.cast(kind)


def _decoded_size(column: pa.Array, encoded: bool, name: str, before: dict[str, int]) -> int:
    """Return the bytes of a column, as it is or decoded; `before` has the sizes of dictionaries."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    size = 4 * len(column)
    if encoded:
        new, before[name] = column.dictionary.nbytes - before.get(name, 0), column.dictionary.nbytes
        size += max(int(new), 0)
    elif column.type.value_type in TEXTS:
        size += int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
    return size


def missing_error(path: str) -> InputError:
    """Return the error for a listed file that is missing where it is read."""
    return InputError(
        f"workers cannot see {path}: put it where every worker has it under this path, or give a URL; "
        "if it was deleted meanwhile, restore it"
    )


class RowGroup(NamedTuple):
    """A row group of a table in several files: its file, its number there, and its rows in the table."""

    file: str
    number: int
    begin: int
    rows: int


def row_groups(folder: str, schema: pa.Schema) -> list[RowGroup]:
    """Return the row groups of all Parquet files in a folder, in order: the units that executors read.

    Raises
    ------
    FormatError
        If there is no file, or one cannot be read, or has other columns.
    """
    found, begin = [], 0
    files = files_in(folder, ".parquet")
    if not files:
        raise damaged(folder, "it has no Parquet file")
    for file in files:
        with open_parquet(file) as parquet:
            check_columns(file, parquet.schema_arrow, schema)
            for number in range(parquet.num_row_groups):
                rows = parquet.metadata.row_group(number).num_rows
                found.append(RowGroup(file, number, begin, rows))
                begin += rows
    return found


def read_row_group(group: RowGroup, schema: pa.Schema) -> pa.Table:
    """Read a row group, here or on an executor.

    Raises
    ------
    FormatError
        If it cannot be read, or has nulls.
    """
    table = decode_table(group.file, schema.names, [group.number])
    return _check_values(group.file, table, schema)


def read_parts(folder: Path, schema: pa.Schema) -> pa.Table:
    """Read all Parquet parts of a folder in the order of their names, except hidden and `_` files."""
    parts = sorted(file for file in folder.glob("*.parquet") if not file.name.startswith((".", "_")))
    if not parts:
        raise damaged(folder, "it has no Parquet file")
    return pa.concat_tables([read_table(part, schema) for part in parts])


def parquet_error(file: object, error: Exception) -> FormatError:
    """Return one line for a file that Arrow cannot read as Parquet: what is wrong with it, and what to do.

    >>> str(parquet_error("a.parquet", OSError("Couldn't deserialize thrift")))
    "a.parquet cannot be read as Parquet: Couldn't deserialize thrift; copy or write it again"
    """
    why = first_line(error)
    if "magic bytes not found" in why or "file size is 0 bytes" in why or "smaller than the minimum" in why:
        why = "it is empty, cut off or in another format; copy or write it again, or name its format"
    else:
        why = f"{why}; copy or write it again"
    return FormatError(f"{file} cannot be read as Parquet: {why}")


def first_line(error: Exception) -> str:
    """Return the first line of an error message, or the type of the error if it has no message."""
    return (str(error).splitlines() or [type(error).__name__])[0]


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """A table and the file that it was read from."""

    file: Path
    table: pa.Table

    @classmethod
    def read(cls, file: Path) -> NamedColumns:
        """Read a Parquet file."""
        if not file.is_file():
            raise damaged(file.parent, f"{file.name} is missing")
        with open_parquet(str(file)) as parquet:
            names = parquet.schema_arrow.names
        table = decode_table(file, names)
        try:
            table.validate(full=True)
        except pa.ArrowInvalid as error:
            raise damaged(file, "its texts are not UTF-8") from error
        return cls(file, table)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a required column without gaps."""
        if name not in self.table.column_names:
            columns = first_five(self.table.column_names)
            raise FormatError(f"{self.file} has no column {name!r}; its columns are {columns}: rename one")
        column = self.table.column(name)
        if column.null_count:
            rows = np.flatnonzero(to_numpy(column.is_null()))
            raise FormatError(f"{self.file} has no {name} in {first_rows(rows)}: fill the gaps")
        return column

    def names(self, name: str) -> list[str]:
        """Return a column of names as strings, in its order."""
        made: list[str] = self._texts(name).to_pylist()
        return made

    def distinct(self, name: str) -> list[str]:
        """Return a column of distinct names."""
        made = self.names(name)
        if len(set(made)) < len(made):
            twice = [one for one, times in Counter(made).items() if times > 1]
            raise InputError(f"{self.file} has the {name}s {first_five(twice)} twice: keep one of each")
        return made

    def positions(self, name: str, known: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of a column's names among the known names."""
        column = self._texts(name)
        found = pc.index_in(column, from_strings(known))
        if found.null_count:
            lost = column.filter(pc.is_null(found)).unique().to_pylist()
            raise InputError(f"{self.file} names the unknown {name}s {first_five(lost)}: add or remove them")
        made: NDArray[np.int64] = to_numpy(found).astype(np.int64)
        return made

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers."""
        column = self.column(name)
        try:
            made: NDArray[np.float64] = to_numpy(column.cast(pa.float64()))
        except pa.ArrowException as error:
            raise FormatError(f"{self.file} has a {name} that is not a number: fix it") from error
        return made

    def optional(self, name: str) -> NDArray[np.float64] | None:
        """Return a column of numbers, or None if it is missing or has only nulls."""
        there = name in self.table.column_names
        if not there or (self.table.num_rows and self.table.column(name).null_count == self.table.num_rows):
            return None
        return self.numbers(name)

    def _texts(self, name: str) -> Any:
        column = self.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if not (texts or pa.types.is_integer(column.type)):
            raise FormatError(f"{self.file} has {name}s that are {column.type}: give strings or integers")
        return column.cast(pa.string())
