"""Filters from broker logs: shutdowns, excluded topics, the kind of topics, empty results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from meshwright.store.datasets import read_topic_kind, write_dataset
from meshwright.store.interest_files import load_interest
from meshwright.workloads import zipf
from terminal import meshwright

SESSION = """1700000000: mosquitto version 2.0.11 starting
1700000001: New client connected from 127.0.0.1:5000 as meter (p2, c1, k60).
1700000001: meter 0 plant/#
1700000002: New client connected from 127.0.0.1:5001 as old one (p2, c1, k60).
1700000002: old one 0 gone
1700000003: Client old one disconnected.
1700000100: New client connected from 127.0.0.1:5002 as app (p2, c1, k60).
1700000100: app 0 $share/g/plant/+/state
"""
SHUTDOWN = """1700000200: Client meter disconnected.
1700000200: Client app closed its connection.
1700000201: mosquitto version 2.0.11 terminating
"""


def topics(folder: Path, text: str, *words: str) -> list[object]:
    """Ingest a log and return the topics of its broker."""
    (folder / "hub.log").write_text(text)
    given = (folder / "hub.log", "--node-from", "broker", "--out", folder / "dataset")
    answer = meshwright("ingest", *given, *words)
    assert answer.code == 0, answer.err
    return list(load_interest(folder / "dataset").topic_names.to_pylist())


def test_the_state_before_a_shutdown_counts(tmp_path: Path) -> None:
    """A log that ends with the shutdown has the subscriptions from before it, and the answer says so."""
    before = ["plant/#", "plant/+/state"]
    assert topics(tmp_path, SESSION) == before
    assert topics(tmp_path, SESSION + SHUTDOWN) == before
    answer = meshwright(
        "ingest", tmp_path / "hub.log", "--node-from", "broker", "--out", tmp_path / "dataset", "--json"
    )
    assert answer.json["cleaned"] == {"subscription from before the shutdown with which the log ends": 2}
    terminating = SHUTDOWN.splitlines(keepends=True)[-1]
    assert topics(tmp_path, SESSION + terminating) == before


def test_a_broker_that_starts_again_has_lost_its_sessions(tmp_path: Path) -> None:
    """Only a shutdown at the end counts: after a restart, clients that do not return hold nothing."""
    again = "1700000300: mosquitto version 2.0.11 starting\n"
    back = again + "1700000301: New client connected from 127.0.0.1:5003 as app (p2, c1, k60).\n"
    assert topics(tmp_path, SESSION + SHUTDOWN + back + "1700000301: app 0 x\n") == ["x"]


def test_an_empty_result_is_loud(tmp_path: Path) -> None:
    """An ingest that keeps nothing has exit code 1, unless it is allowed."""
    (tmp_path / "hub.log").write_text(SESSION + "1700000300: mosquitto version 2.0.11 starting\n")
    words: list[str | Path] = ["ingest", tmp_path / "hub.log", "--out", tmp_path / "dataset"]
    answer = meshwright(*words)
    assert answer.code == 1
    assert "nothing was kept" in answer.err
    assert meshwright(*words, "--allow-empty").code == 0


def test_a_file_without_rows_is_loud(tmp_path: Path) -> None:
    """A header alone keeps nothing: that is accepted only if it is asked for."""
    (tmp_path / "a.csv").write_text("node,topic\n", encoding="utf-8")
    answer = meshwright("ingest", tmp_path / "a.csv", "--out", tmp_path / "out")
    assert (answer.code, "nothing was kept" in answer.err) == (1, True)
    assert not (tmp_path / "out").exists()
    answer = meshwright("ingest", tmp_path / "a.csv", "--out", tmp_path / "out", "--allow-empty")
    assert (answer.code, answer.err) == (0, "")


@pytest.mark.parametrize(
    "given",
    [
        ("--time", "when"),
        ("--operation", "what"),
        ("--sequence", "order"),
        ("--as-of", "2026-01-31T12:00:00Z"),
    ],
    ids=" ".join,
)
def test_a_file_without_rows_uses_no_column(tmp_path: Path, given: tuple[str, str]) -> None:
    """A header alone is an empty dataset if that is allowed, whatever columns are named."""
    (tmp_path / "a.csv").write_text("node,topic,when,what,order\n", encoding="utf-8")
    words = ("ingest", tmp_path / "a.csv", *given, "--out", tmp_path / "out")
    refused = meshwright(*words)
    assert (refused.code, "--allow-empty" in refused.err) == (1, True)
    answer = meshwright(*words, "--allow-empty")
    assert (answer.code, answer.err) == (0, "")
    assert load_interest(tmp_path / "out").num_subscriptions == 0


def test_an_empty_result_replaces_nothing(tmp_path: Path) -> None:
    """Whatever the reason is that no row is kept, the dataset at the place stays; quarantine is explained."""
    good, file = tmp_path / "good", tmp_path / "a.csv"
    write_dataset(zipf(20, 5, size=2, seed=1), good)
    before = {part: part.read_bytes() for part in good.rglob("*") if part.is_file()}
    cases = {
        "": "no rows in",
        "node,topic\n": "no rows in",
        "node,topic\na,\n,y\n": "2 rows = 2 quarantined",
        "node,topic,operation\na,x,subscribe\na,x,unsubscribe\n": "2 rows = 2 superseded",
        "node,topic\na,#\n": "1 row = 1 excluded",
    }
    words = ("ingest", file, "--max-bad", "1", "--exclude-topic", "#", "--out", good)
    for text, reason in cases.items():
        file.write_text(text, encoding="utf-8")
        answer = meshwright(*words)
        assert answer.code == 1
        assert answer.err.count("\n") == 1
        for part in ("nothing was kept", f"nothing is written to {good}", reason, "--allow-empty"):
            assert part in answer.err, text
        assert "written to" not in answer.out
        assert {part: part.read_bytes() for part in good.rglob("*") if part.is_file()} == before, text
    file.write_text("node,topic\n" + "a,\n" * 7, encoding="utf-8")
    shown = meshwright(*words).out.splitlines()
    assert "read 7 rows = 0 kept + 0 duplicates + 0 superseded + 7 quarantined" in shown
    assert "  7 × blank topic name" in shown
    assert shown[-5:] == [f"  line {line} of {file}: blank topic name" for line in range(2, 7)]
    described = meshwright(*words, "--json")
    assert (described.code, described.json["dataset"], described.json["quarantined"]) == (1, None, 7)
    assert len(described.json["first_quarantined"]) == 5
    assert meshwright(*words, "--allow-empty").code == 0
    assert load_interest(good).num_subscriptions == 0


def test_excluded_topics_are_counted(tmp_path: Path) -> None:
    """Rows of an excluded topic are left out, counted and recorded."""
    assert topics(tmp_path, SESSION, "--exclude-topic", "plant/#") == ["plant/+/state"]
    file, out = tmp_path / "a.csv", tmp_path / "csv"
    file.write_text("node,topic\na,x\nb,x\na,y\n")
    answer = meshwright("ingest", file, "--exclude-topic", "x", "--out", out, "--json").json
    assert [answer[name] for name in ("read", "kept", "superseded", "excluded")] == [3, 1, 0, 2]
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["counts"]["excluded"], manifest["made_by"]["excluded"]) == (2, ["x"])
    said = meshwright("ingest", file, "--exclude-topic", "x", "--out", tmp_path / "again").out
    assert "read 3 rows = 1 kept + 0 duplicates + 0 superseded + 0 quarantined + 2 excluded" in said


def test_the_kind_of_topics_is_recorded(tmp_path: Path) -> None:
    """Broker logs have MQTT filters; other files what the option says."""
    topics(tmp_path, SESSION)
    assert read_topic_kind(tmp_path / "dataset") == "mqtt"
    file = tmp_path / "a.csv"
    file.write_text("node,topic\na,x\n")
    for kind in ("plain", "mqtt"):
        assert meshwright("ingest", file, "--topic-kind", kind, "--out", tmp_path / "csv").code == 0
        assert read_topic_kind(tmp_path / "csv") == kind
    wrong = meshwright("ingest", file, "--topic-kind", "x", "--out", tmp_path / "csv")
    assert "no topic kind" in wrong.complaint
