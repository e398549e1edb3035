"""Tables: one row for each plan, with the plan's own figures, in a form that does not mislead."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

import meshwright as mw
from meshwright.designs.advice import Advice, Tried, Wishes
from meshwright.designs.plan import Plan
from meshwright.designs.registry import DESIGNS
from meshwright.formatting import duration, percentage
from meshwright.report import advice_lines, advice_table, comparison, proof_lines
from meshwright.report.tables import name_of
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


def test_partial_plans_are_not_the_best(plans: list[Plan]) -> None:
    """A plan that leaves topics split has no ratio and no highlight, and the best is a complete plan's."""
    interest = plans[0].overlay.interest
    part, emptier = (mw.design(interest, "gpa", max_edges=limit) for limit in (20, 3))

    def cells(compared: list[Plan]) -> list[list[tuple[str, str]]]:
        """Return the first figures of each row, and how they are highlighted."""
        columns = list(comparison(compared).columns)[1:5]
        return [[(str(it), str(it.style) if isinstance(it, Text) else "") for it in c.cells] for c in columns]

    mixed = cells([part, *plans, emptier])
    assert [column[1:-1] for column in mixed] == cells(plans)
    assert {column[row][1] for column in mixed for row in (0, -1)} == {""}
    assert [mixed[1][row][0] for row in (0, -1)] == ["–", "–"]
    (ratio, _) = list(comparison([part, emptier]).columns[2].cells)
    assert str(ratio) == "–"


def test_without_links_there_is_no_ratio() -> None:
    """If no plan has links, the ratio is a dash."""
    alone = mw.Interest.from_dict({"a": {"x"}})
    (row,) = text_of(comparison([mw.design(alone, "gm")]))
    assert "–" in row
    assert "100 %" in row


def test_advice_has_a_row_for_each_plan(plans: list[Plan]) -> None:
    """A row shows figures and measures; the chosen plan says so, and others whether they meet the wishes."""
    most = max(plans, key=lambda plan: plan.figures["max_degree"])
    part = mw.design(most.overlay.interest, "gpa", max_edges=3)
    few, sparse, many = (Tried(plan) for plan in (plans[0], part, most))
    for own, exact in ((few, True), (sparse, True), (many, False)):
        vars(own).update(diameters=SimpleNamespace(maximum=4, exact=np.array([True, exact])), redundant=1234)
    wishes = Wishes(max_degree=int(most.figures["max_degree"]) - 1)
    table = advice_table(Advice(wishes, (few, sparse, many), few, ()))
    rows = [list(map(str, row)) for row in zip(*(it.cells for it in table.columns), strict=True)]
    assert [row[-1] for row in rows] == ["take", "in part", "no"]
    free = advice_table(Advice(Wishes(), (many,), None, ()))
    assert [str(cell) for cell in free.columns[-1].cells] == ["yes"]
    for row, own in zip(rows, (few, sparse, many), strict=True):
        figures = own.plan.figures
        assert row[:2] == [name_of(own.plan), f"{figures['edges']:,}"]
        assert row[2:4] == [
            f"{figures['max_degree']:,}",
            percentage(figures["support"]),
        ]
        assert row[4:6] == ["≥ 4" if own is many else "split" if own is sparse else "4", "1,234"]


def test_advice_fits_a_terminal() -> None:
    """In 80 columns every design has one line, and columns that say nothing are left out."""
    table = advice_table(mw.advise({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, steps=20))
    assert len(text_of(table)) == table.row_count
    assert "support" not in [str(column.header).strip() for column in table.columns]  # all are complete


def test_the_best_is_highlighted(plans: list[Plan]) -> None:
    """The fewest links are highlighted; among equals nothing is."""

    def best(compared: list[Plan]) -> list[bool]:
        links = comparison(compared).columns[1].cells
        return [isinstance(cell, Text) and "bold" in str(cell.style) for cell in links]

    fewest = min(len(plan.overlay) for plan in plans)
    assert best(plans) == [len(plan.overlay) == fewest for plan in plans]
    assert best(plans[:1]) == [False]


@given(st.floats(0, 1))
def test_only_all_is_100_percent(share: float) -> None:
    """Only 1 is formatted as '100 %' and only 0 as '0 %'; other shares are within 0.1 of the truth."""
    text = percentage(share)
    assert (text == "100 %") == (share == 1)
    assert (text == "0 %") == (share == 0)
    assert abs(float(text.removesuffix(" %")) - share * 100) <= 0.1 + 1e-9


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_durations_keep_their_order(one: float, other: float) -> None:
    """A longer time is never formatted as a shorter one."""

    def seconds(text: str) -> float:
        units = {"ms": 0.001, "s": 1.0, "min": 60.0}
        words = text.split()
        return sum(float(n) * units[u] for n, u in zip(words[::2], words[1::2], strict=True))

    short, long = sorted((one, other))
    assert seconds(duration(short)) <= seconds(duration(long))


def test_a_design_is_named_with_its_parameters() -> None:
    """A plan is named by its design's title and parameters; an unknown design keeps its own name."""
    overlay = mw.Overlay.empty(mw.Interest.from_dict({"a": {"x"}}))
    assert name_of(Plan(overlay, "gm", {}, 0, 0.0)) == DESIGNS["gm"].title
    assert name_of(Plan(overlay, "gpa", {"max_edges": 5000}, 0, 0.0)) == "GPA (max edges = 5,000)"
    assert name_of(Plan(overlay, "low", {"k": 2.5}, 0, 0.0)) == "Low-ODA (k = 2.5)"
    assert name_of(Plan(overlay, "from the future", {}, 0, 0.0)) == "from the future"


def test_a_proof_that_the_time_limit_stopped() -> None:
    """Below the tables of compare and advise a line says that the gaps are those of a proof that was cut."""
    interest = zipf(30, 10, size=3, seed=1)
    for rising, said in (
        (3.0, "still rising, by 3 links a second"),
        (0.0, "stopped by the time limit"),
    ):
        plans = [
            replace(plan, prices=replace(plan.prices, rising=rising))
            for plan in mw.compare(interest, ["gm", "low"], certify=True)
            if plan.prices is not None
        ]
        assert said in proof_lines(plans)[-1]
        assert proof_lines(plans)[-1].endswith(": gaps may be smaller")
        advice = mw.advise(interest, steps=1)
        assert advice.chosen is not None
        cut = replace(advice.chosen, plan=replace(plans[0], degree_proof=None))
        assert any(said in line for line in advice_lines(replace(advice, chosen=cut)))
    assert proof_lines([mw.design(interest, "gm")]) == []
