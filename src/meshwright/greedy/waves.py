"""Waves: many rows of the engine rebuilt elsewhere from a snapshot and handed back to the sweep.

This is the side of the sweep; `rebuilding` is the other. A window made against an earlier state may be too
high, but never too low, so the edges are those of a run without waves. This holds wherever the rows are
rebuilt: the executors of a cluster make their own state from the interest and the edges so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from meshwright.interest import Interest
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.greedy.candidates import Candidates
    from meshwright.greedy.engine import _Run
    from meshwright.greedy.kernels.state import State, Sweep
    from meshwright.greedy.layout import Tuning
    from meshwright.greedy.rules import Rule


LEAST_WORK = 1_500_000_000
"""A wave of less work than this, about a second on one core, is done where the sweep runs."""
PATIENCE = 32
"""A sweep goes on by itself for this part of a wave's work before the rest is sent away.

Where a few edges connect most topics for good, as at the lowest level, nearly nothing is left by then.
"""


@dataclass(frozen=True, eq=False)
class Task:
    """What all waves of a run have in common."""

    interest: Interest
    rule: Rule
    candidates: Candidates
    max_degree: int | None
    tuning: Tuning

    def bare(self) -> Task:
        """Return the same without names, and without what can be made again: to be sent away."""
        held = self.interest
        nameless = Interest(
            pa.nulls(held.num_nodes), pa.nulls(held.num_topics), held.node_ptr, held.node_topics
        )
        # Bits over topics serve the sweep alone.
        return replace(self, interest=nameless, tuning=replace(self.tuning, node_bits=False))


class Wave(NamedTuple):
    """Rows to rebuild, and the snapshot to do it against: the edges so far, where the sweeps are."""

    u: Ids
    v: Ids
    rows: Ids
    level: int
    calm: bool
    """Whether it is for the sweep over pairs that spare the maximum degree."""
    whole_level: int
    whole_row: int


class Windows(NamedTuple):
    """Rebuilt rows: bounds and thresholds, and the windows' entries one after the other."""

    calm: bool
    rows: Ids
    bound: Ids
    threshold: Ids
    limit: Ids
    length: Ids
    nodes: Ids
    counts: Ids


Elsewhere: TypeAlias = Callable[[Task, Wave], Iterable[Windows]]
"""What rebuilds the rows of a wave somewhere else; every row must come back once, in any order."""


class Waves:
    """The waves of one run: which rows go elsewhere, and when."""

    def __init__(self, task: Task, start: Overlay | None, elsewhere: Elsewhere) -> None:
        self.task, self.start, self.elsewhere = task, start, elsewhere
        self.due: dict[bool, tuple[tuple[int, int], int]] = {}

    def offer(self, run: _Run, u: Ids, v: Ids) -> None:
        """Have the rows that a sweep is about to need rebuilt elsewhere, if that is worth it."""
        from meshwright.greedy.kernels.state import LEVEL, ROW

        for sweep in (run.whole, run.calm):
            rows = rows_ahead(sweep)
            if not len(rows) or not self._worth(run.state, sweep, rows):
                continue
            level, place = int(sweep.cursor[LEVEL]), run.whole.cursor
            snapshot = (
                (u, v) if self.start is None else (np.append(self.start.u, u), np.append(self.start.v, v))
            )
            wave = Wave(*snapshot, rows, level, sweep.calm, int(place[LEVEL]), int(place[ROW]))
            for windows in self.elsewhere(self.task, wave):
                built = level if windows.calm == sweep.calm else None
                take(run.state, run.calm if windows.calm else run.whole, windows, built)
            missing = int((sweep.built[rows] != level).sum())
            if missing:
                raise AssertionError(f"{missing} rows of a wave did not come back: this is a fault of ours")

    def _worth(self, state: State, sweep: Sweep, rows: Ids) -> bool:
        """Say whether the work is enough, and was not about to vanish by itself."""
        from meshwright.greedy.kernels.state import LEVEL, TOP_DEGREE, WORK

        most = work_of(state, rows, np.diff(state.node_ptr)[rows])
        if most < LEAST_WORK:
            return False
        if not sweep.calm and not sweep.built.any():
            return True  # the first wave: no edge was added yet, so nothing vanishes
        place, now = (int(sweep.cursor[LEVEL]), int(state.tally[TOP_DEGREE])), int(state.tally[WORK])
        known, due = self.due.get(sweep.calm, ((-1, -1), 0))
        if known != place:
            self.due[sweep.calm] = place, now + most // PATIENCE
        elif now >= due:
            self.due[sweep.calm] = place, now + most // PATIENCE
            return work_of(state, rows, open_topics(state)[rows]) >= LEAST_WORK
        return False


def rows_ahead(sweep: Sweep) -> Ids:
    """Return the rows that a sweep will have to rebuild at its level, as far as is known now.

    Before anything was built, these are all rows: each has to be built sooner or later, and once it is, its
    bound is no more its number of topics, and the sweep comes down to where edges are at once.
    """
    from meshwright.greedy.kernels.state import FRESH, INDEX, LEVEL, ROW
    from meshwright.greedy.layout import open_rows

    level, first = sweep.cursor[LEVEL], int(sweep.cursor[ROW])
    if sweep.fixed or level == 0:
        return np.zeros(0, dtype=np.int32)
    if sweep.cursor[INDEX] != FRESH:
        first += 1  # the sweep is in the middle of that row
    if sweep.calm or sweep.built.any():
        wanted = (sweep.bound >= level) & (sweep.threshold > level) & (sweep.built != level)
        wanted[:first] = False
    else:
        wanted = sweep.bound > 0
    return np.flatnonzero(wanted & open_rows(sweep, len(wanted))).astype(np.int32)


def work_of(state: State, rows: Ids, topics: Ids) -> int:
    """Return about how many words of bits it takes to rebuild rows with so many topics."""
    words = state.bits.shape[1] - (rows >> 6).astype(np.int64)
    return int(((topics + np.int64(16)) * words).sum())


def open_topics(state: State) -> Ids:
    """Count, for each node, its topics that are not connected yet."""
    counted = np.concatenate(([0], np.cumsum(state.components[state.node_topics] > 1)))
    return np.diff(counted[state.node_ptr]).astype(np.int32)


def take(state: State, sweep: Sweep, windows: Windows, built: int | None) -> None:
    """Put rebuilt rows into their sweep.

    `built` is the level of the wave if that was for this sweep. If not, it is the whole sweep, which keeps
    what is better than what the calm one's wave found on the way.
    """
    rows, length = windows.rows, windows.length
    state.limit[rows] = np.minimum(state.limit[rows], windows.limit)
    if built is None:
        better = windows.threshold <= sweep.threshold[rows]
    else:
        better = np.ones(len(rows), dtype=bool)
        sweep.built[rows] = built
    kept, rows = np.repeat(better, length), rows[better]
    place = np.arange(len(kept)) - np.repeat(np.cumsum(length) - length, length)  # of entries in windows
    at = np.repeat(sweep.window_ptr[rows], length[better]) + place[kept]
    sweep.window_node[at], sweep.window_count[at] = windows.nodes[kept], windows.counts[kept]
    sweep.length[rows], sweep.threshold[rows] = length[better], windows.threshold[better]
    sweep.bound[rows] = np.minimum(sweep.bound[rows], windows.bound[better])
