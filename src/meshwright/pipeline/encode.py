"""From pairs of names to dense ids: the same whatever the order, the partitions or the cores.

Names are numbered on the driver, in the order of their UTF-8 bytes. The pairs stay on the executors: they are
looked up in the numbered names, sent block by block to the part that their node's number belongs to, sorted
and freed of repetitions there, and come to the driver as a few large pieces, one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from meshwright.errors import InputError
from meshwright.interest import MOST_SUBSCRIPTIONS

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

BROADCAST_BYTES = 64 * 2**20
"""Names that take more than this are not sent to every executor."""
ROWS_IN_A_BLOCK = 1_000_000
"""So many pairs are looked up at a time."""
ROWS_IN_A_PART = 2_000_000
"""So many pairs, or fewer, are sorted by one task."""
BLOCK = "part int, keys binary"
PIECE = "first int, given long, sizes binary, topics binary"


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
    parts = max(-(-known.rows // ROWS_IN_A_PART), min(_cores(spark), len(known.nodes)), 1)
    # A node's number says which part it belongs to: parts in order, each sorted, are sorted as a whole.
    firsts = -(-np.arange(1, parts, dtype=np.int64) * len(known.nodes) // parts) << 32
    if known.nodes.nbytes + known.topics.nbytes <= BROADCAST_BYTES:
        blocks = pairs.select("node", "topic").mapInArrow(_looking_up(known, firsts), BLOCK)
    else:
        blocks = _joined(pairs, known).mapInArrow(_cutting(firsts), BLOCK)
    pieces = blocks.repartitionById(parts, sf.col("part")).mapInArrow(_piece, PIECE)
    return _gathered(pieces.persist(StorageLevel.MEMORY_AND_DISK), known)


def names_of(pairs: DataFrame) -> Names:
    """Gather the distinct names of pairs."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as sf

    found = (
        pairs.select("node", "topic")
        .mapInArrow(_distinct, "is_node boolean, name string, rows long")
        .groupBy("is_node", "name")
        .agg(sf.sum("rows").alias("rows"))
    ).toArrow()
    both = []
    for is_node in (True, False):
        names = found.filter(pc.equal(found.column("is_node"), is_node)).column("name")
        names = names.combine_chunks().cast(pa.string())
        both.append(names.take(pc.sort_indices(names)))
    return Names(both[0], both[1], pc.sum(found.column("rows")).as_py() or 0)


def _blocks(batches: Iterator[pa.RecordBatch], most: int = ROWS_IN_A_BLOCK) -> Iterator[pa.Table]:
    """Put batches together to blocks: what is done once for a block takes its time."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            rows += batch.num_rows
        if rows >= most:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _distinct(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the distinct names of what one task reads; the first node counts the rows."""
    import pyarrow as pa

    known: list[list[pa.Array]] = [[], []]
    read = 0
    for block in _blocks(batches):
        read += block.num_rows
        for names, column in zip(known, block.columns, strict=True):
            names.append(column.unique().cast(pa.string()))
            # All together only when they are twice as many as the last time: so each is hashed a few times.
            if sum(map(len, names)) > 2 * max(len(names[0]), ROWS_IN_A_BLOCK):
                names[:] = [pa.chunked_array(names).unique()]
    for is_node, names in zip((True, False), known, strict=True):
        distinct = pa.chunked_array(names, pa.string()).unique()
        rows = np.zeros(len(distinct), dtype=np.int64)
        rows[:1] = read * is_node
        columns = [pa.repeat(is_node, len(distinct)), distinct, pa.array(rows)]
        yield pa.record_batch(columns, ["is_node", "name", "rows"])


Batches: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]"


def _looking_up(names: Names, firsts: NDArray[np.int64]) -> Batches:
    """Return what gives pairs of names their numbers, where every executor can have all names."""

    def numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow.compute as pc

        # Names are hashed anew for each block: in blocks of as many rows that is a part of the work only.
        for block in _blocks(batches, max(ROWS_IN_A_BLOCK, len(names.nodes) + len(names.topics))):
            ids = [
                pc.index_in(column, value_set=known).combine_chunks()
                for column, known in zip(block.columns, (names.nodes, names.topics), strict=True)
            ]
            found = pc.and_(
                ids[0].is_valid(), ids[1].is_valid()
            )  # the others are missed when all are counted
            nodes, topics = (column.filter(found).to_numpy().astype(np.int64) for column in ids)
            yield _cut((nodes << 32) + topics, firsts)

    return numbered


def _joined(pairs: DataFrame, names: Names) -> DataFrame:
    """Give pairs of names their numbers, where there are too many names: Spark joins both."""
    import pyarrow as pa

    spark = pairs.sparkSession
    for what, column in (("node", names.nodes), ("topic", names.topics)):
        numbers = pa.array(np.arange(len(column), dtype=np.int32))
        pairs = pairs.join(spark.createDataFrame(pa.table({what: column, f"{what}_id": numbers})), what)
    return pairs.selectExpr("shiftleft(cast(node_id as bigint), 32) + topic_id as key")


def _cutting(firsts: NDArray[np.int64]) -> Batches:
    """Return what cuts numbered pairs into parts."""

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block in _blocks(batches):
            yield _cut(block.column(0).to_numpy(), firsts)

    return cut


def _cut(keys: NDArray[np.int64], firsts: NDArray[np.int64]) -> pa.RecordBatch:
    """Cut pairs (node · 2³² + topic) into parts, of which all but part 0 begin at these keys."""
    import pyarrow as pa

    keys = np.sort(keys)
    cuts = np.split(keys, np.searchsorted(keys, firsts))
    parts = [part for part, cut in enumerate(cuts) if len(cut)]
    contents = [cuts[part].astype("<i8").tobytes() for part in parts]
    columns = [pa.array(parts, pa.int32()), pa.array(contents, pa.binary())]
    return pa.record_batch(columns, ["part", "keys"])


def _cores(spark: SparkSession) -> int:
    """Return how many parts are worth making at least."""
    return int(spark.conf.get("spark.sql.shuffle.partitions", "2") or 2)


def _piece(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn the blocks of one part into one piece: the sizes and topics of its nodes, each topic once."""
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
        pa.array([sizes.tobytes()], pa.binary()),
        pa.array([topics.tobytes()], pa.binary()),
    ]
    yield pa.record_batch(columns, ["first", "given", "sizes", "topics"])


def _gathered(pieces: DataFrame, names: Names) -> Encoded:
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
