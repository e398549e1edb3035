"""The subscriptions of a dataset as a flow: executors read its row groups, and the driver only its counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from meshwright.errors import InputError
from meshwright.files.header import DATASET, damaged, read_record
from meshwright.files.urls import files_in, inside, local_copy, local_path
from meshwright.interest import Interest, unchecked_interest
from meshwright.pipeline.dataflow import (
    Flow,
    cell_array,
    each_number,
    each_row,
    make_batch,
    numbers,
    send,
)
from meshwright.store.dataset_parts import NAMES, SUBSCRIPTIONS
from meshwright.store.datasets import DatasetHeader, check_names, read_name_group, read_subscription_group
from meshwright.store.interest_files import Columns, load_interest
from meshwright.store.tables import RowGroup, read_parts, row_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.arrays import Ids
    from meshwright.pipeline.dataflow import Batches

GROUP = "nodes binary, topics binary"
SHARD = "shard int, first long, nodes binary, topics binary"
ROWS_IN_A_GROUP = 1 << 20
ROWS_IN_A_TASK = 1 << 22


@dataclass(frozen=True, eq=False)
class Subscriptions:
    """A dataset: its counts, and how to read its names and subscriptions; see `subscriptions`."""

    spark: SparkSession | None
    """None: everything runs in this process."""
    counts: Mapping[str, int]
    folder: str | None
    """The path or URL of the dataset, unless the relation is in this process."""
    interest: Interest | None
    """The whole relation, if it is in this process."""
    stated: str | None = None
    """The fingerprint that the manifest states."""
    schema: int = 2

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the relation, as the dataset states it."""
        return self.stated if self.interest is None else self.interest.fingerprint

    def has_fingerprint(self, stated: object) -> bool:
        """Return whether the relation has a stated fingerprint, of any schema."""
        if self.interest is not None:
            return self.interest.has_fingerprint(stated)
        # Plans for a dataset of schema 1 state its digest or, if they are newer, a fold of its parts.
        return stated == self.stated or (self.schema == 1 and self.names.has_fingerprint(stated))

    @property
    def count(self) -> int:
        """The number of subscriptions that the dataset states."""
        return self.counts["subscriptions"]

    @cached_property
    def names(self) -> Interest:
        """The names and the fingerprint; the subscriptions may be left out."""
        if self.interest is not None:
            return self.interest
        assert self.folder is not None
        if self.schema == 1:
            return load_interest(self.folder)  # one process made it, so it fits into one
        with local_copy(self.folder) as here:
            node_names, topic_names = (
                check_names(inside(str(self.folder), kind), read_parts(here / kind, NAMES), 0)
                for kind in ("nodes", "topics")
            )
        self._check_counts({"nodes": len(node_names), "topics": len(topic_names)})
        nothing = np.zeros(0, dtype=np.int32)
        made = unchecked_interest(
            node_names, topic_names, np.zeros(len(node_names) + 1, dtype=np.int64), nothing
        )
        # The cached properties must be those of the subscriptions that are left out here.
        made.__dict__["fingerprint"] = str(self.fingerprint)
        made.__dict__["whole_fingerprint"] = ""
        return made

    def check_names(self) -> None:
        """Check that the tables of names have as many rows as the manifest states.

        Raises
        ------
        FormatError
            If they do not, or cannot be read.
        """
        if self.folder is not None:
            kinds = ("nodes", "topics")
            groups = {kind: row_groups(inside(str(self.folder), kind), NAMES) for kind in kinds}
            self._check_counts({kind: sum(piece.rows for piece in found) for kind, found in groups.items()})

    def _check_counts(self, found: Mapping[str, int]) -> None:
        if any(self.counts[kind] != count for kind, count in found.items()):
            where = Path(inside(str(self.folder), DATASET.file))
            raise damaged(where, f"it does not state {found} as its counts")

    def groups(self) -> Flow:
        """Return the subscriptions as groups of pairs, in order."""
        if self.interest is not None:
            return _send(self.spark, self.interest)
        assert self.folder is not None
        pieces = row_groups(inside(self.folder, "subscriptions"), SUBSCRIPTIONS)
        counts = self.counts["nodes"], self.counts["topics"]
        # A task costs more than reading a small row group.
        tasks = min(len(pieces), -(-self.count // ROWS_IN_A_TASK))
        return numbers(self.spark, len(pieces), tasks).map(partial(read_groups, pieces, counts), GROUP)

    def packed(self, shards: int) -> Flow:
        """Return the subscriptions packed for shards, before they are sent: a topic has one shard."""
        return self.groups().map(partial(pack_groups, shards), SHARD)

    def name_topics(self, topics: Sequence[int]) -> list[str]:
        """Return the names of a few topics, without reading those of the others."""
        return self._few_names("topics", topics)

    def name_nodes(self, nodes: Sequence[int]) -> list[str]:
        """Return the names of a few nodes, without reading those of the others."""
        return self._few_names("nodes", nodes)

    def _few_names(self, kind: str, ids: Sequence[int]) -> list[str]:
        if self.interest is None:
            return read_few_names(inside(str(self.folder), kind), np.array(ids, dtype=np.int32))
        names = self.interest.node_names if kind == "nodes" else self.interest.topic_names
        found: list[str] = names.take(pa.array(ids, pa.int64())).to_pylist()
        return found

    def check(self, found: int) -> None:
        """Check that the number of subscriptions is the stated one.

        Raises
        ------
        FormatError
            If it is not.
        """
        if found != self.count:
            raise damaged(Path("the dataset"), f"{found} subscriptions instead of the stated {self.count}")


def subscriptions(
    spark: SparkSession | None, source: str | Path, columns: Columns | None = None
) -> Subscriptions:
    """Open a dataset folder, whose subscriptions stay on the cluster, or a file, which this process reads.

    `columns` says where a file has its nodes and topics.

    Raises
    ------
    InputError
        If the path does not exist.
    FormatError
        If it is not a dataset, or damaged.
    """
    # Without a cluster, a dataset at a URL is copied to this machine.
    copied = spark is None and local_path(source) is None
    manifest = None if copied else _read_manifest(source)
    if manifest is None:
        return from_interest(spark, load_interest(str(source), **({} if columns is None else vars(columns))))
    local = local_path(source)
    place = os.fspath(source) if local is None else str(Path(local).resolve())
    counts = msgspec.structs.asdict(manifest.counts)
    opened = Subscriptions(spark, counts, place, None, manifest.fingerprint, manifest.schema)
    opened.check_names()
    return opened


def _read_manifest(source: str | Path) -> DatasetHeader | None:
    """Return the manifest of a dataset at a path or URL, or None if something else is there."""
    local = local_path(source)
    if local is not None:
        return read_record(Path(local), DATASET, DatasetHeader) if Path(local).is_dir() else None
    place = inside(source, DATASET.file)
    if place not in files_in(os.fspath(source), DATASET.file):
        return None
    with local_copy(place) as file:
        return read_record(file.parent, DATASET, DatasetHeader)


SUBSCRIPTIONS_HERE = 50_000_000
"""Datasets of this size are explored in this process, unless the user asks for Spark."""


def fits_here(source: str | Path) -> bool:
    """Return whether a dataset is so small that this process explores it faster than Spark starts.

    Files that are not datasets are read by this process anyway.

    Raises
    ------
    InputError
        If nothing is there, or it cannot be reached: it is an error before Java starts.
    FormatError
        If a folder is not a dataset.
    """
    local = local_path(source)
    if local is not None and not Path(local).exists():
        raise InputError(f"no file or folder {source}: nothing is there, check the path")
    manifest = _read_manifest(source)
    return manifest is None or manifest.counts.subscriptions <= SUBSCRIPTIONS_HERE


def require_dataset(source: str | Path) -> str:
    """Return the path or URL of a dataset, without reading it.

    Raises
    ------
    InputError
        If nothing is there, or a file.
    FormatError
        If a folder is something else.
    """
    fits_here(source)
    if _read_manifest(source) is None:
        raise InputError(f"{source} is not a dataset: read it with meshwright ingest first")
    local = local_path(source)
    return os.fspath(source) if local is None else str(Path(local).resolve())


def from_interest(spark: SparkSession | None, interest: Interest) -> Subscriptions:
    """Return the subscriptions of an interest; with a session, they are sent to the cluster."""
    counts = {
        "nodes": interest.num_nodes,
        "topics": interest.num_topics,
        "subscriptions": interest.num_subscriptions,
    }
    return Subscriptions(spark, counts, None, interest)


def _send(spark: SparkSession | None, interest: Interest) -> Flow:
    """Return the subscriptions of an interest as groups."""
    columns = interest.node_of_slot.astype("<i4"), interest.node_topics.astype("<i4")
    begins = range(0, max(interest.num_subscriptions, 1), ROWS_IN_A_GROUP)
    groups = [[column[begin : begin + ROWS_IN_A_GROUP] for column in columns] for begin in begins]
    return send(spark, [make_batch(GROUP, nodes=[node], topics=[topic]) for node, topic in groups], GROUP)


def read_groups(
    pieces: Sequence[RowGroup], counts: tuple[int, int], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Read the row groups with the given numbers, on an executor.

    Reading them with Spark would convert all values from columns to rows and back.
    """
    for number in each_number(batches):
        columns = read_subscription_group(pieces[number], *counts)
        nodes, topics = (column.astype("<i4", copy=False) for column in columns)
        yield make_batch(GROUP, nodes=[nodes], topics=[topics])


def group_arrays(batches: Batches) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield the nodes and topics of each group."""
    for row in each_row(batches):
        yield cell_array(row["nodes"], "<i4"), cell_array(row["topics"], "<i4")


def pack_groups(shards: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Pack groups into shards."""
    for node, topic in group_arrays(batches):
        shard_of = topic % shards
        order = np.argsort(shard_of, kind="stable")
        ends = np.searchsorted(shard_of[order], np.arange(shards + 1))
        for shard in range(shards):
            chosen = order[ends[shard] : ends[shard + 1]]
            if len(chosen) or not len(node):
                first = int(node[chosen[0]]) if len(chosen) else -1
                columns = {"nodes": [node[chosen]], "topics": [topic[chosen]]}
                yield make_batch(SHARD, shard=[shard], first=[first], **columns)


def read_few_names(folder: str, ids: Ids) -> list[str]:
    """Return the names with the given ids, reading only the row groups that have them."""
    found: dict[int, str] = {}
    wanted = np.unique(ids)
    for piece in row_groups(folder, NAMES):
        here = wanted[(wanted >= piece.begin) & (wanted < piece.begin + piece.rows)]
        if len(here):
            names = read_name_group(piece)
            found |= zip(here.tolist(), names.take(pa.array(here - piece.begin)).to_pylist(), strict=True)
    return [found[int(each)] for each in ids]
