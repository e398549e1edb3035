"""Texts that are not UTF-8, and files with unsuitable columns: each reader says which, and goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.errors import FormatError, InputError
from meshwright.pipeline.readers import csv_files, text
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.parquet_files import batch_rows, find_columns, read_columns
from meshwright.pipeline.readers.rows import Rows
from meshwright.pipeline.readers.sources import Stretch

BROKEN = b"caf\xe9"


def texts(values: list[bytes | None], kind: pa.DataType) -> pa.Array:
    """Return bytes as texts that nobody has checked, as Parquet gives them."""
    unchecked = pa.array(values, pa.binary())
    if not pa.types.is_dictionary(kind):
        return pa.Array.from_buffers(kind, len(values), unchecked.buffers())
    codes = [None if value is None else place for place, value in enumerate(values)]
    filled = pa.array([value or b"" for value in values], pa.binary())
    names = pa.Array.from_buffers(pa.string(), len(values), filled.buffers())
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), names)


def good(rows: Rows) -> list[tuple[int, str, str]]:
    """Return the good rows: place, node and topic."""
    columns = rows.places.tolist(), rows.node.to_pylist(), rows.topic.to_pylist()
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_broken_texts_of_parquet_are_set_aside(kind: pa.DataType) -> None:
    """A row with a name that is not UTF-8 is bad, at its place; a missing name is bad for another reason."""
    nodes = texts([b"a", BROKEN, None, b"d", b"e"], kind)
    topics = pa.array(["x", "x", "x", "y", None])
    batch = pa.record_batch({"node": nodes, "topic": topics})
    rows = batch_rows(batch, 10, Stretch("f", 0, 1, 0, True), {"node": "node", "topic": "topic"})
    assert good(rows) == [(10, "a", "x"), (13, "d", "y")]
    reasons = dict(zip(rows.bad.places, rows.bad.reasons, strict=True))
    assert sorted(reasons) == [11, 12, 14]
    assert "UTF-8" in reasons[11]
    assert not any("UTF-8" in reasons[place] for place in (12, 14))
    whole = batch_rows(batch.slice(3, 1), 0, Stretch("f", 0, 1, 0, True), {"node": "node", "topic": "topic"})
    assert good(whole) == [(0, "d", "y")]


def test_numbers_and_nothing_as_topics() -> None:
    """Content values become texts that give them back; a column without values gives no good row."""
    batch = pa.record_batch({"node": ["a", "b", "c"], "topic": pa.array([0.1, None, 2.0])})
    roles = {"node": "node", "topic": "topic"}
    rows = batch_rows(batch, 0, Stretch("f", 0, 1, 0, True), roles)
    assert good(rows) == [(0, "a", "0.1"), (2, "c", "2.0")]
    empty = pa.record_batch({"node": ["a"], "topic": pa.nulls(1)})
    assert good(batch_rows(empty, 0, Stretch("f", 0, 1, 0, True), roles)) == []


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (
            [("node", pa.string()), ("topic", pa.string()), ("node", pa.string())],
            "more than one column 'node'",
        ),
        (
            [("node", pa.string())],
            "no column 'topic' in f; the columns are 'node': name the right one with --topic",
        ),
        (
            [("node", pa.bool_()), ("topic", pa.string())],
            "'node' of f is bool, but node names are strings or int",
        ),
        ([("node", pa.string()), ("topic", pa.float64())], "'topic' of f is double, but topic names are"),
        (
            [("node", pa.int8()), ("topic", pa.string()), ("time", pa.bool_())],
            "but times are timestamps, texts",
        ),
        ([("node", pa.int8()), ("topic", pa.string()), ("operation", pa.int8())], "but operations are texts"),
        (
            [("node", pa.int8()), ("topic", pa.string()), ("sequence", pa.float32())],
            "but sequences are integers",
        ),
    ],
)
def test_unsuitable_columns_are_named(columns: list[Any], complaint: str) -> None:
    """A column that is missing, doubled or of another type is an error that says what fits."""
    with pytest.raises(InputError, match=complaint):
        find_columns(pa.schema(columns), Reading("parquet"), "f")


def test_suitable_columns_are_found() -> None:
    """Times may be of many types; topics of publications may be numbers; absent columns have no role."""
    for kind in (pa.string(), pa.int64(), pa.float32(), pa.timestamp("us"), pa.date32(), pa.null()):
        schema = pa.schema(
            [("node", pa.dictionary(pa.int8(), pa.string())), ("topic", pa.int64()), ("time", kind)]
        )
        assert find_columns(schema, Reading("parquet"), "f") == {
            "node": "node",
            "topic": "topic",
            "time": "time",
        }
    schema = pa.schema([("node", pa.string()), ("topic", pa.float64())])
    assert set(find_columns(schema, Reading("parquet", publications=True), "f")) == {"node", "topic"}


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file and a damaged one are named; a good one has its columns."""
    with pytest.raises(InputError, match=f"{tmp_path}/none"):
        read_columns(f"{tmp_path}/none", Reading("parquet"))
    (tmp_path / "bad").write_text("no parquet at all")
    with pytest.raises(FormatError, match=f"{tmp_path}/bad cannot be read as Parquet: .* copy or write"):
        read_columns(f"{tmp_path}/bad", Reading("parquet"))
    pq.write_table(pa.table({"node": ["a"], "topic": ["x"]}), tmp_path / "good")
    assert read_columns(f"{tmp_path}/good", Reading("parquet")) == {"node": "node", "topic": "topic"}


def test_broken_lines_of_edge_lists_are_set_aside(tmp_path: Path) -> None:
    """Lines that are not UTF-8 are bad at their place; the others are edges as before."""
    file = tmp_path / "edges"
    file.write_bytes(b"# comment\na b\n" + BROKEN + b" x\n\nc d\nalone\n")
    stretch = Stretch(str(file), 0, file.stat().st_size, 0, True)
    [window] = text.windows(stretch)
    rows = csv_files.parse_edges(window, stretch)
    assert [(node, topic) for _, node, topic in good(rows)] == [("a", "b"), ("c", "d")]
    found = dict(zip(rows.bad.places, rows.bad.reasons, strict=True))
    assert "UTF-8" in found[2]
    assert len(found) == 2
    assert rows.bad.records[rows.bad.places.index(2)].startswith("caf")
