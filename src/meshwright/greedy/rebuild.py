"""The other side of a wave: rows rebuilt away from the sweep, from a snapshot alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.greedy.engine import _Run
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.greedy.kernels.state import State, Sweep
from meshwright.greedy.waves import Task, Wave, Windows


class Rebuilder:
    """The other side: a state of its own, made from a wave's snapshot, that rebuilds rows of that wave."""

    def __init__(self, task: Task, wave: Wave) -> None:
        from meshwright.greedy.kernels.state import LEVEL, ROW

        nothing = np.zeros(len(wave.u), dtype=np.int32)
        start = Overlay(task.interest, wave.u, wave.v, nothing)
        self.wave = wave
        self.run = _Run(
            task.interest, task.rule, start, task.candidates, None, task.max_degree, 1, task.tuning, None
        )
        self.run.whole.cursor[LEVEL], self.run.whole.cursor[ROW] = wave.whole_level, wave.whole_row

    def rebuild(self, rows: Ids) -> Iterator[Windows]:
        """Yield these rows as the wave's sweep needs them, and what the whole sweep may learn from them."""
        from meshwright.greedy.kernels.rows import rebuild_rows

        run, wave = self.run, self.wave
        sweep = run.calm if wave.calm else run.whole
        rebuild_rows(run.state, sweep, run.whole, run.scratches[0], frozen(rows, np.int32), wave.level)
        yield _windows(run.state, sweep, rows)
        if wave.calm:
            yield _windows(run.state, run.whole, rows[run.whole.threshold[rows] <= wave.whole_level])


def _windows(state: State, sweep: Sweep, rows: Ids) -> Windows:
    length = sweep.length[rows]
    place = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    at = np.repeat(sweep.window_ptr[rows], length) + place
    return Windows(
        sweep.calm,
        rows,
        sweep.bound[rows],
        sweep.threshold[rows],
        state.limit[rows],
        length,
        sweep.window_node[at],
        sweep.window_count[at],
    )
