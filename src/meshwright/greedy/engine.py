"""The greedy engine: exact, deterministic, one for every greedy design."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import as_ids, frozen, is_whole
from meshwright.errors import InputError, first_five
from meshwright.greedy import rules
from meshwright.greedy.candidates import Candidates, everything
from meshwright.greedy.layout import Tuning
from meshwright.greedy.waves import Task, Waves
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.greedy.kernels.state import Scratch, State, Sweep
    from meshwright.greedy.rules import Rule
    from meshwright.greedy.waves import Elsewhere
    from meshwright.interest import Interest
    from meshwright.progress import Progress

WORKING = "linking"
NO_LIMIT = np.iinfo(np.int32).max
STRIDE = 300_000_000
"""Work between two looks at progress and at Ctrl-C: some tenths of a second."""
WAVE_ROWS = 512
"""Rebuilding fewer rows than this at once is not worth waking threads for."""


def grow(
    interest: Interest,
    rule: Rule,
    *,
    start: Overlay | None = None,
    candidates: Candidates = everything,
    topics: Iterable[int] | None = None,
    max_edges: int | None = None,
    max_degree: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    tuning: Tuning | None = None,
    elsewhere: Elsewhere | None = None,
    degrees: Ids | None = None,
) -> Overlay:
    """Add, one at a time, the edge that the rule picks by its contribution, until none contributes.

    Ties go to the smallest (u, v). The answer is exact: it does not depend on `threads` or `tuning`.

    Parameters
    ----------
    interest
        Who subscribes to what.
    rule
        `rules.gm`, `rules.minmax` or `rules.low(k)`.
    start
        Edges that are there already. They count for components and degrees and come first in the result.
    candidates
        The pairs that may be linked: everything, or a set made by `candidates.among`, `pairs`, `star`,
        `all_but`.
    topics
        Ids of the topics that count; all by default.
    max_edges, max_degree
        Budgets: how many edges may be added; an edge that would push either end over `max_degree` is no
        candidate.
    threads
        How many threads rebuild rows at once.
    progress
        Called now and then; what it raises ends the run.
    elsewhere
        Rebuilds large waves of rows somewhere else, such as on a cluster.
    degrees
        How many links each node has, if these are others than the start's. Not with `elsewhere`, which knows
        of no other.

    Raises
    ------
    InputError
        For a negative budget, unknown nodes or topics, or a start over another interest.
    """
    if not isinstance(rule, rules.Rule):
        raise InputError(f"the rule is {rule!r}: make one by rules.gm, rules.minmax or rules.low(k)")
    _check(interest, start, max_edges, max_degree, threads)
    candidates = candidates.checked(interest.num_nodes)
    counted = interest if topics is None else interest.restrict(_known_topics(interest, topics))
    tuning = tuning or Tuning()
    if elsewhere is not None and degrees is not None:
        raise InputError("elsewhere and degrees cannot be combined: leave one of them out")
    run = _Run(counted, rule, start, candidates, max_edges, max_degree, threads, tuning, progress, degrees)
    if elsewhere is not None:
        run.waves = Waves(Task(counted, rule, candidates, max_degree, tuning), start, elsewhere)
    u, v, gains = run.finish()
    if start is not None:
        u, v = np.concatenate((start.u, u)), np.concatenate((start.v, v))
        gains = np.concatenate((start.contribution, gains))
    return Overlay(interest, u, v, gains)


class _Run:
    """One run of the engine: its arrays, and the loop around the kernels."""

    def __init__(
        self,
        interest: Interest,
        rule: Rule,
        start: Overlay | None,
        candidates: Candidates,
        max_edges: int | None,
        max_degree: int | None,
        threads: int,
        tuning: Tuning,
        progress: Progress | None,
        degrees: Ids | None = None,
    ) -> None:
        from meshwright.greedy import layout
        from meshwright.greedy.kernels.start import begin, link_start
        from meshwright.greedy.kernels.state import TOP_DEGREE

        self.threads, self.progress = threads, progress
        self.waves: Waves | None = None
        self.k = 0.0 if rule.k is None else rule.k
        self.max_edges = NO_LIMIT if max_edges is None else min(int(max_edges), NO_LIMIT)
        limit = NO_LIMIT if max_degree is None else min(int(max_degree), NO_LIMIT)
        self.state = _counted_state(interest, rule, candidates, limit, tuning)
        if start is not None:
            link_start(self.state, start.u, start.v)
        if degrees is not None:
            self.state.degree[:] = degrees
        self.state.tally[TOP_DEGREE] = self.state.degree.max(initial=0)
        self.whole: Sweep = layout.lay_out_sweep(interest, candidates, self.state, tuning, calm=False)
        self.calm: Sweep = layout.no_sweep()
        if self.k > 0:
            self.calm = layout.lay_out_sweep(interest, candidates, self.state, tuning, calm=True)
        self.scratches: list[Scratch] = [
            layout.lay_out_scratch(self.state, self.whole) for _ in range(threads)
        ]
        begin(self.state, self.whole, self.calm, start is None)
        self.to_merge = max(1, int(np.maximum(np.diff(self.state.topic_ptr) - 1, 0).sum()))

    def finish(self) -> tuple[Ids, Ids, Ids]:
        """Run to the end and return the edges added, with their contributions."""
        from meshwright.greedy.kernels.state import BROKEN, EDGES, EXHAUSTED, FULL, WORK
        from meshwright.greedy.kernels.sweep import run

        tally = self.state.tally
        columns = [np.empty(min(1024, self.max_edges), dtype=np.int32) for _ in range(3)]
        with ThreadPoolExecutor(self.threads) as pool:
            while True:
                if self.waves is not None:
                    self.waves.offer(self, columns[0][: tally[EDGES]], columns[1][: tally[EDGES]])
                if self.threads > 1:
                    self._rebuild_waves(pool)
                goal = tally[WORK] + STRIDE
                status = run(
                    self.state, self.whole, self.calm, self.scratches[0], self.k, self.max_edges, goal,
                    self.threads > 1, *columns,
                )  # fmt: skip
                if status == EXHAUSTED:
                    break
                if status == BROKEN:
                    raise AssertionError("the engine lost count of a contribution: this is a fault of ours")
                if status == FULL:
                    columns = [np.resize(column, 2 * len(column)) for column in columns]
                self._tell()
        self._tell()
        u, v, gains = (column[: tally[EDGES]].copy() for column in columns)
        return u, v, gains

    def _rebuild_waves(self, pool: ThreadPoolExecutor) -> None:
        """Rebuild, on all threads, the rows that a sweep needs at the level it is about to begin.

        The windows are made against one state. By the time the sweep comes to a row they may be too high,
        but never too low, so that the edges stay the same.
        """
        from meshwright.greedy.kernels.rows import rebuild_rows
        from meshwright.greedy.kernels.state import FRESH, INDEX, LEVEL, ROW
        from meshwright.greedy.layout import open_rows

        for sweep in (self.whole, self.calm):
            level = int(sweep.cursor[LEVEL])
            if sweep.fixed or level == 0 or sweep.cursor[ROW] != 0 or sweep.cursor[INDEX] != FRESH:
                continue
            wanted = (sweep.bound >= level) & (sweep.threshold > level) & (sweep.built != level)
            rows = np.flatnonzero(wanted & open_rows(sweep, len(wanted))).astype(np.int32)
            if len(rows) < WAVE_ROWS:
                continue
            # Early rows are longer than late ones: deal them out like cards, in hands of a wave's size.
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
                self._tell()

    def _tell(self) -> None:
        if self.progress is not None:
            from meshwright.greedy.kernels.state import EDGES, MERGES

            tally = self.state.tally
            self.progress(int(tally[EDGES]), min(1.0, float(tally[MERGES] / self.to_merge)), WORKING)


def _counted_state(
    interest: Interest, rule: Rule, candidates: Candidates, limit: int, tuning: Tuning
) -> State:
    """Return the state before any edge, with the counts of pairs where they pay and fit."""
    from meshwright.greedy import layout
    from meshwright.greedy.kernels.pair_counts import count_pairs

    counted = layout.counted_below(interest, rule, candidates, tuning)
    if counted:
        ordered = layout.popular_first(interest)
        state = layout.lay_out_state(ordered, candidates, limit, tuning, counted)
        if count_pairs(state):
            return state
    return layout.lay_out_state(interest, candidates, limit, tuning)


def _check(
    interest: Interest, start: Overlay | None, max_edges: int | None, max_degree: int | None, threads: int
) -> None:
    for name, budget in (("max_edges", max_edges), ("max_degree", max_degree)):
        if budget is not None and (not is_whole(budget) or budget < 0):
            raise InputError(f"{name} is {budget}: give a whole number of zero or more, or leave it out")
    if threads < 1:
        raise InputError(f"{threads} threads: give at least 1")
    if start is None or start.interest is interest:
        return
    if start.interest.fingerprint != interest.fingerprint:
        raise InputError("the starting overlay was made for another interest: grow it on its own")


def _known_topics(interest: Interest, topics: Iterable[int]) -> Ids:
    ids = as_ids(topics, "topics")
    unknown = np.unique(ids[(ids < 0) | (ids >= interest.num_topics)])
    if len(unknown):
        raise InputError(f"no topics {first_five(unknown.tolist())}: ids are 0 to {interest.num_topics - 1}")
    return ids
