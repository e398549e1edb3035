"""Damaged plans reach no broker: every tree is checked again, and every file against its digest."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import meshwright as mw
from meshwright.deploy.sound_plan import _leads_to_root, require_sound
from meshwright.errors import FormatError
from meshwright.files.header import PLAN, write_header
from meshwright.store.trees import TREES, read_trees
from routed_plans import write_routed_plan
from terminal import meshwright


def three(folder: Path) -> Path:
    """Write a plan of three brokers in a triangle that share a topic; its tree is a chain."""
    interest = mw.Interest.from_dict({name: {"t", f"{name}x"} for name in "abc"})
    made = mw.design(interest, "gm", rounds=2)
    mw.write_plan(made, folder / "plan")
    mw.write_trees(mw.route(made.overlay), folder / "plan")
    return folder / "plan"


def tamper(plan: Path, rows: list[dict[str, str | None]], *, honest: bool = True) -> None:
    """Replace the trees of a plan; `honest` updates the digests and figures, as a bug of ours would."""
    pq.write_table(pa.Table.from_pylist(rows, TREES), plan / "trees.parquet")
    if honest:
        content = json.loads((plan / "plan.json").read_text())
        write_header(
            plan, PLAN, {name: content[name] for name in content if name not in ("format", "schema")}
        )


def rows_of(plan: Path) -> list[dict[str, str | None]]:
    """Return the rows of a plan's trees."""
    rows: list[dict[str, str | None]] = read_trees(plan).trees.to_pylist()
    return rows


def test_added_rows_are_noticed(tmp_path: Path) -> None:
    """Two added rows, a loop of three bridges, stop export, apply, diff and federation with one line."""
    plan = three(tmp_path)
    assert meshwright("export", plan, "--to", "mosquitto", "--out", tmp_path / "out").code == 0
    tamper(plan, [*rows_of(plan), {"topic": "t", "parent": "b", "child": "c"}], honest=False)
    refused: list[list[str | Path]] = [
        ["export", plan, "--to", "mosquitto", "--out", tmp_path / "new"],
        ["apply", plan, tmp_path / "out"],
        ["diff", tmp_path / "out", plan],
        ["federation", plan],
    ]
    for words in refused:
        complaint = meshwright(*words).complaint
        assert f"{plan / 'trees.parquet'} is damaged: it has changed since plan.json was written" in complaint
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: [*rows, {"topic": "t", "parent": "b", "child": "c"}], "reach a broker twice"),
        (
            lambda rows: [*rows, {"topic": "t", "parent": "a", "child": "z"}],
            "links that are not in the overlay",
        ),
        (lambda rows: [{**row, "parent": row["parent"] or "c"} for row in rows], "are not one tree each"),
        (lambda rows: [{**row, "parent": None} for row in rows], "are not one tree each"),
        (lambda rows: rows[:-1], "the plan states"),
        (lambda _: [], "the plan states"),
    ],
)
def test_trees_are_trees(tmp_path: Path, change: object, reason: str) -> None:
    """Even with matching digests, trees that are not trees of the overlay are refused."""
    plan = three(tmp_path)
    require_sound(read_trees(plan))
    tamper(plan, change(rows_of(plan)))  # type: ignore[operator]
    with pytest.raises(FormatError, match=reason):
        require_sound(read_trees(plan))


def test_other_files_count(tmp_path: Path) -> None:
    """Changed edges and missing roles are noticed, too; an older plan without digests is still read."""
    plan = write_routed_plan(tmp_path)
    edges = (plan / "edges.parquet").read_bytes()
    table = pq.read_table(plan / "edges.parquet")
    pq.write_table(table, plan / "edges.parquet", compression="none")
    with pytest.raises(FormatError, match=r"edges.parquet is damaged: it has changed"):
        require_sound(read_trees(plan))
    (plan / "edges.parquet").write_bytes(edges)
    require_sound(read_trees(plan))
    content = json.loads((plan / "plan.json").read_text())
    del content["files"]
    (plan / "plan.json").write_text(json.dumps(content))
    require_sound(read_trees(plan))


@pytest.mark.parametrize(
    ("tree", "sound"),
    [
        ({"a": None}, True),
        ({"a": None, "b": "a", "c": "b", "d": "a"}, True),
        ({"c": "b", "b": "a", "a": None}, True),
        ({"a": None, "b": "c", "c": "b"}, False),
        ({"a": None, "b": "b"}, False),
        ({"a": None, "b": "gone"}, False),
        ({"b": "gone"}, False),
    ],
)
def test_parents_lead_to_the_root(tree: dict[str, str | None], sound: bool) -> None:
    """Every broker has a way to the root; circles and parents outside of the tree have none."""
    assert _leads_to_root(tree) is sound
