"""Runs of churn as a table and as a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from meshwright.errors import InputError
from meshwright.formatting import duration
from meshwright.report.sheet import looks, sheet, whole_numbers
from meshwright.report.tables import plain_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.churn.replay import Replay


def churn_table(replays: Iterable[Replay]) -> Table:
    """Return a table with a row for each replay, and one for the overlay designed from scratch.

    Links are added and removed links, on average; times are medians.
    """
    table = plain_table("\npolicy", COLUMNS)
    scratch = None
    for replay in replays:
        scratch = replay.figures
        cells = (spell(scratch[name]) for name, spell in COLUMNS.values())
        table.add_row(Text(str(scratch["policy"])), *cells)
    if scratch is not None:
        spent = _time(scratch["rebuild_seconds"])
        degrees = (f"{scratch['rebuild_max_degree']:,}", _format_mean(scratch["rebuild_average_degree"]))
        table.add_row(Text("from scratch", "dim"), "", "", spent, spent, *degrees)
    return table


def churn_lines(replays: Iterable[Replay]) -> list[str]:
    """Return, for each replay, what the paper on shadows plots, in a few lines."""
    lines = []
    for replay in replays:
        it = replay.figures
        lines += [
            f"{it['policy']}: a repair changes {_share(it['mean_join_repair_ratio'])} of the links per join "
            f"and {_share(it['mean_leave_repair_ratio'])} per leave; the greedy step alone takes "
            f"{_time(it['median_join_greedy_seconds'])} and {_time(it['median_leave_greedy_seconds'])}"
        ]
        if it["mean_backups"] is not None and it["max_shadow_size"] is not None:
            lines.append(
                f"  shadow sets have {_format_mean(it['mean_shadow_size'])} brokers on average and "
                f"{it['max_shadow_size']} at most; {_format_mean(it['mean_backups'])} backups per broker "
                f"({it['min_backups']} to {it['max_backups']}), {it['min_primaries']} to "
                f"{it['max_primaries']} primaries"
            )
        if it["scratch_rounds"]:
            lines.append(
                f"  above Low-ODA from scratch, on average of {it['scratch_rounds']:,} rounds: "
                f"{it['mean_max_degree_gap']:+.2f} in maximum and {it['mean_average_degree_gap']:+.2f} in "
                "average degree"
            )
    return lines


def _share(value: object) -> str:
    """Format a share with two digits that count: a repair often changes far less than 0.1 % of the links."""
    if not isinstance(value, float):
        return "–"
    return f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.0f} %"


def _format_mean(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "–"


def _time(value: object) -> str:
    if not isinstance(value, float):
        return "–"
    return f"{1e6 * value:.0f} µs" if value < 0.00095 else duration(value)


COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "links\nper join": ("mean_join_edges", _format_mean),
    "links\nper leave": ("mean_leave_edges", _format_mean),
    "time of\na join": ("median_join_seconds", _time),
    "time of\na leave": ("median_leave_seconds", _time),
    "highest\ndegree": ("max_degree", "{:,}".format),
    "average\ndegree": ("average_degree", _format_mean),
}
"""By heading of the table of replays: the figure, and how it is spelled."""
BINS = 50
"""Number of bins: repairs are drawn as means per bin, since single ones would form a cloud."""


def churn_chart(
    replays: Mapping[str, Replay], path: str | Path | None = None, *, title: str | None = None
) -> Any:
    """Draw degrees, changed links and time per round for each replay, and return the figure.

    A dotted line shows Low-ODA from scratch on the nodes of the last round. The suffix of the path selects
    the file type: `.png`, `.svg` or `.pdf`.

    Raises
    ------
    InputError
        If there is nothing to draw, or the suffix is unknown.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    if not replays:
        raise InputError("no replays to draw: give at least one")
    with sheet(path, rows=2, columns=2, size=(10.5, 7.0), title=title) as (figure, panes):
        axes = panes.ravel()
        for (name, replay), look in zip(replays.items(), looks(), strict=False):
            _draw(axes, name, replay, **look)
        _finish(axes, next(iter(replays.values())))
        lines, names = axes[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside lower center", ncols=min(len(names), 5), handlelength=3)
    return figure


def _draw(axes: Any, name: str, replay: Replay, **look: Any) -> None:
    rounds = replay.rounds
    number = rounds.column("round").to_numpy()
    axes[0].plot(number, rounds.column("max_degree").to_numpy(), label=name, drawstyle="steps-post", **look)
    axes[1].plot(number, rounds.column("average_degree").to_numpy(), **look)
    changed = rounds.column("edges_added").to_numpy() + rounds.column("edges_removed").to_numpy()
    axes[2].plot(*_binned(changed), **look)
    centres, spent = _binned(rounds.column("seconds").to_numpy())
    axes[3].plot(centres, 1000 * spent, **look)


def _binned(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the means over equal ranges of rounds, with the middle of each range."""
    edges = np.unique(np.linspace(0, len(values), BINS + 1).round().astype(np.int64))
    if len(values) == 0:
        return edges[:0], values
    sums = np.add.reduceat(values.astype(np.float64), edges[:-1])
    return (edges[:-1] + edges[1:] - 1) / 2, sums / np.diff(edges)


def _finish(axes: Any, replay: Replay) -> None:
    figures = replay.figures
    for place, key in ((0, "rebuild_max_degree"), (1, "rebuild_average_degree")):
        axes[place].axhline(
            figures[key], color="#999999", linestyle=":", label="from scratch" if not place else None
        )
    for place, heading, unit in (
        (0, "Highest degree", "links of a broker"),
        (1, "Average degree", "links of a broker"),
        (2, "Links changed per round", "added and removed, mean"),
        (3, "Time per round", "milliseconds, mean"),
    ):
        axes[place].set_title(heading)
        axes[place].set_ylabel(unit)
        axes[place].set_ylim(bottom=0)
    whole_numbers(axes[0].yaxis)
    for place in (2, 3):
        axes[place].set_xlabel("round")
        whole_numbers(axes[place].xaxis)
