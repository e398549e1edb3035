"""Arrow columns from numpy arrays and lists, and back, without pandas; schemas of tables.

pyarrow's own conversions (`pa.array`, `pa.scalar`, `to_numpy`) import pandas if it is installed, only to look
for its types. That takes longer than a small plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.errors import MissingDependencyError

MOST_BYTES = 2**31 - 1
"""How many bytes one `string` array can hold."""
DTYPES = {pa.from_numpy_dtype(np.dtype(code)): np.dtype(code) for code in "?bhilBHILefd"}
"""numpy's type of each of Arrow's types of numbers and booleans."""


def table_schema(nullable: Sequence[str] = (), **columns: pa.DataType) -> pa.Schema:
    """Return the schema of some columns; only those that are `nullable` may have nulls.

    >>> table_schema(["parent"], parent=pa.string(), child=pa.string())
    parent: string
    child: string not null
    """
    return pa.schema([pa.field(name, kind, name in nullable) for name, kind in columns.items()])


def from_numpy(array: NDArray[Any], *, nulls: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return a row of numbers as an Arrow array, without a copy where numpy has them in one piece.

    >>> from_numpy(np.array([1, 2, 3]), nulls=np.array([False, True, False])).to_pylist()
    [1, None, 3]
    """
    values = np.ascontiguousarray(array)
    valid = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    if values.dtype == np.bool_:
        values = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(array.dtype), len(array), [valid, pa.py_buffer(values)], -1
    )


def from_strings(values: Sequence[str]) -> pa.Array:
    """Return strings as an Arrow array: `string`, or `large_string` beyond 2 GiB of text.

    >>> from_strings(["berlin", "", "malmö"]).to_pylist()
    ['berlin', '', 'malmö']
    """
    encoded = [value.encode() for value in values]
    ends = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
    kind = pa.string() if ends[-1] <= MOST_BYTES else pa.large_string()
    offsets = ends.astype(np.int32) if kind == pa.string() else ends
    return pa.Array.from_buffers(
        kind, len(encoded), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))], 0
    )


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is one of strings, of any length."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def as_text(names: pa.Array) -> pa.Array:
    """Return an array as strings: `string`, or `large_string` beyond 2 GiB of text.

    >>> as_text(pa.array([1, 2])).to_pylist()
    ['1', '2']
    """
    return names.cast(pa.large_string() if names.nbytes > MOST_BYTES else pa.string())


def join_text(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of strings as one array: `string`, or `large_string` beyond 2 GiB of text."""
    if column.nbytes > MOST_BYTES:
        column = column.cast(pa.large_string())
    return column.combine_chunks()


def to_numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return a column of numbers or booleans without nulls as a numpy array; one chunk is not copied.

    Raises
    ------
    ValueError
        If the column has nulls. Replace them first, or find out which rows they are.

    Examples
    --------
    >>> to_numpy(pa.chunked_array([[1, 2], [3]]))
    array([1, 2, 3])
    """
    if isinstance(column, pa.ChunkedArray):
        chunks = [to_numpy(chunk) for chunk in column.chunks]
        if len(chunks) != 1:
            return np.concatenate([np.zeros(0, _dtype(column.type)), *chunks])
        return chunks[0]
    if column.null_count:
        raise ValueError(f"the column has {column.null_count} nulls")
    if pa.types.is_boolean(column.type):
        return to_numpy(column.cast(pa.uint8())).view(np.bool_)
    dtype = _dtype(column.type)
    values = column.buffers()[1]
    if values is None:
        return np.zeros(0, dtype)
    return np.frombuffer(values, dtype)[column.offset : column.offset + len(column)]


def _dtype(kind: pa.DataType) -> np.dtype[Any]:
    """Return numpy's type of numbers or booleans; before version 21, `to_pandas_dtype` imports pandas."""
    return DTYPES[kind] if kind in DTYPES else np.dtype(kind.to_pandas_dtype())


def fill_null(column: Any, value: bool | float) -> Any:
    """Replace the nulls of a column of numbers or booleans."""
    import pyarrow.compute as pc

    return pc.fill_null(column, from_numpy(np.array([value])).cast(column.type)[0])


def to_pandas(table: pa.Table) -> Any:
    """Convert a table to pandas, or say how to get pandas."""
    try:
        return table.to_pandas()
    except ModuleNotFoundError as error:
        raise MissingDependencyError("pandas is not installed: pip install 'meshwright[pandas]'") from error
