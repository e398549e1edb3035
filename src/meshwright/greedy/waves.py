"""Waves: many rows of the level sweep rebuilt elsewhere, from a snapshot, and returned to the sweep.

`Waves` is the side of the sweep, `Rebuilder` the other. A window made against an earlier state may be too
high, but never too low, so the links are those of a run without waves. This holds wherever the rows are
rebuilt: the executors of a cluster make their own state from the interest and the links so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from meshwright.arrays import frozen
from meshwright.greedy.level_run import LevelRun, Task, open_nodes, open_topics, stale_rows, work_of
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.greedy.kernels.state import State, Sweep

LEAST_WORK = 1_500_000_000
"""A wave of less work than this, about a second on one core, is done where the sweep runs."""
PATIENCE = 32
"""Before a wave is sent away, the sweep does 1/32 of its work itself.

Where a few links connect most topics, as at the lowest level, almost no work is left by then.
"""


class Wave(NamedTuple):
    """Rows to rebuild, and the snapshot to rebuild them from: the links so far, and where the sweeps are."""

    u: Ids
    """The smaller end of each link so far, the start's included."""
    v: Ids
    """The larger end of each link so far."""
    rows: Ids
    """The rows to rebuild, ascending."""
    level: int
    """The level of the sweep that needs them."""
    sparing: bool
    """Whether that is the sweep over pairs that spare the maximum degree."""
    whole_level: int
    """The level of the whole sweep."""
    whole_row: int
    """The row of the whole sweep."""


class Windows(NamedTuple):
    """Rebuilt rows: what a `Sweep` holds of them, and the entries of their windows one after the other."""

    sparing: bool
    """Which sweep they are for."""
    rows: Ids
    """The rows."""
    bound: Ids
    """By row, as in `Sweep`."""
    threshold: Ids
    """By row, as in `Sweep`."""
    limit: Ids
    """By row, as in `State`."""
    length: Ids
    """By row: how many entries its window has."""
    nodes: Ids
    """By entry: v."""
    counts: Ids
    """By entry: (u, v) contributes no more than this."""


Elsewhere: TypeAlias = Callable[[Task, Wave], Iterable[Windows]]
"""Rebuilds the rows of a wave somewhere else; every row must come back once, in any order."""


class Waves:
    """Decides which rows of one run are rebuilt elsewhere, and when."""

    def __init__(self, task: Task, start: Overlay | None, elsewhere: Elsewhere) -> None:
        self.task, self.start, self.elsewhere = task, start, elsewhere
        self.due: dict[bool, tuple[tuple[int, int], int]] = {}

    def offer(self, run: LevelRun) -> None:
        """Have the rows that a sweep is about to need rebuilt elsewhere, if that is worth it."""
        from meshwright.greedy.kernels.state import LEVEL, ROW

        for sweep in (run.whole, run.sparing):
            rows = rows_ahead(sweep)
            if not len(rows) or not self._worth(run.state, sweep, rows):
                continue
            level, place = int(sweep.cursor[LEVEL]), run.whole.cursor
            u, v, _ = run.driver.links()
            if self.start is not None:
                u, v = np.append(self.start.u, u), np.append(self.start.v, v)
            wave = Wave(u, v, rows, level, sweep.sparing, int(place[LEVEL]), int(place[ROW]))
            for windows in self.elsewhere(self.task, wave):
                built = level if windows.sparing == sweep.sparing else None
                take_windows(run.state, run.sparing if windows.sparing else run.whole, windows, built)
            missing = int((sweep.built[rows] != level).sum())
            if missing:
                raise AssertionError(
                    f"{missing} rows of a wave did not come back: this is a bug, please report it"
                )

    def _worth(self, state: State, sweep: Sweep, rows: Ids) -> bool:
        """Return whether the work is large enough, and still is after the sweep has done some itself."""
        from meshwright.greedy.kernels.state import LEVEL, TOP_DEGREE, WORK

        most = work_of(state, rows, np.diff(state.node_ptr)[rows])
        if most < LEAST_WORK:
            return False
        # In the first wave no link was added yet, so no work can become unnecessary.
        if not sweep.sparing and not sweep.built.any():
            return True
        place, now = (int(sweep.cursor[LEVEL]), int(state.tally[TOP_DEGREE])), int(state.tally[WORK])
        known, due = self.due.get(sweep.sparing, ((-1, -1), 0))
        if known != place:
            self.due[sweep.sparing] = place, now + most // PATIENCE
        elif now >= due:
            self.due[sweep.sparing] = place, now + most // PATIENCE
            return work_of(state, rows, open_topics(state)[rows]) >= LEAST_WORK
        return False


def rows_ahead(sweep: Sweep) -> Ids:
    """Return the rows that a sweep will have to rebuild at its level, as far as is known now.

    Before anything is built, these are all rows with topics: each has to be built once,
    and then its bound is no longer its number of topics, and the sweep skips to the levels that have links.
    """
    from meshwright.greedy.kernels.state import FRESH, INDEX, LEVEL, ROW

    if sweep.fixed or sweep.cursor[LEVEL] == 0:
        return np.zeros(0, dtype=np.int32)
    if not sweep.sparing and not sweep.built.any():
        return np.flatnonzero((sweep.bound > 0) & open_nodes(sweep, 0, len(sweep.bound))).astype(np.int32)
    # A row that the sweep is in the middle of is not ahead.
    first = int(sweep.cursor[ROW]) + int(sweep.cursor[INDEX] != FRESH)
    return stale_rows(sweep, first, len(sweep.bound))


def take_windows(state: State, sweep: Sweep, windows: Windows, built: int | None) -> None:
    """Put rebuilt rows into their sweep.

    `built` is the level of the wave if the wave was for this sweep. If it is None, this is the whole sweep,
    and a window that the sparing sweep's wave found on the way replaces its own only if it is no worse.
    """
    rows, length = windows.rows, windows.length
    state.limit[rows] = np.minimum(state.limit[rows], windows.limit)
    if built is None:
        better = windows.threshold <= sweep.threshold[rows]
    else:
        better = np.ones(len(rows), dtype=bool)
        sweep.built[rows] = built
    kept, rows = np.repeat(better, length), rows[better]
    # The place of each entry in its window.
    place = np.arange(len(kept)) - np.repeat(np.cumsum(length) - length, length)
    at = np.repeat(sweep.window_ptr[rows], length[better]) + place[kept]
    sweep.window_node[at], sweep.window_count[at] = windows.nodes[kept], windows.counts[kept]
    sweep.length[rows], sweep.threshold[rows] = length[better], windows.threshold[better]
    sweep.bound[rows] = np.minimum(sweep.bound[rows], windows.bound[better])


class Rebuilder:
    """A state of its own, made from a wave's snapshot, that rebuilds rows of that wave."""

    def __init__(self, task: Task, wave: Wave) -> None:
        from meshwright.greedy.kernels.state import LEVEL, ROW

        # Nobody reads the contributions of these links.
        unknown = np.zeros(len(wave.u), dtype=np.int32)
        task = replace(task, tuning=replace(task.tuning, index=0))
        self.wave, self.run = wave, LevelRun(task, Overlay(task.interest, wave.u, wave.v, unknown))
        self.run.whole.cursor[LEVEL], self.run.whole.cursor[ROW] = wave.whole_level, wave.whole_row

    def rebuild(self, rows: Ids) -> Iterator[Windows]:
        """Yield these rows as the wave's sweep needs them, and what the whole sweep may learn from them."""
        from meshwright.greedy.kernels.sweep import prepare_rows

        run, wave = self.run, self.wave
        sweep = run.sparing if wave.sparing else run.whole
        prepare_rows(run.state, sweep, run.shared, run.scratches[0], frozen(rows, np.int32), wave.level)
        yield _windows(run.state, sweep, rows)
        if wave.sparing:
            yield _windows(run.state, run.whole, rows[run.whole.threshold[rows] <= wave.whole_level])


def _windows(state: State, sweep: Sweep, rows: Ids) -> Windows:
    """Copy some rows out of a sweep."""
    length = sweep.length[rows]
    place = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    at = np.repeat(sweep.window_ptr[rows], length) + place
    return Windows(
        sparing=sweep.sparing,
        rows=rows,
        bound=sweep.bound[rows],
        threshold=sweep.threshold[rows],
        limit=state.limit[rows],
        length=length,
        nodes=sweep.window_node[at],
        counts=sweep.window_count[at],
    )
