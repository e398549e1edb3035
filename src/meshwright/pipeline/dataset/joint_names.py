"""Nodes and topics in one numbering, for samples: a name may belong to a node, a topic or both.

Nodes keep their ids. Topics whose name is not that of a node follow, in the order of their ids. `LocalNames`
has all names in this process. `ClusterNames` leaves them on the executors, and asks for those of a few
numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.errors import InputError, first_five
from meshwright.files.urls import inside
from meshwright.pipeline.dataflow import Batches, Flow, cell_array, each_row, make_batch, numbers, rows_by
from meshwright.pipeline.dataset.name_ids import (
    ASKED,
    find_ids,
    ids_of,
    names_of,
    read_named,
)
from meshwright.pipeline.session.jobs import tasks_at_once
from meshwright.store.dataset_parts import NAMES
from meshwright.store.tables import row_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.interest import Interest
    from meshwright.pipeline.dataset.subscriptions import Subscriptions

OF_TOPIC = "share long, shared long, nodes binary"
"""By row group of topics: how many are nodes too, and for each the node of its name, or −1."""
PAIRS = "topics binary, numbers binary"


class JointNames(ABC):
    """Nodes and topics in one numbering."""

    nodes: int
    topics: int
    shared: int
    """The number of names that are both; 0 if nobody asked."""

    @property
    def count(self) -> int:
        """The number of names."""
        return self.nodes + self.topics - self.shared

    @abstractmethod
    def numbers_of_topics(self, topics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of some topics."""

    @abstractmethod
    def topics_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the topics that have the names of some numbers, ascending."""

    @abstractmethod
    def find(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of names, −1 for unknown ones; a node comes before a topic."""

    @abstractmethod
    def node_names(self, ids: NDArray[np.int64]) -> pa.Array:
        """Return the names of nodes, given their ids in ascending order."""

    @abstractmethod
    def topic_names(self, ids: NDArray[np.int64]) -> pa.Array:
        """Return the names of topics, given their ids in ascending order."""

    def names_of(self, numbers: Sequence[int]) -> list[str]:
        """Return the names of a few numbers."""
        found = []
        for number in numbers:
            one = np.array([number], dtype=np.int64)
            names = self.node_names(one) if number < self.nodes else self.topic_names(self.topics_of(one))
            found.append(str(names[0].as_py()))
        return found

    def numbers_of(self, start: Sequence[str], eligible: int) -> NDArray[np.int64]:
        """Return the numbers of names, which must be below `eligible`."""
        found = self.find(start)
        unknown = [name for name, number in zip(start, found, strict=True) if not 0 <= number < eligible]
        if unknown:
            raise InputError(f"no node is named {first_five(unknown)}: give other names with --from")
        return found


class LocalNames(JointNames):
    """All names, in this process."""

    def __init__(self, names: Interest) -> None:
        self.interest = names
        self.nodes, self.topics = names.num_nodes, names.num_topics
        found = pc.index_in(names.topic_names, names.node_names)
        only = found.is_null().to_numpy(zero_copy_only=False)
        self.shared = names.num_topics - int(only.sum())
        self.of_topic: NDArray[np.int64] = found.fill_null(-1).to_numpy().astype(np.int64)
        self.of_topic[only] = names.num_nodes + np.arange(only.sum())

    def numbers_of_topics(self, topics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of some topics."""
        return self.of_topic[topics]

    def topics_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the topics that have the names of some numbers."""
        return np.flatnonzero(np.isin(self.of_topic, numbers))

    def find(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of names."""
        wanted = pa.array(names, pa.string())
        nodes, topics = (
            pc.index_in(wanted, known).fill_null(-1).to_numpy().astype(np.int64)
            for known in (self.interest.node_names, self.interest.topic_names)
        )
        of_topic = np.append(self.of_topic, -1)[topics]
        found: NDArray[np.int64] = np.where(nodes < 0, of_topic, nodes)
        return found

    def node_names(self, ids: NDArray[np.int64]) -> pa.Array:
        """Return the names of nodes."""
        return self.interest.node_names.take(pa.array(ids))

    def topic_names(self, ids: NDArray[np.int64]) -> pa.Array:
        """Return the names of topics."""
        return self.interest.topic_names.take(pa.array(ids))


class ClusterNames(JointNames):
    """The names of a dataset on a cluster."""

    def __init__(self, spark: SparkSession | None, given: Subscriptions, *, match: bool) -> None:
        assert given.folder is not None
        self.spark, self.folder = spark, given.folder
        self.nodes, self.topics = given.counts["nodes"], given.counts["topics"]
        self.shared = 0
        self._of_topic: Flow | None = None
        if match:
            self._match()

    def _match(self) -> None:
        """Find the topics that are nodes too; what is found stays on the executors."""
        pieces = row_groups(inside(self.folder, "topics"), NAMES)
        asked = numbers(self.spark, len(pieces)).map(partial(read_named, pieces), ASKED)
        found = find_ids(self.spark, asked, inside(self.folder, "nodes"), tasks_at_once(self.spark))
        self._of_topic = found.exchange(len(pieces), "share").map(gather_nodes, OF_TOPIC).keep()
        shared = np.zeros(len(pieces), dtype=np.int64)
        for row in self._of_topic.select("share", "shared").collect():
            shared[row.share] = row.shared
        self.bases = np.array([piece.begin for piece in pieces], dtype=np.int64)
        sizes = np.diff(np.append(self.bases, self.topics))
        only = sizes - shared
        self.firsts = self.nodes + np.cumsum(only) - only
        self.shared = int(shared.sum())

    def release(self) -> None:
        """Free what is on the executors."""
        if self._of_topic is not None:
            self._of_topic.release()

    def _ask(self, column: int, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the pairs of topic and number in which one of both is wanted."""
        assert self._of_topic is not None
        rows = self._of_topic.map(
            partial(find_matches, column, np.unique(wanted), self.bases, self.firsts), PAIRS
        )
        found = [
            np.stack([np.frombuffer(cell, "<i8") for cell in (row.topics, row.numbers)])
            for row in rows.collect()
        ]
        pairs = np.concatenate([np.zeros((2, 0), np.int64), *found], axis=1)
        ordered: NDArray[np.int64] = pairs[:, np.argsort(pairs[0])]
        return ordered

    def numbers_of_topics(self, topics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of some topics."""
        known, found = self._ask(0, topics)
        numbers: NDArray[np.int64] = found[np.searchsorted(known, topics)]
        return numbers

    def topics_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the topics that have the names of some numbers."""
        topics: NDArray[np.int64] = self._ask(1, numbers)[0]
        return topics

    def find(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of names; without `match`, of nodes only."""
        if not names:
            return np.zeros(0, dtype=np.int64)
        nodes, topics = (
            np.array(ids_of(self.spark, inside(self.folder, kind), names), dtype=np.int64)
            for kind in ("nodes", "topics")
        )
        only = (nodes < 0) & (topics >= 0)
        if self._of_topic is not None and only.any():
            nodes[only] = self.numbers_of_topics(topics[only])
        return nodes

    def node_names(self, ids: NDArray[np.int64]) -> pa.Array:
        """Return the names of nodes."""
        return names_of(self.spark, inside(self.folder, "nodes"), ids)

    def topic_names(self, ids: NDArray[np.int64]) -> pa.Array:
        """Return the names of topics."""
        return names_of(self.spark, inside(self.folder, "topics"), ids)


def gather_nodes(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Put the answers for each row group of topics in order, on an executor."""
    for rows in rows_by(batches, "share"):
        codes, ids = (
            np.concatenate([cell_array(row[name], kind) for row in rows])
            for name, kind in (("codes", "<i4"), ("ids", "<i8"))
        )
        nodes = np.empty(len(codes), dtype="<i8")
        nodes[codes] = ids
        shared = int(np.count_nonzero(nodes >= 0))
        yield make_batch(OF_TOPIC, share=[rows[0]["share"].as_py()], shared=[shared], nodes=[nodes])


def find_matches(
    column: int,
    wanted: NDArray[np.int64],
    bases: NDArray[np.int64],
    firsts: NDArray[np.int64],
    batches: Batches,
) -> Iterator[pa.RecordBatch]:
    """Find the pairs of topic and number in which one of both is wanted, on an executor."""
    for row in each_row(batches):
        share, nodes = row["share"].as_py(), cell_array(row["nodes"], "<i8")
        only = nodes < 0
        number = np.where(only, firsts[share] + np.cumsum(only) - 1, nodes)
        topic = bases[share] + np.arange(len(nodes))
        chosen = np.isin(number if column else topic, wanted)
        if chosen.any():
            yield make_batch(
                PAIRS, topics=[topic[chosen].astype("<i8")], numbers=[number[chosen].astype("<i8")]
            )
