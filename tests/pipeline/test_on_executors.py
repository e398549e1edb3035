"""What executors of Spark run, called in this process: rows go in and out as Arrow batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.errors import ClusterError, InputError
from meshwright.pipeline.dataflow import arrow_schema
from meshwright.pipeline.follow.events import RESULT, STATE, apply_to_nodes
from meshwright.pipeline.follow.folder import read_shares, write_json_lines
from meshwright.pipeline.follow.stream import ROW_COLUMNS, _read, lines_before
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.sources import Stretch
from meshwright.pipeline.session.cluster import _relevant_line, check_workers
from meshwright.pipeline.session.start import _java_message, _startup_error, user_settings


def numbers(*given: int) -> Any:
    """Return a batch of numbers of shares, as Spark hands them over."""
    return iter([pa.record_batch({"id": pa.array(given, pa.int64())})])


def row(topic: str, time: float | None, place: int, **more: Any) -> dict[str, Any]:
    """Return a row of the node `n`, without a sequence."""
    known = {"node": "n", "topic": topic, "time": time, "sequence": None, "source": "f", "block": 0}
    return {**known, "place": place, **more}


def test_rows_of_shares(tmp_path: Path) -> None:
    """Good and bad rows of a share keep their file, their place and what they state; others are null."""
    file = tmp_path / "a.csv"
    lines = [
        "operation,node,topic,time,sequence",
        "subscribe,a,x,5,7",
        "unsubscribe,b,y,,",
        ",c,z,6,8",
        "only",
        "",
    ]
    file.write_text("\n".join(lines))
    whole = Stretch(str(file), 0, file.stat().st_size, 0, True)
    reading = Reading("csv", time="time", operation="operation", sequence="sequence")
    found = [row for batch in _read([[], [whole]], reading, numbers(0, 1)) for row in batch.to_pylist()]
    assert pa.RecordBatch.from_pylist(found).schema.names == arrow_schema(ROW_COLUMNS).names
    good = [each for each in found if each["reason"] is None]
    known = ("node", "topic", "time", "sequence", "leaves", "source", "block", "line")
    assert [tuple(each[name] for name in known) for each in good[:2]] == [
        ("a", "x", 5.0, 7, False, str(file), 0, None),
        ("b", "y", None, None, True, str(file), 0, None),
    ]
    bad = [(each["line"], each["record"], each["node"]) for each in found if each["reason"] is not None]
    assert (5, "only", None) in bad
    assert [each["place"] for each in found] == sorted(each["place"] for each in found)
    assert len(found) == 4


def test_lines_before_a_stretch(tmp_path: Path) -> None:
    """Lines count from the beginning of a file; rows of Parquet have no lines."""
    file = tmp_path / "a.csv"
    file.write_text("one\ntwo\nthree\n")
    for begin, expected in ((0, 0), (4, 1), (8, 2)):
        assert lines_before(Stretch(str(file), begin, 14, 0, True)) == expected
    assert lines_before(Stretch("a.PARQUET", 4, 9, 0, True)) == 0


def test_a_node_takes_its_rows() -> None:
    """Rows apply in order to the last state of a node: to its events, its state and its counts."""
    schema = pa.unify_schemas([arrow_schema(STATE), pa.schema({"leaves": pa.bool_()})])
    known = [
        row("x", 1.0, 0, held=True, batch=1),
        row("old", 1.0, 1, held=True, batch=1),
        row("x", 2.0, 0, held=True, batch=2),
    ]
    given = [
        row("y", 4.0, 3, leaves=False),
        row("x", 3.0, 2, leaves=True),
        row("x", 1.5, 1, leaves=True),
        row("y", 5.0, 4, leaves=False),
        row("z", None, 9, leaves=None),
    ]

    def apply(number: int, horizon: float | None, *rows: dict[str, Any]) -> list[pa.RecordBatch]:
        # Spark may cut the rows of a node anywhere.
        parts = [pa.RecordBatch.from_pylist(list(part), schema=schema) for part in (rows[:2], rows[2:])]
        return list(apply_to_nodes(number, horizon, iter(parts)))

    [made] = apply(7, None, *known, *given)
    assert made.schema.names == [column.split()[0] for column in RESULT.split(", ")]
    rows = made.to_pylist()
    events = [each for each in rows if each["event"]]
    assert [(each["turn"], each["event"], each["topics"], each["time"]) for each in events] == [
        (0, "subscribe", ["z"], float("-inf")),
        (1, "unsubscribe", ["x"], 3.0),
        (2, "subscribe", ["y"], 4.0),
    ]
    assert {each["sequence"] for each in events} == {-(2**63)}
    states = {
        each["topic"]: (each["time"], each["place"], each["held"], each["batch"])
        for each in rows
        if each["topic"]
    }
    assert states == {
        "x": (3.0, 2, False, 7),
        "y": (5.0, 4, True, 7),
        "z": (float("-inf"), 9, True, 7),
    }
    assert [
        (each["unchanged"], each["superseded"]) for each in rows if not each["topic"] and not each["event"]
    ] == [(1, 1)]
    assert {each["node"] for each in rows} == {"n"}
    fresh = apply(1, 4.5, *given)[0].to_pylist()
    assert [each["event"] for each in fresh if each["event"]] == ["join", "subscribe"]
    assert fresh[-1]["superseded"] == 3


def test_lines_are_numbered_and_written_whole(tmp_path: Path) -> None:
    """Rows of all batches become JSON lines, numbered from a first one if there is one."""
    batches = [pa.record_batch({"node": pa.array(names)}) for names in (["ä", "b"], ["c"])]
    for first, expected in ((5, [5, 6, 7]), (None, [None] * 3)):
        target = tmp_path / f"{first}.jsonl"
        [answer] = write_json_lines(str(target), first, iter(batches))
        written = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
        assert [each.get("sequence") for each in written] == expected
        assert [each["node"] for each in written] == ["ä", "b", "c"]
        assert answer.column(0).to_pylist() == [3]
        assert "ä" in target.read_text(encoding="utf-8")
    with pytest.raises(InputError, match=f"workers cannot see {tmp_path}/none: choose a folder"):
        list(write_json_lines(f"{tmp_path}/none/a.jsonl", None, iter(batches)))


def test_shares_of_parquet_files(tmp_path: Path) -> None:
    """A share is read file by file, with the columns that are asked for, in their order and types."""
    for place, name in enumerate("abc"):
        table = pa.table({"more": [1], "topic": [name], "node": [f"n{place}"]})
        pq.write_table(table, tmp_path / name)
    shares = [[str(tmp_path / "a"), str(tmp_path / "c")], [str(tmp_path / "b")]]
    for asked, expected in (((0,), ["a", "c"]), ((1,), ["b"]), ((0, 1), ["a", "c", "b"])):
        found = pa.Table.from_batches(list(read_shares(shares, "node string, topic string", numbers(*asked))))
        assert found.schema.names == ["node", "topic"]
        assert found.column("topic").to_pylist() == expected


def test_why_java_did_not_start(tmp_path: Path) -> None:
    """The line that names an error counts, else the first line, else the fact that there is none."""
    log = tmp_path / "log"
    for text, expected in (
        ("starting\n\n  Error: no memory\nException in main\n", "Error: no memory"),
        ("\n  begins\nends\n", "begins"),
        ("\n", "it ended without a message"),
        (f"cannot {'x' * 400}", f"cannot {'x' * 293}"),
    ):
        log.write_text(text)
        assert _startup_error(log) == expected


def test_the_message_of_java() -> None:
    """A Java exception speaks for itself, in one line; another error, or one without words, by its name."""

    class RaisedError(Exception):
        java_exception: Any = None

    error = RaisedError("of Python\nsecond")
    assert _java_message(error) == "of Python"
    error.java_exception = type("Thrown", (), {"getMessage": lambda self: "of Java\nat line 1"})()
    assert _java_message(error) == "of Java"
    assert _java_message(RaisedError()) == "RaisedError"
    assert _java_message(RaisedError("y" * 400)) == "y" * 300


def test_settings_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of `spark-defaults.conf` are found as Spark finds them; comments and half lines are not."""
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert user_settings() == {}
    (tmp_path / "conf").mkdir()
    text = "# spark.a 1\n\nspark.b  2 = 3\nspark.c=x:y\n  spark.d: z \nspark.alone\n"
    (tmp_path / "conf" / "spark-defaults.conf").write_text(text)
    expected = {"spark.b": "2 = 3", "spark.c": "x:y", "spark.d": "z"}
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert user_settings() == expected
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert user_settings() == {}
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    assert user_settings() == expected


class Cluster:
    """Answers a probe as the workers of a cluster may: with an error, or never."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def range(self, *_: object, **__: object) -> Any:
        if self.error is not None:
            raise self.error
        import threading

        threading.Event().wait(1)
        raise InputError("too late")


def test_workers_that_do_not_answer() -> None:
    """No answer in time, a wrong Python and any other error have their own messages."""
    with pytest.raises(
        ClusterError, match="no worker of the cluster started a task within 0 s: start workers"
    ):
        check_workers(Cluster(None), 0.05)  # type: ignore[arg-type]
    text = "first line\n  ModuleNotFoundError: No module named 'meshwright'\nlast"
    assert _relevant_line(text) == "ModuleNotFoundError: No module named 'meshwright'"
    assert _relevant_line("\n a line \nanother") == "a line"
    with pytest.raises(
        ClusterError, match=r"unsuitable \(ModuleNotFoundError.*set PYSPARK_PYTHON to a Python"
    ):
        check_workers(Cluster(RuntimeError(text)))  # type: ignore[arg-type]
    with pytest.raises(ClusterError, match="Spark failed: another reason"):
        check_workers(Cluster(ValueError("another reason")))  # type: ignore[arg-type]
