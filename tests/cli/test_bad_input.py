"""Bad input, each kind as a person meets it: one line, exit code 2, nothing written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from small_datasets import subscriptions_file
from terminal import meshwright

GOOD = "node,topic\na,x\nb,x\nb,y\nc,y\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write a good CSV file, the only file in its folder."""
    return subscriptions_file(tmp_path, GOOD)


def refused(source: Path, *words: str | Path) -> str:
    """Run `plan` on a source, expect a refusal that leaves the folder as it was, and return its line."""
    before = sorted(source.parent.rglob("*"))
    complaint = meshwright("plan", source, "--out", source.parent / "plan", *words).complaint
    assert sorted(source.parent.rglob("*")) == before
    return complaint


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "empty"), ("node,subject\na,x\n", "'topic'"), ("node,topic\na,x\nb,\n", "topic")],
    ids=["empty", "missing column", "null"],
)
def test_a_bad_file(source: Path, text: str, expected: str) -> None:
    """An empty file, a missing column and a missing value are each reported, with the name of the file."""
    source.write_text(text, encoding="utf-8")
    complaint = refused(source)
    assert expected in complaint
    assert source.name in complaint


def test_a_null_in_parquet(tmp_path: Path) -> None:
    """A null in a Parquet column is refused as it is in CSV."""
    source = tmp_path / "subscriptions.parquet"
    pq.write_table(pa.table({"node": ["a", None], "topic": ["x", "x"]}), source)
    assert "node" in refused(source)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing source is named."""
    assert "nowhere.csv" in refused(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--max-edges", "-1"], "max-edges"),
        (["--algorithm", "gpm", "--max-degree", "-3"], "max-degree"),
        (["--algorithm", "gpa"], "--max-edges"),
        (["--algorithm", "low", "--k", "0.5"], "at least 1"),
        (["--algorithm", "gm", "--k", "3"], "--k"),
        (["--algorithm", "finest"], "gm, minmax, low, gpa, gpm, ring"),
    ],
)
def test_bad_parameters(source: Path, words: list[str], expected: str) -> None:
    """A negative budget, a missing one, a k below 1, a parameter that is not taken, an unknown algorithm."""
    assert expected in refused(source, *words)


def test_an_unknown_algorithm_is_named_before_reading(tmp_path: Path) -> None:
    """A misspelled algorithm is reported even if the file is missing: names are checked first."""
    assert "There are gm, minmax" in refused(tmp_path / "nowhere.csv", "--algorithm", "finest")


def test_a_plan_of_another_dataset(source: Path) -> None:
    """A plan verified against other subscriptions is named as such."""
    plan, other = source.parent / "plan", source.parent / "other.csv"
    other.write_text(GOOD + "d,y\n", encoding="utf-8")
    assert meshwright("plan", source, "--out", plan).code == 0
    assert "another dataset" in meshwright("verify", plan, other).complaint


def test_targets_that_cannot_be_written(source: Path) -> None:
    """A target below a file cannot be created: the error says so, and the file is untouched."""
    complaint = meshwright("plan", source, "--out", source / "plan").complaint
    assert "subscriptions.csv" in complaint
    assert source.read_text(encoding="utf-8") == GOOD
    assert [path.name for path in source.parent.iterdir()] == [source.name]


def test_a_target_that_is_something_else(source: Path) -> None:
    """A folder that is not a plan is not replaced."""
    (source.parent / "plan").mkdir()
    (source.parent / "plan" / "diary.txt").write_text("dear diary", encoding="utf-8")
    assert "plan" in refused(source)


def test_more_subscriptions_than_fit(tmp_path: Path) -> None:
    """A workload of 2³¹ subscriptions is refused at once."""
    words = ["workload", "unif", "--nodes", str(2**28), "--topics", "100", "--size", "8"]
    assert "2³¹" in meshwright(*words, "--out", tmp_path / "dataset").complaint
    assert not list(tmp_path.iterdir())


def test_more_topics_than_can_be_numbered(tmp_path: Path) -> None:
    """A workload of ten thousand million topics is refused at once."""
    words = ["workload", "zipf", "--nodes", "10", "--topics", "9999999999", "--size", "1"]
    assert "9999999999 topics" in meshwright(*words, "--out", tmp_path / "dataset").complaint
    assert not list(tmp_path.iterdir())


def test_a_demo_without_topics(tmp_path: Path) -> None:
    """The error names the missing topics, not the subscriptions of each broker."""
    assert (
        "error: 0 topics: give at least 1" in meshwright("demo", "--topics", "0", "--out", tmp_path).complaint
    )


def test_more_subscriptions_declared_than_fit(tmp_path: Path) -> None:
    """A dataset that declares 2³¹ subscriptions is refused before its tables are read."""
    dataset = tmp_path / "dataset"
    assert meshwright("workload", "unif", "--nodes", "9", "--topics", "20", "--out", dataset).code == 0
    manifest = json.loads((dataset / "manifest.json").read_text(encoding="utf-8"))
    manifest["counts"]["subscriptions"] = 2**31
    (dataset / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "2³¹" in refused(dataset)


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("node,topic\na,x\n", 0),
        ("node,topic\na,x\nb,y\n", 0),
        ("node,topic\na,x\na,x\nb,x\n", 1),
    ],
    ids=["one node", "topics with one subscriber", "a repeated subscription"],
)
def test_small_but_good(source: Path, text: str, edges: int) -> None:
    """One broker alone, and topics with one subscriber, need no link and have full support."""
    source.write_text(text, encoding="utf-8")
    answer = meshwright("plan", source, "--out", source.parent / "plan", "--json")
    assert (answer.code, answer.json["edges"], answer.json["support"]) == (0, edges, 1.0)
    assert meshwright("verify", source.parent / "plan", source).code == 0


def test_names_that_files_spoil(tmp_path: Path) -> None:
    """Names like numbers, with commas, quotes, newlines and emoji come through a plan and back unchanged."""
    names = ["007", "7", "1e3", "a,b", 'say "hi"', "line\nbreak", "🌧️ rain", "null"]
    source = tmp_path / "subscriptions.csv"
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    source.write_text("node,topic\n" + "".join(f"{name},{quoted[5]}\n" for name in quoted), encoding="utf-8")
    assert meshwright("plan", source, "--out", tmp_path / "plan").code == 0
    assert meshwright("verify", tmp_path / "plan", source).code == 0
    edges = pq.read_table(tmp_path / "plan" / "edges.parquet")
    assert set(edges["u"].to_pylist()) | set(edges["v"].to_pylist()) == set(names)


ROUND_BY_ROUND = """
import sys
import meshwright.designs.by_contribution as design
from meshwright.__main__ import run
real = design.grow
def grow(*given, **options):
    overlay = real(*given, **options)
    print("a round is done", file=sys.stderr, flush=True)
    return overlay
design.grow = grow
run()
"""
"""The real program, which also reports each finished round."""


def test_ctrl_c_in_the_middle(tmp_path: Path) -> None:
    """A real interrupt during a plan ends it with code 130, one last line, and nothing half-written."""
    source = tmp_path / "subscriptions.parquet"
    nodes = [f"b{node}" for node in range(600) for _ in range(2)]
    topics = [f"t{number}" for node in range(600) for number in (0, 1 + node % 9)]
    pq.write_table(pa.table({"node": nodes, "topic": topics}), source)
    # A round takes some 600 of 180,000 pairs: after the first, there are hundreds to go.
    words = ["plan", source, "--out", tmp_path / "plan", "--rounds", "1000000"]
    command = [sys.executable, "-c", ROUND_BY_ROUND, *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert any("a round is done" in line for line in running.stderr)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "meshwright: interrupted; nothing was left half-written"
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
