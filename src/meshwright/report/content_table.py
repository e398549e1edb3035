"""Assignments of users side by side, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from meshwright.content.registry import find
from meshwright.report.plain_table import plain_table
from meshwright.report.tables import BEST
from meshwright.spelling import amount, duration, percentage

if TYPE_CHECKING:
    from meshwright.content import ContentPlan

HEADINGS = (
    "\ncost",
    "access\ncost",
    "core\ncost",
    "core as\none tree",
    "\nCRR",
    "highest\nload",
    "\ntime",
)


def content_table(plans: Sequence[ContentPlan]) -> Table:
    """Return a table with a row for each plan; the least cost is set off."""
    table = plain_table("\nalgorithm", HEADINGS)
    least = min((plan.cost.total for plan in plans), default=0.0)
    for plan in plans:
        best = len(plans) > 1 and plan.cost.total == least
        table.add_row(
            Text(title_of(plan)),
            Text(amount(plan.cost.total), BEST if best else ""),
            amount(plan.cost.access),
            amount(plan.cost.core),
            amount(plan.tree.core),
            "–" if plan.crr is None else f"{plan.crr:.3f}",
            percentage(plan.cost.max_load),
            duration(plan.seconds),
        )
    return table


def title_of(plan: ContentPlan) -> str:
    """Return an algorithm's title, with what it was told."""
    title = find(plan.algorithm).title
    if plan.parameters.get("argmax"):
        return f"{title}, heaviest"
    return title
