"""`verify` accepts a plan that is true, partial or complete, and rejects any other with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from damage import edit_table
from small_datasets import planned, small_dataset
from terminal import meshwright


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Write a small synthetic dataset."""
    return small_dataset(tmp_path)


def rewrite(plan: Path, first: int, **figures: Any) -> None:
    """Keep only the first edges of a stored plan, and change figures that it states."""
    edit_table(plan / "edges.parquet", lambda table: table.slice(0, first))
    header = json.loads((plan / "plan.json").read_text(encoding="utf-8"))
    header["figures"].update(figures)
    (plan / "plan.json").write_text(json.dumps(header), encoding="utf-8")


@pytest.mark.parametrize("algorithm", ["gm", "minmax", "low", "ring"])
def test_a_whole_plan_is_verified(dataset: Path, algorithm: str) -> None:
    """Every design without a budget passes and is complete."""
    made = planned(dataset, "--algorithm", algorithm)
    answer = meshwright("verify", made, dataset, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["verified"]
    assert answer.json["complete"]
    assert (answer.json["split_topics"], answer.json["support"]) == (0, 1.0)
    assert "complete" in meshwright("verify", made, dataset).out


@pytest.mark.parametrize(
    "budget",
    [["gpa", "--max-edges", "5"], ["gpm", "--max-degree", "1"], ["gm", "--max-edges", "0"]],
)
def test_a_partial_plan_that_says_so_is_verified(dataset: Path, budget: list[str]) -> None:
    """A plan under a budget that is what it states passes, and is called partial."""
    made = planned(dataset, "--algorithm", *budget)
    answer = meshwright("verify", made, dataset)
    assert answer.code == 0
    assert "partial: " in answer.out
    document = meshwright("verify", made, dataset, "--json").json
    assert document["verified"]
    assert not document["complete"]
    assert document["support"] < 1
    assert document["split_topics"] > 0


def test_a_plan_that_states_too_much_fails(dataset: Path) -> None:
    """A plan whose figures do not fit its edges fails, and each figure is named."""
    made = planned(dataset)
    rewrite(made, 3)
    answer = meshwright("verify", made, dataset)
    assert (answer.code, answer.err) == (1, "")
    assert answer.out.startswith("NOT verified\n")
    for figure in ("edges", "support", "average_degree"):
        assert f"wrong: {figure} is " in answer.out
    document = meshwright("verify", made, dataset, "--json")
    assert (document.code, document.json["verified"]) == (1, False)
    assert len(document.json["disagreements"]) >= 3


def test_a_plan_without_a_budget_must_be_complete(dataset: Path) -> None:
    """A plan that claims to connect every topic fails if one is split, even if its figures are true."""
    made = planned(dataset)
    rewrite(made, 3)
    found = meshwright("verify", made, dataset, "--json").json
    true = {name: found[name] for name in ("edges", "average_degree", "max_degree", "support")}
    rewrite(made, 3, **true)
    answer = meshwright("verify", made, dataset)
    assert answer.code == 1
    assert "wrong" not in answer.out
    assert "partial: 3 links" in answer.out


def test_wrong_contributions_are_found(dataset: Path) -> None:
    """A plan whose edges state other contributions than they have fails."""
    made = planned(dataset)
    table = pq.read_table(made / "edges.parquet")
    column = pa.array([gain + 1 for gain in table["contribution"].to_pylist()], pa.int32())
    altered = table.set_column(3, table.schema.field("contribution"), column)
    pq.write_table(altered, made / "edges.parquet")
    answer = meshwright("verify", made, dataset)
    assert answer.code == 1
    assert "contributions" in answer.out


def test_anything_but_a_plan_is_rejected(dataset: Path) -> None:
    """A dataset in the place of a plan, or nothing at all, is bad input: exit code 2, not 1."""
    assert "is not a plan" in meshwright("verify", dataset, dataset).complaint
    assert "nowhere" in meshwright("verify", dataset.parent / "nowhere", dataset).complaint
