"""Distributions side by side: which share has at least so much, as in icdcs16 Fig. 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from meshwright.report.chart_file import check_chart
from meshwright.report.sheet import COLOURS, DASHES, sheet

if TYPE_CHECKING:
    from numpy.typing import NDArray

Curve: TypeAlias = "tuple[NDArray[Any], NDArray[Any]]"
"""Values, ascending, and for each the share that has at least that much."""


def ccdf_chart(panels: Mapping[str, Mapping[str, Curve]], labels: Sequence[str], path: str | Path) -> Path:
    """Draw one panel for each distribution, in it one curve for each dataset; return the file's path.

    Raises
    ------
    InputError
        If the name of the file tells no kind of chart.
    MissingDependencyError
        If matplotlib is not installed.
    """
    path = check_chart(path)
    with sheet(path, columns=len(panels), size=(10.5, 4.5)) as (_, panes):
        for axes, (title, curves), label in zip(panes, panels.items(), labels, strict=True):
            for (name, (values, shares)), colour, dash in zip(
                curves.items(), cycle(COLOURS), cycle(DASHES), strict=False
            ):
                shown = values > 0  # a logarithmic axis has no zero
                axes.plot(
                    values[shown],
                    shares[shown],
                    color=colour,
                    linestyle=dash,
                    drawstyle="steps-pre",
                    label=name,
                )
            axes.set_title(title)
            axes.set(xlabel=label, ylabel="share with at least that many", xscale="log", yscale="log")
            axes.legend()
    return path
