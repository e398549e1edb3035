"""The benchmark runs, keeps what it measured, and judges by its floors."""

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.cases import (
    CHURN,
    DAMAGE,
    DATA,
    DESIGNS,
    ENGINE,
    FULL,
    GROWTH,
    PAPER,
    PRODUCT,
    QUICK,
    ROUTES,
    RULES,
    SPARK,
    THREADS,
    TIDY,
    Case,
)
from benchmarks.results import Page, Records
from benchmarks.run import main

from benchmarks import run
from meshwright.errors import InputError

CASE = Case("unif", 100, 20, (5, 5), tasks=(ENGINE, PAPER, PRODUCT, RULES, THREADS), memory_mb=100.0)
ENGINE_RECORD: dict[str, Any] = {
    "seconds": 2.0,
    "edges": 1234,
    "average_degree": 2.5,
    "max_degree": 7,
    "peak_mb": 99.0,
}


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the records of runs where the test's other files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def page(case: Case, **records: dict[str, Any]) -> Page:
    measured: Records = {(case.name, task): record for task, record in records.items()}
    return Page([case], measured, "a machine")


def test_quick_mode_runs_every_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A quick run measures each task in its own process, keeps each record and writes where it is told."""
    before = run.RESULTS.read_bytes() if run.RESULTS.exists() else None
    name = QUICK[0].name
    outcome = main(quick=True, only=[name], out=tmp_path / "page.md")
    assert outcome.passed
    told = capsys.readouterr().err
    journal = Path(told.split("goes to ")[1].split(" as it")[0])
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [(it["case"], it["task"]) for it in records] == [(name, task) for task in QUICK[0].tasks]
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert all(
        title in text
        for title in (
            "paper's own",
            "sparse product",
            "Memory",
            "other rules",
            "other designs",
            "threads",
            "Repair under churn",
            "much churn",
            "Trees for all topics",
            "Workloads made up",
            "The price bound",
        )
    )
    assert "Failed" not in text
    assert (run.RESULTS.read_bytes() if run.RESULTS.exists() else None) == before
    # A run that goes on from these records measures nothing again.
    resumed = main(quick=True, only=[name], out=tmp_path / "again.md", resume=journal)
    assert resumed.results == outcome.results


KINDS = {
    "one rule": (QUICK[1], ["Memory"]),
    "users on brokers": (
        QUICK[3],
        ["speed", "descent", "reduction by users", "reduction by ratio", "memory"],
    ),
    "Spark": (QUICK[2], ["paper's own", "Memory", "GM on Spark", "Verification on Spark", "Data on Spark"]),
}
"""The other cases of a quick run, and the tables that each must give."""


@pytest.mark.parametrize(
    "kind", ["one rule", "users on brokers", pytest.param("Spark", marks=pytest.mark.slow)]
)
def test_every_kind_of_case_runs(tmp_path: Path, kind: str) -> None:
    """A case of each kind measures what it should, and every table of it is on the page."""
    case, titles = KINDS[kind]
    outcome = main(quick=True, only=[case.name], out=tmp_path / "page.md")
    assert [(it["case"], it["task"]) for it in outcome.results] == [(case.name, it) for it in case.tasks]
    told = re.findall(r"^## (.*)$", (tmp_path / "page.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(told) == len(titles)
    assert all(words in title for words, title in zip(titles, told, strict=True)), told
    assert not any("error" in it for it in outcome.results)


def test_unknown_names_are_refused() -> None:
    """Asking for a case that does not exist lists those that do."""
    with pytest.raises(InputError, match=QUICK[0].name):
        main(quick=True, only=["nothing like this"])


def test_a_failing_task_is_told_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A task that dies does not stop the rest; the page names it and the run is no success."""
    # No case that the worker knows: it dies in both tasks.
    monkeypatch.setattr(run, "QUICK", [Case("unif", 5, 2, (9, 9), tasks=(ENGINE, PRODUCT))])
    assert not main(quick=True, out=tmp_path / "page.md").passed
    assert (tmp_path / "page.md").read_text(encoding="utf-8").count("exit code") == 2
    assert "error exit code" in capsys.readouterr().err


@pytest.mark.parametrize(("paper", "held"), [(41.0, "yes"), (39.0, "**no**")])
def test_floors_are_judged(paper: float, held: str) -> None:
    """A ratio on the wrong side of its floor is marked so."""
    case = Case("unif", 100, 20, (5, 5), paper_over_engine=20.0)
    made = page(case, engine=ENGINE_RECORD, paper={"seconds": paper, "peak_mb": 1.0, "edges": 1})
    assert f"| {case.name} | 2 | {paper:.3g} | {paper / 2:.3g} | ≥ 20 | {held} |" in made.text
    assert (made.held, made.asked) == (int(held == "yes"), 1)


def test_every_question_counts_its_floor() -> None:
    """Memory, both rules and two threads each add a floor; cases without one only report."""
    made = page(
        CASE,
        engine=ENGINE_RECORD,
        rules={"gm": 1.0, "minmax": 2.6, "low": 2.9, "peak_mb": 1.0},
        threads={"one": 3.0, "two": 2.0},
    )
    assert (made.held, made.asked) == (3, 4)
    assert "3 of 4 floors hold" in made.text


@pytest.mark.parametrize(("shares", "told"), [((0.03, 0.019, 0.02), "yes"), ((0.03, 0.01, 0.015), "**no**")])
def test_descent_is_judged_by_its_mean_over_networks(shares: tuple[float, ...], told: str) -> None:
    """The floor is that of the mean; the least share, and how many networks reach it, are told beside."""
    case = Case("plane", 10_000, 100, (1, 1), content_floors=True)
    times: dict[str, Any] = {
        name: {"seconds": 1.0, "numpy": None}
        for name in ("cost", "packing", "clustering", "steiner", "steiner-literal", "descent")
    }
    networks = [{"seconds": 3.0, "below_mixing": below} for below in shares]
    made = page(case, content={**times, "networks": networks})
    rows = [line for line in made.text.splitlines() if "≥ 0.02" in line]
    assert [cell.strip() for cell in rows[0].split("|")[2:4]] == ["3", f"{min(shares):.2%}"]
    reach = sum(share >= 0.02 for share in shares)
    assert [cell.strip() for cell in rows[0].split("|")[-3:-1]] == [told, str(reach)]


def test_designs_are_judged_against_gm() -> None:
    """Each design adds a floor of twice GM's time; GM itself has none, and links and degrees are told."""
    made = page(
        Case("unif", 100, 20, (5, 5), tasks=(DESIGNS,)),
        designs={
            "gm": {"seconds": 1.0, "edges": 1000, "max_degree": 9},
            "cd": {"seconds": 1.5, "edges": 2500, "max_degree": 80},
            "ring": {"seconds": 2.5, "edges": 3500, "max_degree": 7},
        },
    )
    assert (made.held, made.asked) == (1, 2)
    assert "| gm | 1 | 1 | – |  | 1,000 | 9 |" in made.text
    assert "| cd | 1.5 | 1.5 | ≤ 2 | yes | 2,500 | 80 |" in made.text
    assert "| ring | 2.5 | 2.5 | ≤ 2 | **no** | 3,500 | 7 |" in made.text


def test_spark_is_judged_against_the_faster_engine() -> None:
    """The engine alone counts by its faster way; the serial part bounds what more executors can do."""
    asked = Case("unif", 100, 20, (5, 5), tasks=(SPARK,))
    asked = replace(asked, spark_over_engine=1.5, spark_over_kernel=3.0, two_tasks_gain=1.5)
    spark = {"one": 10.0, "two": 8.0, "cluster": 10.0, "in_waves": 6.0, "waves": [100, 90]}
    spark |= {"kernel": 2.0, "verify": 7.0, "driver_mb": 300.0, "wave_1": 6.0, "wave_2": 3.0}
    made = page(asked, spark=spark)
    assert (made.held, made.asked) == (2, 3)
    assert "| 10 | 8 | 10 | 1.25 | ≤ 1.5 | yes | 100 + 90 | 4 | 2.5 |" in made.text
    assert "| 6 | 3 | 2 | ≥ 1.5 | yes |" in made.text
    assert "| 2 | 7 | 3.5 | ≤ 3 | **no** | 300 |" in made.text


CHURN_RECORD: dict[str, Any] = {
    "join": 1e-4, "leave": 3e-4, "rebuild": 0.1, "join_edges": 4.5, "leave_edges": 12.0, "memory": 2.5,
    "rounds": 0.4, "max_degree": 9, "rebuild_max_degree": 6,
}  # fmt: skip


def test_repairs_are_judged_against_a_rebuild() -> None:
    """Joins and leaves are percentages of a rebuild; memory is a ratio; each has its floor."""
    case = Case("unif", 100, 20, (5, 5), tasks=(CHURN,), join_percent=0.2, leave_percent=0.2)
    made = page(case, churn=CHURN_RECORD)
    assert (
        "| 0.1 | 100 | 0.1 | ≤ 0.2 | yes | 300 | 0.3 | ≤ 0.2 | **no** | 0.4 | 4.50 | 12.00 | 9 / 6 | 2.5 |"
        in made.text
    )
    assert (made.held, made.asked) == (2, 3)


def test_leaves_must_not_grow_with_the_overlay() -> None:
    """The same topics and ten times the nodes: four times the time of a leave holds, more does not."""
    cases = [case for case in FULL if case.name in DAMAGE]
    for factor, held in ((3.9, "yes"), (4.1, "**no**")):
        slow = {**CHURN_RECORD, "leave": factor * CHURN_RECORD["leave"]}
        records: Records = {(DAMAGE[0], CHURN): CHURN_RECORD, (DAMAGE[1], CHURN): slow}
        assert f"| {factor:.3g} | ≤ 4 | {held} |" in Page(cases, records, "a machine").text


def test_tidiness_is_judged() -> None:
    """Only tidy is held to its floors: 3 % above a rebuild on average, 1.6 times its maximum."""
    case = Case("unif", 100, 20, (5, 5), tasks=(TIDY,), join_percent=0.2, rounds=7)
    shadow = {"seconds": 1e-4, "average": 1.4, "maximum": 2.0, "tidied": 0.0, "faults": 0}
    made = page(
        case, tidy={"shadow": shadow, "tidy": {**shadow, "average": 1.02, "maximum": 1.7, "tidied": 5.0}}
    )
    assert "| shadow | 7 | 0.1 | 1.400 | – |  | 2.000 | – |  | 0.00 | 0 |" in made.text
    assert "| tidy | 7 | 0.1 | 1.020 | ≤ 1.03 | yes | 1.700 | ≤ 1.6 | **no** | 5.00 | 0 |" in made.text


def test_data_is_judged_against_duckdb() -> None:
    """Ingest and profile each have a floor of their own."""
    case = Case("zipf", 100, 20, (5, 5), tasks=(DATA,), encode_over_duckdb=5.0, profile_over_duckdb=3.0)
    data = {"rows": 1000, "encode": 8.0, "duckdb_encode": 2.0, "profile": 4.0, "duckdb_profile": 1.0}
    made = page(case, data={**data, "cpu": 9.0, "driver_mb": 300.0, "java_mb": None})
    assert (made.held, made.asked) == (1, 2)
    assert "| 1,000 | 8 | 2 | 4 | ≤ 5 | yes | 4 | 1 | 4 | ≤ 3 | **no** | 300 | – |" in made.text


def test_trees_are_judged() -> None:
    """The plain reading's time over ours, and the busiest link by load over that by hops, have floors."""
    case = Case("zipf", 100, 20, (5, 5), tasks=(ROUTES,), plain_over_routes=50.0, load_over_hops=0.75)
    hops = {"seconds": 0.1, "mean_hops": 5.0, "max_link_load": 200.0}
    load = {"seconds": 0.2, "mean_hops": 5.5, "max_link_load": 160.0}
    made = page(case, routes={"subscriptions": 1000, "hops": hops, "load": load, "plain": 6.0})
    assert (made.held, made.asked) == (1, 2)
    assert "| 1,000 | 0.1 | 0.2 | 60 | ≥ 50 | yes | 0.80 | ≤ 0.75 | **no** | 5.00 → 5.50 |" in made.text


def test_growth_is_an_exponent() -> None:
    """A hundredfold time for ten times the nodes is an exponent of two."""
    small, large = GROWTH[0]
    cases = [case for case in FULL if case.name in (small, large)]
    records: Records = {
        (small, ENGINE): {**ENGINE_RECORD, "seconds": 0.5},
        (large, ENGINE): {**ENGINE_RECORD, "seconds": 50.0},
    }
    assert f"| {small} → {large} | 0.5 | 50 | 2.00 |" in Page(cases, records, "a machine").text


def test_cases_have_distinct_names() -> None:
    """A name means one case: the worker finds it by name."""
    names = [case.name for case in (*QUICK, *FULL)]
    assert len(set(names)) == len(names)
