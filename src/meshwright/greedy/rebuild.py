"""The other side of a wave: rebuild rows away from the sweep, from a snapshot alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.greedy.level_run import LevelRun
from meshwright.greedy.waves import Task, Wave, Windows
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.greedy.kernels.state import State, Sweep


class Rebuilder:
    """A state of its own, made from a wave's snapshot, that rebuilds rows of that wave."""

    def __init__(self, task: Task, wave: Wave) -> None:
        from meshwright.greedy.kernels.state import LEVEL, ROW

        # Nobody reads the contributions of these links.
        unknown = np.zeros(len(wave.u), dtype=np.int32)
        self.wave, self.run = wave, LevelRun(task, Overlay(task.interest, wave.u, wave.v, unknown))
        self.run.whole.cursor[LEVEL], self.run.whole.cursor[ROW] = wave.whole_level, wave.whole_row

    def rebuild(self, rows: Ids) -> Iterator[Windows]:
        """Yield these rows as the wave's sweep needs them, and what the whole sweep may learn from them."""
        from meshwright.greedy.kernels.rows import rebuild_rows

        run, wave = self.run, self.wave
        sweep = run.sparing if wave.sparing else run.whole
        rebuild_rows(run.state, sweep, run.whole, run.scratches[0], frozen(rows, np.int32), wave.level)
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
