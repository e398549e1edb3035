"""The tables of a plan, by name, as types that only sound tables make: who receives one need not check again.

Making one checks the form: columns, nulls, order, uniqueness, and that names lead somewhere in the tables
themselves. Whether a plan does what it should is `meshwright.verify`'s to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.arrow import fill_null, from_strings, table_schema, to_numpy
from meshwright.errors import InputError, first_five

EDGES = table_schema(rank=pa.int32(), u=pa.string(), v=pa.string(), contribution=pa.int32())
TREES = table_schema(["parent"], topic=pa.string(), parent=pa.string(), child=pa.string())
ROLES = table_schema(["topic"], topic=pa.string(), broker=pa.string(), role=pa.string())
GROUPS = table_schema(filter=pa.string(), group=pa.string())
"""The group of each MQTT filter."""
HOLDERS = table_schema(broker=pa.string(), filter=pa.string())
"""The MQTT filters that each broker holds, as planned."""
PRICES = table_schema(node=pa.string(), topic=pa.string(), price=pa.int64())
DEGREE_PRICES = table_schema(
    ["topic"], node=pa.string(), topic=pa.string(), at_degree=pa.int64(), lowest_degree=pa.int64()
)
"""The prices of the bounds that know the degree; rows without a topic have the nodes' allowances."""
RELAY, PUBLISHER, ALONE = ROLE_NAMES = "relay", "publisher", "alone"
NOBODY = -1
"""The id of a name that is null or unknown."""


class TableError(InputError):
    """A table that is not of its form."""

    def __init__(self, table: str, why: str) -> None:
        super().__init__(why)
        self.table = table
        """Which one: the name of its file, without the ending."""


@dataclass(frozen=True, eq=False)
class LinkTable:
    """The links of a plan: `rank, u, v, contribution`, with ranks from 0 in order, u < v, each link once."""

    table: pa.Table

    def __post_init__(self) -> None:
        _require_columns("edges", self.table, EDGES)
        u, v, rank = (self.table.column(name) for name in ("u", "v", "rank"))
        if not np.array_equal(to_numpy(rank), np.arange(len(rank))):
            raise TableError("edges", "ranks are not 0, 1, 2 … in order")
        if not _all(pc.less(u, v)):
            raise TableError("edges", "not every u < v")
        if (to_numpy(self.table.column("contribution")) < 0).any():
            raise TableError("edges", "contributions are below 0")
        _require_distinct("edges", "links", u, v)


@dataclass(frozen=True, eq=False)
class TreeTables:
    """The trees of a plan, inside its links.

    Each topic's brokers have one row each, the root first and every other broker after its parent, over a
    link of the plan. The exceptions are publishers, which hang on a broker by a one-way link.
    """

    links: LinkTable
    trees: pa.Table
    """`topic, parent, child`: a row for each broker of a tree; the root has no parent."""
    roles: pa.Table
    """`topic, broker, role`: who is a `relay`, a `publisher`, or `alone`."""

    def __post_init__(self) -> None:
        _require_columns("trees", self.trees, TREES)
        _require_columns("roles", self.roles, ROLES)
        self._check_roles()
        self._check_trees()

    @cached_property
    def ids(self) -> TreeIds:
        """The tables by id."""
        edges = self.links.table
        columns = [
            *(edges.column(name) for name in ("u", "v")),
            *(self.trees.column(name) for name in ("parent", "child")),
            self.roles.column("broker"),
        ]
        brokers, (u, v, parent, child, broker) = _encode(columns)
        topics, (topic, role_topic) = _encode([self.trees.column("topic"), self.roles.column("topic")])
        width = max(len(brokers), 1)
        role = self.roles.column("role")
        publishing = to_numpy(is_one_of(role, PUBLISHER)) & (role_topic != NOBODY)
        return TreeIds(
            topics=topics,
            width=width,
            links=np.unique(np.minimum(u, v) * width + np.maximum(u, v)),
            topic=topic,
            parent=parent,
            child=child,
            role_topic=role_topic,
            role_broker=broker,
            publishes=np.isin(topic * width + child, (role_topic * width + broker)[publishing]),
        )

    def _check_roles(self) -> None:
        topic, role = self.roles.column("topic"), self.roles.column("role")
        unknown = role.filter(pc.invert(is_one_of(role, *ROLE_NAMES))).unique().to_pylist()
        if unknown:
            raise TableError("roles", f"roles {first_five(unknown)} are unknown")
        alone = is_one_of(role, ALONE)
        if not _all(pc.or_(topic.is_valid(), alone)):
            raise TableError("roles", "relays or publishers have no topic")
        _require_distinct("roles", "brokers of topics", topic, self.roles.column("broker"))
        _require_distinct("roles", "topics of one broker alone", topic.filter(alone).drop_null())

    def _check_trees(self) -> None:
        ids = self.ids
        key = ids.topic * ids.width + ids.child
        self._refuse(_repeated(key) // ids.width, "reach a broker twice")
        rows = np.flatnonzero(~ids.publishes)
        topic, parent, key = ids.topic[rows], ids.parent[rows], key[rows]
        roots = np.bincount(topic[parent == NOBODY], minlength=len(ids.topics))
        below = parent != NOBODY
        above = find(key, topic * ids.width + parent)
        stray = topic[below & ((above < 0) | (parent == ids.child[rows]))]
        self._refuse(np.concatenate((topic[roots[topic] != 1], stray)), "are not one tree each")
        self._refuse(topic[below & (above >= np.arange(len(rows)))], "have a broker before its parent")
        ends = np.stack((parent, ids.child[rows]))[:, below]
        outside = ~np.isin(ends.min(axis=0) * ids.width + ends.max(axis=0), ids.links)
        self._refuse(topic[below][outside], "use links that are not in the overlay")
        alone = ids.role_topic[to_numpy(is_one_of(self.roles.column("role"), ALONE))]
        self._refuse(np.intersect1d(topic, alone), "are there, although one broker is alone")

    def _refuse(self, topics: NDArray[np.int64], why: str) -> None:
        if len(topics):
            named = first_five(sorted(self.ids.topics[int(topic)].as_py() for topic in np.unique(topics)))
            raise TableError("trees", f"the trees of topics {named} {why}")


class TreeIds(NamedTuple):
    """The tables of trees by id; -1 stands for a null. Ids count the names of these tables alone."""

    topics: pa.Array
    """The names of the topics."""
    width: int
    """The number of brokers, at least 1."""
    links: NDArray[np.int64]
    """Every link: lower end · width + upper end, sorted."""
    topic: NDArray[np.int64]
    parent: NDArray[np.int64]
    child: NDArray[np.int64]
    role_topic: NDArray[np.int64]
    role_broker: NDArray[np.int64]
    publishes: NDArray[np.bool_]
    """By row of the trees: whether it attaches a publisher."""


@dataclass(frozen=True, eq=False)
class GroupTables:
    """The MQTT filters of a plan: the one group of each, and who holds which."""

    groups: pa.Table
    """`filter, group`."""
    holders: pa.Table
    """`broker, filter`."""

    def __post_init__(self) -> None:
        _require_columns("groups", self.groups, GROUPS)
        _require_columns("holders", self.holders, HOLDERS)
        grouped = self.groups.column("filter")
        _require_distinct("groups", "filters", grouped)
        _require_known("groups", "groups", self.groups.column("group"), grouped)
        _require_known("holders", "filters", self.holders.column("filter"), grouped)
        _require_distinct("holders", "rows", self.holders.column("broker"), self.holders.column("filter"))


def is_one_of(column: pa.ChunkedArray, *values: str) -> pa.ChunkedArray:
    """Return whether each value is one of some strings; Arrow's own comparisons import pandas."""
    return pc.is_in(column, from_strings(values))


def find(keys: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each asked key among distinct keys of zero or more; -1 if it is not there.

    >>> find(np.array([7, 3]), np.array([3, 5, 7, -2])).tolist()
    [1, -1, 0, -1]
    """
    order = np.append(np.argsort(keys), -1)
    found = order[np.searchsorted(keys, asked, sorter=order[:-1])]
    return np.where((found >= 0) & (np.append(keys, -1)[found] == asked), found, -1)


def _encode(columns: list[pa.ChunkedArray]) -> tuple[pa.Array, list[NDArray[np.int64]]]:
    """Return the names of some columns, and each column by its positions among them."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    names = pa.chunked_array(chunks, pa.string()).unique().drop_null()
    places = [fill_null(pc.index_in(column, names, skip_nulls=True), NOBODY) for column in columns]
    return names, [to_numpy(place).astype(np.int64) for place in places]


def _require_columns(name: str, table: pa.Table, schema: pa.Schema) -> None:
    if not table.schema.equals(schema) or any(
        column.null_count for field, column in zip(schema, table.columns, strict=True) if not field.nullable
    ):
        raise TableError(name, f"its columns are not {', '.join(schema.names)}, or have nulls")


def _require_distinct(name: str, what: str, *columns: pa.ChunkedArray) -> None:
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        names, (place,) = _encode([column])
        keys = keys * (len(names) + 1) + place + 1
    rows = np.flatnonzero(np.isin(keys, _repeated(keys)))[:1]
    if len(rows):
        value = " and ".join(repr(column[int(rows[0])].as_py()) for column in columns)
        raise TableError(name, f"{what} appear more than once, such as {value}")


def _require_known(name: str, what: str, column: pa.ChunkedArray, known: pa.ChunkedArray) -> None:
    unknown = column.filter(pc.invert(pc.is_in(column, known.combine_chunks()))).unique().to_pylist()
    if unknown:
        raise TableError(name, f"{what} {first_five(unknown)} are unknown")


def _repeated(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the keys that occur more than once."""
    distinct, counts = np.unique(keys, return_counts=True)
    return distinct[counts > 1]


def _all(column: Any) -> bool:
    return bool(pc.all(column, min_count=0).as_py())
