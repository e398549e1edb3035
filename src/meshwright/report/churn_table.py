"""Runs of churn side by side, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from meshwright.report.plain_table import plain_table
from meshwright.spelling import duration

if TYPE_CHECKING:
    from meshwright.churn.replay import Replay

HEADINGS = (
    "links\na join",
    "links\na leave",
    "time of\na join",
    "time of\na leave",
    "highest\ndegree",
    "average\ndegree",
)


def churn_table(replays: Iterable[Replay]) -> Table:
    """Return a table with a row for each replay, and one for the overlay made from scratch.

    Links are those added and removed, on average; times are medians.
    """
    table = plain_table("\npolicy", HEADINGS)
    scratch = None
    for replay in replays:
        scratch = replay.figures
        table.add_row(
            Text(str(scratch["policy"])),
            _spelled(scratch["mean_join_edges"]),
            _spelled(scratch["mean_leave_edges"]),
            _time(scratch["median_join_seconds"]),
            _time(scratch["median_leave_seconds"]),
            f"{scratch['max_degree']:,}",
            _spelled(scratch["average_degree"]),
        )
    if scratch is not None:
        spent = _time(scratch["rebuild_seconds"])
        degrees = (f"{scratch['rebuild_max_degree']:,}", _spelled(scratch["rebuild_average_degree"]))
        table.add_row(Text("from scratch", "dim"), "", "", spent, spent, *degrees)
    return table


def _spelled(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "–"


def _time(value: object) -> str:
    if not isinstance(value, float):
        return "–"
    return f"{1e6 * value:.0f} µs" if value < 0.00095 else duration(value)
