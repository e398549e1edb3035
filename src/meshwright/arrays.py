"""Ids: whole numbers of 32 bits, looked at before they are cast, since a cast would make others of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import DTypeLike, NDArray

    Ids: TypeAlias = NDArray[np.int32]
    Offsets: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Bits: TypeAlias = NDArray[np.uint64]
    Bytes: TypeAlias = NDArray[np.uint8]
    Int: TypeAlias = int | np.int64

NOTHING, ONE, SIX, SIXTY_THREE = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
BLOCK = 512
"""Nodes of a block of words."""
FEWEST, MOST = -(2**31), 2**31 - 1


def is_whole(value: object) -> bool:
    """Tell whether a value is an integer, Python's or numpy's; a truth value is none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def as_ids(
    values: Iterable[Any] | NDArray[Any], what: str, *, columns: int | None = None
) -> NDArray[np.int32]:
    """Return integers as a row of int32, or as a table of so many columns; int32 already are not copied.

    >>> as_ids({2, 1}, "nodes"), as_ids([(0, 1)], "pairs", columns=2)
    (array([1, 2], dtype=int32), array([[0, 1]], dtype=int32))

    Raises
    ------
    InputError
        For anything but integers, for those that 32 bits do not hold, and for another shape.
    """
    array = _array(values, what)
    if array.size == 0:
        return np.zeros((0,) if columns is None else (0, columns), dtype=np.int32)
    if not _holds_integers(array):
        mend = "give their ids, as node_id and topic_id find them" if array.dtype.kind == "U" else "give ids"
        raise InputError(f"{what} {_told(array)} are no integers: {mend}")
    if array.shape[1:] != (() if columns is None else (columns,)):
        wanted = "one column" if columns is None else f"{columns} columns"
        raise InputError(f"{what} have the shape {array.shape}: give {wanted} of ids")
    if not np.can_cast(array.dtype, np.int32):
        beyond = (array < FEWEST) | (array > MOST)
        if beyond.any():
            raise InputError(f"{what} {_told(array[beyond])} are beyond 2³¹ − 1: give ids from 0 on")
    return array.astype(np.int32, copy=False)


def _array(values: Iterable[Any] | NDArray[Any], what: str) -> NDArray[Any]:
    try:
        array = np.asarray(values if hasattr(values, "__array__") else list(values))
    except (TypeError, ValueError) as error:  # nothing to go through, or rows of unequal lengths
        raise InputError(f"{what} are {values!r}: give ids, each in the same form") from error
    if array.ndim == 0:
        raise InputError(f"{what} are {values!r}: give a list or an array of ids")
    return array


def _holds_integers(array: NDArray[Any]) -> bool:
    if array.dtype == object:  # integers of more than 64 bits are kept so
        return all(is_whole(value) for value in array.flat)
    return array.dtype.kind in "iu"


def _told(values: NDArray[Any]) -> str:
    return first_five(values.ravel().tolist())


def settled(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only that was made for an interest and is nobody else's: it need not copy it."""
    array.flags.writeable = False
    return array


def own(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a read-only array: a copy, if somebody else could write what is handed over."""
    made = np.ascontiguousarray(array, dtype=dtype)
    converted = made is not array and made.base is None
    return settled(made if converted or not _can_be_written(made) else made.copy())


def _can_be_written(array: NDArray[Any]) -> bool:
    """Tell whether an array, or one that it is a view of, can be written."""
    part: object = array
    while isinstance(part, np.ndarray):
        if part.flags.writeable:
            return True
        part = part.base
    return False


def frozen(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a read-only view, or a copy where type or layout differ.

    Kernels are compiled once for each kind of argument, and read-only is a kind of its own: handing over only
    read-only inputs keeps it at one.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def row_words(nodes: int) -> int:
    """Return the words of a bit row over nodes, in whole blocks of eight; never none."""
    return max(1, -(-nodes // BLOCK)) * 8


def bit_rows(count: int, nodes: int) -> Bits:
    """Return so many empty bit rows over nodes."""
    return aligned(count, row_words(nodes))


def aligned(count: int, words: int) -> Bits:
    """Return so many empty rows of words, the first one where the machine reads a block at once."""
    room = np.zeros(count * words + 8, dtype=np.uint64)
    begin = -room.ctypes.data % 64 // 8
    return room[begin : begin + count * words].reshape(count, words)


def stable_order(ids: Ids, count: int) -> Ids:
    """Return the positions of ids from 0 to count − 1 in ascending order of their ids, ties by position.

    numpy sorts numbers of 16 bits by radix, in linear time. Larger ids are sorted by their lower half, then
    by their upper half.
    """
    order = np.argsort(ids.astype(np.uint16), kind="stable")
    if count > 2**16:
        order = order[np.argsort((ids[order] >> 16).astype(np.uint16), kind="stable")]
    return order.astype(np.int32)
