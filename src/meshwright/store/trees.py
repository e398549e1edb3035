"""The trees of a plan, stored next to its edges: the way that each topic's messages take.

- `trees.parquet` holds `topic, parent, child`: a row for each broker in a tree; the root has no parent.
- `roles.parquet` holds `topic, broker, role` for what the trees do not show. A `relay` passes messages on
  without subscribing, a `publisher` hangs on its parent by a one-way link, and a broker that is `alone` is
  the only subscriber of its topic or, without a topic, in no tree.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import fill_null, from_numpy, from_strings, to_numpy
from meshwright.errors import InputError
from meshwright.files.atomic import new_folder, one_writer
from meshwright.files.header import PLAN, damaged, write_header
from meshwright.plan_tables import ALONE, PUBLISHER, RELAY, ROLES, TREES, TreeTables, find
from meshwright.store.plan_parts import ROLES_FILE, TREES_FILE
from meshwright.store.plans import StoredPlan, read_plan
from meshwright.store.tables import write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.routes import Trees


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """The trees of a plan as they are on disk, by name."""

    plan: StoredPlan
    tables: TreeTables

    @property
    def trees(self) -> pa.Table:
        """`topic, parent, child`: a row for each broker of a tree."""
        return self.tables.trees

    @property
    def roles(self) -> pa.Table:
        """`topic, broker, role`: what the trees do not show."""
        return self.tables.roles

    @property
    def described(self) -> dict[str, Any]:
        """How they were chosen, and what they measure."""
        return self.plan.routes or {}


def tree_ids(trees: pa.Table, interest: Interest) -> Iterator[tuple[int, int, int]]:
    """Yield topic, parent and child by id, for the rows whose names an interest still has."""
    topics, brokers = interest.topic_names.cast(pa.string()), interest.node_names.cast(pa.string())
    columns = [
        pc.index_in(trees.column(name), names)
        for name, names in (("topic", topics), ("parent", brokers), ("child", brokers))
    ]
    known = trees.column("parent").is_valid()
    for column in columns:
        known = pc.and_(known, column.is_valid())
    yield from zip(*(column.filter(known).to_pylist() for column in columns), strict=True)


def trees_on(stored: StoredTrees, overlay: Overlay) -> Trees:
    """Return stored trees over the overlay of their plan, without publishers; every topic has the rate 1.

    Rows whose topic, broker or link the overlay does not have are left out: `verify` finds those.

    Raises
    ------
    FormatError
        If the rest is not one tree each.
    """
    from meshwright.routes import Trees

    interest, size = overlay.interest, max(overlay.interest.num_nodes, 1)
    topic, parent, child = (_ids(stored.trees, name, interest) for name in ("topic", "parent", "child"))
    publishing = stored.roles.filter(pc.equal(stored.roles.column("role"), PUBLISHER))
    attached = _ids(publishing, "topic", interest) * size + _ids(publishing, "broker", interest)
    ends = np.minimum(parent, child) * size + np.maximum(parent, child)
    link = find(overlay.u.astype(np.int64) * size + overlay.v, ends)
    roots = to_numpy(stored.trees.column("parent").is_null())
    keep = (topic >= 0) & (child >= 0) & ((link >= 0) | roots) & ~np.isin(topic * size + child, attached)
    rows = np.flatnonzero(keep)[np.argsort(topic[keep], kind="stable")]
    topic, parent, child, link = topic[rows], parent[rows], child[rows], link[rows]
    ptr = np.concatenate(([0], np.cumsum(np.bincount(topic, minlength=interest.num_topics))))
    place = find(topic * size + child, np.where(parent < 0, -1, topic * size + parent))
    try:
        return Trees(
            overlay=overlay,
            objective=str(stored.described.get("objective", "hops")),
            rates=np.ones(interest.num_topics),
            ptr=ptr,
            nodes=child.astype(np.int32),
            above=np.where(place < 0, -1, place - ptr[topic]).astype(np.int32),
            links=link.astype(np.int32),
            unreachable=np.flatnonzero((np.diff(interest.topic_ptr) > 1) & (np.diff(ptr) == 0)),
            publishers=np.zeros((0, 3), dtype=np.int32),
        )
    except InputError as error:
        raise damaged(stored.plan.path / TREES_FILE, str(error)) from error


def _ids(table: pa.Table, column: str, interest: Interest) -> NDArray[np.int64]:
    """Return the ids of a column of names: topics in `topic`, brokers in others; -1 if unknown or null."""
    names = interest.topic_names if column == "topic" else interest.node_names
    found = fill_null(pc.index_in(table.column(column), names.cast(pa.string()), skip_nulls=True), -1)
    return to_numpy(found).astype(np.int64)


def write_trees(trees: Trees, path: str | Path) -> Path:
    """Add trees to the plan that they were made for, or replace its trees; whole or not at all.

    >>> import tempfile
    >>> import meshwright as mw
    >>> plan = mw.design({"a": {"x"}, "b": {"x"}}, "gm")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_trees(mw.route(plan), plan.save(f"{folder}/plan")).name
    'plan'
    """
    from meshwright.routes import figures

    with one_writer(path), new_folder(path, PLAN) as folder:
        stored = read_plan(path)
        stored.overlay_on(trees.overlay.interest)
        # A report of the plan would show the trees before these.
        for file in stored.path.iterdir():
            if PLAN.owns(file.name) and file.suffix == ".parquet":
                shutil.copy2(file, folder)
        write_table(trees.to_arrow().cast(TREES), folder / TREES_FILE)
        write_table(roles_of(trees), folder / ROLES_FILE)
        content = {
            name: value
            for name, value in stored.metadata.items()
            if name not in ("format", "schema", "files")
        }
        routes: dict[str, Any] = {"objective": trees.objective, "figures": figures(trees)}
        if (trees.rates != 1).any():  # the rates themselves are not kept, so loads cannot be checked
            routes["rates"] = True
        write_header(folder, PLAN, {**content, "routes": routes})
    return Path(path)


def read_trees(path: str | Path) -> StoredTrees:
    """Read the trees of a plan.

    >>> import tempfile
    >>> import meshwright as mw
    >>> plan = mw.design({"a": {"x"}, "b": {"x"}}, "gm")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mw.save(mw.route(plan), plan.save(f"{folder}/plan"))
    ...     read_trees(path).trees.column("child").to_pylist()
    ['a', 'b']

    Raises
    ------
    InputError
        If nothing is there, or the plan has no trees yet.
    FormatError
        If it is something else, of a newer schema, or damaged.
    """
    stored = read_plan(path)
    return StoredTrees(stored, read_tree_tables(stored))


def read_tree_tables(stored: StoredPlan) -> TreeTables:
    """Return the trees of a plan that was opened, in their form.

    Raises
    ------
    InputError
        If the plan has no trees yet.
    FormatError
        If a table is missing or damaged.
    """
    if stored.routes is None:
        command = f"meshwright route {quote(str(stored.place))} DATASET"
        raise InputError(f"plan {stored.place} has no trees: make them first, with {command}")
    trees, roles = stored.table(TREES_FILE, TREES), stored.table(ROLES_FILE, ROLES)
    return stored.require_form(lambda: TreeTables(stored.links, trees, roles))


def roles_of(trees: Trees) -> pa.Table:
    """Return what the trees' own table does not show: `topic, broker, role`."""
    interest = trees.overlay.interest
    single = np.flatnonzero(np.diff(interest.topic_ptr) == 1)
    lonely = interest.topic_nodes[interest.topic_ptr[single]]
    busy = np.concatenate((trees.nodes, trees.publishers[:, 1], trees.publishers[:, 2]))
    idle = np.setdiff1d(np.arange(interest.num_nodes), busy)
    topics = np.concatenate(
        (trees.topics[trees.relay], trees.publishers[:, 0], single, np.full(len(idle), -1))
    )
    brokers = np.concatenate((trees.nodes[trees.relay], trees.publishers[:, 1], lonely, idle))
    counts = (int(trees.relay.sum()), len(trees.publishers), len(single) + len(idle))
    roles = np.repeat([RELAY, PUBLISHER, ALONE], counts)
    order = np.lexsort((brokers, topics, np.repeat([0, 1, 2], counts)))
    return pa.table(
        [
            interest.topic_names.cast(pa.string()).take(
                from_numpy(topics[order].astype(np.int64), nulls=topics[order] < 0)
            ),
            interest.node_names.cast(pa.string()).take(from_numpy(brokers[order].astype(np.int64))),
            from_strings(roles[order].tolist()),
        ],
        schema=ROLES,
    )
