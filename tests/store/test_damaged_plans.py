"""Damaged plans reach no broker: every tree is checked again, and every file against its digest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import meshwright as mw
from damage import edit_table, mend_digests
from meshwright.errors import FormatError
from meshwright.files.header import PLAN, write_header
from meshwright.plan_tables import GROUPS, TREES
from meshwright.store.plan_check import require_meaning
from meshwright.store.trees import read_trees
from object_store import folder_as_store
from routed_plans import write_routed_plan
from terminal import meshwright

Change = Callable[[pa.Table], pa.Table]

THREE = mw.Interest.from_dict({name: {"t", f"{name}x"} for name in "abc"})


def three(folder: Path) -> Path:
    """Write a plan of three brokers in a triangle that share a topic; its tree is a chain."""
    made = mw.design(THREE, "gm", rounds=2)
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
    require_meaning(read_trees(plan))
    tamper(plan, change(rows_of(plan)))  # type: ignore[operator]
    with pytest.raises(FormatError, match=reason):
        require_meaning(read_trees(plan))


def test_other_files_count(tmp_path: Path) -> None:
    """Changed edges and missing roles are noticed, too; an older plan without digests is still read."""
    plan = write_routed_plan(tmp_path)
    edges = (plan / "edges.parquet").read_bytes()
    table = pq.read_table(plan / "edges.parquet")
    pq.write_table(table, plan / "edges.parquet", compression="none")
    with pytest.raises(FormatError, match=r"edges.parquet is damaged: it has changed"):
        require_meaning(read_trees(plan))
    (plan / "edges.parquet").write_bytes(edges)
    require_meaning(read_trees(plan))
    content = json.loads((plan / "plan.json").read_text())
    del content["files"]
    (plan / "plan.json").write_text(json.dumps(content))
    require_meaning(read_trees(plan))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.slice(1), "are not one tree each"),
        (lambda table: with_roots(table, [0, 1]), "are not one tree each"),
        (lambda table: with_roots(table, range(table.num_rows)), "are not one tree each"),
        (lambda table: table.take(list(range(table.num_rows))[::-1]), "have a broker before its parent"),
    ],
)
def test_trees_out_of_form_are_refused_by_every_reader(tmp_path: Path, change: Change, said: str) -> None:
    """A missing first row, a second root, all rows roots or another order: one line, and never a crash."""
    plan, dataset = three(tmp_path), mw.write_dataset(THREE, tmp_path / "dataset")
    edit_table(plan / "trees.parquet", change)
    commands: list[list[str | Path]] = [
        ["report", plan, dataset],
        ["verify", plan, dataset],
        ["route", plan, dataset, "--objective", "stable"],
        *(["export", plan, "--to", kind, "--out", tmp_path / "out"] for kind in ("mosquitto", "json")),
    ]
    for words in commands:
        complaint = meshwright(*words).complaint
        assert f"{plan / 'trees.parquet'} is damaged: the trees of topics 't' {said}" in complaint
    with pytest.raises(FormatError, match=said):
        mw.report(plan, interest=THREE)


def with_roots(table: pa.Table, positions: Iterable[int]) -> pa.Table:
    """Take the parents of some rows away."""
    parents = [
        None if row in set(positions) else name for row, name in enumerate(table["parent"].to_pylist())
    ]
    return table.set_column(1, TREES.field("parent"), pa.array(parents, pa.string()))


@pytest.mark.parametrize("name", ["edges", "trees", "roles", "prices", "degree_prices", "groups", "holders"])
def test_a_rewritten_table_is_a_failed_check(tmp_path: Path, name: str) -> None:
    """A table with the same rows and other bytes fails `verify`, and no other command takes the plan."""
    plan, dataset = filter_plan(tmp_path)
    assert meshwright("verify", plan, dataset).code == 0
    file = plan / f"{name}.parquet"
    pq.write_table(pq.read_table(file), file, compression="none")
    answer = meshwright("verify", plan, dataset)
    assert answer.code == 1
    assert f"wrong: {name}.parquet has changed since plan.json was written" in answer.out
    assert f"{file} is damaged: it has changed" in meshwright("report", plan, dataset).complaint


@pytest.mark.parametrize("name", ["edges", "trees", "roles", "prices", "degree_prices", "groups", "holders"])
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.slice(2),
        lambda table: table.slice(0, table.num_rows - 2),
        lambda table: table.rename_columns([*"wxyz"][: table.num_columns]),
        None,
    ],
)
def test_a_table_that_a_change_leaves_out_of_form_is_a_failed_check(
    tmp_path: Path, name: str, change: Change | None
) -> None:
    """Fewer rows, other columns or no table at all: `verify` names the changed file, and ends with 1."""
    plan, dataset = filter_plan(tmp_path)
    file = plan / f"{name}.parquet"
    if change is None:
        file.write_bytes(b"")
    else:
        edit_table(file, change, mended=False)
    answer = meshwright("verify", plan, dataset)
    assert (answer.code, answer.err) == (1, "")
    first, second = answer.out.splitlines()[1:3]
    assert first == f"wrong: {name}.parquet has changed since plan.json was written"
    assert second.startswith("wrong: ") or name == "roles"  # fewer roles are in form


def test_a_plan_at_a_url_fails_as_one_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed table at a URL is a failed check of `verify`; other commands name its URL, and no copy."""
    folder_as_store(tmp_path / "store", monkeypatch)
    plan, dataset = filter_plan(tmp_path)
    copy, url = tmp_path / "store" / "bucket" / "plan", "s3://bucket/plan"
    shutil.copytree(plan, copy)
    assert meshwright("verify", url, dataset).code == 0
    edit_table(copy / "trees.parquet", lambda table: table.slice(1), mended=False)
    answer = meshwright("verify", url, dataset)
    assert answer.code == 1
    first, second = answer.out.splitlines()[1:3]
    assert first == "wrong: trees.parquet has changed since plan.json was written"
    assert second.startswith(f"wrong: {url}/trees.parquet is damaged: the trees of topics")
    export: list[str | Path] = ["export", url, "--to", "mosquitto", "--out", tmp_path / "out"]
    assert f"{url}/trees.parquet is damaged: it has changed" in meshwright(*export).complaint
    mend_digests(copy)
    for words in (["verify", url, dataset], export):
        assert f"{url}/trees.parquet is damaged: the trees of topics" in meshwright(*words).complaint


def test_a_wrong_schema_is_named_in_short(tmp_path: Path) -> None:
    """However long what stands there for a number is, the error is one line."""
    plan = three(tmp_path)
    content = json.loads((plan / "plan.json").read_text())
    (plan / "plan.json").write_text(json.dumps(content | {"schema": "x" * 5000}))
    with pytest.raises(FormatError) as found:
        read_trees(plan)
    assert len(str(found.value)) < 300


def filter_plan(folder: Path) -> tuple[Path, Path]:
    """Plan filters that overlap, with prices and trees; return the plan and its dataset."""
    held = {"a": ["m/#", "x"], "b": ["m/1", "x"], "c": ["m/1", "m/2", "y"], "d": ["m/+", "y"]}
    interest = mw.Interest.of(held, kind="mqtt")
    dataset = mw.write_dataset(interest, folder / "dataset", topic_kind="mqtt")
    plan = folder / "plan"
    assert meshwright("plan", dataset, "--algorithm", "low", "--certify", "--out", plan).code == 0
    assert meshwright("route", plan, dataset).code == 0
    return plan, dataset


def test_a_holder_less_is_not_what_was_planned(tmp_path: Path) -> None:
    """A filter that a broker held loses its deliveries: neither files nor graphs are made of such a plan."""
    plan, dataset = filter_plan(tmp_path)
    rows = pq.read_table(plan / "holders.parquet").to_pylist()
    removed = rows.index({"broker": "c", "filter": "m/1"})
    edit_table(
        plan / "holders.parquet", lambda table: table.take([*range(removed), *range(removed + 1, len(rows))])
    )
    for to in ("mosquitto", "dot"):
        complaint = meshwright("export", plan, "--to", to, "--out", tmp_path / "out").complaint
        assert "the fingerprint of who holds which filter is not as stated" in complaint
    assert meshwright("verify", plan, dataset).code == 1
    assert not (tmp_path / "out").exists()


def test_tables_of_groups_are_read_with_care(tmp_path: Path) -> None:
    """An emptied table of groups, and one whose names are not UTF-8, is damage in one line."""
    plan, dataset = filter_plan(tmp_path)
    sound = pq.read_table(plan / "groups.parquet")
    export: list[str | Path] = ["export", plan, "--to", "mosquitto", "--out", tmp_path / "out"]
    commands: list[list[str | Path]] = [["report", plan, dataset], export]
    edit_table(plan / "groups.parquet", lambda table: table.slice(0, 0))
    for words in commands:
        assert "holders.parquet is damaged: filters 'm/#'" in meshwright(*words).complaint
    bad = pa.array([b"\xff\xfe"] * sound.num_rows).cast(pa.string(), safe=False)
    edit_table(plan / "groups.parquet", lambda _: sound.set_column(1, GROUPS.field("group"), bad))
    for words in commands:
        assert "groups.parquet is damaged: column 'group' is not UTF-8" in meshwright(*words).complaint


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('"gm"', '"\\ud800"'), "it holds half a surrogate pair"),
        (
            lambda text: text.replace('"support": 1.0', '"support": 1.0, "gap": {"a": 1}'),
            "figures 'gap' are no",
        ),
        (lambda text: text.replace('"max_link_load": 1.0', '"max_link_load": {}'), "max_link_load"),
    ],
)
def test_what_a_plan_states_is_plain(tmp_path: Path, change: Callable[[str], str], said: str) -> None:
    """Half a surrogate pair, and a figure that is an object, are damage for every command."""
    plan, dataset = three(tmp_path), mw.write_dataset(THREE, tmp_path / "dataset")
    text = (plan / "plan.json").read_text()
    assert change(text) != text
    (plan / "plan.json").write_text(change(text))
    for command in ("verify", "report", "route"):
        complaint = meshwright(command, plan, dataset).complaint
        assert f"{plan / 'plan.json'} is damaged: " in complaint
        assert said in complaint
