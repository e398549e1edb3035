"""What was measured of live overlays, as tables of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.cases import CHURN, DAMAGE, TIDY
from benchmarks.spelling import figure

if TYPE_CHECKING:
    from benchmarks.results import Page

MOST_MEMORY, MOST_GROWTH, MOST_AVERAGE, MOST_MAXIMUM = 3.0, 4.0, 1.03, 1.6
"""Floors that are the same for every case."""


def add_live_tables(page: Page) -> None:
    """Add the tables on repair, on how it grows, and on degrees after much churn."""
    _repairs(page)
    _damage(page)
    _tidy(page)


def _repairs(page: Page) -> None:
    rows = []
    for case in page.cases:
        record = page.get(case.name, CHURN)
        if record:
            cells = [case.name, figure(record["rebuild"])]
            for name, floor in (("join", case.join_percent), ("leave", case.leave_percent)):
                percent = 100 * record[name] / record["rebuild"]
                cells += [figure(1e6 * record[name]), figure(percent), *page.floor(percent, "≤", floor)]
            cells += [figure(record["rounds"]), f"{record['join_edges']:.2f}", f"{record['leave_edges']:.2f}"]
            cells += [f"{record['max_degree']} / {record['rebuild_max_degree']}", figure(record["memory"])]
            rows.append([*cells, *page.floor(record["memory"], "≤", MOST_MEMORY)])
    timed = ("µs", "% of a rebuild", "floor", "holds")
    page.table(
        "Repair under churn",
        "Shadow repair, 1000 rounds: the median join and leave, everything counted, beside Low-ODA from "
        "scratch in the same process. Links are those added and removed, on average. Memory is that of the "
        "live overlay over that of the plain interest and overlay.",
        [
            "case", "rebuild s", *(f"join {it}" for it in timed), *(f"leave {it}" for it in timed),
            "1000 rounds s", "links a join", "links a leave", "max. degree after / of a rebuild",
            "memory", "floor", "holds",
        ],
        rows,
    )  # fmt: skip


def _damage(page: Page) -> None:
    small, large = (page.get(name, CHURN) for name in DAMAGE)
    rows = []
    if small and large:
        ratio = large["leave"] / small["leave"]
        cells = [" → ".join(DAMAGE), figure(1e6 * small["leave"]), figure(1e6 * large["leave"])]
        rows.append([*cells, figure(ratio), *page.floor(ratio, "≤", MOST_GROWTH)])
    page.table(
        "Repair follows the damage",
        "The median leave with the same topics and sizes and ten times the nodes.",
        ["cases", "µs before", "µs after", "after / before", "floor", "holds"],
        rows,
    )


def _tidy(page: Page) -> None:
    rows = []
    for case in page.cases:
        for policy, it in (page.get(case.name, TIDY) or {}).items():
            asked = policy == "tidy" and case.join_percent is not None
            cells = [case.name, policy, f"{case.rounds:,}", figure(1000 * it["seconds"])]
            for name, floor in (("average", MOST_AVERAGE), ("maximum", MOST_MAXIMUM)):
                cells += [f"{it[name]:.3f}", *page.floor(it[name], "≤", floor if asked else None)]
            rows.append([*cells, f"{it['tidied']:.2f}", f"{it['faults']}"])
    page.table(
        "Degrees after much churn",
        "Average and maximum degree over those of Low-ODA from scratch; links that tidying takes away "
        "or moves each round; what the audit finds at the end.",
        [
            "case", "policy", "rounds", "ms a round", "average", "floor", "holds", "maximum", "floor",
            "holds", "links moved", "faults",
        ],
        rows,
    )  # fmt: skip
