"""Assignments of users side by side, drawn: what of their cost is access and what is core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.report.chart_file import check_chart
from meshwright.report.content_table import title_of
from meshwright.report.sheet import COLOURS, sheet

if TYPE_CHECKING:
    from meshwright.content import ContentPlan


def content_chart(plans: Sequence[ContentPlan], path: str | Path, *, title: str | None = None) -> Path:
    """Draw a bar for each plan: access and core costs on top of each other.

    Raises
    ------
    InputError
        If the name ends in no kind of chart that is known.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the place cannot be written.
    """
    path = check_chart(path)
    with sheet(path, size=(9.0, 1.6 + 0.45 * len(plans))) as (_, axes):
        names = [title_of(plan) for plan in plans][::-1]
        access = [plan.cost.access for plan in plans][::-1]
        core = [plan.cost.core for plan in plans][::-1]
        axes.barh(names, access, color=COLOURS[0], label="access links")
        axes.barh(
            names, core, left=access, color=COLOURS[2], hatch="//", edgecolor="white", label="core links"
        )
        axes.set_xlabel("cost")
        axes.grid(axis="y", visible=False)
        axes.legend(loc="lower right", frameon=True)
        if title:
            axes.set_title(title)
    return path
