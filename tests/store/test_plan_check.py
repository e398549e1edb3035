"""The certificate of a stored plan: kept, found again, and refused when it was tampered with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from calls import examples
from meshwright import Interest, design, write_plan
from meshwright.errors import FormatError
from meshwright.store import verify_stored_plan
from meshwright.workloads import zipf
from strategies import wild_interests


@pytest.fixture
def interest() -> Interest:
    return zipf(60, 12, size=4, seed=5)


@pytest.fixture
def plan(interest: Interest, tmp_path: Path) -> Path:
    return write_plan(design(interest, "gm", certify=True), tmp_path / "plan")


def tampered(plan: Path, column: str, values: Any) -> None:
    table = pq.read_table(plan / "prices.parquet")
    table = table.set_column(table.column_names.index(column), column, values(table.column(column)))
    pq.write_table(table, plan / "prices.parquet")


@settings(max_examples=examples(30, 4), deadline=None)
@given(wild_interests)
def test_what_was_proven_is_found_again(tmp_path_factory: pytest.TempPathFactory, interest: Interest) -> None:
    """Whatever the names, the stored prices prove the bound that the plan states."""
    made = design(interest, "gm", certify=True)
    report = verify_stored_plan(write_plan(made, tmp_path_factory.mktemp("plans") / "plan"), interest)
    assert report.passed
    assert report.lower_bound == made.figures["lower_bound"] <= len(made.overlay)
    assert report.gap == made.figures["gap"]


def test_other_prices_are_refused(plan: Path, interest: Interest) -> None:
    """Prices that prove less than is stated fail the plan."""
    tampered(plan, "price", lambda prices: pc.divide(prices, 2).combine_chunks())
    report = verify_stored_plan(plan, interest)
    assert not report.passed
    assert any("lower_bound is" in point for point in report.disagreements)


def test_a_greater_bound_is_refused(plan: Path, interest: Interest) -> None:
    """A bound that is stated higher than the prices prove fails the plan, together with its gap."""
    stated = json.loads((plan / "plan.json").read_text())
    stated["figures"]["lower_bound"] += 1
    (plan / "plan.json").write_text(json.dumps(stated))
    assert not verify_stored_plan(plan, interest).passed


def test_a_smaller_gap_is_refused(plan: Path, interest: Interest) -> None:
    """A gap that is not the one between links and bound fails the plan; so does one left out."""
    stated = json.loads((plan / "plan.json").read_text())
    stated["figures"]["gap"] /= 2
    (plan / "plan.json").write_text(json.dumps(stated))
    assert not verify_stored_plan(plan, interest).passed
    for spoiled in ("small", None, True):
        stated["figures"]["gap"] = spoiled
        (plan / "plan.json").write_text(json.dumps(stated))
        assert not verify_stored_plan(plan, interest).passed
    del stated["figures"]["gap"]
    (plan / "plan.json").write_text(json.dumps(stated))
    assert not verify_stored_plan(plan, interest).passed


def test_a_gap_without_a_bound_is_refused(plan: Path, interest: Interest) -> None:
    """A gap that nothing stands for fails the plan, and so does one from prices that prove nothing."""
    stated = json.loads((plan / "plan.json").read_text())
    bound = stated["figures"].pop("lower_bound")
    stated["figures"]["gap"] = 0.0
    (plan / "plan.json").write_text(json.dumps(stated))
    assert not verify_stored_plan(plan, interest).passed
    assert bound > 0
    stated["figures"]["lower_bound"] = 0
    (plan / "plan.json").write_text(json.dumps(stated))
    tampered(plan, "price", lambda prices: pa.array([0] * len(prices)))
    assert not verify_stored_plan(plan, interest).passed


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("price", lambda prices: pc.negate(prices).combine_chunks(), "out of range"),
        ("price", lambda prices: pc.cast(prices, pa.int32()).combine_chunks(), "int32"),
        ("node", lambda names: pa.array(["nobody"] * len(names)), "there are not"),
        ("topic", lambda names: pa.array([names[0].as_py()] * len(names)), "one price for each"),
    ],
)
def test_a_damaged_table_is_refused(
    plan: Path, interest: Interest, column: str, values: Any, told: str
) -> None:
    """Prices that are none, of nobody, or twice for one subscription: one line that says so."""
    tampered(plan, column, values)
    with pytest.raises(FormatError, match=told):
        verify_stored_plan(plan, interest)


def test_a_missing_table_is_refused(plan: Path, interest: Interest) -> None:
    """A plan that states a bound without prices to prove it is damaged."""
    (plan / "prices.parquet").unlink()
    with pytest.raises(FormatError, match="prices"):
        verify_stored_plan(plan, interest)


def test_a_bound_that_is_no_number_is_refused(plan: Path, interest: Interest) -> None:
    """A bound must be a whole number."""
    stated = json.loads((plan / "plan.json").read_text())
    stated["figures"]["lower_bound"] = "many"
    (plan / "plan.json").write_text(json.dumps(stated))
    with pytest.raises(FormatError, match="no whole number"):
        verify_stored_plan(plan, interest)


def test_a_partial_plan_has_a_bound_but_no_gap(interest: Interest, tmp_path: Path) -> None:
    """What connects only some topics is not compared with what connects them all."""
    made = design(interest, "gpa", max_edges=10, certify=True)
    assert "gap" not in made.figures
    assert "needs at least" in made.summary()
    report = verify_stored_plan(write_plan(made, tmp_path / "plan"), interest)
    assert report.passed
    assert report.gap is None
    assert report.lower_bound == made.figures["lower_bound"]
