"""The trade-off between links and maximum degree: a chart, and a folder with a plan for each point."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.files.atomic import new_folder
from meshwright.files.header import FRONT, write_header
from meshwright.report.sheet import COLOURS, check_chart, sheet, whole_numbers
from meshwright.report.tables import name_of

if TYPE_CHECKING:
    from meshwright.designs.plan import Plan

FRONT_COLOUR, TAKE_COLOUR = COLOURS[0], COLOURS[2]
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Markers, so that charts stay readable without colour."""


def trade_off(
    path: str | Path | None = None,
    *,
    front: Sequence[Plan] = (),
    others: Sequence[Plan] = (),
    chosen: Plan | None = None,
    title: str | None = None,
) -> Any:
    """Draw the links of each plan against its maximum degree, and return the figure.

    Parameters
    ----------
    path
        The file to write, if any; its suffix selects the type: `.png`, `.svg` or `.pdf`.
    front
        Plans with fewer links the higher their degree: drawn as one line.
    others
        Further plans, each with its name.
    chosen
        One of the plans, highlighted.
    title
        The title.

    Raises
    ------
    InputError
        If there is nothing to draw, or the suffix is unknown.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    path = check_chart(path)
    plans = [*front, *others]
    if not plans:
        raise InputError("no plans to draw: give at least one")
    degrees_seen = [int(plan.figures["max_degree"]) for plan in plans]
    wide = max(degrees_seen) >= 10 * min(degrees_seen) > 0
    with sheet(path, size=(8.5, 5.2)) as (figure, axes):
        if front:
            degrees, links = ([plan.figures[name] for plan in front] for name in ("max_degree", "edges"))
            axes.step(degrees, links, where="post", color=FRONT_COLOUR, marker="o", label="the best found")
        for plan, colour, marker in zip(others, cycle(COLOURS), cycle(MARKERS), strict=False):
            at = [plan.figures["max_degree"]], [plan.figures["edges"]]
            if plan is chosen:
                axes.plot(
                    *at, marker="o", markersize=17, color=TAKE_COLOUR, fillstyle="none", linestyle="none"
                )
            name = f"{name_of(plan)}: take this" if plan is chosen else name_of(plan)
            axes.plot(*at, marker=marker, markersize=8, color=colour, linestyle="none", label=name)
        bounds = [plan.figures["lower_bound"] for plan in plans if "lower_bound" in plan.figures]
        if bounds:
            note = f"proven: connecting every topic needs {max(bounds):,} links"
            axes.axhline(max(bounds), color="#555555", linestyle=(0, (4, 3)), linewidth=1.2, label=note)
        axes.set(xlabel="highest degree: links of the busiest broker", ylabel="links in all")
        axes.margins(x=0.12, y=0.12)
        axes.set_xscale("log" if wide else "linear")
        whole_numbers(axes.xaxis, log=wide)
        whole_numbers(axes.yaxis)
        axes.set_title("Few links or a low maximum degree")
        if others or bounds:
            figure.legend(loc="outside lower center", ncols=2)
        if title:
            figure.suptitle(title, color="#555555", fontsize=11)
    return figure


CHART = "front.png"


def write_front(plans: Sequence[Plan], path: str | Path, *, title: str | None = None) -> Path:
    """Write plans as folders `degree-N` with a chart; an older front is replaced.

    Raises
    ------
    InputError
        If there are no plans.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the path cannot be written.
    """
    from meshwright.store.plans import write_plan

    if not plans:
        raise InputError("no plans for a front: give at least one")
    with new_folder(path, FRONT) as folder:
        points = []
        for plan in plans:
            name = f"degree-{plan.figures['max_degree']}"
            write_plan(plan, folder / name)
            points.append({"plan": name, **plan.figures})
        trade_off(folder / CHART, front=plans, title=title)
        write_header(folder, FRONT, {"dataset": plans[0].overlay.interest.fingerprint, "points": points})
    return Path(path)
