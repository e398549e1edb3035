"""A state of many arrays as one argument of a kernel: a table of their addresses and shapes.

Python hands each array of an argument to a kernel one by one. With thirty arrays that takes longer than a
short kernel works. So the caller writes the addresses into a table once, keeps the arrays alive, and makes
another table when it replaces one of them. The kernel makes the arrays again from the table, which costs
nothing: they have no reference counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numba.core import types
from numba.extending import intrinsic

from meshwright.jit.compiler import config, helper

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Int, Offsets

COLUMNS = 3
"""The columns of the table: the address of an array, its rows, and its columns or 1."""


def address_table(arrays: Iterable[NDArray[Any]]) -> Offsets:
    """Return a table of arrays in C order, one per row; it is valid as long as the arrays are alive.

    >>> address_table([np.zeros((3, 2))])[0, 1:].tolist()
    [3, 2]
    """
    rows = []
    for array in arrays:
        if not (array.flags.c_contiguous and array.flags.aligned and 1 <= array.ndim <= 2):
            raise TypeError(f"an array of shape {array.shape} and strides {array.strides} is not in C order")
        rows.append((array.ctypes.data, *array.shape, 1)[:COLUMNS])
    return np.array(rows, dtype=np.int64).reshape(-1, COLUMNS)


if config.DISABLE_JIT:
    import ctypes

    def _view(address: Any, shape: tuple[Any, ...], kind: type) -> Any:
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        memory: Any = (ctypes.c_char * size).from_address(int(address))
        return np.frombuffer(memory, dtype=kind).reshape(shape)

    def ids_at(table: Offsets, row: Int) -> Any:
        """Return the array of int32 in a row of the table."""
        return _view(table[row, 0], (table[row, 1],), np.int32)

    def offsets_at(table: Offsets, row: Int) -> Any:
        """Return the array of int64 in a row of the table."""
        return _view(table[row, 0], (table[row, 1],), np.int64)

    def bits_at(table: Offsets, row: Int) -> Any:
        """Return the rows of 64-bit words in a row of the table."""
        return _view(table[row, 0], (table[row, 1], table[row, 2]), np.uint64)

else:

    def _pointer(typingctx: Any, address: Any) -> Any:
        """Return an address as a pointer."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

        return types.voidptr(types.int64), generate

    pointer: Any = intrinsic(_pointer)

    @helper
    def ids_at(table: Offsets, row: Int) -> Any:
        """Return the array of int32 in a row of the table."""
        return carray(pointer(table[row, 0]), (table[row, 1],), np.int32)

    @helper
    def offsets_at(table: Offsets, row: Int) -> Any:
        """Return the array of int64 in a row of the table."""
        return carray(pointer(table[row, 0]), (table[row, 1],), np.int64)

    @helper
    def bits_at(table: Offsets, row: Int) -> Any:
        """Return the rows of 64-bit words in a row of the table."""
        return carray(pointer(table[row, 0]), (table[row, 1], table[row, 2]), np.uint64)
