"""The sheet that charts are drawn on, and their files: the same figures give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Any

from meshwright.errors import InputError, MissingDependencyError, OutputError
from meshwright.files.atomic import check_place, new_file

COLOURS = ("#0072B2", "#009E73", "#D55E00", "#7A7A7A", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""The palette of Okabe and Ito, which colour-blind readers can distinguish."""

DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (3, 1.2)), (0, (1.2, 1.2)))
"""Line styles, so that charts stay readable without colour."""

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
    "svg.hashsalt": "meshwright",  # without it, every SVG has random ids
}


MOST_DETAILED = 2000
"""The largest ratio of a logarithmic axis with labels between the powers of ten."""


def looks() -> Iterator[dict[str, Any]]:
    """Yield the colour and the line style of one curve after the other, without end."""
    for colour, dash in zip(cycle(COLOURS), cycle(DASHES), strict=False):
        yield {"color": colour, "linestyle": dash}


@contextmanager
def sheet(
    path: str | Path | None,
    *,
    rows: int = 1,
    columns: int = 1,
    size: tuple[float, float] = (10.5, 5.0),
    title: str | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes (an array if several); at the end write it, if a path is given.

    It first checks that the chart can be drawn and written, so do long work within it.
    """
    path = check_chart(path)
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with rc_context():
        rcdefaults()  # user settings would make equal figures look different
        rcParams.update(STYLE)
        layout = ConstrainedLayoutEngine(wspace=0.06, w_pad=0.1, h_pad=0.1)
        figure = Figure(figsize=size, dpi=120, layout=layout)
        FigureCanvasAgg(figure)
        yield figure, figure.subplots(rows, columns, sharex="col")
        if title:
            figure.suptitle(title, color="#555555", fontsize=11)
        if path is not None:
            save(figure, path)


def whole_numbers(axis: Any, *, log: bool = False) -> None:
    """Label an axis with whole numbers that have room; `log` only if its values span a decade or more.

    Call it after everything is drawn: large numbers are wide and get fewer ticks.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.set_minor_formatter(NullFormatter())
    axis.axes.autoscale_view()
    low, high = sorted(axis.get_view_interval())
    if log:
        # Labels 1, 2, 5, 10 … fit three decades; beyond that, powers of ten alone do.
        few = low > 0 and high / low > MOST_DETAILED
        axis.set_major_locator(LogLocator(numticks=5) if few else LogLocator(subs=(1.0, 2.0, 5.0)))
    else:
        # One tick is enough if all values are equal: more would repeat the same whole number.
        bins = 8 if high < 100_000 else 5
        axis.set_major_locator(MaxNLocator(nbins=bins, integer=True, min_n_ticks=1))


def percent_axis(axis: Any) -> None:
    """Label an axis of shares with percentages, as tables spell them."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: percent_label(value)))
    axis.set_minor_formatter(NullFormatter())


def percent_label(share: float) -> str:
    """Format a share for an axis: as few digits as it needs, never an exponent.

    >>> percent_label(0.2), percent_label(0.001), percent_label(1e-7)
    ('20 %', '0.1 %', '0.00001 %')
    """
    return f"{100 * share:.8f}".rstrip("0").rstrip(".") + " %"


KINDS = (".png", ".svg", ".pdf")
"""The file types of charts."""

UNSTATED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Metadata to leave out: dates and versions would make equal pictures differ."""


def check_chart(path: str | Path | None) -> Path | None:
    """Check before long work that a chart can be drawn and written, if it has a path, and return the path."""
    if path is None:
        check_matplotlib()
        return None
    path = Path(path)
    if path.suffix.lower() not in KINDS:
        raise InputError(f"unknown type of chart {str(path)!r}: end its name in {' or '.join(KINDS)}")
    if not path.parent.is_dir():
        raise OutputError(f"no folder {str(path.parent)!r} for the chart: make it first")
    if path.is_dir():
        raise OutputError(f"{str(path)!r} is a folder: name a file for the chart")
    check_place(path)
    check_matplotlib()
    return path


def check_matplotlib() -> None:
    """Raise an error before long work if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "matplotlib is not installed: pip install 'meshwright[charts]'"
        ) from error


def save(figure: Any, path: Path) -> None:
    """Write a figure to a temporary file and rename it, so that no partial picture remains."""
    kind = path.suffix.lower()
    with new_file(path) as beside:
        figure.savefig(beside, format=kind[1:], metadata=UNSTATED[kind])


INK = {
    "#999999": "var(--soft)",
    "#333333": "var(--text)",
    "#555555": "var(--soft)",
    "#000000": "var(--text)",
    "#e8e8e8": "var(--line)",
    "#ffffff": "var(--card)",
    COLOURS[0].lower(): "var(--chart-1)",
    COLOURS[2].lower(): "var(--chart-2)",
}
"""The colours of a sheet as those of a page, which has a light and a dark theme."""


def inline_svg(figure: Any, name: str, label: str) -> str:
    """Return a figure as SVG for a page: text stays text, colours follow the page's theme.

    Parameters
    ----------
    figure
        A figure of this module.
    name
        A word that makes the ids of this figure differ from those of others on the page.
    label
        What screen readers say instead.
    """
    from io import StringIO

    from matplotlib import rc_context

    target = StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": STYLE["svg.hashsalt"]}):
        figure.savefig(target, format="svg", metadata={"Date": None}, transparent=True)
    text = target.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"#[0-9a-fA-F]{6}\b", lambda found: INK.get(found[0].lower(), found[0]), text)
    text = re.sub(r' id="([^"]+)"', rf' id="{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r'xlink:href="#([^"]+)"', rf'xlink:href="#{name}-\1"', text)
    text = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", text)
    return text.replace(
        "<svg ", f'<svg role="img" aria-label="{escape(label)}" stroke-linejoin="round" ', 1
    ).strip()
