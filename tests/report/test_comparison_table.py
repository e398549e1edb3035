"""The comparison table: one row for each plan, with the plan's own figures."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

import meshwright as mw
from meshwright.designs import Plan
from meshwright.report import comparison
from meshwright.workloads import zipf


def text_of(table: Table, width: int = 80) -> list[str]:
    """Return the rows of a table as a terminal without colours shows them, header and blanks left out."""
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    ruler = next(number for number, line in enumerate(lines) if "──" in line)
    return [line.strip() for line in lines[ruler + 1 :] if line.strip()]


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    interest = zipf(40, 12, size=4, seed=3)
    return [mw.design(interest, name) for name in ("gm", "low", "minmax", "ring")]


def test_each_row_shows_its_plans_figures(plans: list[Plan]) -> None:
    """A row has the plan's links, degrees and support, and its links relative to the fewest."""
    rows = text_of(comparison(plans, verified=[True, True, False, True]))
    assert len(rows) == len(plans)
    fewest = min(len(plan.overlay) for plan in plans)
    for row, plan in zip(rows, plans, strict=True):
        figures = plan.figures
        words = row.split()
        assert f"{figures['edges']:,}" in words
        assert f"{len(plan.overlay) / fewest:.2f}" in words
        assert f"{figures['average_degree']:.2f}" in words
        assert f"{figures['max_degree']}" in words
        assert "100 %" in row
    assert [row.split()[-1] for row in rows] == ["yes", "yes", "NO", "yes"]


def test_no_links_are_no_ratio() -> None:
    """Where no plan has links, the ratio is left open instead of dividing by zero."""
    alone = mw.Interest.from_dict({"a": {"x"}})
    (row,) = text_of(comparison([mw.design(alone, "gm")]))
    assert "–" in row
    assert "100 %" in row


def test_the_best_is_set_off(plans: list[Plan]) -> None:
    """The fewest links stand out, and nothing does among equals."""

    def best(compared: list[Plan]) -> list[bool]:
        links = comparison(compared).columns[1].cells
        return [isinstance(cell, Text) and "bold" in str(cell.style) for cell in links]

    fewest = min(len(plan.overlay) for plan in plans)
    assert best(plans) == [len(plan.overlay) == fewest for plan in plans]
    assert best(plans[:1]) == [False]
