"""Parquet tables with exactly the columns that a contract names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from meshwright.errors import FormatError, first_five
from meshwright.store.header import damaged

ROWS_AT_ONCE = 1 << 20
"""Rows in each group of a Parquet file: fixed, so that the bytes do not depend on how rows arrive."""


def write_table(table: pa.Table, file: Path) -> None:
    """Write one Parquet file, making its folder; the same table gives the same bytes."""
    import pyarrow.parquet as pq

    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file, compression="zstd", row_group_size=ROWS_AT_ONCE)


@contextmanager
def open_table(schema: pa.Schema, file: Path) -> Iterator[Callable[[pa.Table], None]]:
    """Give what writes a Parquet file by pieces; those of `ROWS_AT_ONCE` give the bytes of `write_table`."""
    import pyarrow.parquet as pq

    file.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        yield lambda table: writer.write_table(table, ROWS_AT_ONCE)


def read_table(file: Path, schema: pa.Schema) -> pa.Table:
    """Read one Parquet file that must have these columns, of these types, without nulls."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            found = parquet.schema_arrow
            absent = [name for name in schema.names if name not in found.names]
            if absent:
                raise damaged(file, f"no column {first_five(absent)}")
            repeated = [name for name in schema.names if found.names.count(name) > 1]
            if repeated:
                raise damaged(file, f"more than one column {first_five(repeated)}")
            table = parquet.read(columns=schema.names).select(schema.names)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{file} cannot be read as Parquet: {first_line(error)}") from error
    for field, column in zip(schema, table.columns, strict=True):
        if column.type != field.type:
            raise damaged(file, f"column {field.name!r} is {column.type}, not {field.type}")
        if column.null_count and not field.nullable:
            raise damaged(file, f"column {field.name!r} has nulls")
    return table.cast(schema)


def read_parts(folder: Path, schema: pa.Schema) -> pa.Table:
    """Read all Parquet parts of a folder, in the order of their names; hidden and `_` files do not count."""
    parts = sorted(file for file in folder.glob("*.parquet") if not file.name.startswith((".", "_")))
    if not parts:
        raise damaged(folder, "it holds no Parquet file")
    return pa.concat_tables([read_table(part, schema) for part in parts])


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, or its kind if it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]
