"""`churn` and `chaos`: the library's figures, folders that verify, and clear errors."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import meshwright as mw
from meshwright.churn import POLICIES, LiveOverlay, Policy, random_churn, replay
from terminal import meshwright
from written_inputs import write_trace

FIGURES = (
    "policy", "rounds", "mean_join_edges", "mean_leave_edges", "median_join_seconds", "median_leave_seconds",
    "rebuild_seconds", "max_degree", "average_degree", "rebuild_max_degree", "rebuild_average_degree",
    "mean_join_repair_ratio", "mean_leave_repair_ratio", "median_join_greedy_seconds",
    "median_leave_greedy_seconds", "mean_shadow_size", "mean_backups", "mean_primaries", "max_primaries",
    "mean_max_degree_gap", "mean_average_degree_gap", "scratch_rounds",
)  # fmt: skip
COLUMNS = [
    "round", "event", "node", "seconds", "edges_added", "edges_removed", "max_degree", "average_degree",
    "repair_ratio", "shadow_size", "greedy_seconds", "scratch_max_degree", "scratch_average_degree",
    "scratch_seconds",
]  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """Make a small dataset and a plan for it."""
    words: list[str | Path] = [
        "--nodes",
        "60",
        "--topics",
        "12",
        "--size",
        "4",
        "--out",
        tmp_path / "dataset",
    ]
    assert meshwright("workload", "unif", *words).code == 0
    assert (
        meshwright("plan", tmp_path / "dataset", "--algorithm", "low", "--out", tmp_path / "plan").code == 0
    )
    return tmp_path / "plan", tmp_path / "dataset"


@pytest.mark.parametrize("policy", POLICIES)
def test_what_churn_leaves_verifies(made: tuple[Path, Path], tmp_path: Path, policy: str) -> None:
    """The figures are the library's, all rounds are stored, and `verify` accepts the final plan."""
    out = tmp_path / "out"
    words: list[str | Path] = ["--rounds", "30", "--policy", policy, "--seed", "4", "--out", out, "--json"]
    answer = meshwright("churn", *made, *words)
    assert (answer.code, answer.err) == (0, "")
    assert all(name in answer.json for name in FIGURES)
    rounds = pq.read_table(out / "rounds.parquet")
    assert rounds.column_names == COLUMNS
    assert rounds.num_rows == answer.json["rounds"] == 30
    assert meshwright("verify", out / "plan", out / "dataset").code == 0
    assert (out / "churn.png").stat().st_size > 0
    assert json.loads((out / "churn.json").read_text())["runs"][0]["policy"] == policy
    interest = mw.load_interest(made[1])
    live = LiveOverlay(mw.read_plan(made[0]).overlay_on(interest), Policy(policy), seed=4)
    expected = replay(live, random_churn(interest, 30, seed=4)).figures
    for name in ("mean_join_edges", "mean_leave_edges", "max_degree", "average_degree"):
        assert answer.json[name] == expected[name]


def test_the_letter_of_the_paper(made: tuple[Path, Path], tmp_path: Path) -> None:
    """--letter runs the library's Policy.letter; the gap is per round if asked for, else for ten rounds."""
    words = ["--rounds", "20", "--seed", "4", "--letter"]
    answer = meshwright("churn", *made, *words, "--scratch-every", "1", "--out", tmp_path / "out", "--json")
    interest = mw.load_interest(made[1])
    live = LiveOverlay(mw.read_plan(made[0]).overlay_on(interest), Policy.letter(), seed=4)
    expected = replay(live, random_churn(interest, 20, seed=4), scratch=1).figures
    for name in ("mean_join_repair_ratio", "mean_shadow_size", "max_primaries", "mean_max_degree_gap"):
        assert answer.json[name] == pytest.approx(expected[name])
    assert answer.json["scratch_rounds"] == 20
    nodes = pq.read_table(tmp_path / "out" / "nodes.parquet")
    assert nodes.column_names == ["node", "topics", "links", "backups", "primaries"]
    assert meshwright("churn", *made, *words, "--json").json["scratch_rounds"] == 10
    shown = meshwright("churn", *made, *words, "--scratch-every", "0").out
    assert "shadow: a repair changes" in shown
    assert "the greedy step alone takes" in shown
    assert "primaries" in shown
    assert "above Low-ODA from scratch" not in shown


def test_policies_side_by_side(made: tuple[Path, Path], tmp_path: Path) -> None:
    """`--compare` runs the same churn under each policy, in a table, as JSON, and with a folder for each."""
    words = ["--rounds", "10", "--compare", "naive,shadow"]
    answer = meshwright("churn", *made, *words, "--out", tmp_path / "out")
    assert answer.code == 0
    assert all(word in answer.out for word in ("naive", "shadow", "from scratch"))
    for policy in ("naive", "shadow"):
        folder = tmp_path / "out" / policy
        assert meshwright("verify", folder / "plan", folder / "dataset").code == 0
    printed = meshwright("churn", *made, *words, "--json").json["policies"]
    assert [each["policy"] for each in printed] == ["naive", "shadow"]


def test_a_trace_is_replayed(made: tuple[Path, Path], tmp_path: Path) -> None:
    """The events of a trace happen, those of a batch together, and the final dataset is what they say."""
    happened = list(random_churn(mw.load_interest(made[1]), 12, seed=1, burst=2))
    write_trace(happened, tmp_path / "events.jsonl")
    answer = meshwright(
        "churn", *made, "--trace", tmp_path / "events.jsonl", "--out", tmp_path / "out", "--json"
    )
    assert (answer.code, answer.json["rounds"]) == (0, 12)
    there = set(mw.load_interest(made[1]).node_names.to_pylist())
    for events in happened:
        there = there | {e.node for e in events if e.event == "join"}
        there -= {e.node for e in events if e.event == "crash"}
    assert set(mw.load_interest(tmp_path / "out" / "dataset").node_names.to_pylist()) == there


def test_a_trace_without_events_is_refused(made: tuple[Path, Path], tmp_path: Path) -> None:
    """Nothing happens in an empty trace, so there is nothing to report or to write."""
    (tmp_path / "empty.jsonl").touch()
    words = ("--trace", tmp_path / "empty.jsonl", "--out", tmp_path / "out")
    complaint = meshwright("churn", *made, *words).complaint
    assert (
        f"{tmp_path / 'empty.jsonl'} has no event that changes this plan: give a trace with some" in complaint
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--policy", "magic"], "naive, shadow, tidy, rebuild"),
        (["--compare", "naive,naive"], "each once"),
        (["--backups", "none"], "primal-dual"),
        (["--rho", "0"], "at least 1"),
        (["--letter", "--policy", "tidy"], "tidy is not in the paper"),
        (["--trace", "none.jsonl"], "nothing is there"),
        (["--trace", "none.jsonl", "--rounds", "5"], "leave out --rounds"),
    ],
)
def test_churn_refuses(made: tuple[Path, Path], words: list[str], expected: str) -> None:
    """An unknown policy, one named twice, a bad parameter, no trace, or two sources of churn."""
    assert expected in meshwright("churn", *made, *words).complaint


def test_partial_plans_and_full_places_are_refused(made: tuple[Path, Path], tmp_path: Path) -> None:
    """A plan that leaves topics split cannot be kept; a folder with something else is not overwritten."""
    partial = tmp_path / "partial"
    meshwright("plan", made[1], "--algorithm", "gpa", "--max-edges", "5", "--out", partial)
    assert "split" in meshwright("churn", partial, made[1], "--rounds", "2").complaint
    assert "something other" in meshwright("churn", *made, "--rounds", "2", "--out", made[1]).complaint


def test_chaos_reports_what_breaks(made: tuple[Path, Path], tmp_path: Path) -> None:
    """`chaos` prints each scenario; of a resilient plan no single failure breaks anything."""
    words = ["--most", "2", "--samples", "5"]
    answer = meshwright("chaos", *made, *words, "--json")
    assert answer.code == 0
    assert [each["kind"] for each in answer.json["scenarios"]] == [
        "each node", "random nodes", "highest degree", "worst cut nodes"
    ]  # fmt: skip
    assert set(answer.json["scenarios"][0]["repairs"]) == {"naive", "shadow", "tidy"}
    assert "split a topic when they fail" in meshwright("chaos", *made, *words).out
    meshwright("plan", made[1], "--algorithm", "resilient", "--out", tmp_path / "safe")
    safe = meshwright("chaos", tmp_path / "safe", made[1], "--most", "1", "--policies", "shadow")
    assert "No failure of a single broker splits a topic." in safe.out
    assert "naive" in meshwright("chaos", *made, "--policies", "magic").complaint
