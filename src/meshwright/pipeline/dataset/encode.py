"""Dense ids for pairs of names, independent of the order of rows, of partitions and of cores.

1. The executors turn pairs into blocks (see `name_blocks`).
2. The driver collects the distinct names of the blocks, numbers them in the order of their UTF-8 bytes, and
   sends each block the numbers of its names.
3. The executors number the pairs, send each to the part of its node, sort it there and drop duplicates.
4. Each part comes to the driver as one large piece, one after another.
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
"""One task sorts at most about this many pairs."""
NUMBERS = "key string, node_numbers binary, topic_numbers binary"
PART = "part int, keys binary"
PIECE = "first int, given long, sizes binary, topics binary"


@dataclass(frozen=True)
class Encoded:
    """Numbered pairs on the executors; `node_ptr` is as in `Interest`."""

    node_names: pa.Array
    topic_names: pa.Array
    node_ptr: NDArray[np.int64]
    duplicates: int
    pieces: DataFrame

    def topics(self) -> Iterator[Codes]:
        """Yield `Interest.node_topics`, piece by piece."""
        for piece in self.pieces.select("topics").toLocalIterator(prefetchPartitions=True):
            yield np.frombuffer(piece.topics, dtype="<i4")

    def release(self) -> None:
        """Free the pieces on the executors."""
        self.pieces.unpersist()


@dataclass(frozen=True)
class Names:
    """The distinct names of all blocks, sorted by UTF-8 bytes, and the number of pairs."""

    nodes: pa.Array
    topics: pa.Array
    rows: int
    numbers: pa.Table
    """The numbers of the names of each block, by its key."""


def collect_names(blocks: DataFrame) -> Names:
    """Collect the names of all blocks, and number them."""
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
    """Return the distinct names of all blocks, sorted, and the positions of the names of each block."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names, places = distinct_values(blocks) if blocks else (pa.array([], pa.string()), [])
    order = pc.sort_indices(names)
    numbers = np.empty(len(names), dtype="<i4")
    numbers[order.to_numpy()] = np.arange(len(names), dtype="<i4")
    return names.take(order), [numbers[place] for place in places]


def encode(blocks: DataFrame, names: Names) -> Encoded:
    """Give the pairs of all blocks their numbers, and drop duplicates."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sf

    spark = blocks.sparkSession
    parts = max(-(-names.rows // ROWS_IN_A_PART), min(_cores(spark), len(names.nodes)), 1)
    # Parts are ranges of node numbers: sorted parts in order are sorted as a whole.
    firsts = -(-np.arange(1, parts, dtype=np.int64) * len(names.nodes) // parts) << 32
    numbers = sf.broadcast(spark.createDataFrame(names.numbers, NUMBERS))
    known = blocks.drop("rows", *KINDS).join(numbers, "key").drop("key")
    cut = known.mapInArrow(partial(split_into_parts, firsts), PART)
    pieces = cut.repartitionById(parts, sf.col("part")).mapInArrow(merge_part, PIECE)
    return _collect_sizes(pieces.persist(StorageLevel.MEMORY_AND_DISK), names)


def _cores(spark: SparkSession) -> int:
    """Return the minimum number of parts that keeps all cores busy."""
    return int(spark.conf.get("spark.sql.shuffle.partitions", "2") or 2)


def split_into_parts(
    firsts: NDArray[np.int64], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turn blocks into keys node · 2³² + topic, split at `firsts`, the first keys of parts 1 and up."""
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
    """Merge the keys of one part into one piece: the sizes and the distinct topics of its nodes."""
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
    """Compute all pieces, and collect their sizes."""
    sizes = np.zeros(len(names.nodes), dtype=np.int64)
    given = 0
    for piece in pieces.select("first", "given", "sizes").collect():
        of_nodes = np.frombuffer(piece.sizes, dtype="<i4")
        sizes[piece.first : piece.first + len(of_nodes)] += of_nodes
        given += piece.given
    if given != names.rows:
        raise InputError(
            f"the sources changed while they were read ({names.rows} rows, then {given}): run this again"
        )
    node_ptr = np.concatenate(([0], np.cumsum(sizes)))
    kept = int(node_ptr[-1])
    if kept > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{kept} subscriptions are more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
            "sample the data, or split it by topic"
        )
    return Encoded(names.nodes, names.topics, node_ptr, given - kept, pieces)
