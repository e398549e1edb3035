"""Interest: which node subscribes to which topic.

Inside, nodes and topics are dense integers in the order of their names and the relation is held in
compressed form both ways; names appear only at the border. An `Interest` never changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.errors import InputError, MissingDependencyError, first_five, first_rows

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import DTypeLike, NDArray

    Name: TypeAlias = str | int
    Ids: TypeAlias = NDArray[np.int32]
    Offsets: TypeAlias = NDArray[np.int64]

MOST_SUBSCRIPTIONS = 2**31 - 1
"""Slots are numbered by int32 throughout."""


@dataclass(frozen=True, eq=False)
class Interest:
    """The subscriptions of a set of nodes, with node and topic names in sorted order.

    Node `v` subscribes to `node_topics[node_ptr[v]:node_ptr[v + 1]]`, ascending. `duplicates` counts
    the repeated pairs that were met and dropped when the interest was built.

    >>> interest = Interest.from_dict({"berlin": {"rain", "wind"}, "oslo": {"wind"}})
    >>> interest
    Interest(2 nodes, 2 topics, 3 subscriptions)
    >>> interest.topics_of("berlin")
    ['rain', 'wind']
    """

    node_names: pa.Array
    topic_names: pa.Array
    node_ptr: Offsets
    node_topics: Ids
    duplicates: int = 0

    # -- building -----------------------------------------------------------------------------------

    @classmethod
    def from_pairs(
        cls,
        nodes: Iterable[Name],
        topics: Iterable[Name],
        *,
        all_nodes: Iterable[Name] = (),
        all_topics: Iterable[Name] = (),
    ) -> Interest:
        """Build from two parallel columns: node `nodes[i]` subscribes to topic `topics[i]`.

        `all_nodes` and `all_topics` may name further nodes and topics that have no subscription.
        """
        node_column, topic_column = _names(nodes, "node"), _names(topics, "topic")
        if len(node_column) != len(topic_column):
            raise InputError(
                f"{len(node_column)} nodes but {len(topic_column)} topics: give one topic for each node entry"
            )
        _check_size(len(node_column))
        node_names, node_ids = _encode(node_column, _names(all_nodes, "node"), "node")
        topic_names, topic_ids = _encode(topic_column, _names(all_topics, "topic"), "topic")
        return cls.from_ids(node_names, topic_names, node_ids, topic_ids)

    @classmethod
    def from_dict(
        cls, subscriptions: Mapping[str, Iterable[Name]] | Mapping[int, Iterable[Name]]
    ) -> Interest:
        """Build from a mapping of each node to its topics; a node may have none."""
        sizes: list[int] = []
        topics: list[Name] = []
        for node, of_node in subscriptions.items():
            if isinstance(of_node, str):
                raise InputError(f"the topics of node {node!r} are one string; give a set or list of topics")
            before = len(topics)
            topics.extend(of_node)
            sizes.append(len(topics) - before)
        nodes = _names(list(subscriptions), "node")
        owner = pa.array(np.repeat(np.arange(len(sizes)), sizes))
        return cls.from_pairs(nodes.take(owner), topics, all_nodes=nodes)

    @classmethod
    def from_arrow(cls, data: Any, *, node: str = "node", topic: str = "topic") -> Interest:
        """Build from anything that speaks the Arrow stream protocol: pandas, polars, DuckDB, Arrow, Spark."""
        if not hasattr(data, "__arrow_c_stream__"):
            raise InputError(
                f"{type(data).__name__} does not offer __arrow_c_stream__: "
                "hand over an Arrow, pandas, polars or DuckDB table"
            )
        try:
            table = pa.table(data)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(f"a column has mixed or unusable types: {str(error).splitlines()[0]}") from error
        for column in (node, topic):
            if column not in table.column_names:
                raise InputError(
                    f"no column {column!r}; the columns are {first_five(table.column_names)}: "
                    "rename one, or hand over node= and topic="
                )
            if table.column_names.count(column) > 1:
                raise InputError(f"more than one column {column!r}: keep one of them")
        return cls.from_pairs(table.column(node), table.column(topic))

    @classmethod
    def from_scipy(
        cls, matrix: Any, *, nodes: Sequence[Name] | None = None, topics: Sequence[Name] | None = None
    ) -> Interest:
        """Build from a sparse matrix with a row for each node and a non-zero for each subscription."""
        entries = matrix.tocoo()
        present = entries.data != 0
        row_names = _axis_names(nodes, entries.shape[0], "node", "row")
        column_names = _axis_names(topics, entries.shape[1], "topic", "column")
        rows, columns = pa.array(entries.row[present]), pa.array(entries.col[present])
        return cls.from_pairs(
            row_names.take(rows), column_names.take(columns), all_nodes=row_names, all_topics=column_names
        )

    @classmethod
    def from_ids(
        cls, node_names: pa.Array, topic_names: pa.Array, node_ids: NDArray[Any], topic_ids: NDArray[Any]
    ) -> Interest:
        """Build from names that are sorted already and pairs of positions in them, in any order."""
        _check_size(len(node_ids))
        width = max(len(topic_names), 1)
        keys = np.asarray(node_ids, dtype=np.int64) * width + np.asarray(topic_ids, dtype=np.int64)
        if len(keys) and not (keys[1:] > keys[:-1]).all():
            # Not np.unique: with numpy 2.4 it took a hundred times as long on ten million keys.
            keys = np.sort(keys)
            keys = keys[np.concatenate(([True], keys[1:] > keys[:-1]))]
        node_ptr = np.searchsorted(keys, np.arange(len(node_names) + 1, dtype=np.int64) * width)
        node_topics = (keys % width).astype(np.int32)
        return cls(
            node_names, topic_names, node_ptr.astype(np.int64), node_topics, len(node_ids) - len(node_topics)
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "node_ptr", frozen(self.node_ptr, np.int64))
        object.__setattr__(self, "node_topics", frozen(self.node_topics, np.int32))

    # -- looking ------------------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, those without topics included."""
        return len(self.node_ptr) - 1

    @property
    def num_topics(self) -> int:
        """How many topics there are, those without subscribers included."""
        return len(self.topic_names)

    @property
    def num_subscriptions(self) -> int:
        """How many (node, topic) pairs there are."""
        return len(self.node_topics)

    @cached_property
    def _by_topic(self) -> tuple[Offsets, Ids, Ids]:
        from scipy.sparse import csr_array

        slots = np.arange(self.num_subscriptions, dtype=np.int32)
        shape = (self.num_nodes, self.num_topics)
        columns = csr_array((slots, self.node_topics, self.node_ptr), shape=shape).tocsc()
        return (
            frozen(columns.indptr, np.int64),
            frozen(columns.indices, np.int32),
            frozen(columns.data, np.int32),
        )

    @property
    def topic_ptr(self) -> Offsets:
        """Where each topic's subscribers begin in `topic_nodes`."""
        return self._by_topic[0]

    @property
    def topic_nodes(self) -> Ids:
        """The subscribers of topic 0, then of topic 1, and so on, each ascending."""
        return self._by_topic[1]

    @property
    def topic_slots(self) -> Ids:
        """Where in `node_topics` the same subscription stands, for each entry of `topic_nodes`."""
        return self._by_topic[2]

    @property
    def node_of_slot(self) -> Ids:
        """The node of each entry of `node_topics`."""
        return np.repeat(np.arange(self.num_nodes, dtype=np.int32), np.diff(self.node_ptr))

    def topics_of(self, node: Name) -> list[Name]:
        """Return the topics that a node, given by name, subscribes to."""
        v = self.node_id(node)
        ids = pa.array(self.node_topics[self.node_ptr[v] : self.node_ptr[v + 1]])
        names: list[Name] = self.topic_names.take(ids).to_pylist()
        return names

    def node_id(self, name: Name) -> int:
        """Return the position of a node's name."""
        return _position(self.node_names, name, "node")

    def topic_id(self, name: Name) -> int:
        """Return the position of a topic's name."""
        return _position(self.topic_names, name, "topic")

    def restrict(self, topics: NDArray[Any]) -> Interest:
        """Keep only these topics, given by id; nodes and topics keep their ids."""
        wanted = np.zeros(self.num_topics, dtype=bool)
        wanted[topics] = True
        keep = wanted[self.node_topics]
        node_ptr = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))[self.node_ptr]
        return Interest(self.node_names, self.topic_names, node_ptr, self.node_topics[keep])

    def canonical(self) -> Interest:
        """Return the same relation with string names in the order of their UTF-8 bytes, as it is stored."""
        if pa.types.is_string(self.node_names.type) and pa.types.is_string(self.topic_names.type):
            return self
        node_names, node_rank = _sorted(self.node_names.cast(pa.string()))
        topic_names, topic_rank = _sorted(self.topic_names.cast(pa.string()))
        return Interest.from_ids(
            node_names, topic_names, node_rank[self.node_of_slot], topic_rank[self.node_topics]
        )

    @cached_property
    def fingerprint(self) -> str:
        """A digest of names and subscriptions; equal for equal relations, however they were made."""
        relation = self.canonical()
        digest = Fingerprint(relation.node_names, relation.topic_names, relation.node_ptr)
        digest.update(relation.node_topics)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"Interest({self.num_nodes} nodes, {self.num_topics} topics, "
            f"{self.num_subscriptions} subscriptions)"
        )

    # -- handing over -------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Return a table `node, topic` of names, sorted."""
        nodes = self.node_names.take(pa.array(self.node_of_slot))
        return pa.table({"node": nodes, "topic": self.topic_names.take(pa.array(self.node_topics))})

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame `node, topic` of names, sorted."""
        return arrow_to_pandas(self.to_arrow())

    def to_scipy(self) -> Any:
        """Return the nodes × topics incidence as a sparse array of ones, in dense ids."""
        from scipy.sparse import csr_array

        ones = np.ones(self.num_subscriptions, dtype=np.int32)
        return csr_array(
            (ones, self.node_topics, self.node_ptr), shape=(self.num_nodes, self.num_topics), copy=True
        )


class Fingerprint:
    """The digest of a relation: of its names, strings and sorted, of `node_ptr`, then of `node_topics`."""

    def __init__(self, node_names: pa.Array, topic_names: pa.Array, node_ptr: NDArray[Any]) -> None:
        self._digest = hashlib.sha256(b"meshwright interest 1")
        for names in (node_names, topic_names):
            self._digest.update(pc.binary_length(names).to_numpy().astype("<i4").tobytes())
            self._digest.update("".join(names.to_pylist()).encode())
        self._digest.update(node_ptr.astype("<i8").tobytes())

    def update(self, topics: NDArray[Any]) -> None:
        """Take the next piece of `node_topics`, of any length."""
        self._digest.update(topics.astype("<i4").tobytes())

    def hexdigest(self) -> str:
        """Return the fingerprint of what was taken so far."""
        return self._digest.hexdigest()


def arrow_to_pandas(table: pa.Table) -> Any:
    """Convert a table to pandas, or say how to get pandas."""
    try:
        return table.to_pandas()
    except ModuleNotFoundError as error:
        raise MissingDependencyError("pandas is not installed: pip install 'meshwright[pandas]'") from error


def _check_size(subscriptions: int) -> None:
    if subscriptions > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{subscriptions} subscriptions are more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
            "sample the data, or split it by topic"
        )


def _names(values: Iterable[Name], what: str) -> pa.ChunkedArray:
    """Turn names into an Arrow column of strings or of 64-bit integers, without nulls.

    It stays in chunks: one array of strings holds no more than 2 GiB of text.
    """
    if isinstance(values, str):
        raise InputError(f"{what}s are one string; give a list of names")
    column = values
    try:
        if not isinstance(column, (pa.Array, pa.ChunkedArray)):
            column = pa.array(column if isinstance(column, (list, np.ndarray)) else list(column))
        if isinstance(column, pa.Array):
            column = pa.chunked_array([column])
        if pa.types.is_dictionary(column.type):
            column = _decoded(column)
        if column.null_count:
            rows = np.flatnonzero(column.is_null().to_numpy())
            raise InputError(
                f"no {what} name in {first_rows(rows)} (from 1): fill every gap, or drop its row"
            )
        if pa.types.is_integer(column.type):
            return column.cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError) as error:
        raise InputError(
            f"{what} names must be all strings or all integers of 64 bits: {str(error).splitlines()[0]}"
        ) from error
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column
    if len(column) == 0:
        return pa.chunked_array([], pa.string())
    raise InputError(f"{what} names are of type {column.type}: give strings or integers")


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Spell a dictionary-encoded column out."""
    kind = column.type.value_type
    if not pa.types.is_integer(kind):
        kind = pa.large_string()  # room for any length, and polars' string views cannot be taken from
    chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def _encode(
    column: pa.ChunkedArray, further: pa.ChunkedArray, what: str
) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return the sorted distinct names of both columns, and the position of each entry of the first."""
    given = [part for part in (column, further) if len(part)]
    if len({pa.types.is_integer(part.type) for part in given}) == 2:
        raise InputError(f"{what} names must be all strings or all integers, not both")
    if not given:
        return pa.array([], column.type), np.zeros(0, dtype=np.int64)
    chunks = [chunk for part in given for chunk in part.cast(given[0].type).chunks]
    encoded = pa.chunked_array(chunks).dictionary_encode()  # its chunks share one dictionary
    distinct = encoded.chunk(0).dictionary
    names, rank = _sorted(distinct if pa.types.is_integer(distinct.type) else distinct.cast(pa.string()))
    ids = np.concatenate([rank[chunk.indices.to_numpy()] for chunk in encoded.chunks])
    return names, ids[: len(column)]


def _sorted(names: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Sort names (strings by their UTF-8 bytes) and say where each one went."""
    order = pc.sort_indices(names)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(names))
    return names.take(order), rank


def _axis_names(names: Sequence[Name] | None, length: int, what: str, axis: str) -> pa.ChunkedArray:
    if names is None:
        return pa.chunked_array([np.arange(length)])
    column = _names(names, what)
    if len(column) != length:
        raise InputError(f"{len(column)} {what} names for {length} {axis}s: give one for each {axis}")
    if len(column.unique()) != length:
        raise InputError(f"{what} names are not distinct: give each {axis} its own name")
    return column


def _position(names: pa.Array, name: Name, what: str) -> int:
    fits = isinstance(name, str) == pa.types.is_string(names.type)
    found = names.index(pa.scalar(name, names.type)).as_py() if fits else -1
    if found < 0:
        raise InputError(f"no {what} {name!r} among the {len(names)} {what}s")
    return int(found)


def frozen(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a read-only view, or a copy where type or layout differ.

    Kernels are compiled once for each kind of argument, and read-only is a kind of its own: handing over only
    read-only inputs keeps it at one.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view
