"""The page of results: one table per question, with floors next to the ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from benchmarks.cases_and_floors import Case

Records: TypeAlias = dict[tuple[str, str], dict[str, Any]]
"""Measurements by case name and task. A failed task has only the key `error`."""
FLOOR = ["floor", "holds"]
"""Column heads of the two cells that `Page.floor` returns."""


class Page:
    """The tables of a run, and how many floors hold."""

    def __init__(self, cases: Sequence[Case], records: Records) -> None:
        self.cases, self.records = cases, records
        self.held = self.asked = 0
        self.tables: list[str] = []

    def get(self, name: str, task: str) -> dict[str, Any] | None:
        """Return the record of a task, or None if it did not run or failed."""
        record = self.records.get((name, task))
        return None if record is None or "error" in record else record

    def measured(self, task: str) -> list[tuple[Case, dict[str, Any]]]:
        """Return each case with a record of this task."""
        found = ((case, self.get(case.name, task)) for case in self.cases)
        return [(case, record) for case, record in found if record]

    def floor(self, value: float, relation: str, floor: float | None) -> list[str]:
        """Count a floor; return two cells: the floor, and whether it holds."""
        if floor is None:
            return ["–", ""]
        holds = value >= floor if relation == "≥" else value <= floor
        self.asked += 1
        self.held += holds
        return [f"{relation} {floor:g}", "yes" if holds else "**no**"]

    def table(self, title: str, note: str, head: list[str], rows: list[list[str]]) -> None:
        """Add a table, unless it has no rows."""
        if rows:
            lines = [f"## {title}", "", note, "", _row(head), _row(["---"] * len(head))]
            self.tables.append("\n".join([*lines, *map(_row, rows)]))

    def text(self, machine: str) -> str:
        """Return the page as Markdown: machine, verdict, tables, failed tasks."""
        records = self.records.items()
        failed = [
            f"- {name} {task}: {record['error']}" for (name, task), record in records if "error" in record
        ]
        failures = ["\n".join(["## Failed", "", *failed])] if failed else []
        verdict = f"**{self.held} of {self.asked} floors hold.**"
        return "\n\n".join(["# Benchmark results", machine, verdict, *self.tables, *failures]) + "\n"


def figure(value: float) -> str:
    """Format a number with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def megabytes(value: float | None) -> str:
    """Format memory; a dash where the system does not report it."""
    return "–" if value is None else f"{value:,.0f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
