"""How our charts look, and the sheet that they are drawn on: the same figures give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from meshwright.report.chart_file import save

if TYPE_CHECKING:
    from pathlib import Path

COLOURS = ("#0072B2", "#009E73", "#D55E00", "#7A7A7A", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""

DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (3, 1.2)), (0, (1.2, 1.2)))
"""Line styles, so that a print without colour can be read too."""

STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": "#333333",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E8E8E8",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "lines.linewidth": 2,
    "lines.markersize": 5.5,
    "legend.frameon": False,
    "svg.hashsalt": "meshwright",  # else every SVG has random ids
}


@contextmanager
def sheet(
    path: Path, *, rows: int = 1, columns: int = 1, size: tuple[float, float] = (10.5, 5.0)
) -> Iterator[tuple[Any, Any]]:
    """Give a figure and its axes, as an array if several, to draw on; on leaving it is written."""
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with rc_context():
        rcdefaults()  # the reader's own settings would make equal figures look different
        rcParams.update(STYLE)
        layout = ConstrainedLayoutEngine(wspace=0.06, w_pad=0.1, h_pad=0.1)
        figure = Figure(figsize=size, dpi=120, layout=layout)
        FigureCanvasAgg(figure)
        yield figure, figure.subplots(rows, columns, sharex="col")
        save(figure, path)
