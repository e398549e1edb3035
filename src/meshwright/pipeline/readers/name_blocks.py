"""Pairs of names, turned on the executors into blocks: each has its distinct names, and codes into them.

So every name crosses from Java to Python at most once, and from then on pairs are integers. Two blocks have
the same key if their names are the same in the same order: whoever numbers the names of a block finds the
block again by its key, even if a worker was lost and another one made it anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

Codes: TypeAlias = "NDArray[np.int32]"
BYTES_IN_A_BLOCK = 1 << 28
"""A block is closed when its pairs took so much: the larger, the fewer names are told more than once."""
KINDS = ("nodes", "topics")
BLOCK = "key string, rows long, nodes binary, topics binary, node_codes binary, topic_codes binary"
COLUMNS = [field.split()[0] for field in BLOCK.split(", ")]


def coded(pairs: DataFrame) -> DataFrame:
    """Return pairs `node string, topic string` as blocks."""
    return pairs.select("node", "topic").mapInArrow(code, BLOCK)


@contextmanager
def kept(made: DataFrame) -> Iterator[DataFrame]:
    """Have the executors keep what they make for a while, on disk if there is no room."""
    from pyspark import StorageLevel

    made = made.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield made
    finally:
        made.unpersist()


def code(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn batches of two columns, each of strings or integers, into blocks."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= BYTES_IN_A_BLOCK:
            yield _block(pa.Table.from_batches(held))
            held, size = [], 0
    if held:
        yield _block(pa.Table.from_batches(held))


def united(arrays: Sequence[pa.Array]) -> tuple[pa.Array, list[Codes]]:
    """Return what arrays hold, each value once, and for each array (none is empty) where its values are."""
    import pyarrow as pa

    # All chunks share one dictionary, which has a null if there is one.
    found = pa.chunked_array(arrays).dictionary_encode(null_encoding="encode")
    return found.chunk(0).dictionary, [chunk.indices.to_numpy() for chunk in found.chunks]


def _block(pairs: pa.Table) -> pa.RecordBatch:
    import pyarrow as pa

    names, codes = [], []
    for column in pairs.columns:
        distinct, places = united(column.chunks)
        names.append(_packed(distinct.cast(pa.string())))
        codes.append(np.concatenate(places).astype("<i4", copy=False))
    key = hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in names)).hexdigest()
    contents = [binary([value]) for value in (*names, *codes)]
    return pa.record_batch([pa.array([key]), pa.array([pairs.num_rows]), *contents], COLUMNS)


def binary(values: Iterable[Any]) -> pa.Array:
    """Return buffers or arrays of numbers as values of a binary column."""
    import pyarrow as pa

    return pa.array([memoryview(value) for value in values], pa.binary())


def _packed(names: pa.Array) -> Any:
    """Return names as bytes: as one value they cost Spark next to nothing."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    batch = pa.record_batch([names], ["name"])
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def unpacked(content: bytes) -> pa.Array:
    """Return the names that a block holds as bytes."""
    import pyarrow as pa

    with pa.ipc.open_stream(content) as stream:
        return stream.read_next_batch().column(0)
