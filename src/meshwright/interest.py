"""Interest: which node subscribes to which topic.

Inside, nodes and topics are dense integers in the order of their names. The relation is stored in compressed
form both ways. Names appear only at the border. An `Interest` never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrays import (
    Ids,
    Offsets,
    as_ids,
    check_lengths,
    check_rows,
    check_within,
    own,
    rows_by_topic,
    rows_of_pairs,
    settled,
)
from meshwright.arrow import as_text, from_numpy, is_text, to_pandas
from meshwright.errors import InputError
from meshwright.fingerprint import fingerprint, whole_fingerprint
from meshwright.formatting import counted
from meshwright.names import (
    PLAIN,
    Name,
    TopicKind,
    arrow_columns,
    axis_names,
    check_topic_kind,
    encode_names,
    graph_columns,
    name_column,
    position_of,
    sort_names,
    sorted_names,
)


@dataclass(frozen=True, eq=False)
class Interest:
    """The subscriptions of a set of nodes, with node and topic names in sorted order.

    Node `v` subscribes to `node_topics[node_ptr[v]:node_ptr[v + 1]]`, ascending. `duplicates` counts
    the repeated pairs that were dropped when the interest was built. `kind` says whether topics are plain
    names, as they are for who builds an interest, or MQTT filters: `load` decides by how they look, and a
    dataset states it. Filters that overlap are planned as one topic.

    Raises
    ------
    InputError
        If names are not sorted and distinct, `node_ptr` does not divide `node_topics` into a row for each
        node, the topics of a node are not ids in ascending order, or the kind is unknown.

    Examples
    --------
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
    kind: TopicKind = PLAIN

    # -- building -----------------------------------------------------------------------------------

    @classmethod
    def from_pairs(
        cls,
        nodes: Iterable[Name],
        topics: Iterable[Name],
        *,
        all_nodes: Iterable[Name] = (),
        all_topics: Iterable[Name] = (),
        kind: TopicKind = PLAIN,
    ) -> Interest:
        """Build from two parallel columns: node `nodes[i]` subscribes to topic `topics[i]`.

        `all_nodes` and `all_topics` may name further nodes and topics that have no subscription. `kind` is
        `mqtt` if topics are MQTT filters.
        """
        node_column, topic_column = name_column(nodes, "node"), name_column(topics, "topic")
        check_lengths(len(node_column), len(topic_column))
        node_names, node_ids = encode_names(node_column, name_column(all_nodes, "node"), "node")
        topic_names, topic_ids = encode_names(topic_column, name_column(all_topics, "topic"), "topic")
        return unchecked_from_ids(node_names, topic_names, node_ids, topic_ids).with_kind(kind)

    @classmethod
    def from_dict(
        cls,
        subscriptions: Mapping[str, Iterable[Name]] | Mapping[int, Iterable[Name]],
        *,
        kind: TopicKind = PLAIN,
    ) -> Interest:
        """Build from a mapping of each node to its topics; a node may have no topics."""
        if not isinstance(subscriptions, Mapping):
            raise InputError(f"{type(subscriptions).__name__} is not a mapping: give one of nodes to topics")
        sizes: list[int] = []
        topics: list[Name] = []
        for node, of_node in subscriptions.items():
            if isinstance(of_node, str):
                raise InputError(f"the topics of node {node!r} are one string; give a set or list of topics")
            before = len(topics)
            try:
                topics.extend(of_node)
            except TypeError as error:
                raise InputError(
                    f"the topics of node {node!r} are {of_node!r}; give a set or list of topics"
                ) from error
            sizes.append(len(topics) - before)
        nodes = name_column(list(subscriptions), "node")
        owner = from_numpy(np.repeat(np.arange(len(sizes)), sizes))
        return cls.from_pairs(nodes.take(owner), topics, all_nodes=nodes, kind=kind)

    @classmethod
    def from_arrow(
        cls, data: Any, *, node: str = "node", topic: str = "topic", kind: TopicKind = PLAIN
    ) -> Interest:
        """Build from anything with the Arrow stream protocol: pandas, polars, DuckDB, Arrow, Spark."""
        nodes, topics = arrow_columns(data, node, topic)
        return cls.from_pairs(nodes, topics, kind=kind)

    @classmethod
    def from_pandas(
        cls, frame: Any, *, node: str = "node", topic: str = "topic", kind: TopicKind = PLAIN
    ) -> Interest:
        """Build from two columns of a pandas DataFrame."""
        return cls.from_arrow(frame, node=node, topic=topic, kind=kind)

    @classmethod
    def from_polars(
        cls, frame: Any, *, node: str = "node", topic: str = "topic", kind: TopicKind = PLAIN
    ) -> Interest:
        """Build from two columns of a polars DataFrame."""
        return cls.from_arrow(frame, node=node, topic=topic, kind=kind)

    @classmethod
    def from_networkx(cls, graph: Any) -> Interest:
        """Build from a networkx graph.

        If its nodes have the attribute `bipartite`, those with 0 are nodes and those with 1 are topics. In
        any other graph each node is a topic too: a directed edge says that its source subscribes to its
        target, as followers do; an undirected edge says so both ways, as friends do.
        """
        nodes, topics, all_nodes, all_topics = graph_columns(graph)
        return cls.from_pairs(nodes, topics, all_nodes=all_nodes, all_topics=all_topics)

    @classmethod
    def of(cls, source: Any, *, kind: TopicKind | None = None) -> Interest:
        """Return the interest itself, or build it from whatever it can be built from.

        An interest keeps its kind unless another is given; topics of anything else are plain.

        >>> Interest.of({"a": {"x"}, "b": {"x"}})
        Interest(2 nodes, 1 topic, 2 subscriptions)
        >>> Interest.of({"a": {"x/#"}, "b": {"x/y"}}, kind="mqtt").kind
        'mqtt'
        """
        if isinstance(source, Interest):
            return source if kind is None else source.with_kind(kind)
        stated = PLAIN if kind is None else kind
        if isinstance(source, Mapping):
            return cls.from_dict(source, kind=stated)
        if hasattr(source, "tocoo"):
            return cls.from_scipy(source).with_kind(stated)
        if hasattr(source, "__arrow_c_stream__"):
            return cls.from_arrow(source, kind=stated)
        if hasattr(source, "is_directed"):
            return cls.from_networkx(source).with_kind(stated)
        if isinstance(source, (str, PathLike)):
            raise InputError(f"{str(source)!r} is a path: give mw.load({str(source)!r})")
        raise InputError(
            f"cannot make an interest from {type(source).__name__}: give an Interest, a mapping of nodes to "
            "topics, a table with columns node and topic, a networkx graph or a sparse matrix"
        )

    @classmethod
    def from_scipy(
        cls, matrix: Any, *, nodes: Sequence[Name] | None = None, topics: Sequence[Name] | None = None
    ) -> Interest:
        """Build from a sparse matrix with a row for each node and a non-zero for each subscription."""
        if not hasattr(matrix, "tocoo"):
            raise InputError(f"{type(matrix).__name__} is not a sparse matrix: give one of scipy")
        entries = matrix.tocoo()
        present = entries.data != 0
        row_names = axis_names(nodes, entries.shape[0], "node", "row")
        column_names = axis_names(topics, entries.shape[1], "topic", "column")
        rows, columns = from_numpy(entries.row[present]), from_numpy(entries.col[present])
        return cls.from_pairs(
            row_names.take(rows), column_names.take(columns), all_nodes=row_names, all_topics=column_names
        )

    @classmethod
    def from_ids(
        cls, node_names: pa.Array, topic_names: pa.Array, node_ids: NDArray[Any], topic_ids: NDArray[Any]
    ) -> Interest:
        """Build from sorted names, and pairs of positions in them, in any order."""
        node_names, topic_names = sorted_names(node_names, "node"), sorted_names(topic_names, "topic")
        node_ids, topic_ids = as_ids(node_ids, "node ids"), as_ids(topic_ids, "topic ids")
        check_lengths(len(node_ids), len(topic_ids), " id")
        check_within(node_ids, len(node_names), "nodes")
        check_within(topic_ids, len(topic_names), "topics")
        return unchecked_from_ids(node_names, topic_names, node_ids, topic_ids)

    def __post_init__(self) -> None:
        object.__setattr__(self, "node_names", sorted_names(self.node_names, "node"))
        object.__setattr__(self, "topic_names", sorted_names(self.topic_names, "topic"))
        ptr: NDArray[Any] = self.node_ptr
        if not (isinstance(ptr, np.ndarray) and ptr.dtype == np.int64 and ptr.ndim == 1):
            ptr = as_ids(ptr, "node_ptr")
        object.__setattr__(self, "node_ptr", own(ptr, np.int64))
        object.__setattr__(self, "node_topics", own(as_ids(self.node_topics, "node_topics"), np.int32))
        check_rows(self.node_names, len(self.topic_names), self.node_ptr, self.node_topics)
        object.__setattr__(self, "kind", check_topic_kind(self.kind) or PLAIN)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for array in (state["node_ptr"], state["node_topics"], *state.get("_by_topic", ())):
            settled(array)  # copies, such as unpickled ones, can be written
        self.__dict__.update(state)

    # -- contents -----------------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """The number of nodes, including those without topics."""
        return len(self.node_ptr) - 1

    @property
    def num_topics(self) -> int:
        """The number of topics, including those without subscribers."""
        return len(self.topic_names)

    @property
    def num_subscriptions(self) -> int:
        """The number of (node, topic) pairs."""
        return len(self.node_topics)

    @cached_property
    def _by_topic(self) -> tuple[Offsets, Ids, Ids]:
        return rows_by_topic(self.num_topics, self.node_of_slot, self.node_topics)

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
        """For each entry of `topic_nodes`, the position of the same subscription in `node_topics`."""
        return self._by_topic[2]

    @property
    def node_of_slot(self) -> Ids:
        """The node of each entry of `node_topics`."""
        return np.repeat(np.arange(self.num_nodes, dtype=np.int32), np.diff(self.node_ptr))

    def topics_of(self, node: Name) -> list[Name]:
        """Return the topics that a node, given by name, subscribes to."""
        v = self.node_id(node)
        ids = self.node_topics[self.node_ptr[v] : self.node_ptr[v + 1]]
        return list(self.topic_names.take(from_numpy(ids)).to_pylist())

    def node_id(self, name: Name) -> int:
        """Return the position of a node's name."""
        return position_of(self.node_names, name, "node")

    def topic_id(self, name: Name) -> int:
        """Return the position of a topic's name."""
        return position_of(self.topic_names, name, "topic")

    def restrict(self, topics: NDArray[Any]) -> Interest:
        """Keep only these topics, given by id; nodes and topics keep their ids."""
        ids = as_ids(topics, "topics")
        check_within(ids, self.num_topics, "topics")
        keep = np.isin(self.node_topics, ids)
        node_ptr = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))[self.node_ptr]
        return unchecked_interest(
            self.node_names, self.topic_names, settled(node_ptr), settled(self.node_topics[keep])
        ).with_kind(self.kind)

    def with_kind(self, kind: TopicKind) -> Interest:
        """Return the same relation, whose topics are of this kind: `mqtt` filters or `plain` names.

        >>> Interest.of({"a": {"x/#"}}).with_kind("mqtt").kind
        'mqtt'
        """
        if check_topic_kind(kind) == self.kind:
            return self
        made = object.__new__(Interest)
        vars(made).update(vars(self), kind=kind)
        return made

    def canonical(self) -> Interest:
        """Return the same relation with string names in the order of their UTF-8 bytes, as it is stored."""
        if is_text(self.node_names.type) and is_text(self.topic_names.type):
            return self
        node_names, node_rank = sort_names(as_text(self.node_names))
        topic_names, topic_rank = sort_names(as_text(self.topic_names))
        return unchecked_from_ids(
            node_names, topic_names, node_rank[self.node_of_slot], topic_rank[self.node_topics]
        ).with_kind(self.kind)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of names and subscriptions; equal for equal relations, however they were made."""
        relation = self.canonical()
        return fingerprint(relation.node_names, relation.topic_names, relation.node_ptr, relation.node_topics)

    @cached_property
    def whole_fingerprint(self) -> str:
        """The fingerprint of schema 1 of datasets, which older plans and datasets state."""
        relation = self.canonical()
        return whole_fingerprint(
            relation.node_names, relation.topic_names, relation.node_ptr, relation.node_topics
        )

    def has_fingerprint(self, stated: object) -> bool:
        """Return whether this relation has a stated fingerprint, of any schema."""
        return stated in (self.fingerprint, self.whole_fingerprint)

    def __repr__(self) -> str:
        return (
            f"Interest({counted(self.num_nodes, 'node')}, {counted(self.num_topics, 'topic')}, "
            f"{counted(self.num_subscriptions, 'subscription')})"
        )

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_table

        counts = (self.num_nodes, self.num_topics, self.num_subscriptions)
        return html_table([[f"{count:,}" for count in counts]], head=("nodes", "topics", "subscriptions"))

    # -- conversion --------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Return a table `node, topic` of names, sorted."""
        nodes = self.node_names.take(from_numpy(self.node_of_slot))
        return pa.table({"node": nodes, "topic": self.topic_names.take(from_numpy(self.node_topics))})

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame `node, topic` of names, sorted."""
        return to_pandas(self.to_arrow())

    def to_scipy(self) -> Any:
        """Return the nodes × topics incidence as a sparse array of ones, in dense ids."""
        from scipy.sparse import csr_array

        ones = np.ones(self.num_subscriptions, dtype=np.int32)
        return csr_array(
            (ones, self.node_topics, self.node_ptr), shape=(self.num_nodes, self.num_topics), copy=True
        )


def unchecked_interest(
    node_names: pa.Array, topic_names: pa.Array, node_ptr: Offsets, node_topics: Ids, duplicates: int = 0
) -> Interest:
    """Return the interest of arrays that are valid by construction; unlike `Interest`, it checks nothing.

    Names may be nulls, or in another order, where nobody looks at them.
    """
    made = object.__new__(Interest)
    vars(made).update(
        node_names=node_names,
        topic_names=topic_names,
        node_ptr=own(node_ptr, np.int64),
        node_topics=own(node_topics, np.int32),
        duplicates=duplicates,
    )
    return made


def unchecked_from_ids(
    node_names: pa.Array, topic_names: pa.Array, node_ids: NDArray[Any], topic_ids: NDArray[Any]
) -> Interest:
    """Return the interest of pairs of ids that are valid by construction, in any order.

    Unlike `Interest.from_ids`, it checks only how many they are.
    """
    node_ptr, node_topics = rows_of_pairs(len(node_names), len(topic_names), node_ids, topic_ids)
    duplicates = len(node_ids) - len(node_topics)
    return unchecked_interest(node_names, topic_names, node_ptr, node_topics, duplicates)
