"""`plan` and `verify` on Spark give the same plans and verdicts as without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshwright as mw
from meshwright.greedy import waves
from meshwright.workloads import zipf
from terminal import meshwright

MASTER = ("--master", "local[2]")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Write a small dataset."""
    return mw.write_dataset(zipf(200, 30, size=6, seed=1), tmp_path / "dataset")


@pytest.mark.usefixtures("spark")
def test_an_exact_plan_is_the_same_with_a_master(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan has the same edges, and the output says how and why it was made that way, with its waves."""
    monkeypatch.setattr(waves, "LEAST_WORK", 1_000)
    here, there = dataset.parent / "here", dataset.parent / "there"
    assert meshwright("plan", dataset, "--out", here).code == 0
    printed = meshwright("plan", dataset, *MASTER, "--out", there)
    assert printed.code == 0
    assert "planned exactly, with rows counted on executors: counting all rows takes about" in printed.out
    assert "waves: 200" in printed.out
    assert mw.read_plan(here).edges == mw.read_plan(there).edges
    answer = meshwright("verify", there, dataset, *MASTER, "--json")
    assert (answer.code, answer.json["verified"], answer.json["split_topics"]) == (0, True, 0)


def test_a_small_plan_starts_no_spark(dataset: Path) -> None:
    """A plan that is too small for a cluster is made even if the master is unreachable."""
    answer = meshwright(
        "plan", dataset, "--master", "spark://127.0.0.1:1", "--out", dataset.parent / "plan", "--json"
    )
    assert (answer.code, answer.json["way"], answer.json["wave_rows"]) == (0, "driver", [])


@pytest.mark.usefixtures("spark")
def test_a_divided_plan_states_its_loss(dataset: Path) -> None:
    """With --parts, the plan states them, it verifies, and the output has the loss."""
    out = dataset.parent / "plan"
    answer = meshwright("plan", dataset, "--parts", "3", "--coverage", "1", "--out", out, "--json")
    assert answer.code == 0
    assert answer.json["way"] == "parts"
    assert answer.json["parameters"] == {"parts": 3, "coverage": 1}
    exact = len(mw.design(mw.load_interest(dataset), "gm").overlay)
    assert answer.json["loss"]["exact"] == exact
    assert answer.json["loss"]["share"] == pytest.approx(answer.json["edges"] / exact - 1)
    assert meshwright("verify", out, dataset).code == 0
    printed = meshwright("plan", dataset, "--parts", "3", "--coverage", "1", "--out", out)
    assert f"extra links: {answer.json['loss']['share']:+.1%} on a sample of 200 brokers" in printed.out


@pytest.mark.usefixtures("spark")
def test_a_wrong_plan_fails_on_spark_too(dataset: Path) -> None:
    """A plan under a budget is partial; with --k 1 it fails, and the output names the split topics."""
    out = dataset.parent / "plan"
    assert meshwright("plan", dataset, "--algorithm", "gpa", "--max-edges", "50", "--out", out).code == 0
    here, there = meshwright("verify", out, dataset), meshwright("verify", out, dataset, *MASTER)
    assert (there.code, there.out) == (here.code, here.out) == (0, here.out)
    here = meshwright("verify", out, dataset, "--k", "1")
    there = meshwright("verify", out, dataset, "--k", "1", *MASTER)
    assert (there.code, there.out) == (here.code, here.out) == (1, here.out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--algorithm", "ring", "--master", "local[2]"], "ring does not run on a cluster"),
        (["--parts", "2", "--rounds", "2"], "rounds cannot be planned in parts"),
        (["--costs", "places.csv", "--master", "local[2]"], "--costs and Spark cannot be combined"),
    ],
)
def test_unsupported_options_are_refused(dataset: Path, words: list[str], message: str) -> None:
    """One line says what to leave out, before anything is read or started."""
    answer = meshwright("plan", dataset, *words, "--out", dataset.parent / "plan")
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
