"""`plan` with the options of Spark, and `verify` on Spark, agree with the same commands without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshwright as mw
from meshwright.workloads import zipf
from terminal import meshwright

MASTER = ("--master", "local[2]")
UNREACHABLE = ("--master", "spark://127.0.0.1:1")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Write a small dataset."""
    return mw.write_dataset(zipf(200, 30, size=6, seed=1), tmp_path / "dataset")


@pytest.mark.parametrize("algorithm", ["gm", "minmax", "ring"])
def test_without_parts_a_plan_is_made_here(dataset: Path, algorithm: str) -> None:
    """Every design is planned on this machine even if the master is unreachable, and the output says so."""
    here, there = dataset.parent / "here", dataset.parent / "there"
    words = ("plan", dataset, "--algorithm", algorithm)
    assert meshwright(*words, "--out", here).code == 0
    answer = meshwright(*words, *UNREACHABLE, "--out", there, "--json")
    assert (answer.code, answer.json["way"], answer.json["loss"]) == (0, "driver", None)
    assert "--parts" in answer.json["why"]
    assert mw.read_plan(here).edges == mw.read_plan(there).edges
    printed = meshwright(*words, *UNREACHABLE, "--force", "--out", there)
    assert (printed.code, printed.out.count("planned on this machine: ")) == (0, 1)
    assert "way" not in meshwright(*words, "--force", "--out", here, "--json").json


@pytest.mark.usefixtures("spark")
def test_an_exact_plan_is_verified_on_spark(dataset: Path) -> None:
    """Executors verify a plan that was made here."""
    out = dataset.parent / "plan"
    assert meshwright("plan", dataset, *MASTER, "--out", out).code == 0
    answer = meshwright("verify", out, dataset, *MASTER, "--json")
    assert (answer.code, answer.json["verified"], answer.json["split_topics"]) == (0, True, 0)


@pytest.mark.usefixtures("spark")
def test_a_divided_plan_states_its_loss(dataset: Path) -> None:
    """With --parts, the plan states them, it verifies, and the output has the loss."""
    out = dataset.parent / "plan"
    answer = meshwright("plan", dataset, "--parts", "3,1", "--out", out, "--json")
    assert answer.code == 0
    assert answer.json["way"] == "parts"
    assert answer.json["parameters"] == {"parts": 3, "coverage": 1}
    exact = len(mw.design(mw.load_interest(dataset), "gm").overlay)
    assert answer.json["loss"]["exact"] == exact
    assert answer.json["loss"]["share"] == pytest.approx(answer.json["edges"] / exact - 1)
    assert meshwright("verify", out, dataset).code == 0
    printed = meshwright("plan", dataset, "--parts", "3,1", "--out", out)
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
        (["--algorithm", "ring", "--parts", "2"], "ring cannot be planned in parts"),
        (["--parts", "2", "--rounds", "2"], "rounds cannot be planned in parts"),
        (["--costs", "places.csv", "--parts", "2"], "--costs and --parts cannot be combined"),
        (["--parts", "2,x", *MASTER], "--parts 2,x is not P or P,N"),
        (["--conf", "memory"], "--conf memory is not KEY=VALUE"),
    ],
)
def test_unsupported_options_are_refused(dataset: Path, words: list[str], message: str) -> None:
    """One line says what to leave out, before anything is read or started."""
    answer = meshwright("plan", dataset, *words, "--out", dataset.parent / "plan")
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
