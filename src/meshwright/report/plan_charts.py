"""The charts of a plan's page: degrees, support with its 80 / 20 point, and a picture of the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright import measure
from meshwright.formatting import percentage
from meshwright.overlay import Overlay
from meshwright.report.charts import POINTS
from meshwright.report.sheet import COLOURS, percent_axis, sheet, whole_numbers

SIZE = (4.7, 3.4)
MOST_BARS = 40
"""Up to this highest degree, each degree has its bar; above, bars span ranges that double."""
MOST_RANGE_LABELS = 4
"""Labels of ranges that have room side by side; of more, every second or third is shown."""
MOST = 0.8
"""The share of support of the 80 / 20 point."""


def degree_chart(overlay: Overlay, path: str | Path | None = None) -> Any:
    """Draw how many brokers have how many links, and return the figure.

    >>> import meshwright as mw
    >>> degree_chart(mw.design({"a": {"x"}, "b": {"x"}}, "gm").overlay)
    <Figure size 564x408 with 1 Axes>
    """
    degrees = measure.degrees(overlay)
    counts = degrees.distribution
    with sheet(path, size=SIZE) as (figure, axes):
        axes.set_title("Links per broker")
        axes.set(xlabel="links of a broker", ylabel="brokers")
        axes.grid(visible=False, axis="x")
        if degrees.maximum <= MOST_BARS:
            axes.bar(np.arange(len(counts)), counts, color=COLOURS[0], width=0.85)
            whole_numbers(axes.xaxis)
        else:
            _draw_ranges(axes, degrees.of_node)
        whole_numbers(axes.yaxis)
    return figure


def _draw_ranges(axes: Any, degrees: NDArray[Any]) -> None:
    """Draw a bar for 0, 1, 2–3, 4–7, 8–15 … links."""
    places = np.where(degrees > 0, np.floor(np.log2(np.maximum(degrees, 1))) + 1, 0).astype(np.int64)
    counts = np.bincount(places)
    first = int(np.flatnonzero(counts)[0])
    shown = np.arange(first, len(counts))
    axes.bar(shown, counts[first:], color=COLOURS[0], width=0.85)
    labelled = shown[:: -(-len(shown) // MOST_RANGE_LABELS)]
    axes.set_xticks(labelled, [_range_label(place) for place in labelled.tolist()])
    axes.tick_params(axis="x", labelsize=8)


def _range_label(place: int) -> str:
    """Name a range of degrees.

    >>> [_range_label(place) for place in range(4)]
    ['0', '1', '2–3', '4–7']
    """
    if place < 2:
        return str(place)
    return f"{2 ** (place - 1):,}–{2**place - 1:,}"


class Pareto(NamedTuple):
    """The 80 / 20 point of a support curve."""

    links: int
    """The fewest first links with at least 80 % of the support that all links have."""
    share_of_links: float
    by_fifth: float
    """The share of that support which the first 20 % of the links have."""


def pareto_point(curve: NDArray[np.float64]) -> Pareto | None:
    """Return the 80 / 20 point of a support curve; None without links.

    >>> pareto_point(np.array([0.0, 0.7, 0.9, 1.0, 1.0, 1.0]))
    Pareto(links=2, share_of_links=0.4, by_fifth=0.7)
    """
    links = len(curve) - 1
    if not links or not curve[-1]:
        return None
    reached = int(np.searchsorted(curve, MOST * curve[-1] - 1e-12))
    fifth = round((1 - MOST) * links)
    return Pareto(reached, reached / links, float(curve[fifth] / curve[-1]))


def support_chart(overlay: Overlay, path: str | Path | None = None) -> Any:
    """Draw the support of the first links with its 80 / 20 point, and return the figure.

    >>> import meshwright as mw
    >>> support_chart(mw.design({"a": {"x"}, "b": {"x"}}, "gm").overlay)
    <Figure size 564x408 with 1 Axes>
    """
    with sheet(path, size=SIZE) as (figure, axes):
        curve = measure.support_curve(overlay)
        shown = np.unique(np.linspace(0, len(curve) - 1, POINTS // 4).round().astype(np.int64))
        point = pareto_point(curve)
        axes.set_title("What each further link adds")
        axes.set(xlabel="links, in the order they are added", ylabel="support")
        axes.plot(shown, curve[shown], color=COLOURS[0])
        if point is not None:
            at = (point.links, curve[point.links])
            axes.plot(*at, marker="o", color=COLOURS[2], markersize=7)
            label = f"{100 * MOST:.0f} % of it with\n{percentage(point.share_of_links)} of the links"
            # The curve rises fast and then slowly, so the lower right corner is free.
            axes.text(0.97, 0.06, label, transform=axes.transAxes, ha="right", va="bottom", color=COLOURS[2])
        axes.set_ylim(0, 1.04)
        axes.set_xlim(0, max(len(curve) - 1, 1))
        percent_axis(axes.yaxis)
        whole_numbers(axes.xaxis)
        axes.xaxis.get_major_locator().set_params(nbins=5)
    return figure


LINK_COLOUR = "#8D99A8"
"""Between the text and the page, in light and in dark."""


def graph_picture(
    places: NDArray[np.float64], u: NDArray[Any], v: NDArray[Any], path: str | Path | None = None
) -> Any:
    """Draw brokers at their places, with a line for each link, and return the figure.

    >>> graph_picture(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0]), np.array([1]))
    <Figure size 960x960 with 1 Axes>
    """
    with sheet(path, size=(8.0, 8.0)) as (figure, axes):
        from matplotlib.collections import LineCollection

        width = float(np.clip(300 / max(len(u), 1), 0.1, 1.2))
        lines = LineCollection(
            list(np.stack((places[u], places[v]), axis=1)), color=LINK_COLOUR, linewidth=width
        )
        axes.add_collection(lines)
        size = float(np.clip(9000 / max(len(places), 1), 1.5, 60))
        axes.scatter(places[:, 0], places[:, 1], s=size, color=COLOURS[0], zorder=2, linewidth=0)
        axes.set_aspect("equal")
        axes.axis("off")
        figure.patch.set_alpha(0.0)
    return figure
