"""Tables of plans are made of sound rows only: every other row is refused, with the table and the reason."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from meshwright.plan_tables import (
    EDGES,
    GROUPS,
    HOLDERS,
    ROLES,
    TREES,
    GroupTables,
    LinkTable,
    TableError,
    TreeTables,
)

Row = tuple[object, ...]

LINKS: list[Row] = [(0, "a", "b", 2), (1, "b", "c", 2), (2, "c", "d", 1)]
TREE_ROWS: list[Row] = [
    ("far", None, "a"), ("far", "a", "b"), ("far", "b", "c"), ("far", "c", "d"),
    ("x", None, "b"), ("x", "b", "a"), ("x", "b", "c"), ("x", "c", "d"),
    ("y", None, "c"), ("y", "c", "d"),
    ("z", "e", "b"),
]  # fmt: skip
ROLE_ROWS: list[Row] = [
    ("far", "b", "relay"), ("far", "c", "relay"), ("x", "d", "publisher"), ("z", "b", "publisher"),
    ("z", "e", "alone"), (None, "f", "alone"),
]  # fmt: skip


def table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def made(trees: list[Row] = TREE_ROWS, roles: list[Row] = ROLE_ROWS, links: list[Row] = LINKS) -> TreeTables:
    return TreeTables(LinkTable(table(links, EDGES)), table(trees, TREES), table(roles, ROLES))


def without(*positions: int) -> list[Row]:
    return [row for position, row in enumerate(TREE_ROWS) if position not in positions]


def changed(position: int, parent: str | None) -> list[Row]:
    topic, _, child = TREE_ROWS[position]
    return [*TREE_ROWS[:position], (topic, parent, child), *TREE_ROWS[position + 1 :]]


def test_sound_tables_are_taken() -> None:
    """Trees with relays, publishers and lonely brokers are in form; so are no trees at all."""
    assert made().trees.num_rows == len(TREE_ROWS)
    assert made([], [], []).ids.width == 1
    assert GroupTables(table([("a/#", "a/#"), ("a/b", "a/#")], GROUPS), table([("p", "a/b")], HOLDERS))


ONE_TREE = "the trees of topics {} are not one tree each"
TWICE = "the trees of topics {} reach a broker twice"
NO_LINK = "the trees of topics {} use links that are not in the overlay"
ORDER = "the trees of topics {} have a broker before its parent"
TREES_OUT_OF_FORM: dict[str, tuple[list[Row], str]] = {
    "a relay is missing": (without(1), ONE_TREE.format("'far'")),
    "a root is missing": (without(8), ONE_TREE.format("'y'")),
    "the first row is missing": (without(0), ONE_TREE.format("'far'")),
    "a row stands there twice": ([*TREE_ROWS, TREE_ROWS[9]], TWICE.format("'y'")),
    "a broker has two parents": ([*TREE_ROWS, ("x", "c", "b")], TWICE.format("'x'")),
    "a publisher stands there twice": ([*TREE_ROWS, TREE_ROWS[7]], TWICE.format("'x'")),
    "two roots": (changed(9, None), ONE_TREE.format("'y'")),
    "all rows are roots": ([(t, None, v) for t, _, v in TREE_ROWS], ONE_TREE.format("'far', 'x', 'y'")),
    "no root": (changed(8, "d"), ONE_TREE.format("'y'")),
    "a circle and a root": (changed(2, "d"), ORDER.format("'far'")),
    "a broker is its own parent": (changed(3, "d"), ONE_TREE.format("'far'")),
    "a parent that is not in the tree": (changed(9, "b"), ONE_TREE.format("'y'")),
    "a parent that only publishes": (changed(6, "d"), ONE_TREE.format("'x'")),
    "a link that is not there": (changed(6, "a"), NO_LINK.format("'x'")),
    "another order": (TREE_ROWS[::-1], ORDER.format("'far', 'x', 'y'")),
    "several topics at once": (without(0, 4), ONE_TREE.format("'far', 'x'")),
    "a tree of a broker alone": (
        [*TREE_ROWS, ("z", None, "e")],
        "the trees of topics 'z' are there, although one broker is alone",
    ),
}


@pytest.mark.parametrize("what", TREES_OUT_OF_FORM)
def test_trees_are_trees(what: str) -> None:
    """Each topic has one root at the first place, parents before children, over links of the plan."""
    rows, said = TREES_OUT_OF_FORM[what]
    with pytest.raises(TableError) as caught:
        made(rows)
    assert (caught.value.table, str(caught.value)) == ("trees", said)


@pytest.mark.parametrize(
    ("make", "name", "said"),
    [
        (lambda: made(roles=[*ROLE_ROWS, ("y", "d", "boss")]), "roles", "roles 'boss' are unknown"),
        (lambda: made(roles=[*ROLE_ROWS, (None, "d", "relay")]), "roles", "have no topic"),
        (lambda: made(roles=[*ROLE_ROWS, ("far", "b", "publisher")]), "roles", "once, such as 'far' and"),
        (lambda: made(roles=[*ROLE_ROWS, ("z", "a", "alone")]), "roles", "one broker alone appear more than"),
        (lambda: LinkTable(table([(0, "a", "b", 1), (2, "b", "c", 1)], EDGES)), "edges", "ranks are not 0"),
        (lambda: LinkTable(table([(0, "b", "a", 1)], EDGES)), "edges", "not every u < v"),
        (lambda: LinkTable(table([(0, "a", "a", 1)], EDGES)), "edges", "not every u < v"),
        (lambda: LinkTable(table([(0, "a", "b", -1)], EDGES)), "edges", "below 0"),
        (
            lambda: LinkTable(table([(0, "a", "b", 1), (1, "a", "c", 1), (2, "a", "b", 1)], EDGES)),
            "edges", "links appear more than once, such as 'a' and 'b'",
        ),
        (lambda: LinkTable(pa.table({"u": ["a"], "v": ["b"]})), "edges", "its columns are not rank, u, v"),
        (
            lambda: GroupTables(table([("a", "a"), ("a", "a")], GROUPS), table([], HOLDERS)),
            "groups", "filters appear more than once, such as 'a'",
        ),
        (lambda: GroupTables(table([("a", "b")], GROUPS), table([], HOLDERS)), "groups", "groups 'b' are"),
        (
            lambda: GroupTables(table([], GROUPS), table([("p", "a")], HOLDERS)),
            "holders", "filters 'a' are unknown",
        ),
        (
            lambda: GroupTables(table([("a", "a")], GROUPS), table([("p", "a")] * 2, HOLDERS)),
            "holders", "rows appear more than once, such as 'p' and 'a'",
        ),
    ],
)  # fmt: skip
def test_tables_out_of_form_are_refused(make: Callable[[], object], name: str, said: str) -> None:
    """Unknown roles, links or filters that are there twice, another order: the table is named."""
    with pytest.raises(TableError, match=said) as caught:
        make()
    assert caught.value.table == name
