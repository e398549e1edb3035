"""Drawing: curves with their range over seeds, the paper's values, and bars; one look for all figures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from meshwright.experiments.paper import Figure
from meshwright.experiments.results import Results, Spread
from meshwright.report.sheet import COLOURS as ALL_COLOURS
from meshwright.report.sheet import DASHES as ALL_DASHES
from meshwright.report.sheet import sheet

PANEL = (5.6, 4.6)
"""Inches of one panel."""
MARKERS = "osv^DPX<"
GREY, PINK, SKY, ORANGE = ALL_COLOURS[3:7]
OURS = (GREY, PINK, ORANGE, SKY)
"""The colours of what the paper does not have, one after the other; it is dotted, too."""
COLOURS = tuple(colour for colour in ALL_COLOURS if colour != GREY)
DASHES = ALL_DASHES[:3]
DOTS = ":"
"""Marks what is ours; no other line has it."""


def draw(figure: Figure, results: Results, folder: Path, name: str) -> list[Path]:
    """Draw a figure from its results alone, and return its SVG files: one per panel, so that they wrap."""
    numbers = [""] if figure.panels == 1 else [f"-{number + 1}" for number in range(figure.panels)]
    paths = [folder / f"{name}{number}.svg" for number in numbers]
    with ExitStack() as open_sheets:
        axes = [open_sheets.enter_context(sheet(path, size=PANEL))[1] for path in paths]
        figure.draw(results, axes)
    return paths


def curve(
    axes: Any,
    results: Results,
    x: str,
    y: str,
    *,
    label: str,
    number: int | None = None,
    ours: bool = False,
) -> None:
    """Draw the mean of a column over another, with a band from the lowest to the highest.

    `number` selects colour, dash and marker; by default it is the next one. `ours` marks what the paper does
    not have: dotted with hollow markers, in the next of the colours of `OURS`.
    """
    points = {at: Spread.of(values) for at, values in results.by(x, y).items() if values}
    if not points:
        return
    place = len(axes.lines) if number is None else number
    colour = _next_of_ours(axes) if ours else COLOURS[place % len(COLOURS)]
    dash = DOTS if ours else DASHES[place % len(DASHES)]
    means = [spread.mean for spread in points.values()]
    (line,) = axes.plot(list(points), means, color=colour, linestyle=dash, label=label)
    line.set(marker=MARKERS[place % len(MARKERS)], markerfacecolor="white" if ours else colour)
    lows, highs = [one.low for one in points.values()], [one.high for one in points.values()]
    axes.fill_between(list(points), lows, highs, color=colour, alpha=0.15, linewidth=0)


def _next_of_ours(axes: Any) -> str:
    """Return the next colour for what is ours: dotted lines are those that have one."""
    return OURS[sum(line.get_linestyle() == DOTS for line in axes.lines) % len(OURS)]


def level(axes: Any, value: float, *, label: str, number: int = 0, ours: bool = False) -> None:
    """Draw a horizontal line at one of our values, for a design that does not depend on x."""
    colour = _next_of_ours(axes) if ours else COLOURS[number % len(COLOURS)]
    axes.axhline(value, color=colour, linestyle=DOTS if ours else DASHES[number % len(DASHES)], label=label)


def paper_points(axes: Any, x: Sequence[float], y: Sequence[float], *, label: str = "paper") -> None:
    """Mark values that the paper states."""
    axes.plot(x, y, color="black", linestyle="none", marker="x", markersize=8, markeredgewidth=2, label=label)


def paper_line(axes: Any, value: float, *, label: str = "paper") -> None:
    """Draw a line at a value that the paper states."""
    axes.axhline(value, color="black", linewidth=1, linestyle=(0, (8, 4)), label=label)


def bars(axes: Any, heights: dict[str, Sequence[float]]) -> None:
    """Draw a bar for the mean of each list of values, with a whisker over its range."""
    spreads = [Spread.of(values) for values in heights.values()]
    errors = [[one.mean - one.low for one in spreads], [one.high - one.mean for one in spreads]]
    means = [one.mean for one in spreads]
    axes.bar(list(heights), means, yerr=errors, color=COLOURS[0], capsize=4)


def finish(axes: Any, title: str, x: str, y: str, **limits: Any) -> None:
    """Set the title and labels of a panel, and its legend; `limits` go to matplotlib, such as `yscale`."""
    axes.set_title(title)
    axes.set(xlabel=x, ylabel=y, **limits)
    linear = axes.get_xscale() == "linear"
    if linear and all(float(value).is_integer() for line in axes.lines for value in line.get_xdata()):
        axes.xaxis.get_major_locator().set_params(integer=True)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=8, handlelength=3, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
