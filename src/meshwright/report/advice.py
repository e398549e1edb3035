"""Advice as a table: what was tried, and the one to take set off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from meshwright.report.labels import name_of
from meshwright.report.plain_table import plain_table
from meshwright.spelling import duration, excess, percentage

if TYPE_CHECKING:
    from meshwright.designs.advice import Advice, Tried

TAKE = "bold green"
HEADINGS = (
    "\nlinks",
    "above the\nfewest, ≤",
    "average\ndegree",
    "highest\ndegree",
    "\nsupport",
    "\ndiameter",
    "links to\nspare",
    "\ntime",
)


def advice_table(advice: Advice) -> Table:
    """Return a table with one row for each plan that was tried."""
    table = plain_table("\ndesign", HEADINGS)
    table.add_column("\nfits", no_wrap=True)
    for own in advice.tried:
        style = TAKE if own is advice.chosen else ""
        table.add_row(*(Text(cell, style) for cell in _cells(own)), _fits(own, advice))
    return table


def _cells(own: Tried) -> list[str]:
    figures, diameters = own.plan.figures, own.diameters
    return [
        name_of(own.plan),
        f"{figures['edges']:,}",
        excess(figures["gap"]) if "gap" in figures else "–",
        f"{figures['average_degree']:.2f}",
        f"{figures['max_degree']:,}",
        percentage(figures["support"]),
        f"{diameters.maximum}" if diameters.exact.all() else f"≥ {diameters.maximum}",
        f"{own.redundant:,}",
        duration(own.plan.seconds),
    ]


def _fits(own: Tried, advice: Advice) -> Text:
    if own is advice.chosen:
        return Text("take this", TAKE)
    if own.unmet(advice.wishes):
        return Text("no", "red")
    return Text("yes") if own.complete else Text("in part")
