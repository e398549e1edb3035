"""A picture of a federation: its brokers, its bridges and their load, and the brokers at fault."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from meshwright.report.sheet import COLOURS, check_chart, sheet

MOST_NAMES = 60
"""With more brokers than this, their names would overlap and are left out."""


def federation_picture(
    brokers: Sequence[str],
    bridges: Mapping[tuple[str, str], int],
    path: str | Path,
    *,
    faulty: Collection[str] = (),
    title: str | None = None,
) -> Path:
    """Draw brokers on a circle, and a line for each bridge that is wider for more topics; return the path.

    Parameters
    ----------
    brokers
        The brokers in the order of starting; they are drawn clockwise from the top.
    bridges
        The number of topics of each bridge, by dialler and listener.
    path
        The file to write; its ending chooses the format: `.png`, `.svg` or `.pdf`.
    faulty
        Brokers where messages were missing, duplicate or leaked; they have another colour.
    title
        The text above the picture.
    """
    path = check_chart(path)
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(brokers)) / max(len(brokers), 1)
    where = {broker: (float(np.cos(a)), float(np.sin(a))) for broker, a in zip(brokers, angle, strict=True)}
    most = max(bridges.values(), default=1)
    with sheet(path, size=(8.0, 8.0)) as (_, axes):
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
                axes.text(1.05 * x, 1.05 * y, broker[:16], ha=side, va="center", fontsize=8, parse_math=False)
        axes.set_aspect("equal")
        axes.margins(0.2)
        axes.axis("off")
        if title:
            axes.set_title(title)
    return path
