"""A benchmark run measures every task, keeps the records, and checks the floors."""

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.cases_and_floors import (
    CHURN,
    COMPILATION,
    DAMAGE,
    DATA,
    DESIGNS,
    ENGINE,
    FILTERS,
    FULL,
    GROUPING,
    GROWTH,
    LIMITS,
    PAPER,
    PRODUCT,
    QUICK,
    ROUTES,
    RULES,
    SPARK,
    STARTUP,
    THREADS,
    TIDY,
    Case,
)
from benchmarks.page import Page, Records
from benchmarks.run import build_page, main

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
def records_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the records of runs into the folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def page(case: Case, **records: dict[str, Any]) -> Page:
    measured: Records = {(case.name, task): record for task, record in records.items()}
    return build_page([case], measured)


def text(made: Page) -> str:
    return made.text("a machine")


@pytest.mark.slow
def test_quick_mode_runs_every_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A quick run measures each task in its own process, keeps each record and writes to `--out`."""
    before = run.RESULTS.read_bytes() if run.RESULTS.exists() else None
    name = QUICK[0].name
    outcome = main(quick=True, only=[name], out=tmp_path / "page.md")
    assert outcome.passed
    journal = Path(capsys.readouterr().err.splitlines()[0].removeprefix("records go to "))
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [(it["case"], it["task"]) for it in records] == [(name, task) for task in QUICK[0].tasks]
    written = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert all(
        title in written
        for title in (
            "paper's own",
            "sparse product",
            "Memory",
            "other rules",
            "Other designs",
            "threads",
            "Repair under churn",
            "many rounds of churn",
            "Trees for all topics",
            "Workload generation",
            "The price bound",
        )
    )
    assert "Failed" not in written
    assert (run.RESULTS.read_bytes() if run.RESULTS.exists() else None) == before
    # A run that resumes from these records measures nothing again.
    resumed = main(quick=True, only=[name], out=tmp_path / "again.md", resume=journal)
    assert resumed.results == outcome.results


KINDS = {
    "one rule": (QUICK[1], ["Memory"]),
    "users on brokers": (
        QUICK[3],
        ["speed", "descent", "reduction by users", "reduction by ratio", "memory"],
    ),
    "Spark": (QUICK[2], ["paper's own", "Memory", "Verification on Spark", "Data on Spark"]),
    "start-up": (QUICK[4], ["Start-up", "First compilation"]),
}
"""The other cases of a quick run, and the tables that each must add."""


SLOW = ("one rule", "Spark", "start-up", "users on brokers")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if kind in SLOW else []) for kind in KINDS]
)
def test_every_kind_of_case_runs(tmp_path: Path, kind: str) -> None:
    """A case of each kind runs all its tasks, and the page has all its tables."""
    case, titles = KINDS[kind]
    outcome = main(quick=True, only=[case.name], out=tmp_path / "page.md")
    assert [(it["case"], it["task"]) for it in outcome.results] == [(case.name, it) for it in case.tasks]
    found = re.findall(r"^## (.*)$", (tmp_path / "page.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(found) == len(titles)
    assert all(words in title for words, title in zip(titles, found, strict=True)), found
    assert not any("error" in it for it in outcome.results)


def test_unknown_names_are_rejected() -> None:
    """A name without a case is rejected with the list of cases."""
    with pytest.raises(InputError, match=QUICK[0].name):
        main(quick=True, only=["nothing like this"])


@pytest.mark.slow
def test_a_failing_task_is_reported_and_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A task that fails does not stop the others. The page names it, and the run does not pass."""
    # The worker does not know this case, so both tasks fail.
    monkeypatch.setattr(run, "QUICK", [Case("unif", 5, 2, (9, 9), tasks=(ENGINE, PRODUCT))])
    assert not main(quick=True, out=tmp_path / "page.md").passed
    assert (tmp_path / "page.md").read_text(encoding="utf-8").count("exit code") == 2
    assert "error exit code" in capsys.readouterr().err


@pytest.mark.parametrize(("paper", "held"), [(41.0, "yes"), (39.0, "**no**")])
def test_floors_are_checked(paper: float, held: str) -> None:
    """The page says whether a ratio meets its floor."""
    case = Case("unif", 100, 20, (5, 5), paper_over_engine=20.0)
    made = page(case, engine=ENGINE_RECORD, paper={"seconds": paper, "peak_mb": 1.0, "edges": 1})
    assert f"| {case.name} | 2 | {paper:.3g} | {paper / 2:.3g} | ≥ 20 | {held} |" in text(made)
    assert (made.held, made.asked) == (int(held == "yes"), 1)


def test_every_question_counts_its_floor() -> None:
    """Memory, both rules and two threads each add a floor. Values without a floor are only reported."""
    made = page(
        CASE,
        engine=ENGINE_RECORD,
        rules={"gm": 1.0, "minmax": 2.6, "low": 2.9, "peak_mb": 1.0},
        threads={"one": 3.0, "two": 2.0},
    )
    assert (made.held, made.asked) == (3, 4)
    assert "3 of 4 floors hold" in text(made)


@pytest.mark.parametrize(("shares", "held"), [((0.03, 0.019, 0.02), "yes"), ((0.03, 0.01, 0.015), "**no**")])
def test_descent_is_checked_by_its_mean_over_networks(shares: tuple[float, ...], held: str) -> None:
    """The floor applies to the mean. The table also has the least share and how many networks reach it."""
    case = Case("plane", 10_000, 100, (1, 1), content_floors=True)
    times: dict[str, Any] = {
        name: {"seconds": 1.0, "numpy": None}
        for name in ("cost", "packing", "clustering", "mixing", "steiner", "descent")
    }
    networks = [{"seconds": 3.0, "below_mixing": below} for below in shares]
    made = page(case, content={**times, "networks": networks})
    rows = [line for line in text(made).splitlines() if "≥ 0.02" in line]
    assert [cell.strip() for cell in rows[0].split("|")[2:4]] == ["3", f"{min(shares):.2%}"]
    reach = sum(share >= 0.02 for share in shares)
    assert [cell.strip() for cell in rows[0].split("|")[-3:-1]] == [held, str(reach)]


def test_designs_are_checked_against_gm() -> None:
    """Each design adds a floor of twice the time of GM. GM has none. Links and degrees are on the page."""
    made = page(
        Case("unif", 100, 20, (5, 5), tasks=(DESIGNS,)),
        designs={
            "gm": {"seconds": 1.0, "edges": 1000, "max_degree": 9},
            "cd": {"seconds": 1.5, "edges": 2500, "max_degree": 80},
            "ring": {"seconds": 2.5, "edges": 3500, "max_degree": 7},
        },
    )
    assert (made.held, made.asked) == (1, 2)
    assert "| gm | 1 | 1 | – |  | 1,000 | 9 |" in text(made)
    assert "| cd | 1.5 | 1.5 | ≤ 2 | yes | 2,500 | 80 |" in text(made)
    assert "| ring | 2.5 | 2.5 | ≤ 2 | **no** | 3,500 | 7 |" in text(made)


def test_verification_on_spark_is_checked_against_the_kernel() -> None:
    """The time on Spark counts as a ratio to that of the kernel in one process."""
    asked = Case("unif", 100, 20, (5, 5), tasks=(SPARK,), spark_over_kernel=3.0)
    made = page(asked, spark={"kernel": 2.0, "verify": 7.0, "driver_mb": 300.0})
    assert (made.held, made.asked) == (0, 1)
    assert "| 2 | 7 | 3.5 | ≤ 3 | **no** | 300 |" in text(made)


CHURN_RECORD: dict[str, Any] = {
    "join": 1e-4, "leave": 3e-4, "rebuild": 0.1, "join_edges": 4.5, "leave_edges": 12.0, "memory": 2.5,
    "rounds": 0.4, "max_degree": 9, "rebuild_max_degree": 6,
}  # fmt: skip


def test_repairs_are_checked_against_a_rebuild() -> None:
    """Joins and leaves are percentages of a rebuild, memory is a ratio, and each has a floor."""
    case = Case("unif", 100, 20, (5, 5), tasks=(CHURN,), join_percent=0.2, leave_percent=0.2)
    made = page(case, churn=CHURN_RECORD)
    assert (
        "| 0.1 | 100 | 0.1 | ≤ 0.2 | yes | 300 | 0.3 | ≤ 0.2 | **no** | 0.4 | 4.50 | 12.00 | 9 / 6 | 2.5 |"
        in text(made)
    )
    assert (made.held, made.asked) == (2, 3)


def test_leaves_must_not_grow_with_the_overlay() -> None:
    """With ten times the nodes, a leave may take four times as long, but not longer."""
    cases = [case for case in FULL if case.name in DAMAGE]
    for factor, held in ((3.9, "yes"), (4.1, "**no**")):
        slow = {**CHURN_RECORD, "leave": factor * CHURN_RECORD["leave"]}
        records: Records = {(DAMAGE[0], CHURN): CHURN_RECORD, (DAMAGE[1], CHURN): slow}
        assert f"| {factor:.3g} | ≤ 4 | {held} |" in text(build_page(cases, records))


def test_degrees_after_churn_are_checked() -> None:
    """Only tidy has floors: 3% above a rebuild on average, 1.6 times its maximum."""
    case = Case("unif", 100, 20, (5, 5), tasks=(TIDY,), join_percent=0.2, rounds=7)
    shadow = {"seconds": 1e-4, "average": 1.4, "maximum": 2.0, "tidied": 0.0, "faults": 0}
    made = page(
        case, tidy={"shadow": shadow, "tidy": {**shadow, "average": 1.02, "maximum": 1.7, "tidied": 5.0}}
    )
    assert "| shadow | 7 | 0.1 | 1.400 | – |  | 2.000 | – |  | 0.00 | 0 |" in text(made)
    assert "| tidy | 7 | 0.1 | 1.020 | ≤ 1.03 | yes | 1.700 | ≤ 1.6 | **no** | 5.00 | 0 |" in text(made)


def test_data_is_checked_against_duckdb() -> None:
    """Ingest of each format and profile have separate floors."""
    case = Case("zipf", 100, 20, (5, 5), tasks=(DATA,), encode_over_duckdb=5.0, profile_over_duckdb=3.0)
    data = {"rows": 1000, "encode": 8.0, "duckdb_encode": 2.0, "profile": 4.0, "duckdb_profile": 1.0}
    data |= dict.fromkeys(("csv", "events", "json"), 6.0)
    data |= {f"duckdb_{name}": 2.0 for name in ("csv", "events", "json")}
    made = page(case, data={**data, "cpu": 9.0, "driver_mb": 300.0, "java_mb": None})
    assert (made.held, made.asked) == (1, 2)
    assert (
        f"| 1,000 | 8 | 2 | 4 | ≤ 5 | yes |{' 6 | 2 | 3 | – |  |' * 3} 4 | 1 | 4 | ≤ 3 | **no** | 300 | – |"
        in text(made)
    )


def test_a_driver_that_receives_little_is_checked() -> None:
    """The memory of the driver's Python has a limit in each command."""
    case = Case("unif", 9, 3, (1, 1), tasks=(LIMITS,), driver_mb=400.0)
    names = ("ingest", "profile", "sample", "verify", "traffic")
    limits: dict[str, Any] = {"rows": 30, "plan_links": 7}
    for name, driver in zip(names, (200.0, 399.0, 401.0, 200.0, 200.0), strict=True):
        limits |= {f"{name}_seconds": 7.0, f"{name}_driver_mb": driver, f"{name}_java_mb": 2000.0}
    made = page(case, limits=limits)
    assert (made.held, made.asked) == (4, 5)
    assert "| 30 | `sample` | 7 | 401 | ≤ 400 | **no** | 2,000 |" in text(made)


def test_trees_are_checked() -> None:
    """The time of scipy over ours has a floor, and so has the busiest link by load over that by hops."""
    case = Case("zipf", 100, 20, (5, 5), tasks=(ROUTES,), plain_over_routes=50.0, load_over_hops=0.75)
    hops = {"seconds": 0.1, "mean_hops": 5.0, "max_link_load": 200.0}
    load = {"seconds": 0.2, "mean_hops": 5.5, "max_link_load": 160.0}
    made = page(case, routes={"subscriptions": 1000, "hops": hops, "load": load, "plain": 6.0})
    assert (made.held, made.asked) == (1, 2)
    assert "| 1,000 | 0.1 | 0.2 | 60 | ≥ 50 | yes | 0.80 | ≤ 0.75 | **no** | 5.00 → 5.50 |" in text(made)


def test_start_up_is_checked_against_the_import() -> None:
    """Each command has a floor over the import, and the first compilation one in seconds."""
    case = Case("unif", 3, 2, (1, 1), tasks=(STARTUP, COMPILATION))
    case = replace(case, command_over_import=2.5, compilation_seconds=15.0)
    commands = {"import": 0.5, "plan": 1.3, "export": 0.4, "diff": 0.4, "help": 0.3}
    made = page(case, startup=commands, compilation={"seconds": 14.0})
    assert (made.held, made.asked) == (4, 5)
    assert "| `plan rows.csv --out plan` | 0.5 | 1.3 | 2.6 | ≤ 2.5 | **no** |" in text(made)
    assert "| `--help` | 0.5 | 0.3 | 0.6 | ≤ 2.5 | yes |" in text(made)
    assert f"| {case.name} | 14 | ≤ 15 | yes |" in text(made)


def test_filters_are_checked() -> None:
    """Groups of a million filters have a limit in seconds, planning on groups one over plain topics."""
    case = Case(
        "zipf", 9, 1000, (5, 5), tasks=(GROUPING, FILTERS), grouping_seconds=10, groups_over_plain=1.1
    )
    grouping = {"few": {"seconds": 2.0, "groups": 20}, "many": {"seconds": 12.0, "groups": 900}}
    planning = {"derive": 0.1, "plain": 0.2, "groups": 0.15, "topics": 700, "links": [5, 4]}
    made = page(case, grouping=grouping, filters=planning)
    assert (made.held, made.asked) == (2, 3)
    assert "| 1,000 | many | 900 | 12 | ≤ 10 | **no** |" in text(made)
    assert f"| {case.name} | 700 | 0.1 | 0.2 | 0.15 | 0.75 | ≤ 1.1 | yes |" in text(made)


def test_paths_are_compared() -> None:
    """The chosen path must not be slower than the sweep alone, and its memory has a limit."""
    case = Case("unif", 100, 20, (5, 5), swept_over_chosen=2.0, chosen_memory_mb=50.0)
    record = {"edges": 9, "chosen": 2.0, "swept": 5.0, "chosen_mb": 60.0, "swept_mb": 70.0}
    made = page(case, paths=record)
    assert f"| {case.name} | 9 | 2 | 5 | – | 2.5 | ≥ 2 | yes | 60 | 70 | ≤ 50 | **no** |" in text(made)
    assert (made.held, made.asked) == (1, 2)
    alone = page(replace(case, only_chosen=True), paths={"edges": 9, "chosen": 2.0, "chosen_mb": 40.0})
    assert f"| {case.name} | 9 | 2 | – | – | – | – |  | 40 | – | ≤ 50 | yes |" in text(alone)
    both = page(replace(case, index_too=True), paths={**record, "listed": 7.0})
    assert f"| {case.name} | 9 | 2 | 5 | 7 | 2.5 |" in text(both)


def test_communities_share_topics() -> None:
    """Nodes of one community have its topics in common, and others of their own."""
    case = Case("unif", 60, 500, (4, 6), communities=3)
    interest = case.workload(seed=2)
    held = [set(topics) for topics in np.split(interest.node_topics, interest.node_ptr[1:-1])]
    assert case.name == "60x500x4-6-groups3"
    assert all(len(held[v] & held[v % 3]) >= 4 for v in range(60))
    assert all(4 <= len(topics) <= 6 for topics in held)
    assert len(set.intersection(*held[::3])) == 4


def test_growth_is_an_exponent() -> None:
    """A hundred times the time for ten times the nodes is an exponent of two."""
    small, large = GROWTH[0]
    cases = [case for case in FULL if case.name in (small, large)]
    records: Records = {
        (small, ENGINE): {**ENGINE_RECORD, "seconds": 0.5},
        (large, ENGINE): {**ENGINE_RECORD, "seconds": 50.0},
    }
    assert f"| {small} → {large} | 0.5 | 50 | 2.00 |" in text(build_page(cases, records))


def test_cases_have_distinct_names() -> None:
    """Names are unique, because the worker finds a case by its name."""
    names = [case.name for case in (*QUICK, *FULL)]
    assert len(set(names)) == len(names)
