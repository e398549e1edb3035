"""One run of the picker by contribution: its task, its arrays, its threads, and the rows they rebuild."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.arrays import frozen
from meshwright.greedy import layout
from meshwright.greedy.driver import Driver, limit_of
from meshwright.interest import Interest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.greedy.candidates import Candidates
    from meshwright.greedy.kernels.state import Goal, Links, Scratch, State, Sweep
    from meshwright.greedy.layout import Tuning
    from meshwright.greedy.rules import Rule
    from meshwright.greedy.waves import Waves
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress

WAVE_ROWS = 512
"""Rebuilding fewer rows than this at once is not worth waking threads for."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a run links: the same for all its waves."""

    interest: Interest
    """Only the topics that count."""
    rule: Rule
    candidates: Candidates
    max_degree: int | None
    tuning: Tuning

    def bare(self) -> Task:
        """Return the same without names, and without what can be derived: what a cluster is sent."""
        held = self.interest
        nameless = Interest(
            pa.nulls(held.num_nodes), pa.nulls(held.num_topics), held.node_ptr, held.node_topics
        )
        # Only the sweep uses bits over topics.
        return replace(self, interest=nameless, tuning=replace(self.tuning, node_bits=False))


class LevelRun:
    """A state with its sweeps, ready for the next link.

    `whole` is the sweep over all pairs, `sparing` the one over pairs that spare the maximum degree, empty
    under Greedy Merge.
    """

    def __init__(
        self,
        task: Task,
        start: Overlay | None,
        *,
        max_edges: int | None = None,
        threads: int = 1,
        progress: Progress | None = None,
        degrees: Ids | None = None,
    ) -> None:
        from meshwright.greedy.kernels.components import link_start
        from meshwright.greedy.kernels.state import TOP_DEGREE
        from meshwright.greedy.kernels.sweep import begin

        interest, candidates, tuning = task.interest, task.candidates, task.tuning
        self.threads = threads
        self.waves: Waves | None = None
        self.k = 0.0 if task.rule.k is None else task.rule.k
        self.strict = task.rule.strict
        self.state = _counted_state(task)
        if start is not None:
            link_start(self.state, start.u, start.v)
        if degrees is not None:
            self.state.degree[:] = degrees
        self.state.tally[TOP_DEGREE] = self.state.degree.max(initial=0)
        self.whole: Sweep = layout.lay_out_sweep(interest, candidates, self.state, tuning, sparing=False)
        self.sparing: Sweep = layout.no_sweep()
        if self.k > 0:
            self.sparing = layout.lay_out_sweep(interest, candidates, self.state, tuning, sparing=True)
        self.scratches: list[Scratch] = [
            layout.lay_out_scratch(self.state, self.whole) for _ in range(threads)
        ]
        begin(self.state, self.whole, self.sparing, start is None)
        self.driver = Driver(self.state, max_edges=max_edges, progress=progress)

    def finish(self) -> tuple[Ids, Ids, Ids]:
        """Run to the end and return the links added, with their contributions."""
        from meshwright.greedy.kernels.sweep import run

        def step(goal: Goal, links: Links) -> int:
            by_level = self.threads > 1
            scratch = self.scratches[0]
            sweeps = self.whole, self.sparing
            return run(self.state, *sweeps, scratch, self.k, self.strict, by_level, goal, links)

        with ThreadPoolExecutor(self.threads) as pool:

            def before_stride() -> None:
                if self.waves is not None:
                    self.waves.offer(self)
                if self.threads > 1:
                    self._rebuild_waves(pool)

            self.driver.run(step, before_stride)
        return self.driver.links()

    def _rebuild_waves(self, pool: ThreadPoolExecutor) -> None:
        """Rebuild, on all threads, the rows that a sweep needs at the level it is about to begin.

        The windows are made against one state. By the time the sweep comes to a row they may be too high,
        but never too low, so the links stay the same.
        """
        from meshwright.greedy.kernels.rows import rebuild_rows
        from meshwright.greedy.kernels.state import FRESH, INDEX, LEVEL, ROW

        for sweep in (self.whole, self.sparing):
            level = int(sweep.cursor[LEVEL])
            if sweep.fixed or level == 0 or sweep.cursor[ROW] != 0 or sweep.cursor[INDEX] != FRESH:
                continue
            rows = stale_rows(sweep)
            if len(rows) < WAVE_ROWS:
                continue
            # Early rows are longer than late ones, so deal them out like cards, in hands of a wave's size.
            hands = -(-len(rows) // (8 * WAVE_ROWS * self.threads))
            for hand in range(hands):
                dealt = rows[hand::hands]
                shares = [frozen(dealt[i :: self.threads], np.int32) for i in range(self.threads)]
                jobs = [
                    pool.submit(rebuild_rows, self.state, sweep, self.whole, scratch, share, level)
                    for share, scratch in zip(shares, self.scratches, strict=True)
                ]
                for job in jobs:
                    job.result()
                self.driver.report()


def stale_rows(sweep: Sweep) -> Ids:
    """Return the open rows whose windows end above the sweep's level and were not rebuilt at it."""
    from meshwright.greedy.kernels.state import LEVEL

    level = sweep.cursor[LEVEL]
    stale = (sweep.bound >= level) & (sweep.threshold > level) & (sweep.built != level)
    return np.flatnonzero(stale & open_nodes(sweep)).astype(np.int32)


def open_nodes(sweep: Sweep) -> NDArray[np.bool_]:
    """Return which nodes are open in a sweep."""
    bits = np.unpackbits(sweep.open_nodes.view(np.uint8), bitorder="little")
    return bits[: len(sweep.bound)].astype(bool)


def _counted_state(task: Task) -> State:
    """Return the state before any link, with the counts of pairs where they pay and fit."""
    from meshwright.greedy.kernels.pair_counts import count_pairs

    interest, limit = task.interest, limit_of(task.max_degree)
    counted = layout.counted_below(interest, task.rule, task.candidates, task.tuning)
    if counted:
        ordered = layout.popular_first(interest)
        state = layout.lay_out_state(ordered, task.candidates, limit, task.tuning, counted)
        if count_pairs(state):
            return state
    return layout.lay_out_state(interest, task.candidates, limit, task.tuning)
