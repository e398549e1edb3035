"""Blocks: pairs of names as distinct names and integer codes, made on the executors.

The driver receives the distinct names of each block once; the pairs stay on the executors as integers. The
key of a block is a hash of its names in order. The driver assigns numbers to names by key, so they still fit
if a worker is lost and another worker makes the block again.
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
"""A block is closed at this size; larger blocks repeat fewer names."""
KINDS = ("nodes", "topics")
BLOCK = "key string, rows long, nodes binary, topics binary, node_codes binary, topic_codes binary"
COLUMNS = [field.split()[0] for field in BLOCK.split(", ")]


def encode_blocks(pairs: DataFrame) -> DataFrame:
    """Return blocks of pairs `node string, topic string`."""
    return pairs.select("node", "topic").mapInArrow(to_blocks, BLOCK)


@contextmanager
def cache_blocks(made: DataFrame) -> Iterator[DataFrame]:
    """Cache blocks on the executors inside the `with` statement, on disk if memory is short."""
    from pyspark import StorageLevel

    made = made.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield made
    finally:
        made.unpersist()


def to_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn batches of two columns, strings or integers, into blocks."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= BYTES_IN_A_BLOCK:
            yield _make_block(pa.Table.from_batches(held))
            held, size = [], 0
    if held:
        yield _make_block(pa.Table.from_batches(held))


def distinct_values(arrays: Sequence[pa.Array]) -> tuple[pa.Array, list[Codes]]:
    """Return the distinct values of non-empty arrays, and the positions of the values of each array."""
    import pyarrow as pa

    # All chunks share one dictionary; a null is a value of it.
    found = pa.chunked_array(arrays).dictionary_encode(null_encoding="encode")
    return found.chunk(0).dictionary, [chunk.indices.to_numpy() for chunk in found.chunks]


def _make_block(pairs: pa.Table) -> pa.RecordBatch:
    """Return pairs as one block: a record with key, names and codes."""
    import pyarrow as pa

    names, codes = [], []
    for column in pairs.columns:
        distinct, places = distinct_values(column.chunks)
        names.append(pack_names(distinct.cast(pa.string())))
        codes.append(np.concatenate(places).astype("<i4", copy=False))
    key = hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in names)).hexdigest()
    contents = [binary([value]) for value in (*names, *codes)]
    return pa.record_batch([pa.array([key]), pa.array([pairs.num_rows]), *contents], COLUMNS)


def binary(values: Iterable[Any]) -> pa.Array:
    """Return a binary column from buffers or arrays of numbers."""
    import pyarrow as pa

    return pa.array([memoryview(value) for value in values], pa.binary())


def pack_names(names: pa.Array) -> Any:
    """Return names as one binary value, which is cheap for Spark to move."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    batch = pa.record_batch([names], ["name"])
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def unpack_names(content: bytes) -> pa.Array:
    """Return the names in a binary value of a block."""
    import pyarrow as pa

    with pa.ipc.open_stream(content) as stream:
        return stream.read_next_batch().column(0)
