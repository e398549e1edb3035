"""Link costs from files and tables, and the plans that use them."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import meshwright as mw
from calls import seeds
from meshwright import Interest, LinkCosts, load_costs
from meshwright.errors import FormatError, InputError
from meshwright.store.plan_check import verify_stored_plan
from meshwright.store.plan_writer import write_plan
from meshwright.store.plans import read_plan
from naive_weighted import some_costs
from strategies import interests, wild_interests

INTEREST = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}, "007": {"x", "y"}})
PLACES: dict[str, list[Any]] = {
    "node": ["a", "b", "c", "007"],
    "x": [0.0, 1.0, 2.0, 0.5],
    "y": [0.0, 0.0, 1.0, 7.0],
}
PAIRS: dict[str, list[Any]] = {
    "u": ["a", "a", "007", "b", "007"],
    "v": ["b", "c", "a", "007", "c"],
    "cost": [1.5, 2.0, 3.0, 1.0, 2.5],
}


def text_of(columns: dict[str, list[Any]]) -> str:
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.mark.parametrize("columns", [PLACES, PAIRS], ids=["places", "pairs"])
def test_every_format_is_the_same(tmp_path: Path, columns: dict[str, list[Any]]) -> None:
    """CSV, zipped CSV, Parquet with additional columns, and tables in memory give the same costs."""
    text, table = text_of(columns), pa.table(columns)
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "A.CSV.gz").write_bytes(gzip.compress(text.encode()))
    pq.write_table(table.append_column("more", pa.array(range(table.num_rows))), tmp_path / "a.parquet")
    made = [load_costs(tmp_path / name, INTEREST) for name in ("a.csv", "A.CSV.gz", "a.parquet")]
    made += [load_costs(str(tmp_path / "a.csv"), INTEREST), load_costs(table, INTEREST)]
    assert len({costs.fingerprint for costs in made}) == 1
    kind = "coordinates" if columns is PLACES else "pairs"
    assert made[0].description.startswith(kind)


@settings(max_examples=30)
@given(wild_interests, seeds)
def test_names_survive(interest: Interest, seed: int) -> None:
    """CSV and Parquet keep places to the last bit, with any names of nodes."""
    x, y = np.random.default_rng(seed).random((2, interest.num_nodes))
    table = pa.table({"node": interest.node_names, "x": x, "y": y})
    expected = LinkCosts.from_coordinates(interest, interest.node_names, x, y).fingerprint
    with tempfile.TemporaryDirectory() as place:
        pq.write_table(table, Path(place) / "a.parquet")
        rows = [
            ['"' + row["node"].replace('"', '""') + '"', repr(row["x"]), repr(row["y"])]
            for row in table.to_pylist()
        ]
        text = "".join(",".join(row) + "\n" for row in [["node", "x", "y"], *rows])
        (Path(place) / "a.csv").write_text(text, encoding="utf-8", newline="")
        for name in ("a.csv", "a.parquet"):
            assert load_costs(Path(place) / name, interest).fingerprint == expected


def test_numbers_of_any_kind(tmp_path: Path) -> None:
    """Integers, decimals and numbers as text are costs, and integers are names."""
    pair = Interest.from_dict({"7": {"x"}, "8": {"x"}})
    for cost in (pa.array([2]), pa.array(["2.0"]), pa.array([2.0], pa.float32())):
        pq.write_table(pa.table({"u": [7], "v": [8], "cost": cost}), tmp_path / "a.parquet")
        assert load_costs(tmp_path / "a.parquet", pair).of(np.array([0]), np.array([1])).tolist() == [2.0]


BAD_FILES: dict[str, tuple[str, bytes, type[Exception], str]] = {
    "empty": ("a.csv", b"", InputError, "is empty: give it rows with the columns u, v, cost or node, x, y"),
    "other columns": ("a.csv", b"from,to,cost\na,b,1\n", InputError, "'from', 'to', 'cost': .* not neither"),
    "both kinds": ("a.csv", b"u,v,cost,node,x,y\na,b,1,a,1,1\n", InputError, "not both"),
    "blank name": ("a.csv", b"node,x,y\na,1,1\n,2,2\n", InputError, "no node name in row 2 "),
    "no number": ("a.csv", b"u,v,cost\na,b,1\na,c,dear\n", InputError, "cost is 'dear' in row 2 "),
    "blank number": ("a.csv", b"u,v,cost\na,b,\n", InputError, "cost is '' in row 1 "),
    "unknown node": ("a.csv", b"node,x,y\nmars,1,1\n", InputError, "name nodes 'mars' that"),
    "missing pair": ("a.csv", b"u,v,cost\na,b,1\n", InputError, "no cost for .*'a', 'c'.*share a topic"),
    "missing place": ("a.csv", b"node,x,y\na,1,1\nb,1,1\nc,0,0\n", InputError, "no place for nodes '007'"),
    "negative": ("a.csv", b"u,v,cost\na,b,-1\n", InputError, r"\('a', 'b', -1\.0\) are not finite"),
    "latin-1": ("a.csv", "node,x,y\nMünchen,1,1\n".encode("latin-1"), FormatError, "not UTF-8"),
    "ragged": ("a.csv", b"node,x,y\na,1\n", FormatError, "cannot be read"),
    "no parquet": ("a.parquet", b"node,x,y\n", FormatError, "cannot be read"),
    "unknown ending": ("a.jsonl", b"{}", InputError, r"does not end in any of \.csv, \.csv\.gz, \.parquet"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(tmp_path: Path, case: str) -> None:
    """Each error is one line that names the file, the problem and its place."""
    name, content, error, said = BAD_FILES[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=said) as caught:
        load_costs(tmp_path / name, INTEREST)
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nulls_in_parquet(tmp_path: Path) -> None:
    """Nulls among names and costs are reported with their rows."""
    file = tmp_path / "a.parquet"
    for columns, said in (
        ({"u": ["a", None], "v": ["b", "c"], "cost": [1.0, 1.0]}, "no u name in row 2 "),
        ({"u": ["a", "a"], "v": ["b", "c"], "cost": [None, 1.0]}, "no cost in row 1 "),
    ):
        pq.write_table(pa.table(columns), file)
        with pytest.raises(InputError, match=f"{file}: {said}"):
            load_costs(file, INTEREST)


def test_invalid_sources(tmp_path: Path) -> None:
    """A missing file, a folder and an unsuitable object are rejected."""
    for nothing in (tmp_path / "missing.csv", tmp_path):
        with pytest.raises(InputError, match="with link costs: nothing is there"):
            load_costs(nothing, INTEREST)
    with pytest.raises(InputError, match="cannot make link costs from int"):
        load_costs(7, INTEREST)
    with pytest.raises(InputError, match="not neither"):
        load_costs(pa.table({"node": ["a"]}), INTEREST)


def test_the_triangle_inequality_is_optional(tmp_path: Path) -> None:
    """A table that breaks the triangle inequality is rejected only on request."""
    (tmp_path / "a.csv").write_text(text_of({**PAIRS, "cost": [100.0, 2.0, 3.0, 1.0, 2.5]}))
    load_costs(tmp_path / "a.csv", INTEREST)
    with pytest.raises(InputError, match="break the triangle inequality: 'a' to 'b' costs 100"):
        load_costs(tmp_path / "a.csv", INTEREST, check_triangle=True)


# -- plans that were made with costs --------------------------------------------------------------------


def edit(plan: Path, change: Callable[[dict[str, Any]], object]) -> None:
    metadata = json.loads((plan / "plan.json").read_text())
    change(metadata)
    (plan / "plan.json").write_text(json.dumps(metadata))


@settings(max_examples=30)
@given(interests(), seeds)
def test_plans_with_costs_verify(interest: Interest, seed: int) -> None:
    """A stored plan states its total cost, and verification recomputes it, also with names as strings."""
    costs, _ = some_costs(np.random.default_rng(seed), interest)
    plan = mw.design(interest, "low", costs=costs)
    with tempfile.TemporaryDirectory() as place:
        path = write_plan(plan, Path(place) / "plan")
        stored, report = read_plan(path), verify_stored_plan(path, interest, costs=costs)
        unchecked = verify_stored_plan(path, interest.canonical())
    assert stored.figures == plan.figures
    assert stored.metadata["parameters"] == {"costs": costs.description}
    assert report.ok
    assert report.total_cost == report.stated_cost == plan.figures["total_cost"]
    assert (unchecked.ok, unchecked.total_cost) == (True, None)
    assert unchecked.stated_cost == plan.figures["total_cost"]


def test_false_costs_are_found(tmp_path: Path) -> None:
    """A wrong total cost is a disagreement; costs other than those of the plan are rejected."""
    costs = load_costs(pa.table(PLACES), INTEREST)
    path = write_plan(mw.design(INTEREST, "gm", costs=costs), tmp_path / "plan")
    with pytest.raises(InputError, match=r"made with other link costs \(coordinates .*, these are pairs "):
        verify_stored_plan(path, INTEREST, costs=load_costs(pa.table(PAIRS), INTEREST))
    edit(path, lambda metadata: metadata["figures"].update(total_cost=1.0))
    assert verify_stored_plan(path, INTEREST).ok
    report = verify_stored_plan(path, INTEREST, costs=costs)
    assert not report.passed
    assert report.disagreements == (f"total_cost is {report.total_cost}, the plan states 1.0",)


@pytest.mark.parametrize(
    "change", [lambda figures: figures.pop("total_cost"), lambda f: f.update(total_cost="1")]
)
def test_a_missing_total_is_damage(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A plan made with costs must state their total as a number."""
    costs = load_costs(pa.table(PLACES), INTEREST)
    path = write_plan(mw.design(INTEREST, "gm", costs=costs), tmp_path / "plan")
    edit(path, lambda metadata: change(metadata["figures"]))
    with pytest.raises(FormatError, match="figure 'total_cost' is not a number"):
        verify_stored_plan(path, INTEREST)


def test_any_plan_can_be_priced(tmp_path: Path) -> None:
    """A plan made without costs states no total, but the report has the cost of its links."""
    path = write_plan(mw.design(INTEREST, "ring"), tmp_path / "plan")
    report = verify_stored_plan(path, INTEREST, costs=load_costs(pa.table(PLACES), INTEREST))
    assert report.passed
    assert report.stated_cost is None
    assert report.total_cost is not None
