"""Ingest: the dataset does not depend on how the data is split, and every row is accounted for."""

from __future__ import annotations

import bz2
import gzip
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import meshwright as mw
from meshwright import Interest, load_interest
from meshwright.errors import FormatError, InputError
from meshwright.pipeline.dataset.ingest import NothingKeptError, Outcome, ingest
from meshwright.pipeline.dataset.publications import sum_traffic
from meshwright.pipeline.readers import sources
from meshwright.pipeline.readers.csv_files import Layout
from meshwright.pipeline.readers.fields import name_reasons
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.times import WRONG_CLOCK
from meshwright.store.datasets import write_dataset
from meshwright.workloads import write_raw_events, zipf
from terminal import meshwright

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conftest import Engine


def aside(dataset: Path) -> list[tuple[str, int, str]]:
    """Return file name, line and reason of every quarantined record."""
    rows = pq.read_table(dataset / "quarantine").to_pylist()
    return [(Path(row["source"]).name, row["line"], row["reason"]) for row in rows]


def reconciled(outcome: Outcome) -> bool:
    accounted = outcome.kept + outcome.duplicates + outcome.superseded + outcome.quarantined
    return outcome.read == accounted


def same_content(one: Path, other: Path) -> bool:
    """Return whether the tables of two datasets have the same bytes."""
    tables = [f"{kind}/part-00000.parquet" for kind in ("subscriptions", "nodes", "topics", "quarantine")]
    return all((one / table).read_bytes() == (other / table).read_bytes() for table in tables)


def test_every_format_gives_the_same_dataset(tmp_path: Path) -> None:
    """The same subscriptions as CSV, JSON lines, Parquet or edges, plain or compressed, give equal tables."""
    interest = zipf(40, 12, size=4, seed=5)
    pairs = interest.canonical().to_arrow().to_pylist()
    expected = write_dataset(interest, tmp_path / "expected")
    csv = "node,topic\n" + "".join(f"{pair['node']},{pair['topic']}\n" for pair in pairs)
    lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
    edges = "# a comment\n" + "".join(f"{pair['node']}\t{pair['topic']}\n" for pair in pairs)
    (tmp_path / "a.csv").write_text(csv)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(csv.encode()))
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(csv.encode()))
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "a.txt").write_text(edges)
    pq.write_table(interest.canonical().to_arrow(), tmp_path / "a.parquet")
    for name in ("a.csv", "a.csv.gz", "a.csv.bz2", "a.jsonl", "a.txt", "a.parquet"):
        outcome = ingest(None, [tmp_path / name], tmp_path / "out")
        assert (outcome.read, outcome.kept) == (len(pairs), len(pairs)), name
        assert same_content(tmp_path / "out", expected), name
        assert load_interest(tmp_path / "out").fingerprint == interest.fingerprint


def _cached(engine: Engine) -> int:
    """Return how much stays cached on the executors; other tests share the session."""
    return 0 if engine is None else int(engine.sparkContext._jsc.getPersistentRDDs().size())


def test_order_and_partitions_do_not_matter(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shuffled files in any order, in 1 or 6 shares, give the same bytes, including the manifest."""
    before = _cached(engine)
    rng = np.random.default_rng(2)
    pairs = [f"n{rng.integers(60)},t{int(rng.zipf(1.5)) % 40}" for _ in range(1500)]
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    written = []
    for partitions in (1, 6):
        rng.shuffle(pairs)
        files.reverse()
        for file, part in zip(files, (pairs[:400], pairs[400:]), strict=True):
            file.write_text("node,topic\n" + "\n".join(part) + "\n")
        size = -(-sum(file.stat().st_size for file in files) // partitions)
        monkeypatch.setattr(sources, "BYTES_IN_A_SHARE", size)
        outcome = ingest(engine, files, tmp_path / f"out{partitions}")
        assert reconciled(outcome)
        assert outcome.duplicates == len(pairs) - len(set(pairs))
        found = sorted(file for file in (tmp_path / f"out{partitions}").rglob("*") if file.is_file())
        written.append([(file.name, file.read_bytes()) for file in found])
    assert written[0] == written[1]
    interest = Interest.from_pairs(*zip(*(pair.split(",") for pair in pairs), strict=True))
    assert load_interest(tmp_path / "out6").fingerprint == interest.fingerprint
    # Nothing stays cached on the executors.
    assert _cached(engine) == before


def test_line_numbers_across_shares(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarantined record has its line number in the file, in every share."""
    bad = {2, 3, 150, 299, 300}
    lines = [f"{number}" if number in bad else f"n{number % 7},t{number % 11}" for number in range(2, 301)]
    (tmp_path / "a.csv").write_text("node,topic\n" + "\n".join(lines))
    monkeypatch.setattr(sources, "BYTES_IN_A_SHARE", 500)
    outcome = ingest(engine, [tmp_path / "a.csv"], tmp_path / "out")
    assert outcome.quarantined == len(bad)
    assert aside(tmp_path / "out") == [("a.csv", line, "1 column, not 2") for line in sorted(bad)]


def test_the_first_bad_rows_across_shares(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If nothing is kept, the first rows of the quarantine are named, whatever the shares."""
    (tmp_path / "a.csv").write_text("node,topic\n" + "bad\n" * 30)
    monkeypatch.setattr(sources, "BYTES_IN_A_SHARE", 12)
    with pytest.raises(NothingKeptError, match="30 rows = 30 quarantined") as caught:
        ingest(engine, [tmp_path / "a.csv"], tmp_path / "out", max_bad=1)
    expected = [f"line {line} of {tmp_path / 'a.csv'}: 1 column, not 2" for line in range(2, 7)]
    assert [example.replace("file:", "") for example in caught.value.examples] == expected
    assert not (tmp_path / "out").exists()


def test_events_are_folded(engine: Engine, tmp_path: Path) -> None:
    """Events are ordered by time, then sequence; each row is kept, duplicate or superseded."""
    (tmp_path / "a.csv").write_text(
        "operation,node,topic,time,sequence\n"
        "subscribe,a,x,2024-01-01T00:00:03Z,1\n"  # after the unsubscribe, though before it in the file: kept
        "unsubscribe,a,x,2024-01-01T00:00:02Z,2\n"
        "subscribe,a,x,2024-01-01T00:00:01Z,3\n"
        "SUBSCRIBE,a,x,1704067204,4\n"  # again: a duplicate
        "subscribe,b,x,1704067201000,2\n"  # same time as its unsubscribe, later sequence: kept
        "unsubscribe,b,x,1704067201,1\n"
        "unsubscribe,c,y,1704067201,1\n"  # of a subscription that never existed
        "subscribe,d,y,1704067201,1\n"
        "unsubscribe,d,y,1704067209,1\n"
    )
    outcome = ingest(engine, [tmp_path / "a.csv"], tmp_path / "now")
    assert (outcome.read, outcome.kept, outcome.duplicates, outcome.superseded) == (9, 2, 1, 6)
    assert load_interest(tmp_path / "now").to_arrow().to_pylist() == [
        {"node": "a", "topic": "x"},
        {"node": "b", "topic": "x"},
    ]
    then = Reading("csv", as_of=1704067202.5)
    outcome = ingest(engine, [tmp_path / "a.csv"], tmp_path / "then", then)
    assert (outcome.read, outcome.kept, outcome.duplicates, outcome.superseded) == (9, 2, 0, 7)
    assert load_interest(tmp_path / "then").node_names.to_pylist() == ["b", "d"]


def test_raw_logs_give_what_they_were_made_from(tmp_path: Path) -> None:
    """Raw, dirty events generated from an interest fold to that interest, in any number of files."""
    interest = zipf(60, 20, size=5, seed=9)
    files = write_raw_events(interest, tmp_path / "raw", files=3, seed=2)
    outcome = ingest(None, files, tmp_path / "out")
    assert reconciled(outcome)
    assert min(outcome.duplicates, outcome.superseded, outcome.quarantined) > 0
    assert load_interest(tmp_path / "out").fingerprint == interest.fingerprint


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    """Files may have different column orders; a missing column is named with its file."""
    (tmp_path / "a.csv").write_text("broker;filter;x\nb1;t1;0\n")
    (tmp_path / "b.csv").write_text('x;filter;broker\n0;"t;2";b2\n')
    reading = Reading("csv", node="broker", topic="filter", delimiter=";")
    ingest(None, [tmp_path / "*.csv"], tmp_path / "out", reading)
    assert load_interest(tmp_path / "out").to_arrow().to_pylist() == [
        {"node": "b1", "topic": "t1"},
        {"node": "b2", "topic": "t;2"},
    ]
    with pytest.raises(InputError, match=r"no column 'node' in .*a\.csv; .*'broker'.*--node"):
        ingest(None, [tmp_path / "a.csv"], tmp_path / "out", Reading("csv", delimiter=";"))


def test_edges_both_ways(tmp_path: Path) -> None:
    """Both ways, each end of an edge subscribes to the other."""
    (tmp_path / "a.txt").write_text("# FromNodeId ToNodeId\n% too\n\n1 2\n2\t3 0.5\nlonely\n 3, 1 \n")
    outcome = ingest(
        None, [tmp_path / "a.txt"], tmp_path / "out", Reading("edges", both_ways=True), max_bad=0.25
    )
    assert (outcome.read, outcome.kept, outcome.quarantined) == (7, 6, 1)
    assert aside(tmp_path / "out") == [("a.txt", 6, "fewer than two columns")]
    pairs = {(row["node"], row["topic"]) for row in load_interest(tmp_path / "out").to_arrow().to_pylist()}
    assert pairs == {("1", "2"), ("2", "1"), ("2", "3"), ("3", "2"), ("3", "1"), ("1", "3")}


def test_parquet_types(tmp_path: Path) -> None:
    """Integers become names, nulls and blanks are quarantined with their rows, events fold as in CSV."""
    table = pa.table(
        {
            "node": pa.array([1, 2, None, 10, 1]),
            "topic": ["x", " ", "x", "y", "x"],
            "operation": ["subscribe", "subscribe", "subscribe", None, "dance"],
            "time": pa.array([0, 1, 2, 3, 4], pa.timestamp("s")),
        }
    )
    pq.write_table(table, tmp_path / "a b.parquet")
    outcome = ingest(None, [tmp_path / "a b.parquet"], tmp_path / "out", max_bad=1)
    assert (outcome.read, outcome.kept, outcome.quarantined) == (5, 2, 3)
    assert load_interest(tmp_path / "out").node_names.to_pylist() == ["1", "10"]
    assert aside(tmp_path / "out") == [
        ("a b.parquet", 2, "blank topic name"),
        ("a b.parquet", 3, "no node name"),
        ("a b.parquet", 5, "unknown operation"),
    ]


def test_too_many_bad_rows(tmp_path: Path) -> None:
    """Above the allowed share of bad rows, ingest names the first bad line and writes nothing."""
    (tmp_path / "a.csv").write_text("node,topic\na,x\nb\nc,y\n")
    with pytest.raises(
        InputError, match=r"1 of 3 rows cannot be used, .*10.0 %.*line 3 of .*a\.csv \(1 column,"
    ):
        ingest(None, [tmp_path / "a.csv"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_to_read(tmp_path: Path) -> None:
    """A missing file, files without rows and an unknown extension have their own errors."""
    with pytest.raises(InputError, match=r"nowhere.* does not exist"):
        ingest(None, [tmp_path / "nowhere.csv"], tmp_path / "out")
    (tmp_path / "a.csv").write_text("node,topic\n")
    with pytest.raises(
        InputError, match=r"nothing is written to .*: no rows in .*; give files that have some"
    ):
        ingest(None, [tmp_path / "a.csv"], tmp_path / "out")
    (tmp_path / "b.dat").write_text("a,b\n")
    with pytest.raises(InputError, match=r"b\.dat.*give --format"):
        ingest(None, [tmp_path / "b.dat"], tmp_path / "out")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_subscriptions_and_events_together(tmp_path: Path, kind: str) -> None:
    """Rows without an operation are subscribes before all events."""
    plain: list[dict[str, Any]] = [{"node": node, "topic": "x"} for node in "ab"]
    event: dict[str, Any] = {"node": "a", "topic": "x", "operation": "unsubscribe", "time": 3}
    for name, rows in (("a", plain), ("b", [event])):
        csv = "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)])
        lines = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / f"{name}.{kind}").write_text((csv if kind == "csv" else lines) + "\n")
    sources = [tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"]
    later = ingest(None, sources, tmp_path / "out")
    assert (later.read, later.kept, later.superseded) == (3, 1, 2)
    earlier = ingest(None, sources, tmp_path / "out", Reading(kind, as_of=2.0))
    assert (earlier.kept, earlier.superseded) == (2, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", "node,topic\na,x\n"), ("a.txt", "a x\n"), ("a.jsonl", '{"node":"a","topic":"x"}')],
)
def test_a_time_needs_rows_with_times(tmp_path: Path, name: str, text: str) -> None:
    """--as-of is refused if no row has a time."""
    (tmp_path / name).write_text(text)
    reading = Reading({"csv": "csv", "txt": "edges", "jsonl": "jsonl"}[name[2:]], as_of=5.0)
    with pytest.raises(InputError, match="--as-of needs times, and no row has one"):
        ingest(None, [tmp_path / name], tmp_path / "out", reading)


def test_parquet_files_may_differ_in_columns(tmp_path: Path) -> None:
    """The columns of every file count, in any order of file names."""
    state = pa.table({"node": ["a"], "topic": ["x"]})
    events = pa.table(
        {"node": ["b", "a"], "topic": ["x", "x"], "operation": ["unsubscribe"] * 2, "time": [1, 2]}
    )
    for number, (first, second) in enumerate(((state, events), (events, state))):
        folder = tmp_path / f"in{number}"
        folder.mkdir()
        pq.write_table(first, folder / "a.parquet")
        pq.write_table(second, folder / "b.parquet")
        outcome = ingest(None, [folder], tmp_path / "out", allow_empty=True)
        assert (outcome.read, outcome.kept, outcome.superseded) == (3, 0, 3)
    # Names may be integers in one file and texts in another.
    pq.write_table(pa.table({"node": [1], "topic": ["x"]}), tmp_path / "in0" / "c.parquet")
    assert ingest(None, [tmp_path / "in0"], tmp_path / "out").kept == 1


def test_parquet_times(tmp_path: Path) -> None:
    """A text without a date is not a time, as in CSV; timestamps may have any unit."""
    texts = ["2026-01-01", "2026-01-01T12:00:00Z", "2026-01-01 12:00", "12:30:00", "2026-05", "1767225600"]
    columns = {"node": ["a"] * 6, "topic": [*"uvwxyz"], "time": texts}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    ingest(None, [tmp_path / "a.parquet"], tmp_path / "out", max_bad=1.0)
    assert [line for _, line, _ in aside(tmp_path / "out")] == [4, 5]
    lines = [f"{node},{topic},{time}\n" for node, topic, time in zip(*columns.values(), strict=True)]
    (tmp_path / "a.csv").write_text("node,topic,time\n" + "".join(lines))
    ingest(None, [tmp_path / "a.csv"], tmp_path / "csv", max_bad=1.0)
    assert [line - 1 for _, line, _ in aside(tmp_path / "csv")] == [4, 5]
    for unit in ("s", "ms", "us", "ns"):
        stamps = pa.array([1, 2], pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp(unit))
        words = ["subscribe", "unsubscribe"]
        table = pa.table({"node": ["a"] * 2, "topic": ["x"] * 2, "time": stamps, "operation": words})
        pq.write_table(table, tmp_path / f"{unit}.parquet")
        outcome = ingest(
            None, [tmp_path / f"{unit}.parquet"], tmp_path / "out", Reading("parquet", as_of=1.0)
        )
        assert (outcome.kept, outcome.superseded) == (1, 1)


@pytest.mark.parametrize("kind", [pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.date32()], ids=str)
def test_parquet_times_that_are_far_away(tmp_path: Path, kind: pa.DataType) -> None:
    """They are quarantined one by one, also beyond the years that Python knows."""
    far = pa.array([2**30 if kind == pa.date32() else 2**62, 19000, -(2**30)], kind)
    pq.write_table(pa.table({"node": [*"abc"], "topic": [*"xyz"], "time": far}), tmp_path / "a.parquet")
    outcome = ingest(None, [tmp_path / "a.parquet"], tmp_path / "out", max_bad=1.0)
    assert (outcome.kept, outcome.reasons) == (1, {WRONG_CLOCK: 2})


def test_parquet_names_that_are_not_utf8(tmp_path: Path) -> None:
    """Their rows are quarantined, and the others kept, among names that need a closer look."""
    names = pa.array([b"a", b"\xff", "é".encode()]).view(pa.string())
    pq.write_table(pa.table({"node": names, "topic": ["x"] * 3}), tmp_path / "a.parquet")
    outcome = ingest(None, [tmp_path / "a.parquet"], tmp_path / "out", max_bad=1.0)
    assert (outcome.kept, outcome.reasons) == (2, {"not UTF-8": 1})


def test_reasons_are_counted_the_most_frequent_first(tmp_path: Path) -> None:
    """Equally frequent ones are in the order of their names."""
    (tmp_path / "a.csv").write_text("node,topic\na,x\nb\n,y\na,\nb,\n")
    outcome = ingest(None, [tmp_path / "a.csv"], tmp_path / "out", max_bad=1)
    expected = {"blank topic name": 2, "1 column, not 2": 1, "blank node name": 1}
    assert list(outcome.reasons.items()) == list(expected.items())


def test_messages_name_the_parameters_of_python(tmp_path: Path) -> None:
    """What Python callers can change is named as they spell it; the command line names its options."""
    file, out = tmp_path / "a.csv", tmp_path / "out"
    file.write_text("node,topic\na,x\nb\n")
    with pytest.raises(InputError, match=r"more than 10\.0 %: .*; correct them, or raise max_bad$"):
        ingest(None, [file], out)
    complaint = meshwright("ingest", file, "--out", out).complaint
    assert complaint.endswith("correct them, or raise --max-bad\n")
    (tmp_path / "log.csv").write_text("publisher,topic\na,x\nb\n")
    complaint = meshwright("traffic", tmp_path / "log.csv", "--seconds", "1", "--out", out).complaint
    assert complaint.endswith("correct them, or raise --max-bad\n")
    for command in ("ingest", "traffic"):
        complaint = meshwright(command, file, "--max-bad", "3", "--out", out).complaint
        assert "invalid value for '--max-bad': give 1 or less" in complaint
    file.write_text("node,topic\n")
    with pytest.raises(NothingKeptError, match=r"or accept an empty dataset with allow_empty=True$"):
        ingest(None, [file], out)
    assert meshwright("ingest", file, "--out", out).err.endswith(
        "accept an empty dataset with --allow-empty\n"
    )


def test_both_ways_does_not_hide_bad_lines(tmp_path: Path) -> None:
    """The allowed share of bad rows is a share of lines, not of the rows that good lines become."""
    (tmp_path / "a.txt").write_text("a b\n" * 8 + "alone\n" * 2)
    for both_ways in (False, True):
        reading = Reading("edges", both_ways=both_ways)
        with pytest.raises(InputError, match="2 of 10 rows cannot be used"):
            ingest(None, [tmp_path / "a.txt"], tmp_path / "out", reading, max_bad=0.15)
        assert reconciled(ingest(None, [tmp_path / "a.txt"], tmp_path / "out", reading, max_bad=0.2))


@pytest.mark.parametrize("max_bad", [-0.1, 1.1, math.nan])
@pytest.mark.parametrize("read", [ingest, sum_traffic], ids=["ingest", "traffic"])
def test_impossible_shares(read: Any, max_bad: float, tmp_path: Path) -> None:
    """The share of bad rows lies between 0 and 1; anything else is refused before any file is read."""
    with pytest.raises(InputError, match=r"^max_bad is .*: give a share from 0 to 1$"):
        read(None, ["a.csv"], tmp_path / "out", max_bad=max_bad)


@pytest.mark.parametrize("header", [b"n\xffde,topic", b'"node,topic'])
def test_headers_that_cannot_be_read(header: bytes) -> None:
    """A first line that is not UTF-8, or whose quotes do not match, is not a header."""
    with pytest.raises(FormatError, match=r"the first line of /p/a\.csv is not a header: correct it"):
        Layout(header, Reading("csv"), "/p/a.csv")


def test_columns_must_be_unique() -> None:
    """A column that occurs twice is refused, unless nobody asks for it."""
    with pytest.raises(InputError, match=r"/p/a\.csv has more than one column 'topic'"):
        Layout(b"node,topic,topic", Reading("csv"), "/p/a.csv")
    assert Layout(b"x,node,x,topic", Reading("csv"), "/p/a.csv").places["topic"] == 3


def test_reasons_of_names() -> None:
    """Each name has its reason, at the limits too."""
    names = ["a", None, "", "  ", "\u3000", "a\tb", "\x7f", "é", "x" * 65_535, "x" * 65_536, "é" * 32_768]
    assert name_reasons(pa.array(names, pa.string()), "node").to_pylist() == [
        None,
        "no node name",
        *["blank node name"] * 3,
        *["control character in node name"] * 2,
        *[None] * 2,
        *["node name longer than 65535 bytes"] * 2,
    ]


def test_a_table_of_a_session(spark: SparkSession, tmp_path: Path) -> None:
    """A DataFrame gives the same dataset as a file with its rows; bad rows and missing columns are named."""
    rows = [(f"n{i % 7}", i % 5, "unsubscribe" if i % 3 == 0 else "subscribe", i + 1) for i in range(60)]
    table = spark.createDataFrame(
        [*rows, (" ", 1, "subscribe", 99)], "client string, t int, op string, ts long"
    )
    columns: dict[str, Any] = {"node": "client", "topic": "t", "operation": "op", "time": "ts"}
    outcome = mw.pipeline.ingest(spark, table.repartition(3), tmp_path / "out", **columns)
    assert (outcome.read, outcome.quarantined, outcome.format) == (61, 1, "table")
    lines = "".join(f"{node},{topic},{word},{time}\n" for node, topic, word, time in rows)
    (tmp_path / "a.csv").write_text("client,t,op,ts\n" + lines)
    mw.pipeline.ingest(None, tmp_path / "a.csv", tmp_path / "here", **columns)
    assert load_interest(tmp_path / "out").fingerprint == load_interest(tmp_path / "here").fingerprint
    less = mw.pipeline.ingest(spark, table, tmp_path / "less", **columns, excluded=("1",))
    assert less.topics == outcome.topics - 1
    empty = mw.pipeline.ingest(spark, table.limit(0), tmp_path / "empty", **columns, allow_empty=True)
    assert (empty.read, empty.kept) == (0, 0)
    with pytest.raises(InputError, match=r"no column 'node' in the table; the columns are 'client'.*node="):
        mw.pipeline.ingest(spark, table, tmp_path / "other")
    with pytest.raises(InputError, match=r"is double, but node names are strings or integers"):
        mw.pipeline.ingest(spark, table.selectExpr("1.5D as node", "t as topic"), tmp_path / "other")
