"""The trees of a plan: writing them keeps the rest of the plan, and reading returns what was written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from damage import mend_digests
from meshwright import Interest, Plan, design, route
from meshwright.errors import FormatError, InputError
from meshwright.files.header import Kind
from meshwright.overlay import unchecked_overlay
from meshwright.plan_tables import ROLES, TREES, LinkTable, TreeTables
from meshwright.routes import Trees, figures
from meshwright.store import trees
from meshwright.store.plan_parts import edge_table
from meshwright.store.plan_writer import write_plan
from meshwright.store.plans import StoredPlan, read_plan
from meshwright.store.trees import (
    StoredTrees,
    read_trees,
    roles_of,
    tree_ids,
    trees_on,
    write_trees,
)
from routed_plans import routed_plans

INTEREST = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y", "z"}, "d": {"z"}, "e": {"q"}})


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_plan(design(INTEREST, "gm", seed=3), tmp_path / "plan")


def stated(plan: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((plan / "plan.json").read_text())
    return found


def test_the_rest_of_the_plan_stays(plan: Path) -> None:
    """Trees add `routes` to the description and two tables; the rest stays, except the page, which is old."""
    before = stated(plan)
    edges = (plan / "edges.parquet").read_bytes()
    (plan / "report.html").write_text("a page of the plan without these trees")
    (plan / "notes.txt").write_text("mine")
    made = route(design(INTEREST, "gm", seed=3).overlay)
    assert write_trees(made, plan) == plan
    routes = {"objective": "hops", "figures": figures(made)}
    digests = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in plan.glob("*.parquet")}
    assert stated(plan) == {**before, "routes": routes, "files": digests}
    assert list(stated(plan))[:2] == ["format", "schema"]
    assert sorted(file.name for file in plan.iterdir()) == [
        "edges.parquet", "notes.txt", "plan.json", "roles.parquet", "trees.parquet",
    ]  # fmt: skip
    assert (plan / "edges.parquet").read_bytes() == edges
    assert read_trees(plan).described == routes
    write_trees(route(made.overlay, "load"), plan)
    assert read_trees(plan).described["objective"] == "load"


def test_a_plan_of_an_older_schema_is_written_as_a_new_one(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Format and schema are those of the writer, not those that were read."""
    before = stated(plan)
    monkeypatch.setattr(trees, "PLAN", Kind("plan", "plan.json", 2, digests=True))
    write_trees(route(design(INTEREST, "gm").overlay), plan)
    after = stated(plan)
    assert (after["format"], after["schema"]) == ("meshwright plan", 2)
    assert {name: after[name] for name in before if name not in ("schema", "files")} == {
        name: value for name, value in before.items() if name not in ("schema", "files")
    }


@settings(max_examples=25)
@given(routed_plans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[Interest, Trees]
) -> None:
    """Tables come back as written; each link of a tree comes back by id, with its topic."""
    interest, made = drawn
    plan = tmp_path_factory.mktemp("plans") / "plan"
    write_trees(made, write_plan(Plan(made.overlay, "low", {}, 0, 0.0), plan))
    stored = read_trees(plan)
    assert stored.trees.equals(made.to_arrow().cast(TREES))
    assert stored.roles.equals(roles_of(made))
    expected = [(t, *pair) for t in range(interest.num_topics) for pair in made.edges_of(t)]
    expected += [(t, carrier, broker) for t, broker, carrier in made.publishers.tolist()]
    assert sorted(tree_ids(stored.trees, interest)) == sorted(expected)


def test_roles_are_what_trees_do_not_show() -> None:
    """Relays, publishers and lonely subscribers are named with their topic, idle brokers without one."""
    interest = Interest.from_dict({"a": {"y"}, "b": {"x"}, "c": {"x", "y"}, "d": {"z"}, "e": [], "f": {"x"}})
    numbers = {name: place for place, name in enumerate(interest.node_names.to_pylist())}
    topics = {name: place for place, name in enumerate(interest.topic_names.to_pylist())}
    links = [("a", "b"), ("b", "c"), ("b", "f")]
    u, v = (np.array([numbers[link[end]] for link in links], dtype=np.int32) for end in (0, 1))
    overlay = unchecked_overlay(interest, u, v, np.ones(len(links), dtype=np.int32))
    made = route(overlay, publishers=[(numbers["a"], topics["x"])])
    assert roles_of(made).schema.equals(ROLES)
    assert [tuple(row.values()) for row in roles_of(made).to_pylist()] == [
        ("y", "b", "relay"),
        ("x", "a", "publisher"),
        (None, "d", "alone"),
        (None, "e", "alone"),
        ("z", "d", "alone"),
    ]


def test_rows_with_lost_names_are_left_out() -> None:
    """Only links whose topic, parent and child are still known come back by id; roots have no link."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x", "y"}})
    rows = [("x", None, "a"), ("x", "a", "b"), ("gone", "a", "b"), ("y", "gone", "b"), ("y", "b", "gone")]
    columns = zip(*rows, strict=True)
    table = pa.table([pa.array(column, pa.string()) for column in columns], schema=TREES)
    assert list(tree_ids(table, interest)) == [(0, 0, 1)]


def test_plans_without_trees(plan: Path) -> None:
    """A plan without trees says which command makes them; a missing table is damage."""
    assert read_plan(plan).routes is None
    with pytest.raises(InputError, match=rf"plan {plan} has no trees: .* meshwright route {plan} DATASET"):
        read_trees(plan)
    write_trees(route(design(INTEREST, "gm").overlay), plan)
    pq.write_table(pq.read_table(plan / "roles.parquet").drop_columns("role"), plan / "roles.parquet")
    mend_digests(plan)
    with pytest.raises(FormatError, match=r"roles\.parquet is damaged: no column 'role'"):
        read_trees(plan)
    (plan / "trees.parquet").unlink()
    with pytest.raises(FormatError, match=r"trees\.parquet is missing"):
        read_trees(plan)


def test_trees_of_another_dataset_are_refused(plan: Path) -> None:
    """Trees are added only to the plan that they were made for."""
    other = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    with pytest.raises(InputError, match="made for another dataset"):
        write_trees(route(design(other, "gm").overlay), plan)
    assert "routes" not in stated(plan)


@settings(max_examples=30)
@given(routed_plans())
def test_stored_trees_come_back(drawn: tuple[Interest, Trees]) -> None:
    """The tables of trees give the same trees again, without publishers; unknown rows are left out."""
    _, made = drawn
    table = made.to_arrow().cast(TREES)
    if table.num_rows:
        odd = pa.table({"topic": ["nowhere"], "parent": [None], "child": ["nobody"]}, schema=TREES)
        table = pa.concat_tables([table, odd])
    plan = read_plan_of(made)
    tables = TreeTables(LinkTable(edge_table(made.overlay)), table, roles_of(made))
    found = trees_on(StoredTrees(plan, tables), made.overlay)
    for name in ("ptr", "nodes", "above"):
        assert getattr(found, name).tolist() == getattr(made, name).tolist()
    below = made.above >= 0
    assert found.links[below].tolist() == made.links[below].tolist()
    assert found.relay.tolist() == made.relay.tolist()
    assert len(found.publishers) == 0


def read_plan_of(made: Trees) -> StoredPlan:
    """Return a plan as if it was read, with these trees."""
    metadata = {"routes": {"objective": made.objective, "figures": figures(made)}}
    return StoredPlan(Path("plan"), metadata)


def test_a_child_before_its_parent_is_damage(plan: Path) -> None:
    """Trees are stored from the root outwards; another order is an error, not a wrong figure."""
    made = route(design(INTEREST, "gm", seed=3).overlay)
    write_trees(made, plan)
    turned = pq.read_table(plan / "trees.parquet")
    pq.write_table(turned.take(list(range(turned.num_rows))[::-1]), plan / "trees.parquet")
    mend_digests(plan)
    with pytest.raises(FormatError, match="before its parent"):
        read_trees(plan)
