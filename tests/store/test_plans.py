"""Plan folders: what is written is read and verifies; tampering and damage are found."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import meshwright as mw
from damage import edit_table, mend_digests, write_bytes
from meshwright import Interest, Plan
from meshwright.errors import FormatError, InputError, OutputError
from meshwright.store.datasets import write_dataset
from meshwright.store.plan_check import verify_stored_plan
from meshwright.store.plan_writer import write_plan
from meshwright.store.plans import read_plan
from strategies import interests, wild_interests

INTEREST = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y", "z"}, "d": {"z"}})


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_plan(mw.design(INTEREST, "ring"), tmp_path / "plan")


def edit_metadata(plan: Path, change: Callable[[dict[str, Any]], object]) -> None:
    file = plan / "plan.json"
    metadata = json.loads(file.read_text())
    change(metadata)
    file.write_text(json.dumps(metadata))


def edit_edges(plan: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    edit_table(plan / "edges.parquet", change)


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    position = table.column_names.index(name)
    return table.set_column(
        position, table.schema.field(name), pa.array(values, table.schema.field(name).type)
    )


def with_first(table: pa.Table, name: str, value: Any) -> pa.Table:
    return with_column(table, name, [value, *table.column(name).to_pylist()[1:]])


@settings(max_examples=30)
@given(wild_interests)
def test_round_trip(interest: Interest) -> None:
    """Reading returns the overlay that was written, with any names, and it verifies."""
    plan = mw.design(interest, "ring")
    with tempfile.TemporaryDirectory() as place:
        path = write_plan(plan, Path(place) / "plan")
        stored, report = read_plan(path), verify_stored_plan(path, interest)
    assert stored.overlay_on(interest).to_arrow().equals(plan.overlay.to_arrow())
    assert stored.figures == plan.figures
    assert report.ok
    assert report.complete


@settings(max_examples=30)
@given(interests(most_nodes=12))
def test_integer_names(interest: Interest) -> None:
    """A plan over integer names also fits the stored dataset, whose names are strings; u < v as strings."""
    plan = mw.design(interest, "ring")
    with tempfile.TemporaryDirectory() as place:
        path = write_plan(plan, Path(place) / "plan")
        edges = read_plan(path).edges
        assert verify_stored_plan(path, interest).ok
        assert verify_stored_plan(path, interest.canonical()).ok
        assert read_plan(path).overlay_on(interest).edges == plan.overlay.edges
    assert all(row["u"].encode() < row["v"].encode() for row in edges.to_pylist())


def test_contract(plan: Path) -> None:
    """Columns, types and metadata follow the contract."""
    types = {field.name: str(field.type) for field in pq.read_schema(plan / "edges.parquet")}
    assert types == {"rank": "int32", "u": "string", "v": "string", "contribution": "int32"}
    assert pq.read_table(plan / "edges.parquet").column("rank").to_pylist() == [0, 1, 2, 3]
    metadata = json.loads((plan / "plan.json").read_text())
    assert (metadata["schema"], metadata["algorithm"], metadata["seed"]) == (1, "ring", 0)
    assert metadata["dataset"] == INTEREST.fingerprint
    assert list(metadata["figures"]) == [
        "nodes", "topics", "edges", "average_degree", "max_degree", "support", "seconds",
        "parallel_edges", "parallel_average_degree",
    ]  # fmt: skip


def test_parameters_stay_json(tmp_path: Path) -> None:
    """An infinite parameter is written so that every JSON reader accepts it."""
    overlay = mw.design(INTEREST, "ring").overlay
    made = Plan(overlay, "low", {"k": math.inf, "max_edges": 3}, 7, 0.5)
    text = (write_plan(made, tmp_path / "plan") / "plan.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail)["parameters"] == {"k": "inf", "max_edges": 3}


def test_numbers_of_numpy_stay_json(tmp_path: Path) -> None:
    """Parameters and seeds of numpy types are written as plain numbers."""
    numbers: dict[str, Any] = {"k": np.float32(2.5), "max_edges": np.int64(3), "seed": np.int64(7)}
    made = mw.design(INTEREST, "low", **numbers)
    stated = json.loads((write_plan(made, tmp_path / "plan") / "plan.json").read_text())
    assert (stated["parameters"], stated["seed"]) == ({"k": 2.5, "max_edges": 3}, 7)


def test_budgeted_plan_is_right_but_not_complete(tmp_path: Path) -> None:
    """A plan that stopped at its budget verifies as partial."""
    whole = mw.design(INTEREST, "ring")
    part = Plan(whole.overlay.prefix(1), "gpa", {"max_edges": 1}, 0, 0.0)
    report = verify_stored_plan(write_plan(part, tmp_path / "plan"), INTEREST)
    assert report.ok
    assert not report.complete
    assert report.passed
    assert report.verification.support < 1


def test_without_a_budget_a_plan_must_be_complete(tmp_path: Path) -> None:
    """A plan with a split topic and no budget does not pass, even if its figures are true."""
    part = Plan(mw.design(INTEREST, "ring").overlay.prefix(1), "gm", {}, 0, 0.0)
    report = verify_stored_plan(write_plan(part, tmp_path / "plan"), INTEREST)
    assert report.ok
    assert not report.passed


def test_another_dataset_is_named(plan: Path) -> None:
    """A plan is not verified against another dataset, and the error says why."""
    other = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    with pytest.raises(InputError, match=rf"plan {plan} was made for another dataset"):
        verify_stored_plan(plan, other)


TAMPERED: dict[str, Callable[[Path], object]] = {
    "edges is 3, the plan states 4": lambda p: edit_edges(p, lambda t: t.slice(0, 3)),
    "support is ": lambda p: edit_edges(p, lambda t: t.slice(0, 2)),
    "the contributions of edges 0 are not as stated": lambda p: edit_edges(
        p, lambda t: with_first(t, "contribution", 1)
    ),
    "average_degree is 2.0, the plan states 1.5": lambda p: edit_metadata(
        p, lambda m: m["figures"].update(average_degree=1.5)
    ),
    "max_degree is 3, the plan states 2": lambda p: edit_metadata(
        p, lambda m: m["figures"].update(max_degree=2)
    ),
    "support is 1.0, the plan states 0.999": lambda p: edit_metadata(
        p, lambda m: m["figures"].update(support=0.999)
    ),
    "max_edges was 3, but the overlay has 4": lambda p: edit_metadata(
        p, lambda m: m["parameters"].update(max_edges=3)
    ),
    "max_degree was 2, but the overlay has 3": lambda p: edit_metadata(
        p, lambda m: m["parameters"].update(max_degree=2)
    ),
    "nodes is 4, the plan states 5": lambda p: edit_metadata(p, lambda m: m["figures"].update(nodes=5)),
    "topics is 3, the plan states 2": lambda p: edit_metadata(p, lambda m: m["figures"].update(topics=2)),
}


@pytest.mark.parametrize("said", TAMPERED)
def test_tampering_is_caught(plan: Path, said: str) -> None:
    """A plan that was changed after it was written disagrees with itself, and the report says where."""
    assert verify_stored_plan(plan, INTEREST).ok
    TAMPERED[said](plan)
    report = verify_stored_plan(plan, INTEREST)
    assert not report.ok
    assert any(said in line for line in report.disagreements)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "ranks are not 0, 1, 2": lambda p: edit_edges(p, lambda t: t.slice(1)),
    "not every u < v": lambda p: edit_edges(p, lambda t: with_first(t, "u", "c")),
    "unknown nodes 'zz'": lambda p: edit_edges(p, lambda t: with_first(t, "v", "zz")),
    "more than once": lambda p: edit_edges(p, lambda t: with_first(t, "v", t.column("v")[1].as_py())),
    "no column 'contribution'": lambda p: edit_edges(p, lambda t: t.drop_columns("contribution")),
    "more than one column 'u'": lambda p: edit_edges(p, lambda t: t.append_column("u", t.column("u"))),
    "'rank' is int64": lambda p: edit_edges(
        p, lambda t: t.set_column(0, "rank", pc.cast(t.column("rank"), pa.int64()))
    ),
    "plan is damaged: edges.parquet is missing; write it again": lambda p: (p / "edges.parquet").unlink(),
    "cannot be read as Parquet": lambda p: write_bytes(p / "edges.parquet", b"PAR1 no"),
    "has no field 'figures'": lambda p: edit_metadata(p, lambda m: m.pop("figures")),
    "figures.support is 'all', not a number of 0 or more": lambda p: edit_metadata(
        p, lambda m: m["figures"].update(support="all")
    ),
    "figures.seconds is nan, not a number of 0 or more": lambda p: edit_metadata(
        p, lambda m: m["figures"].update(seconds=float("nan"))
    ),
    "…, not a number of 0 or more": lambda p: edit_metadata(
        p, lambda m: m["figures"].update(average_degree=10**400)
    ),
    "parameters.max_edges is 'x', not a whole number of 0 or more": lambda p: edit_metadata(
        p, lambda m: m["parameters"].update(max_edges="x")
    ),
    "parameters.max_degree is -1, not a whole": lambda p: edit_metadata(
        p, lambda m: m["parameters"].update(max_degree=-1)
    ),
    "parameters.max_degree is 2.5, not a whole": lambda p: edit_metadata(
        p, lambda m: m["parameters"].update(max_degree=2.5)
    ),
    "parameters.max_degree is True, not a whole": lambda p: edit_metadata(
        p, lambda m: m["parameters"].update(max_degree=True)
    ),
    "seed is None, not a whole number": lambda p: edit_metadata(p, lambda m: m.update(seed=None)),
    "seed is 'x', not a whole number": lambda p: edit_metadata(p, lambda m: m.update(seed="x")),
    "seed is 1.5, not a whole number": lambda p: edit_metadata(p, lambda m: m.update(seed=1.5)),
    "figures.lower_bound is 'a', not a whole number or null": lambda p: edit_metadata(
        p, lambda m: m["figures"].update(lower_bound="a")
    ),
    "schema True": lambda p: edit_metadata(p, lambda m: m.update(schema=True)),
    "it is nested too deeply": lambda p: (p / "plan.json").write_text("[" * 200_000),
    "schema 9, but this version reads at most 1": lambda p: edit_metadata(p, lambda m: m.update(schema=9)),
    "it has no plan.json": lambda p: (p / "plan.json").unlink(),
}


@pytest.mark.parametrize("said", DAMAGE)
def test_damage_is_found(plan: Path, said: str) -> None:
    """Each kind of damage gives one line that names the plan and the problem."""
    DAMAGE[said](plan)
    looks: list[Callable[[], object]] = [
        lambda: verify_stored_plan(plan, INTEREST),
        lambda: mw.report(plan, interest=INTEREST),
    ]
    # A folder without plan.json is no plan, and one of a dataset may be there.
    if (plan / "plan.json").is_file():
        looks.append(lambda: mw.load(plan, INTEREST))
    for look in looks:
        with pytest.raises(FormatError) as caught:
            look()
        message = str(caught.value)
        assert said in message
        assert str(plan) in message
        assert "\n" not in message


def test_a_plan_without_a_seed_is_read(plan: Path) -> None:
    """Plans of older versions state no seed; it counts as 0."""
    edit_metadata(plan, lambda m: m.pop("seed"))
    assert mw.load(plan, INTEREST).seed == 0


def test_a_proof_of_degrees_without_its_figures(tmp_path: Path) -> None:
    """A plan that states a bound on the degree, but not the others, is damaged."""
    stored = write_plan(mw.design(INTEREST, "low", certify=True), tmp_path / "plan")
    assert mw.load(stored, INTEREST).degree_proof is not None
    edit_metadata(stored, lambda m: m["figures"].pop("at_degree"))
    with pytest.raises(FormatError, match="its proof of degrees lacks some of its figures"):
        mw.load(stored, INTEREST)


@pytest.mark.parametrize("file", ["prices.parquet", "degree_prices.parquet"])
def test_a_price_that_is_there_twice(tmp_path: Path, file: str) -> None:
    """A table with as many rows as it should have, one of them twice and another missing, is damaged."""
    stored = write_plan(mw.design(INTEREST, "low", certify=True), tmp_path / "plan")
    table = pq.read_table(stored / file)
    pq.write_table(pa.concat_tables([table.slice(1), table.slice(1, 1)]), stored / file)
    mend_digests(stored)
    with pytest.raises(FormatError, match=f"{file} is damaged: it does not have one price for each"):
        mw.load(stored, INTEREST)


@pytest.mark.parametrize("price", [-1, 2**30 + 1, 2**62])
def test_prices_out_of_range_are_not_loaded(tmp_path: Path, price: int) -> None:
    """Prices from which sums would overflow, or that prove nothing, are refused."""
    stored = write_plan(mw.design(INTEREST, "gm", certify=True), tmp_path / "plan")
    table = pq.read_table(stored / "prices.parquet")
    place = table.column_names.index("price")
    prices = pa.array([price] * table.num_rows, pa.int64())
    pq.write_table(table.set_column(place, table.schema.field(place), prices), stored / "prices.parquet")
    mend_digests(stored)
    with pytest.raises(InputError, match="prices and allowances are from 0 to 1"):
        mw.load(stored, INTEREST)


def test_a_bound_that_was_loaded_is_proven_before_it_is_used(tmp_path: Path) -> None:
    """A plan states its bounds; another certificate is made from its prices only if they prove as much."""
    made = mw.design(INTEREST, "low", certify=True)
    stored = write_plan(made, tmp_path / "plan")
    loaded = mw.load(stored, INTEREST)
    assert made.prices is not None
    assert loaded.degree_proof is not None
    again = mw.design(INTEREST, "gm", certify=True, prices=loaded.prices, lowest=loaded.degree_proof.lowest)
    assert again.prices is not None
    assert again.prices.bound == made.prices.bound
    edit_metadata(stored, lambda m: m["figures"].update(lower_bound=99, degree_bound=77))
    forged = mw.load(stored, INTEREST)
    assert forged.degree_proof is not None
    with pytest.raises(InputError, match=f"that {made.prices.bound} links are needed, not 99 as stated"):
        mw.design(INTEREST, "gm", certify=True, prices=forged.prices)
    with pytest.raises(InputError, match="not 77 as stated"):
        mw.design(INTEREST, "minmax", certify=True, lowest=forged.degree_proof.lowest)


def test_plans_and_datasets_do_not_mix(tmp_path: Path, plan: Path) -> None:
    """A dataset is neither read as a plan nor overwritten by one, and the error says why."""
    dataset = write_dataset(INTEREST, tmp_path / "data")
    with pytest.raises(FormatError, match="is not a plan: it is a dataset"):
        read_plan(dataset)
    with pytest.raises(FormatError, match="is not a dataset: it is a plan"):
        mw.load_interest(plan)
    with pytest.raises(OutputError, match="something other than a plan"):
        write_plan(mw.design(INTEREST, "ring"), dataset)
    with pytest.raises(InputError, match="nothing is there"):
        read_plan(tmp_path / "missing")
