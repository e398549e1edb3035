"""Reports of churn: a row for each policy, one for the design from scratch, and means over the rounds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from meshwright.errors import InputError
from meshwright.report import churn_chart, churn_lines, churn_table, replays

FIGURES = {
    "policy": "shadow",
    "mean_join_edges": 2.5,
    "mean_leave_edges": None,
    "median_join_seconds": 0.000949,
    "median_leave_seconds": 0.00096,
    "max_degree": 1234,
    "average_degree": 4.0,
    "rebuild_seconds": 2.0,
    "rebuild_max_degree": 12,
    "rebuild_average_degree": 3.25,
}
ROUNDS = pa.table(
    {
        "round": [0, 1, 2],
        "max_degree": [3, 4, 4],
        "average_degree": [2.0, 2.1, 2.2],
        "edges_added": [1, 0, 2],
        "edges_removed": [0, 1, 0],
        "seconds": [0.1, 0.2, 0.3],
    }
)


def replay(**figures: Any) -> Any:
    """Return a replay with these figures instead of the usual ones."""
    return SimpleNamespace(figures={**FIGURES, **figures}, rounds=ROUNDS)


def rows(table: Any) -> list[list[str]]:
    """Return the rows of a table as text."""
    return [list(map(str, row)) for row in zip(*(it.cells for it in table.columns), strict=True)]


def test_a_row_for_each_replay_and_one_from_scratch() -> None:
    """Means have two digits, short times are in microseconds, and the last row is of the last replay."""
    first, second, scratch = rows(churn_table([replay(), replay(policy="naive", rebuild_max_degree=13)]))
    assert first == ["shadow", "2.50", "–", "949 µs", "1.0 ms", "1,234", "4.00"]
    assert second[0] == "naive"
    assert scratch == ["from scratch", "", "", "2.0 s", "2.0 s", "13", "3.25"]
    assert rows(churn_table([])) == []


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "0 %"), (0.0006, "0.06 %"), (0.02542, "2.5 %"), (0.0996, "10 %"), (0.4, "40 %"), (1.25, "125 %")],
)
def test_shares_of_repairs_have_two_digits(share: float, shown: str) -> None:
    """Small shares are not rounded away, large ones have no digits that say nothing; none is a dash."""
    own = replay(
        mean_join_repair_ratio=share, mean_leave_repair_ratio=None, median_join_greedy_seconds=None,
        median_leave_greedy_seconds=None, mean_backups=None, max_shadow_size=None, scratch_rounds=0,
    )  # fmt: skip
    (line,) = churn_lines([own])
    assert f"a repair changes {shown} of the links per join and – per leave" in line


def test_rounds_are_averaged_in_bins() -> None:
    """Each bin has the mean of its rounds and their middle; few rounds have a bin each."""
    centres, means = replays._binned(np.array([3.0, 5.0]))
    assert (centres.tolist(), means.tolist()) == ([0.0, 1.0], [3.0, 5.0])
    centres, means = replays._binned(np.arange(100))
    assert centres.tolist() == means.tolist() == [2 * place + 0.5 for place in range(50)]
    assert [len(it) for it in replays._binned(np.array([]))] == [0, 0]


def test_a_chart_names_replays_and_panels(tmp_path: Path) -> None:
    """The chart has a curve for each replay, one dotted line in the legend, and four panels."""
    drawn = tmp_path / "c.svg"
    churn_chart({"one": replay(), "two": replay()}, drawn, title="Churn")
    text = drawn.read_text(encoding="utf-8")
    panels = ("Highest degree", "Average degree", "Links changed per round", "Time per round")
    for name in ("one", "two", "from scratch", "Churn", *panels):
        assert text.count(f"<!-- {name} -->") == 1
    assert text.count("<!-- round -->") == 2
    with pytest.raises(InputError, match="no replays to draw"):
        churn_chart({}, tmp_path / "c.svg")


def test_curves_show_what_changed() -> None:
    """Added and removed links count together, and times are in milliseconds."""
    figure = churn_chart({"one": replay()})
    curves = {axes.get_ylabel(): axes.get_lines()[0].get_ydata() for axes in figure.axes}
    assert list(curves["added and removed, mean"]) == [1.0, 1.0, 2.0]
    assert list(curves["milliseconds, mean"]) == pytest.approx([100.0, 200.0, 300.0])
