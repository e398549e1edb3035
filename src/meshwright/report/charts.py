"""Charts of plans: degrees, support, and distributions side by side; and a picture of a federation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from meshwright.errors import InputError
from meshwright.files.atomic import new_folder
from meshwright.files.header import FRONT, write_header
from meshwright.formatting import counted, visible
from meshwright.report.sheet import COLOURS, looks, percent_axis, sheet, whole_numbers
from meshwright.report.tables import name_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.designs.plan import Plan


POINTS = 2000
"""Points per curve; more than a chart has pixels would only make vector files large."""


def degree_and_support(
    plans: Sequence[Plan], path: str | Path | None = None, *, title: str | None = None
) -> Any:
    """Draw the degree distribution and the support curve of each plan, and return the figure.

    Left: the share of brokers with at least a number of links, on logarithmic axes. Right: the support of the
    first links, by their number. With a path the chart is written there; the suffix selects the file type:
    `.png`, `.svg` or `.pdf`.

    Raises
    ------
    InputError
        If there is nothing to draw, or the suffix is unknown.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    if not plans:
        raise InputError("no plans to draw: give at least one")
    with sheet(path, columns=2, title=title) as (figure, (left, right)):
        for plan, look in zip(plans, looks(), strict=False):
            _draw_degrees(left, plan, **look)
            _draw_support(right, plan, **look)
        shares = "brokers with at least that many"
        _finish_distribution(left, "Distribution of links", values="links of a broker", shares=shares)
        _finish_support(right)
        lines, names = right.get_legend_handles_labels()
        columns = min(len(plans), 4)
        figure.legend(lines, names, loc="outside lower center", ncols=columns, handlelength=3)
    return figure


def _draw_degrees(axes: Any, plan: Plan, **look: Any) -> None:
    """Draw the share of brokers with at least 1, 2, 3 … links."""
    from meshwright import measure

    degrees = measure.degrees(plan.overlay)
    if not degrees.maximum:
        return  # a logarithmic axis cannot show an overlay without links
    at_least = np.cumsum(degrees.distribution[::-1])[::-1] / len(degrees.of_node)
    axes.plot(np.arange(1, len(at_least)), at_least[1:], drawstyle="steps-pre", **look)
    axes.plot(degrees.maximum, at_least[-1], marker="o", **look)


def _draw_support(axes: Any, plan: Plan, **look: Any) -> None:
    from meshwright import measure

    curve = measure.support_curve(plan.overlay)
    shown = np.unique(np.linspace(0, len(curve) - 1, POINTS).round().astype(np.int64))
    figures = plan.figures
    label = (
        f"{name_of(plan)}\n{counted(int(figures['edges']), 'link')}\n"
        f"degree {figures['average_degree']:.1f}, at most {figures['max_degree']:,}"
    )
    axes.plot(shown, curve[shown], label=label, **look)
    axes.plot(shown[-1], curve[-1], marker="o", **look)


def _finish_distribution(axes: Any, title: str, *, values: str, shares: str) -> None:
    """Label a distribution; where it spans a decade or more, its axes are logarithmic."""
    wide = axes.dataLim.x1 >= 10
    scales = {"xscale": "log", "yscale": "log"} if wide else {}
    axes.set(title=title, xlabel=values, ylabel=shares, **scales)
    whole_numbers(axes.xaxis, log=wide)
    percent_axis(axes.yaxis)


def _finish_support(axes: Any) -> None:
    axes.set_title("What each further link adds")
    axes.set(xlabel="links, in the order they are added", ylabel="support: connected, of all that can be")
    axes.set_ylim(0, 1.04)
    axes.set_xlim(left=0)
    percent_axis(axes.yaxis)
    whole_numbers(axes.xaxis)


Curve: TypeAlias = "tuple[NDArray[Any], NDArray[Any]]"
"""Ascending values, and for each the share with at least that value."""


def ccdf_chart(
    panels: Mapping[str, Mapping[str, Curve]], labels: Sequence[str], path: str | Path | None = None
) -> Any:
    """Draw one panel per distribution with one curve per dataset, and return the figure.

    Raises
    ------
    InputError
        If the suffix of the file is unknown.
    MissingDependencyError
        If matplotlib is not installed.
    """
    with sheet(path, columns=len(panels), size=(10.5, 4.5)) as (figure, panes):
        for axes, (title, curves), label in zip(panes, panels.items(), labels, strict=True):
            for (name, (values, shares)), look in zip(curves.items(), looks(), strict=False):
                shown = values > 0  # a logarithmic axis has no zero
                axes.plot(values[shown], shares[shown], drawstyle="steps-pre", label=name, **look)
            _finish_distribution(axes, title, values=label, shares="share with at least that many")
            axes.legend()
    return figure


MOST_NAMES = 60
"""With more brokers than this, their names would overlap and are left out."""


def federation_picture(
    brokers: Sequence[str],
    bridges: Mapping[tuple[str, str], int],
    path: str | Path | None = None,
    *,
    faulty: Collection[str] = (),
    title: str | None = None,
) -> Any:
    """Draw brokers on a circle, and a line for each bridge that is wider for more topics; return the figure.

    Parameters
    ----------
    brokers
        The brokers in the order of starting; they are drawn clockwise from the top.
    bridges
        The number of topics of each bridge, by dialler and listener.
    path
        The file to write, if any; its ending chooses the format: `.png`, `.svg` or `.pdf`.
    faulty
        Brokers where messages were missing, duplicate or leaked; they have another colour.
    title
        The text above the picture.
    """
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(brokers)) / max(len(brokers), 1)
    where = {broker: (float(np.cos(a)), float(np.sin(a))) for broker, a in zip(brokers, angle, strict=True)}
    most = max(bridges.values(), default=1)
    with sheet(path, size=(8.0, 8.0)) as (figure, axes):
        for (dialler, listener), topics in bridges.items():
            (x, y), (u, v) = where[dialler], where[listener]
            axes.plot(
                [x, u], [y, v], color=COLOURS[0], linewidth=0.6 + 3 * topics / most, alpha=0.5, zorder=1
            )
        for broker, (x, y) in where.items():
            colour = COLOURS[2] if broker in faulty else COLOURS[1]
            axes.scatter([x], [y], s=60, color=colour, edgecolors="white", zorder=2)
            if len(brokers) <= MOST_NAMES:
                side = "left" if x >= 0 else "right"
                name = visible(broker)[:16]
                axes.text(1.05 * x, 1.05 * y, name, ha=side, va="center", fontsize=8, parse_math=False)
        axes.set_aspect("equal")
        axes.margins(0.2)
        axes.axis("off")
        if title:
            axes.set_title(title)
    return figure


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
    plans = [*front, *others]
    if not plans:
        raise InputError("no plans to draw: give at least one")
    degrees_seen = [int(plan.figures["max_degree"]) for plan in plans]
    wide = max(degrees_seen) >= 10 * min(degrees_seen) > 0
    with sheet(path, size=(8.5, 5.2), title=title) as (figure, axes):
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
    from meshwright.store.plan_writer import write_plan

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
