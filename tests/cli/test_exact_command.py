"""The exact design on the command line gets its options, and bad options are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshwright as mw
from meshwright.designs.exact import solve
from terminal import meshwright


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Make a small random dataset."""
    shape = ["--nodes", "14", "--topics", "6", "--size", "3"]
    assert meshwright("workload", "zipf", *shape, "--out", tmp_path / "dataset").code == 0
    return tmp_path / "dataset"


@pytest.mark.parametrize("objective", ["edges", "degree"])
def test_plan_by_exact(dataset: Path, objective: str) -> None:
    """A plan has the figures of the optimum and its parameters, and passes verification."""
    words = ["--algorithm", "exact", "--objective", objective, "--time-limit", "30"]
    answer = meshwright("plan", dataset, *words, "--out", dataset.parent / "plan", "--json")
    found = solve(mw.load_interest(dataset), objective=objective)  # type: ignore[arg-type]
    assert (answer.code, answer.json["edges"]) == (0, len(found.overlay))
    assert answer.json["max_degree"] == mw.measure.degrees(found.overlay).maximum
    assert answer.json["parameters"] == {"objective": objective, "time_limit": 30.0}
    assert meshwright("verify", dataset.parent / "plan", dataset).code == 0


def test_compare_with_exact(dataset: Path) -> None:
    """In a comparison only exact takes its options, and no design has fewer links."""
    words = ["--algorithms", "gm,minmax,exact", "--time-limit", "30", "--json"]
    plans = meshwright("compare", dataset, *words).json["plans"]
    assert [plan["parameters"] for plan in plans] == [{}, {}, {"time_limit": 30.0}]
    assert plans[2]["edges"] == min(plan["edges"] for plan in plans)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--algorithm", "exact", "--objective", "links"], "choose edges or degree"),
        (["--algorithm", "exact", "--time-limit", "-1"], "--time-limit"),
        (["--algorithm", "exact", "--time-limit", "inf"], "inf seconds"),
        (["--algorithm", "gm", "--time-limit", "1"], "--time-limit"),
        (["--algorithm", "gm", "--objective", "edges"], "--objective"),
    ],
)
def test_bad_options(dataset: Path, words: list[str], expected: str) -> None:
    """Unknown objectives, bad time limits and options of other designs are refused; nothing is written."""
    assert expected in meshwright("plan", dataset, *words, "--out", dataset.parent / "plan").complaint
    assert not (dataset.parent / "plan").exists()
