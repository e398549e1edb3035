"""Flows: record batches that pass through functions, are exchanged by part, and are kept; in two engines.

`SparkFlow` runs on the executors of a cluster. `LocalFlow` runs in this process, for data that is not worth
starting Spark. Both call the same functions on the same batches, so both give the same bytes.

The cells of a batch are mostly large binary values (packed names, arrays of ids): they are cheap to move.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.arrays import Ids

Batches: TypeAlias = "Iterator[pa.RecordBatch]"
Function: TypeAlias = "Callable[[Batches], Batches]"

BYTES_IN_A_BATCH = 1 << 26
"""Spark hands executors' Python batches of about this size: the cells are large."""
TYPES = {
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "array<string>": pa.list_(pa.string()),
}


def arrow_schema(columns: str) -> pa.Schema:
    """Return the Arrow schema for columns as Spark writes them, such as `part int, keys binary`."""
    return pa.schema([(name, TYPES[kind]) for name, kind in (one.split() for one in columns.split(", "))])


def make_batch(columns: str, **given: Any) -> pa.RecordBatch:
    """Return a batch with these columns; the ones that are not given are null.

    A value is a list, or an array of Arrow. Binary columns take anything with a buffer.
    """
    length = max(len(values) for values in given.values())
    arrays = []
    for field in arrow_schema(columns):
        values = given.get(field.name)
        if values is None:
            arrays.append(pa.nulls(length, field.type))
        elif field.type == pa.binary():
            arrays.append(pa.array([None if one is None else memoryview(one) for one in values], pa.binary()))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.record_batch(arrays, schema=arrow_schema(columns))


def each_number(batches: Batches) -> Iterator[int]:
    """Yield what a task is to do, from the batches of `numbers`."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def each_row(batches: Batches) -> Iterator[dict[str, Any]]:
    """Yield the cells of each row by column."""
    for batch in batches:
        for row in range(batch.num_rows):
            yield {name: batch.column(name)[row] for name in batch.schema.names}


def rows_by(batches: Batches, column: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows that have the same value in a column, which are next to each other."""
    for _, rows in groupby(each_row(batches), key=itemgetter(column)):
        yield list(rows)


def cell_array(cell: Any, kind: str) -> NDArray[Any]:
    """Return the numbers in a binary cell."""
    return np.frombuffer(cell.as_buffer(), kind)


class Flow(ABC):
    """Batches in partitions."""

    @abstractmethod
    def map(self, function: Function, columns: str) -> Self:
        """Pass each partition through a function that returns batches with these columns."""

    @abstractmethod
    def select(self, *columns: str, having: str | None = None) -> Self:
        """Keep only these columns, and only the rows in which the column `having` is not null."""

    @abstractmethod
    def union(self, other: Self) -> Self:
        """Return the partitions of both flows; columns are matched by name, and missing ones are null."""

    @abstractmethod
    def exchange(self, parts: int, by: str, *order: str) -> Self:
        """Send each row to the partition that the column `by` names, and sort each by `order`."""

    @abstractmethod
    def keep(self) -> Self:
        """Keep the batches once they are computed, until `release`."""

    @abstractmethod
    def release(self) -> None:
        """Free the batches that are kept."""

    @abstractmethod
    def collect(self) -> list[Any]:
        """Compute the batches, and return their rows; use it for few and small rows only."""


class SparkFlow(Flow):
    """A flow on the executors of a Spark session.

    `mapped` says how the last step made the frame, if that was a function. The next function then runs in the
    same step: batches between two steps would go to Java and back.
    """

    def __init__(self, frame: DataFrame, mapped: tuple[DataFrame, Function] | None = None) -> None:
        self.frame, self.mapped = frame, mapped

    def map(self, function: Function, columns: str) -> SparkFlow:
        """Pass each partition through a function on an executor."""
        source, whole = self.frame, function
        if self.mapped is not None:
            source, whole = self.mapped[0], partial(chain_functions, self.mapped[1], function)
        return SparkFlow(source.mapInArrow(whole, columns), (source, whole))

    def select(self, *columns: str, having: str | None = None) -> SparkFlow:
        """Keep only these columns and rows."""
        from pyspark.sql import functions as sf

        chosen = self.frame if having is None else self.frame.where(sf.col(having).isNotNull())
        return SparkFlow(chosen.select(*columns))

    def union(self, other: SparkFlow) -> SparkFlow:
        """Return the partitions of both flows."""
        return SparkFlow(self.frame.unionByName(other.frame, allowMissingColumns=True))

    def exchange(self, parts: int, by: str, *order: str) -> SparkFlow:
        """Shuffle the rows.

        `repartition` sends a row where the hash of its key lands: each partition has a key that lands there.
        """
        from pyspark.sql import functions as sf

        keys = sf.expr(f"array({', '.join(map(str, partition_keys(parts)))})[cast({by} AS int)]")
        return SparkFlow(self.frame.repartition(parts, keys).sortWithinPartitions(by, *order))

    def keep(self) -> SparkFlow:
        """Cache the batches on the executors' disks.

        Cells of many megabytes would crowd Java's heap, which holds several copies of each while it moves.
        The system's file cache keeps what fits in memory.
        """
        from pyspark import StorageLevel

        return SparkFlow(self.frame.persist(StorageLevel.DISK_ONLY))

    def release(self) -> None:
        """Free the cache; a session that failed frees its caches itself, and has another error to report."""
        with suppress(Exception):
            self.frame.unpersist()

    def collect(self) -> list[Any]:
        """Run a job, and return its rows."""
        return list(self.frame.collect())


def chain_functions(first: Function, second: Function, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Pass batches through two functions; those without rows stop between them, as they do in Spark."""
    return second(batch for batch in first(batches) if batch.num_rows)


@cache
def partition_keys(parts: int) -> list[int]:
    """Return for each partition the first key, an int, that Spark's `repartition` sends there.

    Tables of Spark in buckets rely on its hash, Murmur3 with the seed 42, so it cannot change. If a key did
    land elsewhere, two partitions would become one: the work would be shared unevenly, with the same result.
    """
    found: dict[int, int] = {}
    first, count = 0, 16 * parts
    while len(found) < parts:
        keys = np.arange(first, first + count, dtype=np.uint32)
        places, at = np.unique(_murmur3(keys).astype(np.int64) % parts, return_index=True)
        found = {**dict(zip(places.tolist(), (first + at).tolist(), strict=True)), **found}
        first += count
    return [found[part] for part in range(parts)]


def _murmur3(keys: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return the hashes of 32-bit keys, as Spark's `hash` does."""

    def rotate(words: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
        return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))

    mixed = rotate(keys * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    hashed = rotate(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashed ^= np.uint32(4)  # the length of a key in bytes
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        hashed = (hashed ^ (hashed >> np.uint32(shift))) * np.uint32(factor)
    return hashed.view(np.int32)


class _Row(dict[str, Any]):
    """A row whose fields are attributes, as rows of Spark are."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


class LocalFlow(Flow):
    """A flow in this process: every step runs at once, partition by partition."""

    def __init__(self, partitions: Sequence[pa.Table]) -> None:
        self.partitions = partitions

    def map(self, function: Function, columns: str) -> LocalFlow:
        """Pass each partition through a function."""
        schema = arrow_schema(columns)
        made = (list(function(iter(one.to_batches()))) for one in self.partitions)
        return LocalFlow([pa.Table.from_batches(batches, schema) for batches in made])

    def select(self, *columns: str, having: str | None = None) -> LocalFlow:
        """Keep only these columns and rows."""
        chosen = (
            self.partitions
            if having is None
            else [one.filter(one.column(having).is_valid()) for one in self.partitions]
        )
        return LocalFlow([one.select(list(columns)) for one in chosen])

    def union(self, other: LocalFlow) -> LocalFlow:
        """Return the partitions of both flows."""
        return LocalFlow([*self.partitions, *other.partitions])

    def exchange(self, parts: int, by: str, *order: str) -> LocalFlow:
        """Send each row to its partition."""
        import pyarrow.compute as pc

        whole = pa.concat_tables(self.partitions, promote_options="default")
        # Rows hold large values: sort their numbers, then take each row once.
        keys = whole.select(list(dict.fromkeys((by, *order))))
        places = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
        sorted_parts = keys.column(by).take(places).to_numpy()
        made = []
        for part in range(parts):
            begin, end = sorted_parts.searchsorted([part, part + 1])
            made.append(_take_rows(whole, places[begin:end].to_numpy()))
        return LocalFlow(made)

    def keep(self) -> LocalFlow:
        """Return the flow itself: its batches are computed already."""
        return self

    def release(self) -> None:
        """Forget the batches."""
        self.partitions = []

    def collect(self) -> list[Any]:
        """Return the rows."""
        return [_Row(row) for one in self.partitions for row in one.to_pylist()]


def _take_rows(whole: pa.Table, places: Ids) -> pa.Table:
    """Return rows in the given order, without a copy of their values and with no limit on their size."""
    if not len(places):
        return whole.schema.empty_table()
    return pa.concat_tables([whole.slice(int(place), 1) for place in places])


def numbers(spark: SparkSession | None, count: int, tasks: int | None = None) -> Flow:
    """Return the numbers from 0 in the column `id`: on Spark in this many tasks, by default one each."""
    if spark is None:
        return LocalFlow([pa.table({"id": pa.array([number], pa.int64())}) for number in range(count)])
    with suppress(Exception):  # a service may not let sessions change it; then its default applies
        spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(BYTES_IN_A_BATCH))
    return SparkFlow(spark.range(0, count, 1, max(count if tasks is None else tasks, 1)))


def send(spark: SparkSession | None, batches: Sequence[pa.RecordBatch], columns: str) -> Flow:
    """Return batches of this process as a flow; with a session, they are sent to the cluster."""
    if spark is None:
        return LocalFlow([pa.Table.from_batches([batch]) for batch in batches])
    rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    return SparkFlow(spark.createDataFrame(rows, columns))
