"""From pairs of names to dense ids: the same whatever the order, the partitions or the cores.

Names are numbered on the driver, in the order of their UTF-8 bytes. The pairs stay on the executors: they are
joined with the numbers, sent to the part that their node's number belongs to, sorted and freed of repetitions
there, and come to the driver as a few large pieces, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.errors import InputError
from meshwright.interest import MOST_SUBSCRIPTIONS

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

BROADCAST_BYTES = 256 * 2**20
"""Names that take more than this are not sent to every executor."""
ROWS_IN_A_PART = 2_000_000
"""So many pairs, or fewer, are sorted by one task."""
PIECE = "part int, first int, given long, sizes binary, topics binary"


@dataclass(frozen=True)
class Encoded:
    """Pairs by number, still on the executors; `node_ptr` is as in `Interest`."""

    node_names: pa.Array
    topic_names: pa.Array
    node_ptr: NDArray[np.int64]
    duplicates: int
    pieces: DataFrame

    def topics(self) -> Iterator[NDArray[np.int32]]:
        """Yield what `Interest.node_topics` is, piece by piece."""
        for piece in self.pieces.select("topics").toLocalIterator(prefetchPartitions=True):
            yield np.frombuffer(piece.topics, dtype="<i4")

    def release(self) -> None:
        """Let the executors forget the pieces."""
        self.pieces.unpersist()


@dataclass(frozen=True)
class Names:
    """The distinct names of pairs, each kind sorted by UTF-8 bytes, and how many pairs there are."""

    nodes: pa.Array
    topics: pa.Array
    rows: int


def encode(pairs: DataFrame, names: Names | None = None) -> Encoded:
    """Give numbers to the names of pairs `node string, topic string`, and drop repetitions.

    The pairs are read twice, so they must be the same both times; once if their names are known already.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as sf

    spark = pairs.sparkSession
    known = names or names_of(pairs)
    node_names, topic_names, rows = known.nodes, known.topics, known.rows
    parts = max(-(-rows // ROWS_IN_A_PART), min(_cores(spark), len(node_names)), 1)
    numbered = pairs
    for name, column in (("node", node_names), ("topic", topic_names)):
        numbered = numbered.join(_dictionary(spark, column, name), name)
    # A node's number says which part it belongs to: parts in order, each sorted, are sorted as a whole.
    part = sf.expr(f"cast(node_id * {parts} div {max(len(node_names), 1)} as int)")
    keyed = numbered.select(
        sf.expr("shiftleft(cast(node_id as bigint), 32) + topic_id").alias("key"), part.alias("part")
    )
    sorted_parts = keyed.repartitionById(parts, sf.col("part")).sortWithinPartitions("key")
    pieces = sorted_parts.mapInArrow(_piece, PIECE).persist(StorageLevel.MEMORY_AND_DISK)
    return _gathered(pieces, node_names, topic_names, rows)


def names_of(pairs: DataFrame) -> Names:
    """Gather the distinct names of pairs."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as sf

    named = sf.explode(
        sf.array(
            sf.struct(sf.lit(True).alias("is_node"), sf.col("node").alias("name")),
            sf.struct(sf.lit(False).alias("is_node"), sf.col("topic").alias("name")),
        )
    )
    found = (
        pairs.select(named.alias("of"))
        .groupBy("of.is_node", "of.name")
        .agg(sf.count(sf.lit(1)).alias("rows"))
    ).toArrow()
    both = []
    for is_node in (True, False):
        names = found.filter(pc.equal(found.column("is_node"), is_node)).column("name")
        names = names.combine_chunks().cast(pa.string())
        both.append(names.take(pc.sort_indices(names)))
    rows = pc.sum(found.column("rows")).as_py() or 0
    return Names(both[0], both[1], rows // 2)


def _dictionary(spark: SparkSession, names: pa.Array, what: str) -> DataFrame:
    """Hand names and their numbers to Spark."""
    import pyarrow as pa
    from pyspark.sql import functions as sf

    table = pa.table({what: names, f"{what}_id": pa.array(np.arange(len(names), dtype=np.int32))})
    numbers = spark.createDataFrame(table)
    return sf.broadcast(numbers) if names.nbytes <= BROADCAST_BYTES else numbers


def _cores(spark: SparkSession) -> int:
    """Return how many parts are worth making at least."""
    return int(spark.conf.get("spark.sql.shuffle.partitions", "2") or 2)


def _piece(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn one sorted part into one piece: its nodes' sizes, and their topics, without repetitions."""
    import pyarrow as pa

    kept, given, part, last = [], 0, 0, -1
    for batch in batches:
        if not batch.num_rows:
            continue
        keys: NDArray[np.int64] = batch.column(0).to_numpy()
        part = batch.column(1)[0].as_py()
        given += len(keys)
        keys = keys[np.concatenate(([keys[0] != last], keys[1:] != keys[:-1]))]
        if len(keys):
            kept.append(keys)
            last = keys[-1]
    if not kept:
        return
    keys = np.concatenate(kept)
    nodes, topics = keys >> 32, (keys & 0xFFFFFFFF).astype("<i4")
    first = int(nodes[0])
    sizes = np.bincount(nodes - first).astype("<i4")
    piece: dict[str, list[Any]] = {
        "part": [part],
        "first": [first],
        "given": [given],
        "sizes": [sizes.tobytes()],
        "topics": [topics.tobytes()],
    }
    kinds = [pa.int32(), pa.int32(), pa.int64(), pa.binary(), pa.binary()]
    yield pa.record_batch(
        [pa.array(column, kind) for column, kind in zip(piece.values(), kinds, strict=True)], list(piece)
    )


def _gathered(pieces: DataFrame, node_names: pa.Array, topic_names: pa.Array, rows: int) -> Encoded:
    """Make all pieces at once, and count from them."""
    sizes = np.zeros(len(node_names), dtype=np.int64)
    given = 0
    for piece in pieces.select("first", "given", "sizes").collect():
        of_nodes = np.frombuffer(piece.sizes, dtype="<i4")
        sizes[piece.first : piece.first + len(of_nodes)] += of_nodes
        given += piece.given
    if given != rows:
        raise InputError(
            f"{rows} rows at first, {given} later: the sources changed meanwhile; run this again"
        )
    node_ptr = np.concatenate(([0], np.cumsum(sizes)))
    kept = int(node_ptr[-1])
    if kept > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{kept} subscriptions are more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
            "sample the data, or split it by topic"
        )
    return Encoded(node_names, topic_names, node_ptr, rows - kept, pieces)
