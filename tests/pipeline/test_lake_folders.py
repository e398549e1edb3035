"""Folders of lakes: tables whose folder has more than their current rows, and partitions that are columns."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from meshwright import load_interest
from meshwright.errors import InputError
from meshwright.pipeline.readers.rows import partition_columns
from meshwright.pipeline.readers.sources import list_files
from object_store import folder_as_store
from terminal import meshwright

ROWS = {"node": ["a", "b", "c"], "topic": ["x", "y", "z"]}
MARKS = {
    "delta": "_delta_log/00000000000000000000.json",
    "hudi": ".hoodie/20260101000000.commit",
    "iceberg": "metadata/00001-9f1c.metadata.json",
}
FILES = {"delta": "part-0.parquet", "hudi": "day=1/part-0.parquet", "iceberg": "data/part-0.parquet"}


def lake_table(folder: Path, kind: str) -> Path:
    """Make a folder with the files of two versions of a table and the log that says which are current."""
    for number in range(2):
        file = folder / FILES[kind].replace("0", str(number))
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(ROWS), file)
    mark = folder / MARKS[kind]
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text("{}")
    return folder


def relation(dataset: Path) -> dict[str, set[str]]:
    table = load_interest(dataset).to_arrow().to_pylist()
    return {row["node"]: {other["topic"] for other in table if other["node"] == row["node"]} for row in table}


@pytest.mark.parametrize("kind", MARKS)
def test_tables_of_lakes_are_refused(kind: str, tmp_path: Path) -> None:
    """By folder, glob or file, and below another folder: one line names the table and the way over Spark."""
    table = lake_table(tmp_path / "lake" / "rain", kind)
    pq.write_table(pa.table(ROWS), tmp_path / "lake" / "own.parquet")
    for source in (table, tmp_path / "lake", table / FILES[kind], (table / FILES[kind]).parent / "*.parquet"):
        line = meshwright("ingest", source, "--out", tmp_path / "out").complaint
        assert f"{table} is a table of {kind.capitalize()}" in line
        assert f"mw.pipeline.ingest(spark, spark.read.format('{kind}').load('{table}'), out)" in line
    assert meshwright("ingest", tmp_path / "lake" / "own.parquet", "--out", tmp_path / "out").code == 0
    shutil.rmtree((table / MARKS[kind]).parent)
    assert meshwright("ingest", table, "--out", tmp_path / "out").code == 0


@pytest.mark.parametrize("kind", MARKS)
def test_tables_at_urls_are_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in a store; a glob beside a table is fine."""
    folder_as_store(tmp_path, monkeypatch)
    table = lake_table(tmp_path / "bucket" / "lake" / "rain", kind)
    pq.write_table(pa.table(ROWS), tmp_path / "bucket" / "lake" / "own.parquet")
    inner = FILES[kind]
    for source in ("", "/rain", f"/rain/{inner}", f"/rain/{Path(inner).parent}", "/*/**/*.parquet"):
        with pytest.raises(InputError, match=rf"^s3://bucket/lake/rain is a table of {kind.capitalize()}, "):
            list_files(None, [f"s3://bucket/lake{source}"])
    assert [file.path for file in list_files(None, ["s3://bucket/lake/*.parquet"])] == [
        "s3://bucket/lake/own.parquet"
    ]
    assert table.is_dir()


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_partitions_are_columns(kind: str, tmp_path: Path) -> None:
    """The folders `name=value` that Hive, Spark and Arrow write state a column that the files lack."""
    table = pa.table({"node": ["a", "b", "c", "d"], "topic": ["rain/now", "rain/now", "snow é", None]})
    if kind == "jsonl":
        for topic, nodes in (
            ("rain%2Fnow", "ab"),
            ("snow%20%C3%A9", "c"),
            ("__HIVE_DEFAULT_PARTITION__", "d"),
        ):
            folder = tmp_path / "lake" / f"topic={topic}"
            folder.mkdir(parents=True)
            (folder / "p.jsonl").write_text("".join(json.dumps({"node": node}) + "\n" for node in nodes))
    else:
        by_topic = ds.partitioning(pa.schema({"topic": pa.string()}), flavor="hive")
        ds.write_dataset(table, tmp_path / "lake", format=kind, partitioning=by_topic)
    answer = meshwright("ingest", tmp_path / "lake", "--out", tmp_path / "out", "--max-bad", "1", "--json")
    assert answer.code == 0, answer.err
    assert (answer.json["kept"], answer.json["reasons"]) == (3, {"no topic name": 1})
    assert relation(tmp_path / "out") == {
        "a": {"rain/now"},
        "b": {"rain/now"},
        "c": {"snow é"},
    }


def test_the_column_of_a_file_counts_more_than_its_folder(tmp_path: Path) -> None:
    """A folder fills only what a file leaves open; both names may be partitions."""
    folder = tmp_path / "topic=x" / "broker=b%3D1"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text('{"node": "a", "topic": "y"}\n{"node": "b"}\n{"node": "c", "topic": 7}\n')
    (folder / "b.csv").write_text("node,topic\na,y\n")
    pq.write_table(pa.table({"other": [1, 2]}), folder / "c.parquet")
    for name, columns, found in (
        ("a.jsonl", (), {"a": {"y"}, "b": {"x"}, "c": {"7"}}),
        ("b.csv", (), {"a": {"y"}}),
        ("b.csv", ("--node", "broker"), {"b=1": {"y"}}),
        ("c.parquet", ("--node", "broker"), {"b=1": {"x"}}),
    ):
        answer = meshwright("ingest", folder / name, *columns, "--out", tmp_path / "out")
        assert answer.code == 0, answer.err
        assert relation(tmp_path / "out") == found
    assert "no column 'node'" in meshwright("ingest", folder / "c.parquet", "--out", tmp_path / "d").complaint


def test_partitions_in_urls() -> None:
    """Letters that a URL encodes are decoded once more than those that a folder's name encodes."""
    assert partition_columns("s3://b/topic=a%252Fb/p.csv?region=x") == {"topic": "a/b"}
    assert partition_columns("/b/=a/topic/x=/p=1.csv") == {"x": ""}
