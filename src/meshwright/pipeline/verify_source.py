"""What a plan is verified against: names in this process, subscriptions wherever the cluster reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.interest import Interest
from meshwright.pipeline.verify_packing import SCHEMA, pack, pieces_of, read_packed
from meshwright.store.datasets import NAMES
from meshwright.store.files import load_interest
from meshwright.store.header import DATASET, damaged, read_header
from meshwright.store.tables import read_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False)
class Subscriptions:
    """Names of nodes and topics, and their subscriptions where the cluster has them."""

    names: Interest
    """Has the names and the fingerprint; its subscriptions may be left out."""
    count: int
    """How many subscriptions there should be."""
    packed: Callable[[int], DataFrame]
    """Gives them packed into so many shards."""
    read: Callable[[], DataFrame]

    @property
    def table(self) -> DataFrame:
        """The subscriptions as a table of Spark's with the columns `node, topic`."""
        return self.read()

    def check(self, found: int) -> None:
        """Refuse subscriptions that are not as many as the dataset states.

        Raises
        ------
        FormatError
            If so.
        """
        if found != self.count:
            raise damaged(Path("the dataset"), f"{found} subscriptions, where {self.count} are stated")


def subscriptions(spark: SparkSession, source: str | Path) -> Subscriptions:
    """Open a dataset folder, whose subscriptions never come into this process, or a file, which does.

    Raises
    ------
    InputError
        If nothing is there.
    FormatError
        If it is something else, or damaged.
    """
    folder = Path(source)
    if not folder.is_dir():
        return handed_over(spark, load_interest(str(source)))
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
    names.__dict__["fingerprint"] = str(manifest.get("fingerprint"))  # that of the subscriptions left out
    pieces = pieces_of((folder / "subscriptions").resolve())
    numbers = spark.range(len(pieces))
    return Subscriptions(
        names,
        int(counts.get("subscriptions", 0)),
        lambda shards: numbers.mapInArrow(partial(read_packed, pieces, shards), SCHEMA),
        lambda: spark.read.parquet((folder / "subscriptions").resolve().as_uri()).select("node", "topic"),
    )


def handed_over(spark: SparkSession, interest: Interest) -> Subscriptions:
    """Hand an interest over to the cluster."""
    columns = interest.node_of_slot, interest.node_topics
    return Subscriptions(
        interest,
        interest.num_subscriptions,
        lambda shards: spark.createDataFrame(pa.Table.from_batches(pack(shards, *columns)), SCHEMA),
        lambda: spark.createDataFrame(
            pa.table({"node": columns[0], "topic": columns[1]}), "node int, topic int"
        ),
    )
