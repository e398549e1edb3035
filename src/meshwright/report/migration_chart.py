"""A chart of a migration: cost and messages over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.content.assignment.cost import cost
from meshwright.report.sheet import COLOURS, DASHES, check_chart, sheet

if TYPE_CHECKING:
    from meshwright.content.migration import Migration


def migration_chart(run: Migration, path: str | Path, *, title: str | None = None) -> Path:
    """Draw the cost after each move, and the messages sent and delivered so far.

    Dotted lines mark crashes. The suffix of the path selects the file type: `.png`, `.svg` or `.pdf`.

    Raises
    ------
    InputError
        If the suffix of the path is unknown.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the path cannot be written.
    """
    path = check_chart(path)
    with sheet(path, columns=2) as (figure, (left, right)):
        _draw_cost(left, run)
        _draw_messages(right, run)
        for axes in (left, right):
            for number, (time, _) in enumerate(run.crashed):
                label = "a broker dies" if not number and axes is left else None
                axes.axvline(time, color="#555555", linestyle=":", linewidth=1.2, label=label)
            axes.set_xlabel("seconds")
            axes.set_xlim(left=0)
        for axes in (left, right):
            axes.legend()
        if title:
            figure.suptitle(title, color="#555555", fontsize=11)
    return path


def _draw_cost(axes: Any, run: Migration) -> None:
    last = run.samples[-1].time if run.samples else 0.0
    times = [0.0, *(step.time for step in run.steps), last]
    costs = [cost(run.workload, run.start).total, *(step.cost for step in run.steps)]
    axes.plot(times, [*costs, costs[-1]], drawstyle="steps-post", color=COLOURS[0], label="cost")
    let_in = np.array([(step.time, step.cost) for step in run.steps if not step.paid]).reshape(-1, 2)
    if len(let_in):
        axes.plot(*let_in.T, "o", color=COLOURS[2], markersize=3, label="admitted after a crash")
    axes.set_title("Total cost")
    axes.set_ylabel("cost")


def _draw_messages(axes: Any, run: Migration) -> None:
    from matplotlib.ticker import FuncFormatter

    times = [sample.time for sample in run.samples]
    shown = (("sent, all types", "messages", 0), ("publications delivered", "delivered", 1))
    for label, name, look in shown:
        values = [getattr(sample, name) for sample in run.samples]
        axes.plot(times, values, label=label, color=COLOURS[look], linestyle=DASHES[look])
    axes.set_title("Messages so far")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
