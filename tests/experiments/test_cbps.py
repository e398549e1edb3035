"""cbps: cells measure what the claims need, and the claims can hold, hold partly, and fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.experiments.checks import Check, Claims
from meshwright.experiments.paper import Case
from meshwright.experiments.papers import cbps, cbps_cost
from meshwright.experiments.results import Results, Row

SMALL: dict[str, Any] = {"users": 200, "model": "uniform", "length": 0.0, "ratio": 1.0}
CRR = {
    "packing": 1.2,
    "clustering-sum": 1.4,
    "clustering": 1.4,
    "mixing": 1.8,
    "mixing-by-index": 1.5,
    "steiner": 1.9,
}
"""Made-up cost reduction ratios in the order of the paper."""


def checks_of(figure: str, rows: list[Row]) -> dict[str, Check]:
    """Return the checks of a figure by the last part of their ids."""
    claims = Claims("cbps", figure)
    cbps.PAPER.figure(figure).claims(Results(rows), claims)
    return {check.id.rsplit("/", 1)[1]: check for check in claims.checks}


def test_cost_cells() -> None:
    """Random assignment has a ratio of 1; descent is no worse than its starts, and only runs with steps."""
    rows = {row["algorithm"]: row for row in cbps_cost.cost_cell(Case(SMALL | {"steps": 500}, 1))}
    assert list(rows) == list(cbps_cost.TITLES)
    assert rows["random"]["crr"] == pytest.approx(1)
    for name in ("random", "packing", "clustering", "mixing", "steiner"):
        assert rows[name]["cost"] >= rows["descent"]["cost"] * (1 - 1e-9)
    fewer = cbps_cost.cost_cell(Case(SMALL | {"steps": 0}, 1))
    assert [row["algorithm"] for row in fewer] == [name for name in rows if name != "descent"]


def test_publishers_by_index_start_at_one_broker() -> None:
    """By index, one user starts most trees: users gather on fewer brokers, and that costs more."""
    workload = cbps_cost.draw_workload(Case(SMALL | {"users": 2000}, 1))
    shuffled, ordered = (cbps_cost.run(workload, name, seed=1) for name in ("mixing", cbps_cost.BY_INDEX))
    assert ordered.cost.total > 1.05 * shuffled.cost.total


def test_no_column_is_a_parameter() -> None:
    """No column of a cell has the name of a parameter."""
    cells = ((cbps_cost.cost_cell, SMALL | {"steps": 0}), (cbps.time_cell, SMALL))
    for cell, parameters in cells:
        for row in cell(Case(parameters, 1)):
            assert not row.keys() & {*parameters, "seed"}


def test_time_cells() -> None:
    """All algorithms have a time; all but random assignment have a second stage."""
    rows = {row["algorithm"]: row for row in cbps.time_cell(Case(SMALL, 1))}
    assert set(cbps.PAPER_SECONDS) < set(rows)
    assert all(row["assigning"] > 0 for row in rows.values())
    assert [name for name, row in rows.items() if row["routing"] == 0] == ["random"]


def test_migration_cells() -> None:
    """Every message is delivered once while users move, and no move raises the cost."""
    fixed = {"users": 20, "brokers": 3, "channels": 5, "publications": 30}
    (row,) = cbps.migration_cell(Case(fixed | {"ttl": 0.5, "decline": 0.0, "crash": False}, 1))
    assert row["expected"] == row["delivered"] > 0
    assert row["missing"] == row["twice"] == row["rises"] == 0
    assert row["cost"] <= row["cost_before"]


def test_the_hub_shortens_the_tree() -> None:
    """The spanning tree of three brokers at mutual distance 2 costs 4, the tree over a hub at 1 costs 3."""
    core = cbps.hub_distances()
    assert cbps.spanning_tree(core, (0, 1, 2)) == 4
    assert cbps.steiner_tree(core, (0, 1, 2)) == 3
    (row,) = cbps.tree_cell(Case({"network": "hub", "brokers": 4}, 1))
    assert (row["shorter"], row["excess"]) == (1, pytest.approx(1 / 3))


@settings(max_examples=30)
@given(st.integers(3, 6), st.integers(0, 1000))
def test_steiner_trees_are_never_longer(brokers: int, seed: int) -> None:
    """A tree that may use one broker more is never longer, and the spanning tree at most twice as long."""
    points = np.random.default_rng(seed).random((brokers, 2))
    core = np.linalg.norm(points[:, None] - points, axis=2)
    least = cbps.steiner_tree(core, (0, 1, 2))
    assert least <= cbps.spanning_tree(core, (0, 1, 2)) <= 2 * least + 1e-9


def ratios_by_users(crr: dict[str, float], *, growth: float = 1.0) -> list[Row]:
    """Make up Figure 9: the same ratios at every size; costs grow with users to the power of `growth`."""
    return [
        {
            "model": model, "users": users, "seed": 1, "algorithm": name, "crr": ratio,
            "cost": users**growth, "core_cost": 1 / ratio, "core_share": 0.3, "subscribers_per_channel": 10,
        }
        for model in ("narrow", "uniform", "plane")
        for users in (1000, 2000)
        for name, ratio in ({"random": 1.0} | crr).items()
    ]  # fmt: skip


def test_the_order_of_the_paper_holds() -> None:
    """Ratios in the paper's order satisfy Figure 9."""
    assert {check.verdict for check in checks_of("fig9", ratios_by_users(CRR)).values()} == {"holds"}


def test_other_orders_do_not_hold() -> None:
    """Clustering must be above packing, and mixing above both; a ratio below 1 is found out."""
    found = checks_of("fig9", ratios_by_users(CRR | {"clustering-sum": 1.1, "mixing": 0.9}, growth=2))
    assert found["clustering-above-packing"].verdict == "no"
    assert found["mixing-above-clustering"].verdict == "no"
    assert found["random-is-worst"].verdict == "partly"
    assert found["linear-growth"].verdict == "no"
    assert all(check.reason for check in found.values() if check.verdict != "holds")


def ratios_by_cost(ends: dict[str, tuple[float, float]]) -> list[Row]:
    """Make up Figure 10 by the ratios of each algorithm at both ends."""
    return [
        {
            "model": model, "length": length, "ratio": ratio, "seed": 1, "algorithm": name,
            "crr": values[place], "core_share": 0.3, "subscribers_per_channel": 10,
        }
        for model, length in (("uniform", 0.0), ("uniform", 0.03), ("narrow", 0.0))
        for place, ratio in enumerate((1.0, 16.0))
        for name, values in ({"random": (1.0, 1.0)} | ends).items()
    ]  # fmt: skip


def test_curves_that_converge() -> None:
    """A flat curve and others that reach it hold; a curve that moves away makes it partly."""
    ends = dict.fromkeys(CRR, (1.1, 1.8)) | {"mixing": (1.8, 1.8), "steiner": (1.9, 1.8)}
    assert {check.verdict for check in checks_of("fig10", ratios_by_cost(ends)).values()} == {"holds"}
    found = checks_of("fig10", ratios_by_cost(ends | {"clustering-sum": (1.7, 1.0), "packing": (1.1, 1.2)}))
    assert found["others-converge"].verdict == "partly"
    assert found["core-can-be-ignored"].verdict == "no"
    for start, verdict in ((1.8 * 0.93 / 1.07 + 0.01, "holds"), (1.8 * 0.93 / 1.07 - 0.01, "no")):
        steep = checks_of("fig10", ratios_by_cost(ends | {"mixing": (start, 1.8)}))
        assert steep["mixing-flat"].verdict == verdict


def times(seconds: dict[str, float]) -> list[Row]:
    """Make up Table I."""
    return [
        {"users": 100, "seed": 1, "algorithm": name, "assigning": value, "routing": 0.0}
        for name, value in ({"clustering": 1.0, "steiner": 1.0, "descent": 1.0} | seconds).items()
    ]


def test_the_largest_networks_count() -> None:
    """The times of a table are those of the networks with most users."""
    rows = [
        {"users": users, "algorithm": "packing", "assigning": users / 1e6, "routing": 0.5}
        for users in (200, 1000)
    ]
    assert cbps._first_stage(Results(rows)) == pytest.approx(1.0)
    assert cbps._times(Results(rows))["packing"] == [0.501]


def test_costs_are_shares_of_the_first() -> None:
    """The cost after a migration is divided by the cost before it."""
    assert cbps._share(Results([{"cost_before": 4.0, "after": 1.0}]), "after") == [0.25]


def test_times_are_compared() -> None:
    """A tenth of the paper's times holds everywhere; equal times are in no order."""
    tenth = {name: value / 10 for name, value in cbps.PAPER_SECONDS.items()}
    assert {check.verdict for check in checks_of("table1", times(tenth)).values()} == {"holds"}
    equal = checks_of("table1", times(dict.fromkeys(tenth, 1.0)))
    assert [equal[name].verdict for name in ("order", "ratios", "dramatic")] == ["no", "partly", "no"]
    assert equal["practical"].verdict == "partly"
    far = dict(zip(tenth, (1.0, 1.0, 600.0, 10000.0), strict=True))
    assert checks_of("table1", times(far))["ratios"].verdict == "no"


def test_lost_messages_are_found_out() -> None:
    """A lost message, a move that does not pay, and a run that does not end do not hold."""
    calm: Row = {
        "seed": 1, "ttl": 0.5, "decline": 0.0, "crash": False, "expected": 10, "missing": 0, "twice": 0,
        "redirected": 1, "declined": 0, "accepted": 5, "rises": 0, "moves": 5, "rested": True, "rounds": 2,
        "cost": 5.0, "cost_before": 9.0, "mixing_cost": 8.0, "steiner_cost": 5.0,
    }  # fmt: skip
    rows = [calm, calm | {"decline": 0.3, "declined": 2}]
    assert {check.verdict for check in checks_of("sec5", rows).values()} == {"holds"}
    bad = {"missing": 1, "twice": 1, "redirected": 0, "rises": 1, "rested": False, "cost": 8.5}
    found = checks_of("sec5", [row | bad for row in rows])
    assert found["may-decline"].verdict == "holds"
    assert {check.verdict for name, check in found.items() if name != "may-decline"} == {"no"}
    assert checks_of("sec5", [rows[0], rows[1] | bad])["loses-nothing"].verdict == "partly"
