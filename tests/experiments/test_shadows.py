"""shadows: cells measure what the claims need, and the claims can hold, hold partly, and fail."""

from __future__ import annotations

from typing import Any

import pytest

import meshwright as mw
from meshwright.churn import Policy
from meshwright.experiments.checks import Check, Claims
from meshwright.experiments.paper import Case
from meshwright.experiments.papers import shadows, shadows_evolution, shadows_repairs
from meshwright.experiments.results import Results, Row

SMALL: dict[str, Any] = {"nodes": 60, "rounds": 12, "every": 4, "method": "primal-dual", "coverage": 2}


def run(policy: str, **changed: Any) -> list[Row]:
    """Run a cell of churn on a small instance."""
    return shadows_repairs.churn_cell(Case(SMALL | {"policy": policy} | changed, 1))


@pytest.mark.parametrize("policy", ["shadow", "naive", "ours-shadow", "ours-tidy"])
def test_churn_cells(policy: str) -> None:
    """A run has a row for the start and for each round, and topics stay connected."""
    rows = run(policy)
    assert [row["round"] for row in rows] == list(range(13))
    assert [row["connected"] for row in rows[1:] if row["connected"] is not None] == [True] * 3
    for row in rows[1:]:
        assert row["event"] in ("join", "leave")
        assert 10 <= row["size"] <= 90
        assert row["altered"] >= row["added"]
        assert (row["repair_ratio"] > 0) == (row["altered"] > 0)
        assert 0 <= row["greedy_seconds"] <= row["seconds"]


def test_rounds_are_the_same_for_all_policies() -> None:
    """Policies and Low-ODA from scratch see the same joins and leaves of nodes of the same size."""
    seen = {policy: {row["round"]: row for row in run(policy)} for policy in ("shadow", "naive", "low")}
    assert list(seen["low"]) == [1, 4, 8, 12]
    for number, row in seen["low"].items():
        for policy in ("shadow", "naive"):
            other = seen[policy][number]
            assert all(other[name] == row[name] for name in ("event", "size", "nodes_now"))


def test_our_best_overlay_keeps_to_the_bound() -> None:
    """No overlay has fewer links than the certified bound."""
    (row,) = run("ours-best")
    assert row["bound_degree"] <= row["average_degree"]


def test_backup_cells() -> None:
    """A row per node; backups and primaries are each other's inverse, so their sums are equal."""
    rows = shadows_repairs.backup_cell(Case(SMALL | {"policy": "shadow"}, 1))
    assert len(rows) == 60
    assert sum(row["backups"] for row in rows) == sum(row["primaries"] for row in rows) > 0


def test_greedy_backups_in_plain_python() -> None:
    """With primaries in the weight they are those of the paper's policy; without, primaries are less even."""
    overlay = mw.design(mw.workloads.unif(80, 12, min_size=2, max_size=6, seed=3), "low").overlay
    rows = shadows_repairs.node_rows(overlay, Policy.letter("shadow", backups="greedy", coverage=2), 1)
    found = {
        counted: shadows.greedy_backups(overlay, 2, count_primaries=counted) for counted in (True, False)
    }
    primaries = {
        counted: [sum(v in own for own in sets) for v in range(80)] for counted, sets in found.items()
    }
    assert [len(own) for own in found[True]] == [row["backups"] for row in rows]
    assert primaries[True] == [row["primaries"] for row in rows]
    assert max(primaries[False]) > max(primaries[True])


def test_parameters_are_no_results() -> None:
    """No column of a cell has the name of a parameter."""
    cells = (
        ("fig2", shadows_repairs.backup_cell),
        ("fig4", shadows_repairs.churn_cell),
        ("choices", shadows.choice_cell),
    )
    for figure, cell in cells:
        for case in shadows.PAPER.figure(figure).quick[:1]:
            (*_, row) = cell(Case(dict(case.parameters) | SMALL, 1))
            assert not row.keys() & {*case.parameters, "seed"}


def checks_of(figure: str, rows: list[Row]) -> dict[str, Check]:
    """Return the checks of a figure by the last part of their ids."""
    claims = Claims("shadows", figure)
    shadows.PAPER.figure(figure).claims(Results(rows), claims)
    return {check.id.rsplit("/", 1)[1]: check for check in claims.checks}


def made_up(end: int, *, low: int = 13, coverage: tuple[int, ...] = (1, 2, 3, 4)) -> list[Row]:
    """Make up runs whose maximum degree grows by one at a time from 13; Low-ODA's stays at `low`."""
    common: Row = {
        "seed": 1, "event": "join", "size": 20, "nodes_now": 2000, "altered": 5, "added": 5, "seconds": 1.0,
        "repair_ratio": 0.00068, "shadow_size": 32, "greedy_seconds": 0.01, "connected": True,
    }  # fmt: skip
    rows: list[Row] = []
    runs = [("shadow", "primal-dual", c) for c in coverage] + [("shadow", "greedy", 3)]
    runs += [(policy, "primal-dual", 3) for policy in ("naive", "low", "ours-tidy")]
    for policy, method, factor in runs:
        for number in range(0, 1001, 100):
            top = low if policy == "low" else 13 + (end - 13) * number // 1000
            average = 6.5 if policy == "low" else 6.5 + number / 1000
            rows.append(
                {"policy": policy, "method": method, "coverage": factor, "round": number}
                | common
                | {
                    "max_degree": top,
                    "average_degree": average,
                    "event": ("join", "leave")[number // 100 % 2],
                }
            )
    return rows


def test_degrees_as_in_the_paper_hold() -> None:
    """Runs with the paper's degrees satisfy Figure 6, and half of Figure 4."""
    degrees = checks_of("fig6", made_up(22))
    assert {check.verdict for check in degrees.values()} == {"holds"}
    backups = checks_of("fig4", made_up(22))
    assert [backups[name].verdict for name in ("degrees-grow", "primal-dual-steady")] == ["holds"] * 2
    assert backups["greedy-degrades"].verdict == "no"
    assert checks_of("fig4", made_up(84))["greedy-degrades"].verdict == "holds"


def test_other_degrees_do_not_hold() -> None:
    """A maximum degree that grows too far is found out; each claim that does not hold has a reason."""
    degrees = checks_of("fig6", made_up(60))
    assert degrees["from-13-to-22"].verdict == "no"
    assert degrees["gap-to-low-oda"].verdict == "partly"
    assert all(check.reason for check in degrees.values() if check.verdict != "holds")
    broken = [row | {"connected": False} for row in made_up(22)]
    assert checks_of("fig6", broken)["stays-connected"].verdict == "no"


def test_coverage_must_fall() -> None:
    """Equal degrees for all λ do not fall; the paper's own degrees do."""
    flat = made_up(24)
    assert checks_of("fig5", flat)["falls-with-coverage"].verdict == "no"
    top = {1: 31, 2: 25, 3: 24, 4: 24}
    paper = [row | {"max_degree": top[row["coverage"]]} for row in flat]
    assert {check.verdict for check in checks_of("fig5", paper).values()} == {"holds"}


@pytest.mark.parametrize(("value", "score"), [(1.0, 1.0), (0.5, 1.0), (3.9, 0.5), (0.2, 0.0), (0.0, 0.0)])
def test_time_ratios_are_compared_by_factors(value: float, score: float) -> None:
    """A time ratio holds within a factor of 2 either way, and partly within 4."""
    assert list(shadows_repairs._within_factor(value, 1.0, "x").values()) == [score]


def test_repairs_are_compared() -> None:
    """The paper's numbers of altered links hold; Low-ODA's must be far above Shadow's."""
    links = {("shadow", "join"): (4.83, 0.00068), ("shadow", "leave"): (12.24, 0.0017)}
    low = {"join": (730, 0.113), "leave": (490, 0.075)}
    rows = []
    for row in made_up(22):
        altered, ratio = links.get((row["policy"], row["event"]), low[row["event"]])
        rows.append(row | {"altered": altered, "repair_ratio": ratio})
    found = checks_of("fig8", rows)
    assert found["far-fewer"].verdict == found["shadow-repairs"].verdict == "holds"
    assert found["low-oda-alters"].verdict == "holds"
    assert found["hundreds-of-times"].verdict == "no"


def test_growth_that_slows() -> None:
    """Steady growth is no faster in the second half."""
    rows = [{"round": n, "max_degree": d} for n, d in ((0, 10), (5, 14), (10, 20))]
    assert not shadows_evolution._slows(Results(rows), "max_degree")
    rows[1]["max_degree"] = 15
    assert shadows_evolution._slows(Results(rows), "max_degree")
