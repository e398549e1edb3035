"""The commands on raw logs pass their options on and print all counts; Spark itself is replaced."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from meshwright import Interest
from meshwright.pipeline.dataset.ingest import Outcome
from meshwright.pipeline.dataset.sample import Sample
from meshwright.pipeline.follow.folder import BatchOutcome
from meshwright.pipeline.readers.formats import BRIDGES, Reading
from meshwright.store.dataset_parts import QUARANTINE
from meshwright.store.datasets import write_dataset
from terminal import meshwright

OUTCOME = Outcome(
    read=1900, kept=1200, duplicates=300, superseded=250, quarantined=150, nodes=40, topics=7,
    format="csv", node_from=None, reasons={"blank node name": 150}, cleaned={"name cleaned": 5},
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands get a session that cannot do anything."""
    monkeypatch.setattr("meshwright.actions.spark.SparkOptions.open", lambda *_: SimpleNamespace())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Replace `ingest`, and return what it is called with; there are small files to name."""
    found: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "a.csv"):
        (tmp_path / name).write_text("node,topic\na,x\n")

    def ingest(spark: Any, sources: list[str], out: Path, reading: Reading, **options: Any) -> Outcome:
        found.update(sources=sources, reading=reading, max_bad=options["max_bad"])
        aside = {"source": "a.csv", "line": 3, "record": "x", "reason": "blank node name"}
        write_dataset(
            Interest.from_dict({"a": {"x"}}), out, quarantine=QUARANTINE.empty_table().from_pylist([aside])
        )
        return OUTCOME

    monkeypatch.setattr("meshwright.pipeline.dataset.ingest.ingest", ingest)
    monkeypatch.setattr("meshwright.pipeline.readers.shares.check_headers", lambda *_: None)
    return found


def test_ingest_prints_what_became_of_each_row(asked: dict[str, Any], tmp_path: Path) -> None:
    """The counts add up in the text, and the JSON answer has them with the reasons."""
    out = tmp_path / "dataset"
    lines = meshwright("ingest", "a.csv", "--format", "csv", "--out", out).out.splitlines()
    assert lines[:2] == [
        "40 brokers, 7 topics, 1,200 subscriptions",
        "read 1,900 rows = 1,200 kept + 300 duplicates + 250 superseded + 150 quarantined",
    ]
    assert "blank node name" in lines[2]
    assert lines[3] == "cleaned 5 × name cleaned"
    assert lines[-1] == f"written to {out}"
    answer = meshwright("ingest", "a.csv", "--format", "csv", "--out", out, "--json").json
    assert answer == {**OUTCOME.described(), "dataset": str(out)}


def test_ingest_passes_its_options_on(asked: dict[str, Any], tmp_path: Path) -> None:
    """Each option becomes the field of the reading that it stands for; without options, defaults hold."""
    out = tmp_path / "dataset"
    words = (
        "--format csv --node n --topic t --time at --operation op --sequence s --delimiter tab --no-header"
    )
    moment = "--as-of 1970-01-01T00:01:00Z --bridges ^b --max-bad 0.5"
    assert meshwright("ingest", "a", "b", *words.split(), *moment.split(), "--out", out).code == 0
    assert asked["sources"] == ["a", "b"]
    assert asked["max_bad"] == 0.5
    columns: dict[str, Any] = {"node": "n", "topic": "t", "time": "at", "operation": "op", "sequence": "s"}
    assert asked["reading"] == Reading(
        "csv", **columns, delimiter="\t", header=False, as_of=60.0, bridges="^b"
    )
    assert meshwright("ingest", "a", "--format", "edges", "--both-ways", "--out", out).code == 0
    assert asked["reading"] == Reading("edges", both_ways=True)
    words = "--format mosquitto-log --node-from client"
    assert meshwright("ingest", "a", *words.split(), "--out", out).code == 0
    assert asked["reading"] == Reading("mosquitto-log", node_from="client", bridges=BRIDGES)


def test_ingest_refuses_bad_options_at_once(asked: dict[str, Any], tmp_path: Path) -> None:
    """An invalid time or an unknown format is refused, and nothing is read."""
    out = tmp_path / "dataset"
    assert (
        "--as-of noon is not a time" in meshwright("ingest", "a", "--as-of", "noon", "--out", out).complaint
    )
    assert "no format 'xml'" in meshwright("ingest", "a", "--format", "xml", "--out", out).complaint
    assert asked == {}


def test_follow_reports_batches_and_their_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch is a line on stderr, or nothing with --json; the answer has the sums."""
    asked: list[dict[str, Any]] = []

    def follow(spark: Any, source: str, out: Path, reading: Reading, *, report: Any, **options: Any) -> None:
        asked.append({"reading": reading, **options})
        for number in range(2):
            report(BatchOutcome(number, 1, 1000, 700, 100, 150, 50, 40, 40 * (number + 1)))

    monkeypatch.setattr("meshwright.pipeline.follow.stream.follow", follow)
    words: list[str | Path] = ["follow", tmp_path, "--format", "csv", "--out", tmp_path / "out"]
    answer = meshwright(*words, "--once")
    assert answer.out == f"80 events from 2,000 rows written to {tmp_path / 'out' / 'events'}\n"
    assert answer.err.splitlines() == [
        f"meshwright: batch {number}: read 1,000 rows = 700 applied + 100 unchanged + 150 superseded + "
        "50 quarantined; 40 events"
        for number in range(2)
    ]
    more = ["--max-files", "3", "--forget", "1"]
    start = tmp_path / "start"
    write_dataset(Interest.from_dict({"a": {"x"}}), start)
    answer = meshwright(*words, "--every", "2", "--start", start, *more, "--json")
    counts = {"read": 2000, "applied": 1400, "unchanged": 200, "superseded": 300, "quarantined": 100}
    assert answer.json == {"batches": 2, **counts, "events": 80, "out": str(tmp_path / "out")}
    assert answer.err == ""
    assert asked == [
        {"reading": Reading("csv"), "start": None, "every": None, "max_files": None, "forget": 30 * 86400},
        {"reading": Reading("csv"), "start": str(start), "every": 2.0, "max_files": 3, "forget": 86400},
    ]
    assert "create it" in meshwright("follow", tmp_path / "none", "--out", tmp_path / "out").complaint


SILENT = "1 of those found subscribes to nothing and is a topic only"


@pytest.mark.parametrize(
    ("nodes", "start", "said"),
    [
        ("7", [], f"6 of 7 brokers: {SILENT}"),
        ("9", [], f"6 of 9 brokers: {SILENT}, and there are no more"),
        ("5", ["--from", "far"], f"1 of 5 brokers: {SILENT}, and the search from --from reaches no more"),
        ("3", ["--from", "p1"], None),
    ],
)
def test_a_sample_of_fewer_brokers_says_why(
    tmp_path: Path, nodes: str, start: list[str], said: str | None
) -> None:
    """A sample smaller than asked says how many are missing, and why; one of full size says nothing."""
    people = {f"p{i}": {f"p{(i + 1) % 5}"} for i in range(5)} | {"far": {"away"}}
    write_dataset(Interest.from_dict(people), tmp_path / "data")
    words: list[str | Path] = ["sample", tmp_path / "data", "--nodes", nodes, *start]
    assert meshwright(*words, "--out", tmp_path / "out").err == (
        "" if said is None else f"meshwright: {said}\n"
    )


def test_sample_says_what_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text and the JSON answer have the size, the seeds and the levels of a sample."""
    asked: list[Any] = []

    def sample(source: Any, nodes: int, **options: Any) -> Sample:
        asked.append((nodes, options))
        return Sample(Interest.from_dict({"a": {"x"}, "b": {"x", "y"}}), ["a", "b"], 3, "topics")

    monkeypatch.setattr("meshwright.pipeline.dataset.sample.sample", sample)
    source, out = tmp_path / "dataset", tmp_path / "sample"
    write_dataset(Interest.from_dict({"a": {"x"}}), source)
    words: list[str | Path] = [
        "sample",
        source,
        "--nodes",
        "2",
        "--from",
        "a",
        "--from",
        "b",
        "--out",
        out,
    ]
    assert meshwright(*words).out.splitlines() == [
        "2 brokers, 2 topics, 3 subscriptions",
        "from a, b, 3 levels",
        f"written to {out}",
    ]
    found = {"seeds": ["a", "b"], "levels": 3, "by": "topics"}
    counts = {"nodes": 2, "topics": 2, "subscriptions": 3}
    assert meshwright(*words, "--by", "topics", "--seed", "7", "--json").json == {
        **counts,
        **found,
        "dataset": str(out),
    }
    assert asked == [
        (2, {"start": ["a", "b"], "by": None, "seed": 0}),
        (2, {"start": ["a", "b"], "by": "topics", "seed": 7}),
    ]
