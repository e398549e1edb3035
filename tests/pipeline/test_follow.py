"""Follow: events are in order, each exactly once, even if the run is interrupted."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright import Interest, load_interest
from meshwright.errors import FormatError, InputError, OutputError
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.follow import stream as following
from meshwright.pipeline.follow.events import Node, Row, apply_to_nodes
from meshwright.pipeline.follow.folder import BatchOutcome, outcome_file, write_lines
from meshwright.pipeline.follow.stream import follow
from meshwright.pipeline.readers.formats import Reading
from meshwright.store.datasets import write_dataset
from standalone import wait
from terminal import meshwright

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READING = Reading("csv")


def events(place: Path) -> list[dict[str, Any]]:
    """Return all events in the order of their files."""
    files = sorted((place / "events").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def drop(folder: Path, name: str, *rows: str) -> None:
    """Rename a complete file into a folder."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("operation,node,topic,time\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    hidden.rename(folder / name)


def replayed(written: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Apply events like a live overlay, and refuse invalid ones."""
    held: dict[str, set[str]] = {}
    for event in written:
        node, topics = event["node"], set(event["topics"])
        if event["event"] == "join":
            assert node not in held
            assert topics
            held[node] = topics
        elif event["event"] == "leave":
            assert not topics
            del held[node]
        elif event["event"] == "subscribe":
            assert not topics & held[node]
            held[node] |= topics
        else:
            assert topics < held[node]
            held[node] -= topics
    return held


rows = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("xyz"), st.booleans()), max_size=30)


@given(rows, st.integers(0, 30))
def test_events_replay_to_the_latest_rows(given_rows: list[tuple[int, str, bool]], cut: int) -> None:
    """The events of two batches, split anywhere, replay to the latest row of each topic."""
    made = [
        Row((float(time), place), topic, leaves) for place, (time, topic, leaves) in enumerate(given_rows)
    ]
    node = Node()
    written = []
    for part in (made[:cut], made[cut:]):
        written += [
            {"event": change.event, "node": "n", "topics": change.topics}
            for change in node.take(sorted(part, key=lambda row: row.stamp))
        ]
    last = {row.topic: row.leaves for row in sorted(made, key=lambda row: row.stamp)}
    expected = {topic for topic, leaves in last.items() if not leaves}
    assert replayed(written).get("n", set()) == expected


GIVEN = pa.schema(
    [
        ("node", pa.string()),
        ("topic", pa.string()),
        ("time", pa.float64()),
        ("sequence", pa.int64()),
        ("source", pa.string()),
        ("block", pa.int64()),
        ("place", pa.int64()),
        ("leaves", pa.bool_()),
        ("held", pa.bool_()),
        ("batch", pa.int64()),
    ]
)


nodes = st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.sampled_from("xyz"), st.booleans())


@given(st.lists(nodes, max_size=40), st.integers(0, 40), st.integers(1, 5))
def test_tasks_take_nodes_one_after_the_other(
    given_rows: list[tuple[str, int, str, bool]], cut: int, at_once: int
) -> None:
    """However Spark cuts the rows of a task, each node has its own state, before and after two batches."""
    made: list[dict[str, Any]] = [
        {"node": node, "topic": topic, "time": float(time), "source": "f", "place": place, "leaves": leaves}
        for place, (node, time, topic, leaves) in enumerate(given_rows)
    ]
    states: list[dict[str, Any]] = []
    written: list[dict[str, Any]] = []
    for number, part in enumerate((made[:cut], made[cut:])):
        concerned = [state for state in states if any(row["node"] == state["node"] for row in part)]
        table = pa.Table.from_pylist(sorted(part + concerned, key=lambda row: row["node"]), schema=GIVEN)
        found = [
            row
            for batch in apply_to_nodes(number, None, iter(table.to_batches(at_once)))
            for row in batch.to_pylist()
        ]
        written += [row for row in found if row["event"] is not None]
        states += [row for row in found if row["topic"] is not None]
        assert {row["node"] for row in found} == {row["node"] for row in part}
    ordered = sorted(made, key=lambda row: (row["time"], row["place"]))
    last = {(row["node"], row["topic"]): row["leaves"] for row in ordered}
    expected: dict[str, set[str]] = {}
    for (node, topic), leaves in last.items():
        if not leaves:
            expected.setdefault(node, set()).add(topic)
    assert replayed(written) == expected


def test_following(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files become events; late and unchanged rows are counted; the next run reads only new files.

    A batch that fails half-way is repeated by the next run, and each of its events is written once.
    """
    source, place = tmp_path / "in", tmp_path / "out"
    dataset = write_dataset(Interest.from_dict({"oslo": {"x"}}), tmp_path / "data")
    done: list[BatchOutcome] = []
    drop(
        source,
        "1.csv",
        "subscribe,berlin,x,10",
        "subscribe,berlin,y,10",
        "unsubscribe,oslo,x,5",
        "dance,a,b,1",
    )
    real = write_lines

    def fail(table: Any, target: str, first: int | None) -> int:
        real(table, target, first)
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(following, "write_lines", fail)
        with pytest.raises(OSError, match="the disk is full"):
            follow(spark, source, place, READING, start=dataset, report=done.append)
    assert done == []
    follow(spark, source, place, READING, start=dataset, report=done.append)
    assert [(event["event"], event["node"], event["topics"]) for event in events(place)] == [
        ("leave", "oslo", []),
        ("join", "berlin", ["x", "y"]),
    ]
    drop(
        source,
        "2.csv",
        "unsubscribe,berlin,x,9",
        "subscribe,berlin,y,12",
        "unsubscribe,berlin,y,11",
        "subscribe,rome,z,",
    )
    follow(spark, source, place, READING, start=dataset, report=done.append)
    follow(spark, source, place, READING, start=dataset, report=done.append)
    written = events(place)
    assert [event["sequence"] for event in written] == list(range(len(written)))
    assert [event["time"] for event in written] == [5.0, 10.0, None, 11.0, 12.0]
    assert replayed([{"event": "join", "node": "oslo", "topics": ["x"]}, *written]) == {
        "berlin": {"x", "y"},
        "rome": {"z"},
    }
    assert [
        (each.read, each.applied, each.unchanged, each.superseded, each.quarantined) for each in done
    ] == [
        (4, 3, 0, 0, 1),
        (4, 3, 0, 1, 0),
    ]
    with pytest.raises(InputError, match="was started with --start"):
        follow(spark, source, place, READING)
    with pytest.raises(OutputError, match="has other contents"):
        follow(spark, source, source, READING)


def test_empty_and_old_files(spark: SparkSession, tmp_path: Path) -> None:
    """An empty file does no harm; an old file that is renamed into the folder later is read.

    Rows without operations are subscribes, so their nodes join.
    """
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "empty.csv").touch()
    follow(spark, tmp_path / "in", tmp_path / "out", READING)
    assert events(tmp_path / "out") == []
    (tmp_path / ".old").write_text("node,topic\na,x\nb,x\n")
    os.utime(tmp_path / ".old", (0, 0))
    (tmp_path / ".old").rename(tmp_path / "in" / "old.csv")
    drop(tmp_path / "in", "new.csv", "subscribe,c,x,1")
    follow(spark, tmp_path / "in", tmp_path / "out", READING)
    assert replayed(events(tmp_path / "out")) == {"a": {"x"}, "b": {"x"}, "c": {"x"}}


KILLED = """
import os, signal, sys
from pathlib import Path
from meshwright.pipeline.follow import stream as following
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.session.start import session

def dying(real):
    def die(records, target, *more):
        found = real(records, target, *more)
        if f"/{sys.argv[3]}/batch-00000001.json" in target:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    return die
following.write_lines = dying(following.write_lines)
following.write_record = dying(following.write_record)
spark = session("local[2]", conf={"spark.sql.shuffle.partitions": "2"})
following.follow(spark.newSession(), sys.argv[1], sys.argv[2], Reading("csv"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["events", "batches"])
def test_killed_and_started_again(spark: SparkSession, tmp_path: Path, moment: str) -> None:
    """A run killed after writing events, or before the commit, continues with each event exactly once."""
    source = tmp_path / "in"
    for place in ("killed", "whole"):
        drop(source, "1.csv", *(f"subscribe,n{i % 5},t{i},{i}" for i in range(20)))
        follow(spark, source, tmp_path / place, READING)
        drop(source, "2.csv", *(f"unsubscribe,n{i % 5},t{i},{30 + i}" for i in range(0, 20, 3)))
        if place == "killed":
            command = [sys.executable, "-c", KILLED, str(source), str(tmp_path / place), moment]
            assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        follow(spark, source, tmp_path / place, READING)
        if place == "killed":
            (source / "2.csv").unlink()
    assert len(list((tmp_path / "killed" / "events").iterdir())) == 2
    assert events(tmp_path / "killed") == events(tmp_path / "whole")


def test_the_time_between_checks_is_positive(spark: SparkSession, tmp_path: Path) -> None:
    """A time of zero or less is refused."""
    with pytest.raises(InputError, match="give a time above zero"):
        follow(spark, tmp_path, tmp_path / "out", READING, every=-1.0)


def test_ties_and_late_rows_end_as_ingest_ends(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with equal stamps in several files, in any batches, end as if all files were ingested at once.

    States are written for the nodes of a batch only, and now and then for all.
    """
    monkeypatch.setattr(following, "DELTAS", 2)
    source = tmp_path / "in"
    rng = np.random.default_rng(5)
    for number in (3, 1, 4, 2):  # not in the order of names
        drop(
            source,
            f"{number}.csv",
            *(
                f"{('subscribe', 'unsubscribe')[word]},n{node},t{topic},{time}"
                for word, node, topic, time in rng.integers([0, 0, 0, 1], [2, 4, 3, 4], (12, 4))
            ),
        )
        follow(spark, source, tmp_path / "out", READING)
    ingest(None, [source], tmp_path / "whole", READING)
    expected: dict[str, set[str]] = {}
    for row in load_interest(tmp_path / "whole").to_arrow().to_pylist():
        expected.setdefault(row["node"], set()).add(row["topic"])
    written = events(tmp_path / "out")
    assert [event["sequence"] for event in written] == list(range(len(written)))
    assert replayed(written) == expected
    states = sorted(folder.name for folder in (tmp_path / "out" / "state").iterdir())
    assert states == ["base-00000001", "base-00000003", "batch-00000002", "batch-00000003"]


def test_a_file_that_changes_before_its_batch_is_repeated(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that failed is not repeated with other contents: some of its events may be out already."""
    drop(tmp_path / "in", "1.csv", "subscribe,a,x,1")

    def fail(*_: Any) -> int:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(following, "write_lines", fail)
        with pytest.raises(OSError, match="the disk is full"):
            follow(spark, tmp_path / "in", tmp_path / "out", READING)
    drop(tmp_path / "in", "1.csv", "subscribe,a,x,1", "subscribe,b,x,1")
    with pytest.raises(FormatError, match=r"1\.csv' changed since batch 0 began"):
        follow(spark, tmp_path / "in", tmp_path / "out", READING)


def test_a_file_that_is_repaired(spark: SparkSession, tmp_path: Path) -> None:
    """A file that cannot be read fails its batch before anything is written; once repaired, it is read."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv.gz").write_bytes(b"not compressed")
    with pytest.raises(FormatError, match=r"1\.csv\.gz"):
        follow(spark, tmp_path / "in", tmp_path / "out", READING)
    (tmp_path / "in" / "1.csv.gz").write_bytes(gzip.compress(b"node,topic\na,x\n"))
    follow(spark, tmp_path / "in", tmp_path / "out", READING)
    assert replayed(events(tmp_path / "out")) == {"a": {"x"}}


def test_unsubscribes_are_forgotten() -> None:
    """Before the horizon, a row of a topic without a state comes too late; one with a state is applied."""
    node = Node({"x": ((5.0, 0), True)})
    rows = [Row((4.0, 0), "y", False), Row((6.0, 0), "x", True), Row((float("-inf"), 0), "z", False)]
    assert [change.event for change in node.take(rows, 10.0)] == ["leave", "join"]
    assert node.superseded == 1


FOLLOW = """
import sys
from meshwright.pipeline.follow.stream import follow
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.session.start import session

spark = session("local[2]", conf={"spark.sql.shuffle.partitions": "2"})
follow(spark, sys.argv[1], sys.argv[2], Reading("csv"), every=0.1, max_files=1)
"""
KILLS = 20
BATCHES = 200


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path) -> None:
    """Killed 20 times while a batch is open, events are gapless and unique, and end as ingest ends."""
    rng = np.random.default_rng(7)
    source, place = tmp_path / "in", tmp_path / "out"
    for number in range(3 * KILLS):
        drop(
            source,
            f"{(number * 37) % 100:03}.csv",
            *(
                f"{('subscribe', 'unsubscribe')[word]},n{node},t{topic},{max(number // 4 + time, 1)}"
                for word, node, topic, time in rng.integers([0, 0, 0, -2], [2, 9, 5, 2], (30, 4))
            ),
        )
    for kill in range(KILLS):
        # At least one more batch has begun, and is not over.
        _kill_when(source, place, partial(_is_open, place, kill))
    _kill_when(source, place, (place / "batches" / f"batch-{3 * KILLS - 1:08}.json").exists)
    written = events(place)
    assert [event["sequence"] for event in written] == list(range(len(written)))
    ingest(None, [source], tmp_path / "whole", READING)
    expected: dict[str, set[str]] = {}
    for row in load_interest(tmp_path / "whole").to_arrow().to_pylist():
        expected.setdefault(row["node"], set()).add(row["topic"])
    assert replayed(written) == expected


@pytest.mark.slow
def test_the_time_of_a_batch_stays_flat(spark: SparkSession, tmp_path: Path) -> None:
    """The last 50 of 200 batches take as long as earlier ones, although the state grows with each."""
    for number in range(BATCHES):
        rows = (f"subscribe,n{number}-{node},t{node % 7},{number + 1}" for node in range(200))
        drop(tmp_path / "in", f"{number:03}.csv", *rows)
    ended: list[BatchOutcome] = []
    place = tmp_path / "out"
    follow(spark, tmp_path / "in", place, READING, max_files=1, report=ended.append)
    done = [Path(outcome_file(str(place), number)).stat().st_mtime for number in range(BATCHES)]
    seconds = np.diff(done)
    early, late = np.median(seconds[20:70]), np.median(seconds[-50:])
    assert (len(ended), len(events(place))) == (BATCHES, BATCHES * 200)
    assert late <= 1.5 * early, f"{early:.2f} s, then {late:.2f} s"


def _kill_when(source: Path, place: Path, ready: Callable[[], bool]) -> None:
    """Follow in another process until a condition holds, then kill it."""
    process = subprocess.Popen([sys.executable, "-c", FOLLOW, str(source), str(place)])
    try:
        wait(lambda: ready() or process.poll() is not None, 300.0)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def _is_open(place: Path, at_least: int) -> bool:
    """Return whether this number of batches has ended, and another one is open."""
    done = {file.stem for file in (place / "batches").glob("batch-*.json")}
    begun = {file.stem for file in (place / "inputs").glob("batch-*.json")}
    return len(done) >= at_least and bool(begun - done)


def test_mistakes_are_errors_before_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Formats, folders and the dataset to start with are checked without Java."""
    monkeypatch.setattr("meshwright.actions.spark.SparkOptions.open", None)
    (tmp_path / "in").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    words = ("follow", tmp_path / "in", "--out", tmp_path / "out")
    assert "edges cannot be followed" in meshwright(*words, "--format", "edges").complaint
    assert "--every 0.0" in meshwright(*words, "--every", "0").complaint
    assert "nothing is there" in meshwright(*words, "--start", tmp_path / "none").complaint
    assert "is not a dataset" in meshwright(*words, "--start", tmp_path / "other" / "file").complaint
    assert "no folder" in meshwright("follow", tmp_path / "none", "--out", tmp_path / "out").complaint
    full = meshwright("follow", tmp_path / "in", "--out", tmp_path / "other")
    assert "has other contents" in full.complaint
    assert not (tmp_path / "out").exists()


def test_folders_of_another_version_are_refused(tmp_path: Path) -> None:
    """A folder whose batches Spark's streams chose is refused in one line, and stays as it is."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    header = tmp_path / "out" / "follow.json"
    header.write_text('{"format": "meshwright follow", "schema": 1, "start": null}\n')
    nothing: Any = None
    with pytest.raises(FormatError, match="another version of follow: choose another folder"):
        follow(nothing, tmp_path / "in", tmp_path / "out", Reading("csv"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["follow.json"]
