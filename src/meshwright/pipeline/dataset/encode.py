"""From pairs of names to dense ids: the same whatever the order, the partitions or the cores.

The executors turn pairs into blocks of codes (see `coding`). Only the distinct names of the blocks come to
the driver, which numbers them in the order of their UTF-8 bytes and hands each block the numbers of its
names. The pairs stay on the executors: they are numbered, sent to the part that their node's number belongs
to, sorted and freed of repetitions there, and come to the driver as a few large pieces, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from meshwright.errors import InputError
from meshwright.interest import MOST_SUBSCRIPTIONS
from meshwright.pipeline.readers.name_blocks import KINDS, Codes, binary, distinct_values, unpack_names

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

ROWS_IN_A_PART = 2_000_000
"""So many pairs, or fewer, are sorted by one task."""
NUMBERS = "key string, node_numbers binary, topic_numbers binary"
PART = "part int, keys binary"
PIECE = "first int, given long, sizes binary, topics binary"


@dataclass(frozen=True)
class Encoded:
    """Pairs by number, still on the executors; `node_ptr` is as in `Interest`."""

    node_names: pa.Array
    topic_names: pa.Array
    node_ptr: NDArray[np.int64]
    duplicates: int
    pieces: DataFrame

    def topics(self) -> Iterator[Codes]:
        """Yield what `Interest.node_topics` is, piece by piece."""
        for piece in self.pieces.select("topics").toLocalIterator(prefetchPartitions=True):
            yield np.frombuffer(piece.topics, dtype="<i4")

    def release(self) -> None:
        """Let the executors forget the pieces."""
        self.pieces.unpersist()


@dataclass(frozen=True)
class Names:
    """The distinct names of all blocks, each kind sorted by UTF-8 bytes, and how many pairs there are."""

    nodes: pa.Array
    topics: pa.Array
    rows: int
    numbers: pa.Table
    """For each block, by its key, the numbers of its names."""


def collect_names(blocks: DataFrame) -> Names:
    """Gather the names of blocks, and number them."""
    import pyarrow as pa

    found = blocks.select("key", "rows", *KINDS).collect()
    different = list({block.key: block for block in found}.values())
    nodes, node_numbers = number_names([unpack_names(block.nodes) for block in different])
    topics, topic_numbers = number_names([unpack_names(block.topics) for block in different])
    columns = [pa.array([block.key for block in different], pa.string())]
    columns += [binary(node_numbers), binary(topic_numbers)]
    numbers = pa.table(columns, ["key", "node_numbers", "topic_numbers"])
    return Names(nodes, topics, sum(block.rows for block in found), numbers)


def number_names(blocks: Sequence[pa.Array]) -> tuple[pa.Array, list[Codes]]:
    """Return the distinct names of all blocks, sorted, and for each block the places of its names there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names, places = distinct_values(blocks) if blocks else (pa.array([], pa.string()), [])
    order = pc.sort_indices(names)
    numbers = np.empty(len(names), dtype="<i4")
    numbers[order.to_numpy()] = np.arange(len(names), dtype="<i4")
    return names.take(order), [numbers[place] for place in places]


def encode(blocks: DataFrame, names: Names) -> Encoded:
    """Give the pairs of blocks their numbers, and drop repetitions."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sf

    spark = blocks.sparkSession
    parts = max(-(-names.rows // ROWS_IN_A_PART), min(_cores(spark), len(names.nodes)), 1)
    # A node's number says which part it belongs to: parts in order, each sorted, are sorted as a whole.
    firsts = -(-np.arange(1, parts, dtype=np.int64) * len(names.nodes) // parts) << 32
    numbers = sf.broadcast(spark.createDataFrame(names.numbers, NUMBERS))
    known = blocks.drop("rows", *KINDS).join(numbers, "key").drop("key")
    cut = known.mapInArrow(partial(split_into_parts, firsts), PART)
    pieces = cut.repartitionById(parts, sf.col("part")).mapInArrow(merge_part, PIECE)
    return _collect_sizes(pieces.persist(StorageLevel.MEMORY_AND_DISK), names)


def _cores(spark: SparkSession) -> int:
    """Return how many parts are worth making at least."""
    return int(spark.conf.get("spark.sql.shuffle.partitions", "2") or 2)


def split_into_parts(firsts: NDArray[np.int64], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn the codes of blocks into pairs (node · 2³² + topic), cut where a part begins, each but part 0."""
    import pyarrow as pa

    columns = ("node_codes", "topic_codes", "node_numbers", "topic_numbers")
    for batch in batches:
        for block in zip(*map(batch.column, columns), strict=True):
            codes, topic_codes, nodes, topics = (np.frombuffer(each.as_buffer(), "<i4") for each in block)
            keys = nodes[codes].astype("<i8")
            keys <<= 32
            keys += topics[topic_codes]
            keys.sort()
            cuts = np.split(keys, np.searchsorted(keys, firsts))
            filled = [part for part, cut in enumerate(cuts) if len(cut)]
            made = [pa.array(filled, pa.int32()), binary(cuts[part] for part in filled)]
            yield pa.record_batch(made, ["part", "keys"])


def merge_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn what came to one part into one piece: the sizes and topics of its nodes, each topic once."""
    import pyarrow as pa

    blocks = [np.frombuffer(keys.as_buffer(), "<i8") for batch in batches for keys in batch.column("keys")]
    if not blocks:
        return
    given = np.sort(np.concatenate(blocks))
    keys = given[np.diff(given, prepend=-1) > 0]
    nodes, topics = keys >> 32, (keys & 0xFFFFFFFF).astype("<i4")
    first = int(nodes[0])
    sizes = np.bincount(nodes - first).astype("<i4")
    columns = [
        pa.array([first], pa.int32()),
        pa.array([len(given)], pa.int64()),
        binary([sizes]),
        binary([topics]),
    ]
    yield pa.record_batch(columns, ["first", "given", "sizes", "topics"])


def _collect_sizes(pieces: DataFrame, names: Names) -> Encoded:
    """Make all pieces at once, and count from them."""
    sizes = np.zeros(len(names.nodes), dtype=np.int64)
    given = 0
    for piece in pieces.select("first", "given", "sizes").collect():
        of_nodes = np.frombuffer(piece.sizes, dtype="<i4")
        sizes[piece.first : piece.first + len(of_nodes)] += of_nodes
        given += piece.given
    if given != names.rows:
        raise InputError(
            f"{names.rows} rows at first, {given} later: the sources changed meanwhile; run this again"
        )
    node_ptr = np.concatenate(([0], np.cumsum(sizes)))
    kept = int(node_ptr[-1])
    if kept > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{kept} subscriptions are more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
            "sample the data, or split it by topic"
        )
    return Encoded(names.nodes, names.topics, node_ptr, given - kept, pieces)
