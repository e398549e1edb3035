"""The subscriptions of a dataset on a cluster: names on the driver, rows packed into shards on executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.errors import FormatError, InputError
from meshwright.files.header import DATASET, damaged, read_header
from meshwright.interest import Interest
from meshwright.store.datasets import NAMES
from meshwright.store.interest_files import load_interest
from meshwright.store.tables import first_line, read_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.arrays import Ids
    from meshwright.store.interest_files import Columns


@dataclass(frozen=True, eq=False)
class Subscriptions:
    """The names of nodes and topics, and how the cluster reads their subscriptions."""

    names: Interest
    """The names and the fingerprint; the subscriptions may be left out."""
    count: int
    """The number of subscriptions that the dataset states."""
    packed: Callable[[int], DataFrame]
    """Returns the subscriptions packed into the given number of shards."""
    read: Callable[[], DataFrame]
    """Returns the subscriptions as rows."""

    @property
    def table(self) -> DataFrame:
        """The subscriptions as a Spark table with the columns `node, topic`."""
        return self.read()

    def check(self, found: int) -> None:
        """Check that the number of subscriptions is the stated one.

        Raises
        ------
        FormatError
            If it is not.
        """
        if found != self.count:
            raise damaged(Path("the dataset"), f"{found} subscriptions instead of the stated {self.count}")


def subscriptions(spark: SparkSession, source: str | Path, columns: Columns | None = None) -> Subscriptions:
    """Open a dataset folder, whose subscriptions stay on the cluster, or a file, which this process reads.

    `columns` says where a file has its nodes and topics.

    Raises
    ------
    InputError
        If the path does not exist.
    FormatError
        If it is not a dataset, or damaged.
    """
    folder = Path(source)
    if not folder.is_dir():
        return from_interest(spark, load_interest(str(source), **({} if columns is None else vars(columns))))
    manifest = read_header(folder, DATASET)
    node_names, topic_names = (
        read_parts(folder / kind, NAMES).column("name") for kind in ("nodes", "topics")
    )
    found = {"nodes": len(node_names), "topics": len(topic_names)}
    counts = manifest.get("counts", {})
    if not isinstance(counts, dict) or any(counts.get(kind) != count for kind, count in found.items()):
        raise damaged(folder / DATASET.file, f"it does not state {found} as its counts")
    names = Interest(
        node_names.combine_chunks(),
        topic_names.combine_chunks(),
        np.zeros(len(node_names) + 1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
    )
    # The cached property must be the fingerprint of the subscriptions that are left out here.
    names.__dict__["fingerprint"] = str(manifest.get("fingerprint"))
    pieces = row_groups((folder / "subscriptions").resolve())
    numbers = spark.range(len(pieces))
    return Subscriptions(
        names,
        int(counts.get("subscriptions", 0)),
        lambda shards: numbers.mapInArrow(partial(read_packed, pieces, shards), SCHEMA),
        lambda: spark.read.parquet((folder / "subscriptions").resolve().as_uri()).select("node", "topic"),
    )


def from_interest(spark: SparkSession, interest: Interest) -> Subscriptions:
    """Return the subscriptions of an interest, sent to the cluster."""
    columns = interest.node_of_slot, interest.node_topics
    return Subscriptions(
        interest,
        interest.num_subscriptions,
        lambda shards: spark.createDataFrame(pa.Table.from_batches(pack(shards, *columns)), SCHEMA),
        lambda: spark.createDataFrame(
            pa.table({"node": columns[0], "topic": columns[1]}), "node int, topic int"
        ),
    )


SCHEMA = "shard int, nodes binary, topics binary"


def row_groups(folder: Path) -> list[tuple[Path, int]]:
    """Return the row groups of all Parquet files in a folder, the units that executors read."""
    import pyarrow.parquet as pq

    files = sorted(file for file in folder.glob("*.parquet") if not file.name.startswith((".", "_")))
    try:
        return [(file, group) for file in files for group in range(pq.read_metadata(file).num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{folder} cannot be read as Parquet: {first_line(error)}") from error


def read_packed(
    pieces: Sequence[tuple[Path, int]], shards: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read the row groups with the given numbers, on an executor, and pack them.

    Reading them with Spark would convert all values from columns to rows and back.
    """
    import pyarrow.parquet as pq

    for batch in batches:
        for number in batch.column(0).to_pylist():
            file, group = pieces[number]
            try:
                with pq.ParquetFile(file) as parquet:
                    table = parquet.read_row_group(group, columns=["node", "topic"])
            except FileNotFoundError as error:
                raise InputError(
                    f"a worker cannot find {file}: put the dataset where all workers can read it"
                ) from error
            except (pa.ArrowException, OSError) as error:
                raise FormatError(f"{file} cannot be read as Parquet: {first_line(error)}") from error
            yield from pack(shards, table.column("node").to_numpy(), table.column("topic").to_numpy())


def pack(shards: int, node: Ids, topic: Ids) -> Iterator[pa.RecordBatch]:
    """Yield one record per shard; all subscriptions of a topic go to the same shard."""
    shard_of = topic % shards
    for shard in range(shards):
        chosen = shard_of == shard
        columns = {"nodes": node[chosen], "topics": topic[chosen]}
        packed = {
            name: pa.array([column.astype(np.int32).tobytes()], pa.binary())
            for name, column in columns.items()
        }
        yield pa.record_batch({"shard": pa.array([shard], pa.int32())} | packed)
