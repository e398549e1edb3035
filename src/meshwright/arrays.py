"""Arrays: ids, checked before they are cast so that none wraps around; read-only arrays; rows of bits.

Rows of subscriptions are as an `Interest` keeps them: node `v` subscribes to
`node_topics[node_ptr[v]:node_ptr[v + 1]]`, ascending.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    import pyarrow as pa

Ids: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bits: TypeAlias = NDArray[np.uint64]
Bytes: TypeAlias = NDArray[np.uint8]
Int: TypeAlias = int | np.int64

NOTHING, ONE, SIX, SIXTY_THREE = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
BLOCK = 512
"""Number of nodes in a block of eight words."""
FEWEST, MOST = -(2**31), 2**31 - 1
MOST_THREADS = 1024
"""Each thread has working memory of its own: more threads than this are a slip."""


def is_whole(value: object) -> bool:
    """Return whether a value is an integer of Python or numpy; booleans are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_whole(name: str, value: int) -> None:
    """Raise an InputError unless a value is a whole number of zero or more."""
    if not is_whole(value) or value < 0:
        raise InputError(f"{name} is {value!r}: give a whole number of 0 or more")


def check_threads(threads: object) -> None:
    """Raise an InputError unless a number of threads is a whole number from 1 to `MOST_THREADS`."""
    if not is_whole(threads):
        raise InputError(f"threads is {threads!r}: give a whole number of at least 1")
    if threads < 1:  # type: ignore[operator]
        raise InputError(f"{threads} threads: give at least 1")
    if threads > MOST_THREADS:  # type: ignore[operator]
        raise InputError(f"{threads:,} threads: give at most {MOST_THREADS:,}")


def as_ids(
    values: Iterable[Any] | NDArray[Any], what: str, *, columns: int | None = None
) -> NDArray[np.int32]:
    """Return integers as a row of int32, or as a table of `columns` columns; int32 arrays are not copied.

    >>> as_ids({2, 1}, "nodes"), as_ids([(0, 1)], "pairs", columns=2)
    (array([1, 2], dtype=int32), array([[0, 1]], dtype=int32))

    Raises
    ------
    InputError
        For anything but integers, for integers that do not fit into 32 bits, and for another shape.
    """
    array = _array(values, what)
    if array.size == 0:
        return np.zeros((0,) if columns is None else (0, columns), dtype=np.int32)
    if not _holds_integers(array):
        fix = "give their ids, as node_id and topic_id find them" if array.dtype.kind == "U" else "give ids"
        raise InputError(f"{what} {_list_values(array)} are not integers: {fix}")
    if array.shape[1:] != (() if columns is None else (columns,)):
        wanted = "one column" if columns is None else f"{columns} columns"
        raise InputError(f"{what} have the shape {array.shape}: give {wanted} of ids")
    if not np.can_cast(array.dtype, np.int32):
        beyond = (array < FEWEST) | (array > MOST)
        if beyond.any():
            raise InputError(f"{what} {_list_values(array[beyond])} are beyond 2³¹ − 1: give ids from 0 on")
    return array.astype(np.int32, copy=False)


def check_within(ids: NDArray[Any], count: int, what: str) -> None:
    """Raise an InputError unless ids are all from 0 to `count` − 1; `what` they number, in the plural."""
    if len(ids) and (ids.min() < 0 or ids.max() >= count):
        unknown = np.unique(ids[(ids < 0) | (ids >= count)]).tolist()
        known = f"give ids from 0 to {count - 1}" if count else f"there are no {what}"
        raise InputError(f"no {what} {first_five(unknown)}: {known}")


def _array(values: Iterable[Any] | NDArray[Any], what: str) -> NDArray[Any]:
    try:
        array = np.asarray(values if hasattr(values, "__array__") else list(values))
    except (TypeError, ValueError) as error:  # not iterable, or rows of unequal lengths
        raise InputError(f"{what} are {values!r}: give ids, each in the same form") from error
    if array.ndim == 0:
        raise InputError(f"{what} are {values!r}: give a list or an array of ids")
    return array


def _holds_integers(array: NDArray[Any]) -> bool:
    if array.dtype == object:  # numpy keeps integers of more than 64 bits as objects
        return all(is_whole(value) for value in array.flat)
    return array.dtype.kind in "iu"


def _list_values(values: NDArray[Any]) -> str:
    return first_five(values.ravel().tolist())


def settled(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only that nobody else holds, so that its owner need not copy it."""
    array.flags.writeable = False
    return array


def own(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a read-only array: a copy, if somebody else could write to the given one."""
    made = np.ascontiguousarray(array, dtype=dtype)
    converted = made is not array and made.base is None
    return settled(made if converted or not _can_be_written(made) else made.copy())


def _can_be_written(array: NDArray[Any]) -> bool:
    """Return whether an array, or one that it is a view of, can be written."""
    part: object = array
    while isinstance(part, np.ndarray):
        if part.flags.writeable:
            return True
        part = part.base
    return False


def frozen(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a read-only view, or a copy where type or layout differ.

    Kernels are compiled once for each type of argument, and a read-only array is a type of its own. With
    read-only inputs only, one version is enough.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def row_words(nodes: int) -> int:
    """Return the number of words of a bit row over nodes: whole blocks of eight, at least one."""
    return max(1, -(-nodes // BLOCK)) * 8


def bit_rows(count: int, nodes: int) -> Bits:
    """Return `count` empty bit rows over nodes."""
    return aligned(count, row_words(nodes))


def aligned(count: int, words: int) -> Bits:
    """Return `count` empty rows of words, aligned to 64 bytes, so that a block is read at once."""
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


MOST_SUBSCRIPTIONS = 2**31 - 1
"""Slots are numbered by int32 throughout."""


def check_size(subscriptions: int) -> None:
    """Raise an InputError if there are more subscriptions than slots can number."""
    if subscriptions > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{subscriptions} subscriptions are more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
            "sample the data, or split it by topic"
        )


def check_lengths(nodes: int, topics: int, what: str = "") -> None:
    """Raise an InputError unless two columns of nodes and topics, or of their ids, make subscriptions."""
    if nodes != topics:
        raise InputError(f"{nodes} node{what}s but {topics} topic{what}s: give one topic for each node entry")
    check_size(nodes)


def rows_of_pairs(
    nodes: int, topics: int, node_ids: NDArray[Any], topic_ids: NDArray[Any]
) -> tuple[Offsets, Ids]:
    """Return `node_ptr` and `node_topics` of pairs of ids in any order; repeated pairs count once."""
    check_size(len(node_ids))
    width = max(topics, 1)
    keys = np.asarray(node_ids, dtype=np.int64) * width + np.asarray(topic_ids, dtype=np.int64)
    if len(keys) and not (keys[1:] > keys[:-1]).all():
        # With numpy 2.4, np.unique takes a hundred times as long on ten million keys.
        keys = np.sort(keys)
        keys = keys[np.concatenate(([True], keys[1:] > keys[:-1]))]
    node_ptr = np.searchsorted(keys, np.arange(nodes + 1, dtype=np.int64) * width)
    return settled(node_ptr), settled((keys % width).astype(np.int32))


def rows_by_topic(topics: int, node_of_slot: Ids, node_topics: Ids) -> tuple[Offsets, Ids, Ids]:
    """Return by topic where its row begins; the nodes of these rows; and the slot of each entry."""
    order = stable_order(node_topics, topics)
    sizes = np.bincount(node_topics, minlength=topics)
    return settled(np.concatenate(([0], np.cumsum(sizes)))), settled(node_of_slot[order]), settled(order)


def check_rows(node_names: pa.Array, topics: int, node_ptr: Offsets, node_topics: Ids) -> None:
    """Raise an InputError unless each node has a row of topics, all known and in ascending order."""
    nodes = len(node_names)
    check_size(len(node_topics))
    if len(node_ptr) != nodes + 1:
        raise InputError(f"node_ptr has {len(node_ptr)} entries for {nodes} nodes: give {nodes + 1}")
    if node_ptr[0] != 0 or node_ptr[-1] != len(node_topics):
        raise InputError(
            f"node_ptr goes from {node_ptr[0]} to {node_ptr[-1]}: "
            f"begin with 0, and end with {len(node_topics)}, the length of node_topics"
        )
    falls = node_ptr[1:] < node_ptr[:-1]
    if falls.any():
        raise InputError(
            f"node_ptr falls at the nodes {_first_nodes(node_names, np.flatnonzero(falls))}: "
            "give where each node's topics begin, in the order of the nodes"
        )
    check_within(node_topics, topics, "topics")
    rises = node_topics[1:] > node_topics[:-1]
    begins = node_ptr[1:-1]
    rises[begins[(begins > 0) & (begins < len(node_topics))] - 1] = True  # from one node to the next
    if not rises.all():
        owners = np.searchsorted(node_ptr, np.flatnonzero(~rises), side="right") - 1
        raise InputError(
            f"the topics of the nodes {_first_nodes(node_names, np.unique(owners))} are not in ascending "
            "order, each once: sort them, or give pairs of ids in any order to Interest.from_ids"
        )


def _first_nodes(node_names: pa.Array, nodes: NDArray[Any]) -> str:
    return first_five([node_names[node].as_py() for node in nodes.tolist()])
