"""Plans side by side, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from meshwright.report.labels import name_of
from meshwright.report.plain_table import plain_table
from meshwright.spelling import amount, duration, excess, percentage

if TYPE_CHECKING:
    from meshwright.designs import Plan

BEST = "bold green"
"""The best figure of each column is drawn so."""
HEADINGS = (
    "\nlinks",
    "times the\nfewest",
    "average\ndegree",
    "highest\ndegree",
    "\nsupport",
    "\ntime",
)


def comparison(plans: Sequence[Plan], *, verified: Sequence[bool] | None = None) -> Table:
    """Return a table with one row for each plan.

    Parameters
    ----------
    plans
        What to compare, in this order.
    verified
        Whether each plan passed its check; adds a column when given.
    """
    table = plain_table("\ndesign", HEADINGS)
    figures = [plan.figures for plan in plans]
    costly = bool(plans) and all("total_cost" in own for own in figures)
    if costly:
        table.add_column("total\ncost", justify="right", no_wrap=True)
    certified = bool(plans) and all(plan.prices is not None for plan in plans)
    if certified:
        table.add_column("above the\nfewest, ≤", justify="right", no_wrap=True)
    if verified is not None:
        table.add_column("\nverified", justify="right", no_wrap=True)
    columns = [
        _least([int(own["edges"]) for own in figures], "{:,}".format),
        _relative([int(own["edges"]) for own in figures]),
        _least([float(own["average_degree"]) for own in figures], "{:.2f}".format),
        _least([int(own["max_degree"]) for own in figures], "{:,}".format),
        [Text(percentage(float(own["support"]))) for own in figures],
        [Text(duration(plan.seconds)) for plan in plans],
    ]
    if costly:
        columns.append(_least([float(own["total_cost"]) for own in figures], amount))
    if certified:
        columns.append([Text(excess(own["gap"]) if "gap" in own else "–") for own in figures])
    if verified is not None:
        columns.append([Text("yes", "green") if passed else Text("NO", "bold red") for passed in verified])
    for plan, *cells in zip(plans, *columns, strict=True):
        table.add_row(Text(name_of(plan)), *cells)
    return table


def _least(values: Sequence[float], spell: Callable[[float], str]) -> list[Text]:
    """Spell the values, the least of them set off; where all are equal, none is."""
    best = min(values, default=0)
    several = len(set(values)) > 1
    return [Text(spell(value), BEST if several and value == best else "") for value in values]


def _relative(edges: Sequence[int]) -> list[Text]:
    fewest = min(edges, default=0)
    return [Text(f"{count / fewest:.2f}" if fewest else "–") for count in edges]
