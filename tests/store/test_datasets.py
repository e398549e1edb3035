"""Dataset folders: what is written is read, with the same bytes for the same input; damage is found."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from meshwright import Interest, fingerprint
from meshwright.errors import FormatError, InputError, OutputError
from meshwright.files.header import DATASET, write_header
from meshwright.files.remote import names_below
from meshwright.store import dataset_parts
from meshwright.store.dataset_parts import (
    NAMES,
    SCHEMAS,
    SUBSCRIPTIONS,
    PartWriter,
    has_part,
    new_dataset,
    new_part,
)
from meshwright.store.datasets import read_dataset, write_dataset
from meshwright.workloads import zipf
from object_store import folder_as_store
from strategies import interests, wild_interests
from terminal import meshwright

OLD = "02a9eb0371361bfd3b153267d53c309bd1a8ceab97bec704b21f7d1ee53698fb"
"""The fingerprint that schema 1 had for `zipf(30, 8, size=3, seed=3)`."""
INTEREST = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write_dataset(INTEREST, tmp_path / "data")


def edit_manifest(dataset: Path, change: Callable[[dict[str, Any]], object]) -> None:
    file = dataset / "manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))


def replace_table(dataset: Path, kind: str, **columns: pa.Array) -> None:
    pq.write_table(pa.table(columns), dataset / kind / "part-00000.parquet")


def replace_subscriptions(dataset: Path, node: pa.Array, topic: pa.Array) -> None:
    replace_table(dataset, "subscriptions", node=node, topic=topic)


def replace_nodes(dataset: Path, ids: pa.Array, names: list[str]) -> None:
    replace_table(dataset, "nodes", id=ids, name=pa.array(names))


def int32(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32())


@settings(max_examples=30)
@given(wild_interests)
def test_round_trip_with_wild_names(interest: Interest) -> None:
    """Reading returns what was written, with any names."""
    with tempfile.TemporaryDirectory() as place:
        found = read_dataset(write_dataset(interest, Path(place) / "data"))
    assert found.fingerprint == interest.fingerprint
    assert found.node_names.equals(interest.node_names)
    assert found.to_arrow().equals(interest.to_arrow())


@settings(max_examples=30)
@given(interests(most_nodes=15))
def test_integer_names_become_sorted_strings(interest: Interest) -> None:
    """Integers are stored as strings in the order of their bytes; nothing else changes."""
    with tempfile.TemporaryDirectory() as place:
        found = read_dataset(write_dataset(interest, Path(place) / "data"))
    assert found.node_names.to_pylist() == sorted(map(str, range(interest.num_nodes)))
    assert found.topic_names.to_pylist() == sorted(map(str, range(interest.num_topics)))
    pairs = interest.to_arrow().to_pylist()
    assert {(str(row["node"]), str(row["topic"])) for row in pairs} == {
        (row["node"], row["topic"]) for row in found.to_arrow().to_pylist()
    }


def test_contract(dataset: Path) -> None:
    """Folders, columns and types follow the contract, and the manifest states the counts."""
    assert sorted(entry.name for entry in dataset.iterdir()) == [
        "manifest.json", "nodes", "quarantine", "subscriptions", "topics",
    ]  # fmt: skip
    types = {
        kind: {field.name: str(field.type) for field in pq.read_schema(dataset / kind / "part-00000.parquet")}
        for kind in ("subscriptions", "nodes", "topics", "quarantine")
    }
    assert types == {
        "subscriptions": {"node": "int32", "topic": "int32"},
        "nodes": {"id": "int32", "name": "string"},
        "topics": {"id": "int32", "name": "string"},
        "quarantine": {"source": "string", "line": "int64", "record": "string", "reason": "string"},
    }
    manifest = json.loads((dataset / "manifest.json").read_text())
    assert manifest["schema"] == 2
    assert manifest["fingerprint"] == INTEREST.fingerprint
    assert manifest["counts"] == {
        "nodes": 3, "topics": 2, "subscriptions": 4, "duplicates": 0, "quarantined": 0,
    }  # fmt: skip


def test_manifest_keeps_where_it_came_from(tmp_path: Path) -> None:
    """Sources, how it was made, dropped duplicates and the quarantine are kept."""
    aside = pa.table({"reason": ["no topic"], "record": ["b,"], "line": [2], "source": ["a.csv"]})
    interest = Interest.from_pairs(["a", "a"], ["x", "x"])
    made_by = {"command": "ingest", "format": "csv"}
    path = write_dataset(interest, tmp_path / "d", sources=["a.csv"], made_by=made_by, quarantine=aside)
    manifest = json.loads((path / "manifest.json").read_text())
    assert (manifest["sources"], manifest["made_by"]) == (["a.csv"], made_by)
    assert (manifest["counts"]["duplicates"], manifest["counts"]["quarantined"]) == (1, 1)
    kept = pq.read_table(path / "quarantine" / "part-00000.parquet").to_pylist()
    assert kept == [{"source": "a.csv", "line": 2, "record": "b,", "reason": "no topic"}]
    with pytest.raises(InputError, match="source, line, record, reason"):
        write_dataset(interest, tmp_path / "d", quarantine=pa.table({"line": [1]}))


def test_same_input_same_bytes(tmp_path: Path) -> None:
    """The same relation in another order gives the same bytes in every file."""
    again = Interest.from_pairs(["c", "b", "a", "a"], ["y", "x", "y", "x"])
    one, two = write_dataset(INTEREST, tmp_path / "one"), write_dataset(again, tmp_path / "two")
    files = sorted(file.relative_to(one) for file in one.rglob("*") if file.is_file())
    assert len(files) == 5
    assert [(one / file).read_bytes() for file in files] == [(two / file).read_bytes() for file in files]


def test_several_parts(dataset: Path) -> None:
    """Parts are read in the order of their names; marker files of other tools are ignored."""
    for kind in ("subscriptions", "nodes", "topics"):
        first = dataset / kind / "part-00000.parquet"
        table = pq.read_table(first)
        pq.write_table(table.slice(0, 1), first)
        pq.write_table(table.slice(1), dataset / kind / "part-00001-of-spark.snappy.parquet")
        (dataset / kind / "_SUCCESS").write_text("")
        (dataset / kind / "._part.parquet").write_text("not Parquet")
    assert read_dataset(dataset).fingerprint == INTEREST.fingerprint


def test_empty_interest(tmp_path: Path) -> None:
    """An interest without nodes is a valid dataset."""
    found = read_dataset(write_dataset(Interest.from_dict({}), tmp_path / "none"))
    assert (found.num_nodes, found.num_topics, found.num_subscriptions) == (0, 0, 0)


def test_what_is_not_a_dataset(tmp_path: Path) -> None:
    """A missing folder, an empty folder and the manifest of another tool have their own errors."""
    with pytest.raises(InputError, match="nothing is there"):
        read_dataset(tmp_path / "missing")
    with pytest.raises(FormatError, match=r"is not a dataset: it has no manifest\.json"):
        read_dataset(tmp_path)
    (tmp_path / "manifest.json").write_text('{"name": "web app"}')
    with pytest.raises(FormatError, match="is not a dataset"):
        read_dataset(tmp_path)


def test_newer_schema(dataset: Path) -> None:
    """A newer schema is rejected with the advice to upgrade."""
    edit_manifest(dataset, lambda manifest: manifest.update(schema=3))
    with pytest.raises(FormatError, match=r"schema 3, but this version reads at most 2.*upgrade"):
        read_dataset(dataset)


def test_too_many_subscriptions_declared(dataset: Path) -> None:
    """A dataset that declares 2³¹ subscriptions is refused before anything is read."""
    edit_manifest(dataset, lambda manifest: manifest["counts"].update(subscriptions=2**31))
    shutil.rmtree(dataset / "subscriptions")
    with pytest.raises(InputError, match="declares 2147483648 subscriptions, more than 2147483647"):
        read_dataset(dataset)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "Expecting": lambda d: (d / "manifest.json").write_text("{"),
    "schema None": lambda d: edit_manifest(d, lambda m: m.pop("schema")),
    "counts is 3, not an object": lambda d: edit_manifest(d, lambda m: m.update(counts=3)),
    "4 subscriptions, but manifest.json says 5": lambda d: edit_manifest(
        d, lambda m: m["counts"].update(subscriptions=5)
    ),
    "counts has no field 'nodes'": lambda d: edit_manifest(d, lambda m: m["counts"].pop("nodes")),
    "fingerprint": lambda d: replace_subscriptions(d, int32(0, 1, 1, 2), int32(0, 0, 1, 1)),
    "cannot be read as Parquet": lambda d: (d / "nodes" / "part-00000.parquet").write_bytes(b"PAR1 no"),
    "has no Parquet file": lambda d: shutil.rmtree(d / "topics"),
    "no column 'topic'": lambda d: replace_table(d, "subscriptions", node=int32(0)),
    "'node' is int64, not int32": lambda d: replace_subscriptions(d, pa.array([0]), int32(0)),
    "has nulls": lambda d: replace_subscriptions(d, int32(0, 0, 1, None), int32(0, 1, 0, 1)),
    "ids are not all from 0 to 2": lambda d: replace_subscriptions(d, int32(0, 0, 1, 3), int32(0, 1, 0, 1)),
    "row 3 is out of order or repeated": lambda d: replace_subscriptions(
        d, int32(0, 0, 0, 1), int32(0, 1, 1, 0)
    ),
    "ids are not 0, 1, 2": lambda d: replace_nodes(d, int32(0, 2, 1), ["a", "b", "c"]),
    "not distinct and sorted": lambda d: replace_nodes(d, int32(0, 1, 2), ["a", "c", "b"]),
}


@pytest.mark.parametrize("said", DAMAGE)
def test_damage_is_found(dataset: Path, said: str) -> None:
    """Each kind of damage gives one line that names the folder and the problem."""
    DAMAGE[said](dataset)
    with pytest.raises(FormatError) as caught:
        read_dataset(dataset)
    message = str(caught.value)
    assert said in message
    assert str(dataset) in message
    assert "\n" not in message


def test_truncated_file_is_found(dataset: Path) -> None:
    """A file that is cut off anywhere gives a FormatError."""
    file = dataset / "subscriptions" / "part-00000.parquet"
    whole = file.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 12, dtype=int):
        file.write_bytes(whole[:length])
        with pytest.raises(FormatError):
            read_dataset(dataset)


def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts and row groups so small that a test has many of them."""
    monkeypatch.setattr(fingerprint, "NAMES_IN_A_PART", 64)
    monkeypatch.setattr(fingerprint, "SUBSCRIPTIONS_IN_A_PART", 512)
    monkeypatch.setattr(dataset_parts, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(dataset_parts, "NAMES_IN_A_STEP", 8)
    monkeypatch.setattr(dataset_parts, "NAMES_AT_ONCE", 16)


def test_datasets_of_many_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataset has a file for each range of ids, and reads back whole."""
    small_parts(monkeypatch)
    interest = zipf(300, 70, size=7, seed=3)
    dataset = write_dataset(interest, tmp_path / "dataset")
    files = {kind: len(list((dataset / kind).iterdir())) for kind in ("nodes", "topics", "subscriptions")}
    assert files == {"nodes": 5, "topics": 2, "subscriptions": 5}
    assert read_dataset(dataset).fingerprint == interest.fingerprint
    (dataset / "subscriptions" / "part-00003.parquet").unlink()
    with pytest.raises(FormatError, match=r"subscriptions, but manifest\.json says"):
        read_dataset(dataset)


def test_pieces_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes and the digest of a part do not depend on the pieces in which its contents come."""
    small_parts(monkeypatch)
    relation = zipf(300, 40, size=7, seed=3).canonical()
    sizes = np.diff(relation.node_ptr)
    found = set()
    for step in (300, 41, 8, 1):
        with PartWriter(tmp_path / "names", NAMES) as names:
            for begin in range(0, 300, step):
                names.add_names(begin, relation.node_names[begin : begin + step])
        with PartWriter(tmp_path / "pairs", SUBSCRIPTIONS) as pairs:
            for begin in range(0, 300, step):
                ends = relation.node_ptr[begin], relation.node_ptr[min(begin + step, 300)]
                pairs.add_subscriptions(
                    begin, sizes[begin : begin + step], relation.node_topics[slice(*ends)]
                )
        contents = (tmp_path / "names").read_bytes(), (tmp_path / "pairs").read_bytes()
        found.add((*contents, names.digest.digest(), pairs.digest.digest()))
    assert len(found) == 1


def test_rows_come_in_groups_of_one_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row group of a part but the last has the same size, whatever the pieces."""
    monkeypatch.setattr(dataset_parts, "ROWS_AT_ONCE", 16)
    topics = np.arange(50, dtype=np.int32)
    with PartWriter(tmp_path / "pairs", SUBSCRIPTIONS) as pairs:
        pairs.add_subscriptions(0, np.array([7]), topics[:7])
        pairs.add_subscriptions(1, np.array([40, 3]), topics[7:])
    written = pq.ParquetFile(tmp_path / "pairs").metadata
    assert [written.row_group(i).num_rows for i in range(written.num_row_groups)] == [16, 16, 16, 2]


def test_datasets_of_schema_1_still_open(tmp_path: Path) -> None:
    """Older datasets state a digest of the whole relation; it is checked, and plans for it fit."""
    interest = zipf(30, 8, size=3, seed=3)
    dataset = write_dataset(interest, tmp_path / "dataset")
    edit_manifest(dataset, lambda content: content.update(schema=1, fingerprint=OLD))
    opened = read_dataset(dataset)
    assert opened.fingerprint == interest.fingerprint != OLD
    assert opened.has_fingerprint(OLD)
    edit_manifest(dataset, lambda content: content.update(fingerprint=interest.fingerprint))
    with pytest.raises(FormatError, match="fingerprint does not match"):
        read_dataset(dataset)


def test_a_dataset_in_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older dataset goes first, its manifest before the rest; a failure leaves nothing; others stay."""
    system = folder_as_store(tmp_path, monkeypatch)
    place, folder = "s3://bucket/data/", tmp_path / "bucket" / "data"
    for kind in SCHEMAS:
        (folder / kind).mkdir(parents=True)
        (folder / kind / "old.parquet").write_text("")
    (folder / "manifest.json").write_text("{}")
    with new_dataset(place) as made:
        assert not names_below(system, "bucket/data")
        assert not has_part(made, "nodes", 3)
        with new_part(made, "nodes", 3):
            pass
        assert has_part(made, "nodes", 3)
        assert not has_part(made, "nodes", 2)
        write_header(made, DATASET, {"nodes": 1})
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["format"], manifest["nodes"]) == ("meshwright dataset", 1)

    def fail() -> None:
        with new_dataset(place) as made:
            write_header(made, DATASET, {})
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not names_below(system, "bucket/data")
    (folder / "own").write_text("")
    with (
        pytest.raises(OutputError, match="s3://bucket/data holds something other than a dataset"),
        new_dataset(place),
    ):
        pass
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with new_dataset(place) as made:
        assert names_below(system, "bucket/data") == {"own"}
        write_header(made, DATASET, {"nodes": 2})
    assert names_below(system, "bucket/data") == {"own", "manifest.json"}


DATASET_DAMAGE: dict[str, Callable[[pa.Table], pa.Table]] = {
    "no column": lambda table: table.rename_columns(["one", "two"]),
    "more than one column": lambda table: table.append_column(table.column_names[1], table.column(1)),
    "has nulls": lambda table: table.set_column(
        1, table.column_names[1], pa.nulls(table.num_rows, table.schema.field(1).type)
    ),
    "is string, not int32": lambda table: table.set_column(
        0, table.column_names[0], table.column(0).cast(pa.string())
    ),
    "ids are not": lambda table: table.set_column(
        0, table.column_names[0], pa.array([-5, *table.column(0).to_pylist()[1:]], pa.int32())
    ),
    "it has no Parquet file": lambda table: table,
}


@pytest.mark.parametrize("kind", ["subscriptions", "topics"])
@pytest.mark.parametrize("said", DATASET_DAMAGE)
def test_damaged_parts_are_named(tmp_path: Path, kind: str, said: str) -> None:
    """A missing part, and renamed, doubled, null or wrong columns, are damage for every command."""
    dataset = write_dataset(Interest.from_dict({"a": {"x", "y"}, "b": {"x"}}), tmp_path / "dataset")
    part = dataset / kind / "part-00000.parquet"
    pq.write_table(DATASET_DAMAGE[said](pq.read_table(part)), part)
    if said == "it has no Parquet file":
        part.unlink()
    for words in (["sample", "--nodes", "1", "--out", str(tmp_path / "out")], ["profile"]):
        complaint = meshwright(*words, dataset).complaint
        assert str(dataset / kind) in complaint
        assert said in complaint
