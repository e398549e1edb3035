"""What kernels need and numba does not have: arrays from a table of addresses, a clock, random numbers.

Addresses: Python hands each array of an argument to a kernel one by one. With thirty arrays that takes longer
than a short kernel works. So the caller writes the addresses and shapes into a table once, keeps the arrays
alive, and makes another table when it replaces one of them. The kernel makes the arrays again from the table,
which costs nothing: they have no reference counts.

The clock measures one step inside a compiled call.

Random numbers are Marsaglia's 64-bit xorshift, one state per stream, never zero. It uses shifts only, so it
gives the same numbers with the compiler off, where numpy warns about products that overflow.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray  # type: ignore[attr-defined]
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from meshwright.arrays import ONE, Bits, Int, Offsets
from meshwright.jit.compiler import config, helper, inlined

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


MONOTONIC = 6 if sys.platform == "darwin" else 1
"""CLOCK_MONOTONIC in C, which Python's perf_counter reads too."""

if config.DISABLE_JIT or sys.platform == "win32":
    nanoseconds = time.perf_counter_ns
else:

    @intrinsic
    def nanoseconds(typingctx: Any) -> Any:
        """Return the nanoseconds of a clock that never goes back; only differences mean something."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            # clock_gettime of libc fills in seconds and nanoseconds. It is found by name when the code is
            # loaded, so that compiled code can be cached.
            number, two = ir.IntType(64), ir.ArrayType(ir.IntType(64), 2)
            wanted = ir.FunctionType(ir.IntType(32), [ir.IntType(32), two.as_pointer()])
            read = builder.module.globals.get("clock_gettime") or ir.Function(
                builder.module, wanted, "clock_gettime"
            )
            place = builder.alloca(two)
            builder.call(read, [ir.Constant(ir.IntType(32), MONOTONIC), place])
            seconds = builder.extract_value(builder.load(place), 0)
            rest = builder.extract_value(builder.load(place), 1)
            return builder.add(builder.mul(seconds, ir.Constant(number, 1_000_000_000)), rest)

        return types.int64(), generate


SEVEN, THIRTEEN, SEVENTEEN = np.uint64(7), np.uint64(13), np.uint64(17)
TWO, FOUR, EIGHT, SIXTEEN, THIRTY_TWO = np.uint64(2), np.uint64(4), np.uint64(8), np.uint64(16), np.uint64(32)


@inlined
def below(stream: Bits, i: Int, count: Int) -> Int:
    """Draw an integer from 0 to count − 1, each equally likely, from the stream at place i."""
    # Rejection sampling: draw as many bits as count − 1 has, until the number is below `count`. The mask has
    # all bits up to the highest one of count − 1.
    mask = np.uint64(count - 1)
    for shift in (ONE, TWO, FOUR, EIGHT, SIXTEEN, THIRTY_TWO):
        mask |= mask >> shift
    while True:
        state = stream[i]
        state ^= state << THIRTEEN
        state ^= state >> SEVEN
        state ^= state << SEVENTEEN
        stream[i] = state
        if (state & mask) < np.uint64(count):
            return np.int64(state & mask)
