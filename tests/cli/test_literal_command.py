"""The options for the papers' own variants reach the library; senseless combinations are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshwright as mw
from meshwright.designs.by_contribution import minmax
from terminal import meshwright


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Write a small synthetic dataset."""
    words = ["workload", "zipf", "--nodes", "30", "--topics", "12", "--size", "4"]
    assert meshwright(*words, "--out", tmp_path / "dataset").code == 0
    return tmp_path / "dataset"


@pytest.mark.parametrize(
    ("name", "words", "given"),
    [
        ("minmax", ["--literal"], {"literal": True}),
        ("gpm", ["--literal", "--max-degree", "3"], {"literal": True, "max_degree": 3}),
        ("low", ["--literal", "--strict", "--k", "2"], {"k": 2, "literal": True, "strict": True}),
        ("gpa", ["--ratio", "0.2"], {"ratio": 0.2}),
        ("randomm", ["--ratio", "0.5", "--arbitrary"], {"ratio": 0.5, "arbitrary": True}),
    ],
)
def test_options_reach_the_library(dataset: Path, name: str, words: list[str], given: dict[str, Any]) -> None:
    """`plan` writes the library's plan, states its parameters with the budget, and `verify` accepts it."""
    out = dataset.parent / "plan"
    answer = meshwright("plan", dataset, "--algorithm", name, *words, "--out", out, "--json")
    expected = mw.design(mw.load_interest(dataset), name, **given)
    stored = mw.read_plan(out)
    assert stored.metadata["parameters"] == expected.parameters == answer.json["parameters"]
    assert stored.edges["u"].to_pylist() == [u for u, _ in expected.overlay.edges]
    assert meshwright("verify", out, dataset).code == 0


def test_compare_shares_one_reference(dataset: Path) -> None:
    """`compare --ratio` gives each design the budget that `plan --ratio` gives it."""
    words = ["--algorithms", "gpa,gpm,spidercastm,randoma,randomm", "--ratio", "0.4"]
    plans = meshwright("compare", dataset, *words, "--json").json["plans"]
    reference = minmax(mw.load_interest(dataset), literal=True)
    degree = mw.measure.degrees(reference).maximum
    for plan in plans:
        budget = plan["parameters"].get("max_edges", plan["parameters"].get("max_degree"))
        whole = len(reference) if "max_edges" in plan["parameters"] else degree
        assert budget == whole * 2 // 5
    assert "ratio = 0.4" in meshwright("compare", dataset, *words).out
    words = ["--algorithms", "minmax,gpm", "--literal", "--max-degree", "2"]
    assert "GPM (max degree = 2, literal)" in meshwright("compare", dataset, *words).out


def test_verify_checks_parallel_links(dataset: Path) -> None:
    """A ring plan states its parallel links; `verify` finds a number that is wrong."""
    out = dataset.parent / "plan"
    answer = meshwright("plan", dataset, "--algorithm", "ring", "--out", out, "--json")
    assert answer.json["parallel_edges"] > answer.json["edges"]
    assert meshwright("verify", out, dataset).code == 0
    header = out / "plan.json"
    stated = f'"parallel_edges": {answer.json["parallel_edges"]}'
    text = header.read_text(encoding="utf-8")
    assert stated in text
    header.write_text(text.replace(stated, '"parallel_edges": 7'), encoding="utf-8")
    wrong = meshwright("verify", out, dataset)
    assert wrong.code == 1
    assert "parallel_edges" in wrong.out + wrong.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["gm", "--literal"], "gm takes no --literal: leave it out, or take minmax or low or gpm"),
        (["minmax", "--strict"], "minmax takes no --strict"),
        (["gpm", "--max-degree", "2", "--arbitrary"], "gpm takes no --arbitrary"),
        (["gpa"], "gpa needs --max-edges, the budget: links in all, or --ratio: give it"),
        (["gpa", "--ratio", "0.2", "--max-edges", "3"], "--ratio and --max-edges both set the budget of gpa"),
        (["gpa", "--ratio", "1.5"], "--ratio is 1.5: give a number from 0 to 1"),
        (["low", "--strict", "--costs", "c.csv"], "--strict and --costs cannot be combined"),
        (["minmax", "--literal", "--parts", "2"], "literal cannot be planned in parts"),
        (["gpa", "--ratio", "0.2", "--parts", "2"], "gpa cannot be planned in parts"),
    ],
)
def test_senseless_combinations(tmp_path: Path, words: list[str], expected: str) -> None:
    """One line says what to leave out, before anything is read."""
    answer = meshwright("plan", tmp_path / "nowhere.csv", "--out", tmp_path / "plan", "--algorithm", *words)
    assert expected in answer.complaint
