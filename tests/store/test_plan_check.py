"""A plan folder is verified as a whole, prices and trees included, and rejected when a file is damaged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from calls import examples
from damage import mend_digests
from meshwright import Interest, design, route, write_plan, write_trees
from meshwright.errors import FormatError
from meshwright.store.plan_check import verify_stored_plan
from meshwright.verify import check_degree_table
from meshwright.workloads import zipf
from strategies import wild_interests


@pytest.fixture
def interest() -> Interest:
    return zipf(60, 12, size=4, seed=5)


@pytest.fixture
def plan(interest: Interest, tmp_path: Path) -> Path:
    return write_plan(design(interest, "gm", certify=True), tmp_path / "plan")


def edit_prices(plan: Path, column: str, change: Callable[[pa.ChunkedArray], pa.Array]) -> None:
    table = pq.read_table(plan / "prices.parquet")
    table = table.set_column(table.column_names.index(column), column, change(table.column(column)))
    pq.write_table(table, plan / "prices.parquet")


def edit_figures(plan: Path, **figures: Any) -> None:
    """Change figures of a plan; None removes one."""
    stated = json.loads((plan / "plan.json").read_text())
    stated["figures"].update(figures)
    stated["figures"] = {name: value for name, value in stated["figures"].items() if value is not None}
    (plan / "plan.json").write_text(json.dumps(stated))


@settings(max_examples=examples(30, 4))
@given(wild_interests)
def test_what_was_proven_is_found_again(tmp_path_factory: pytest.TempPathFactory, interest: Interest) -> None:
    """The stored prices prove the stated bound, with any names."""
    made = design(interest, "gm", certify=True)
    report = verify_stored_plan(write_plan(made, tmp_path_factory.mktemp("plans") / "plan"), interest)
    assert report.passed
    assert report.lower_bound == made.figures["lower_bound"] <= len(made.overlay)
    assert report.gap == made.figures["gap"]


@pytest.fixture
def low_plan(interest: Interest, tmp_path: Path) -> Path:
    """Write a plan that keeps degrees low, with its certificates."""
    return write_plan(design(interest, "minmax", certify=True), tmp_path / "low")


def edit_degree_prices(plan: Path, column: str, *, of_nodes: bool, factor: float) -> None:
    """Multiply the prices of subscriptions, or the allowances of nodes."""
    table = pq.read_table(plan / "degree_prices.parquet")
    chosen = pc.equal(pc.is_null(table.column("topic")), of_nodes)
    values = table.column(column)
    changed = pc.cast(pc.multiply(pc.cast(values, pa.float64()), factor), pa.int64(), safe=False)
    changed = pc.if_else(chosen, changed, values)
    table = table.set_column(table.column_names.index(column), column, changed)
    pq.write_table(table, plan / "degree_prices.parquet")


def test_what_was_proven_of_degrees_is_found_again(low_plan: Path, interest: Interest) -> None:
    """The stored prices and allowances prove what is stated of links at the degree, and of the degree."""
    stated = json.loads((low_plan / "plan.json").read_text())["figures"]
    report = verify_stored_plan(low_plan, interest)
    assert report.passed
    found = report.to_dict()
    for name in ("at_degree", "bound_at_degree", "gap_at_degree", "degree_bound"):
        assert found[name] == stated[name]
    assert stated["lower_bound"] <= stated["bound_at_degree"] <= stated["edges"]
    assert 1 < stated["degree_bound"] <= stated["at_degree"] == stated["max_degree"]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("bound_at_degree", 1),
        ("bound_at_degree", -1),
        ("degree_bound", 1),
        ("degree_bound", -1),
        ("gap_at_degree", -0.01),
        ("at_degree", -1),
    ],
)
def test_tampered_figures_of_degrees_fail_the_plan(
    low_plan: Path, interest: Interest, name: str, change: float
) -> None:
    """Another bound, gap or degree than the prices prove is wrong, in either direction."""
    stated = json.loads((low_plan / "plan.json").read_text())["figures"]
    edit_figures(low_plan, **{name: stated[name] + change})
    report = verify_stored_plan(low_plan, interest)
    assert not report.passed
    assert report.disagreements


@pytest.mark.parametrize("change", [-1, 1, 2**40])
def test_bounds_for_another_degree_fail_the_plan(low_plan: Path, interest: Interest, change: int) -> None:
    """What a plan states is about its own degree, even if the prices prove something for another one."""
    stated = json.loads((low_plan / "plan.json").read_text())["figures"]
    other = stated["at_degree"] + change
    table = pq.read_table(low_plan / "degree_prices.parquet")
    proven = check_degree_table(interest, table, other).links
    gap = None if change < 0 else (stated["edges"] - proven) / proven if proven else None
    edit_figures(low_plan, at_degree=other, bound_at_degree=proven, gap_at_degree=gap)
    report = verify_stored_plan(low_plan, interest)
    assert not report.passed
    assert report.disagreements[0].startswith(f"at_degree is {stated['at_degree']}")
    if change < 0:
        assert report.gap_at_degree is None


@pytest.mark.parametrize("name", ["at_degree", "bound_at_degree", "gap_at_degree", "degree_bound"])
def test_missing_figures_of_degrees_fail_the_plan(low_plan: Path, interest: Interest, name: str) -> None:
    """A proof whose figure is missing is not what the plan states."""
    edit_figures(low_plan, **{name: None})
    assert not verify_stored_plan(low_plan, interest).passed


@pytest.mark.parametrize("column", ["at_degree", "lowest_degree"])
@pytest.mark.parametrize(("of_nodes", "factor"), [(False, 0.5), (False, 1.5), (True, 1.5)])
def test_tampered_degree_prices_fail_the_plan(
    low_plan: Path, interest: Interest, column: str, of_nodes: bool, factor: float
) -> None:
    """Other prices or allowances prove less than is stated."""
    edit_degree_prices(low_plan, column, of_nodes=of_nodes, factor=factor)
    report = verify_stored_plan(low_plan, interest)
    assert not report.passed
    wrong = "bound_at_degree is" if column == "at_degree" else "degree_bound is"
    assert any(wrong in point for point in report.disagreements)


@pytest.mark.parametrize("column", ["at_degree", "lowest_degree"])
def test_any_change_of_a_certificate_fails_the_plan(low_plan: Path, interest: Interest, column: str) -> None:
    """Prices changed by so little that they still prove what is stated are not those of the plan."""
    file = low_plan / "degree_prices.parquet"
    table = pq.read_table(file)
    values = table.column(column).to_pylist()
    first = next(i for i, value in enumerate(values) if value > 0)
    values[first] -= 1
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, table.schema.field(place), pa.array(values, pa.int64())), file)
    report = verify_stored_plan(low_plan, interest)
    assert not report.passed
    assert "degree_prices.parquet has changed since plan.json was written" in report.disagreements


def refused(plan: Path, interest: Interest, reason: str) -> None:
    """Check that a table out of form fails the plan where it was changed, and is an error if written so."""
    changed = verify_stored_plan(plan, interest).disagreements
    assert "has changed since plan.json was written" in changed[0]
    assert re.search(reason, changed[1])
    mend_digests(plan)
    with pytest.raises(FormatError, match=reason):
        verify_stored_plan(plan, interest)


def test_damaged_degree_prices_are_rejected(low_plan: Path, interest: Interest) -> None:
    """Values out of range, missing rows or a missing file are damage, and the file is named."""
    file = low_plan / "degree_prices.parquet"
    sound = pq.read_table(file)
    edit_degree_prices(low_plan, "at_degree", of_nodes=True, factor=0.5)
    refused(low_plan, interest, r"degree_prices.parquet is damaged: allowances .* out of range")
    pq.write_table(sound.slice(1), file)
    refused(low_plan, interest, r"degree_prices.parquet is damaged: .* one price")
    pq.write_table(sound.slice(0, sound.num_rows - 1), file)
    refused(low_plan, interest, r"degree_prices.parquet is damaged: .* one allowance")
    file.unlink()
    with pytest.raises(
        FormatError, match=r"low is damaged: degree_prices.parquet is missing; write it again"
    ):
        verify_stored_plan(low_plan, interest)


def test_a_loaded_plan_keeps_its_proof_of_degrees(low_plan: Path, interest: Interest, tmp_path: Path) -> None:
    """Loading and saving a plan loses nothing of what it proves."""
    import meshwright as mw

    loaded = mw.load(low_plan, interest)
    assert isinstance(loaded, mw.Plan)
    assert verify_stored_plan(loaded.save(tmp_path / "again"), interest).passed
    assert mw.verify(loaded).passed


def test_prices_that_prove_less_fail_the_plan(plan: Path, interest: Interest) -> None:
    """Prices of half the size prove less than is stated."""
    edit_prices(plan, "price", lambda prices: pc.divide(prices, 2).combine_chunks())
    report = verify_stored_plan(plan, interest)
    assert not report.passed
    assert any("lower_bound is" in point for point in report.disagreements)


def test_a_higher_bound_fails_the_plan(plan: Path, interest: Interest) -> None:
    """A bound that is stated higher than the prices prove is wrong."""
    proven = verify_stored_plan(plan, interest).lower_bound
    assert proven is not None
    edit_figures(plan, lower_bound=proven + 1)
    assert not verify_stored_plan(plan, interest).passed


@pytest.mark.parametrize("spoiled", [0.0, "small", True, None])
def test_another_gap_fails_the_plan(plan: Path, interest: Interest, spoiled: object) -> None:
    """A gap that is not the one between links and bound is wrong; so is one that is missing."""
    edit_figures(plan, gap=spoiled)
    assert not verify_stored_plan(plan, interest).passed


def test_a_gap_without_a_bound_fails_the_plan(plan: Path, interest: Interest) -> None:
    """A gap needs a bound, and prices that prove nothing leave no gap."""
    edit_figures(plan, gap=0.0, lower_bound=None)
    assert not verify_stored_plan(plan, interest).passed
    edit_figures(plan, lower_bound=0)
    edit_prices(plan, "price", lambda prices: pa.array([0] * len(prices)))
    assert not verify_stored_plan(plan, interest).passed


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        ("price", lambda prices: pc.negate(prices).combine_chunks(), "out of range"),
        ("price", lambda prices: pc.cast(prices, pa.int32()).combine_chunks(), "int32"),
        ("node", lambda names: pa.array(["nobody"] * len(names)), "unknown nodes or topics"),
        ("topic", lambda names: pa.array([names[0].as_py()] * len(names)), "one price for each"),
    ],
)
def test_a_damaged_table_is_rejected(
    plan: Path, interest: Interest, column: str, change: Any, message: str
) -> None:
    """Bad prices, unknown names, or two prices for one subscription: one line that names the file."""
    edit_prices(plan, column, change)
    refused(plan, interest, rf"prices\.parquet is damaged: .*{message}")


def test_a_missing_table_is_rejected(plan: Path, interest: Interest) -> None:
    """A plan that states a bound without prices to prove it is damaged; without the bound it is not."""
    (plan / "prices.parquet").unlink()
    with pytest.raises(FormatError, match=r"plan is damaged: prices.parquet is missing; write it again"):
        verify_stored_plan(plan, interest)
    edit_figures(plan, lower_bound=None, gap=None)
    assert verify_stored_plan(plan, interest).passed


@pytest.mark.parametrize("spoiled", ["many", 3.0, True])
def test_a_bound_that_is_not_a_number_is_rejected(plan: Path, interest: Interest, spoiled: object) -> None:
    """A bound must be a whole number."""
    edit_figures(plan, lower_bound=spoiled)
    with pytest.raises(FormatError, match=r"figures\.lower_bound is .*, not a whole number"):
        verify_stored_plan(plan, interest)


def test_a_partial_plan_has_a_bound_but_no_gap(interest: Interest, tmp_path: Path) -> None:
    """A plan that connects only some topics has no gap to the bound for all topics."""
    made = design(interest, "gpa", max_edges=10, certify=True)
    assert "gap" not in made.figures
    assert "needs at least" in made.summary()
    report = verify_stored_plan(write_plan(made, tmp_path / "plan"), interest)
    assert report.passed
    assert report.gap is None
    assert report.lower_bound == made.figures["lower_bound"]


def test_trees_are_read_and_checked(interest: Interest, tmp_path: Path) -> None:
    """The trees of a plan are checked too; a missing row fails it."""
    made = design(interest, "gm")
    plan = write_trees(route(made.overlay), write_plan(made, tmp_path / "plan"))
    report = verify_stored_plan(plan, interest)
    assert report.passed
    assert report.trees == interest.num_topics
    table = pq.read_table(plan / "trees.parquet")
    pq.write_table(table.slice(0, table.num_rows - 1), plan / "trees.parquet")
    assert not verify_stored_plan(plan, interest).passed


@pytest.mark.parametrize(
    ("routes", "said"),
    [
        (3, "routes is 3, not an object"),
        ({}, "routes has no field 'figures'"),
        ({"figures": None}, "routes.figures is None, not an object"),
        ({"figures": [1]}, r"routes.figures is \[1\], not an object"),
    ],
)
def test_trees_without_figures_are_rejected(
    interest: Interest, tmp_path: Path, routes: object, said: str
) -> None:
    """The statement about trees must be an object with figures."""
    plan = write_plan(design(interest, "ring"), tmp_path / "plan")
    stated = json.loads((plan / "plan.json").read_text())
    (plan / "plan.json").write_text(json.dumps({**stated, "routes": routes}))
    with pytest.raises(FormatError, match=said):
        verify_stored_plan(plan, interest)
