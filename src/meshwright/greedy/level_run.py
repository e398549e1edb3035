"""One run of the picker by contribution: its task, arrays and threads, and which levels it sweeps or lists.

Threads rebuild and check the next rows of a sweep, while one thread links. Rows are prepared in waves. Under
Greedy Merge the next wave is prepared while the rows of the last one are linked. The state changes meanwhile,
but whatever a thread reads, be it a bit, a label or the row of an entry, stands for contributions that only
fall. So a window may be too high by the time the sweep comes to it, but never too low, and the links are
those of one thread. For this to hold, no bit row gets a new owner while a wave is under way: components that
become large wait for their rows (`give_held_rows`).

Waves are short, because a window that is too high is used up in vain and rebuilt again.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, frozen
from meshwright.greedy import layout
from meshwright.greedy.engine import Driver, limit_of
from meshwright.greedy.kernels.bit_rows import give_held_rows
from meshwright.greedy.kernels.components import fill_bits, link_start
from meshwright.greedy.kernels.row_windows import count_pairs
from meshwright.greedy.kernels.state import (
    EXHAUSTED,
    FRESH,
    INDEX,
    LEVEL,
    NO_STOP,
    ROW,
    STOP,
    TOP_DEGREE,
    Goal,
    Links,
    Scratch,
    State,
    Sweep,
)
from meshwright.greedy.kernels.sweep import begin, prepare_rows, rows_to_visit, run
from meshwright.greedy.layout import WORD
from meshwright.greedy.path_choice import (
    EVERY_LEVEL,
    LOWEST,
    Task,
    highest_level,
    listing_pays,
    may_list_below,
    may_pay,
)
from meshwright.overlay import Overlay
from meshwright.progress import Progress

if TYPE_CHECKING:
    from meshwright.greedy.index_run import IndexRun


WAVE_ROWS = 512
"""For each thread, a wave has this many rows to rebuild. Fewer are not worth waking threads for."""
WAVE_VISITS = 8
"""A wave has at most this many times as many rows in all: most of them are only checked."""
HANDS = 4
"""Each thread takes the rows of a wave in about this many portions, so that all threads end together."""


class RowThreads:
    """Prepares the rows of one sweep in waves.

    Parameters
    ----------
    state, sweep
        The sweep, and the state that it links.
    shared
        The whole sweep if there is a sparing one, which then shares its windows; else None.
    scratches
        Working memory, one for each thread; the first one belongs to the thread that links.
    pool
        The other threads.
    """

    def __init__(
        self,
        state: State,
        sweep: Sweep,
        shared: Sweep | None,
        scratches: list[Scratch],
        pool: ThreadPoolExecutor,
    ) -> None:
        self.state, self.sweep, self.shared, self.scratches = state, sweep, shared, scratches
        self.pool = pool
        self.ahead = shared is None
        """Whether a wave may be under way while rows are linked."""
        self.level, self.end = 0, 0
        """Rows before `end` are prepared for this level, once the wave under way is done."""
        self.hands: deque[Ids] = deque()
        self.jobs: list[Future[None]] = []

    def prepare(self) -> bool:
        """Prepare the next wave where the sweep has come to the end of the last; return whether it had.

        The sweep then pauses at the end of what is prepared.
        """
        cursor = self.sweep.cursor
        level, row, inside = int(cursor[LEVEL]), int(cursor[ROW]), int(cursor[INDEX]) != FRESH
        begins = row == 0 and not inside
        if self.sweep.fixed or level <= 0 or not (begins or row >= cursor[STOP]):
            return False
        self.finish()
        if begins or level != self.level or row >= self.end:
            self.level = level
            self._begin(row + inside)
            self.finish()
        cursor[STOP] = self.end
        if self.ahead:
            give_held_rows(self.state, self.end < NO_STOP)
            if self.end < NO_STOP:
                self._begin(self.end)
        return True

    def finish(self) -> None:
        """Help with the wave under way until it is done."""
        self._take_hands(self.scratches[0])
        self._wait()

    def stop(self) -> None:
        """Leave the rest of the wave under way undone, and wait until no thread works on it any more."""
        self.hands.clear()
        self._wait()

    def _wait(self) -> None:
        for job in self.jobs:
            job.result()
        self.jobs = []

    def _begin(self, first: int) -> None:
        """Let the threads prepare the next rows from `first` on, if these are enough for a wave."""
        threads = len(self.scratches)
        rows = np.empty(WAVE_VISITS * WAVE_ROWS * threads, dtype=np.int32)
        rows = rows[: rows_to_visit(self.sweep, first, self.level, WAVE_ROWS * threads, rows)]
        if len(rows) < WAVE_ROWS:
            self.end = NO_STOP
            return
        self.end = int(rows[-1]) + 1
        # Deal rows out like cards: early ones are longer than late ones.
        hands = HANDS * threads
        self.hands.extend(frozen(rows[hand::hands], np.int32) for hand in range(hands))
        self.jobs = [self.pool.submit(self._take_hands, scratch) for scratch in self.scratches[1:]]

    def _take_hands(self, scratch: Scratch) -> None:
        """Prepare hand after hand until none is left."""
        while True:
            try:
                hand = self.hands.popleft()
            except IndexError:
                return
            prepare_rows(self.state, self.sweep, self.shared, scratch, hand, self.level)


NEAR = 64
"""From this level down, a sweep pauses at each level while levels may be listed. With hundreds of levels
above, pausing takes longer than listing saves."""


class LevelRun:
    """A state with its sweeps, ready for the next link.

    `whole` is the sweep over all pairs, `sparing` the one over pairs that spare the maximum degree, empty
    under Greedy Merge. `shared` is `whole` if there are both, else None: kernels leave out what only a
    sparing sweep needs.
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
        self.task, self.start, self.degrees, self.threads = task, start, degrees, threads
        self.floors = _floors(task)
        """By the contribution of the best link: from which one on a sparing link is taken instead."""
        self.listed = highest_level(task)
        """The highest level whose pairs are listed from the index."""
        self.undecided = self._decided_later()
        """Whether to list levels from this one on is decided when they are reached."""
        self._lay_out()
        self.driver = Driver(self.state, max_edges=max_edges, progress=progress)

    def _decided_later(self) -> int:
        """Return the highest level that may be listed after a sweep of those above, if none is listed yet."""
        return LOWEST if self.listed == 0 and may_list_below(self.task) else 0

    def _lay_out(self) -> None:
        """Lay out the state with the start's links, and the sweeps where levels are swept."""
        task, start = self.task, self.start
        self.whole: Sweep = layout.no_sweep()
        self.sparing: Sweep = layout.no_sweep()
        self.shared: Sweep | None = None
        self.scratches: list[Scratch] = []
        if self.listed == EVERY_LEVEL:
            self.state = _listed_state(task)
        else:
            self.state = _counted_state(task)
            self._fill_bits()
        if start is not None:
            link_start(self.state, start.u, start.v)
        if self.degrees is not None:
            self.state.degree[:] = self.degrees
        self.state.tally[TOP_DEGREE] = self.state.degree.max(initial=0)
        if self.listed == EVERY_LEVEL:
            return
        shape = task.interest, task.candidates, self.state, task.tuning
        self.whole = layout.lay_out_sweep(*shape, sparing=False)
        if task.rule.k is not None:
            self.sparing = layout.lay_out_sweep(*shape, sparing=True)
            self.shared = self.whole
        self.scratches = [layout.lay_out_scratch(self.state, self.whole) for _ in range(self.threads)]
        begin(self.state, self.whole, self.sparing if self.shared else None)

    def _fill_bits(self) -> None:
        """Fill the bits of the state, each thread those of some nodes and of some topics."""
        interest = self.task.interest
        nodes, topics = (
            np.linspace(0, count, self.threads + 1).astype(np.int64)
            for count in (interest.num_nodes, interest.num_topics)
        )
        with ThreadPoolExecutor(self.threads) as pool:
            parts = zip(nodes, nodes[1:], topics, topics[1:], strict=False)
            for job in [pool.submit(fill_bits, self.state, *part) for part in parts]:
                job.result()

    def finish(self) -> tuple[Ids, Ids, Ids]:
        """Run to the end and return the links added, with their contributions."""
        with ThreadPoolExecutor(self.threads) as pool:
            if self.listed == EVERY_LEVEL:
                lists = self._lists(pool)
                if lists.list_high():
                    lists.link_all()
                    return self.driver.links()
                # The list does not fit, and nothing is linked yet: sweep.
                del lists
                self.listed = 0
                self.undecided = self._decided_later()
                self._lay_out()
                self.driver.state = self.state
            self._sweep(pool)
            if self.listed > 0:
                self._lists(pool).link_from(self._level())
        return self.driver.links()

    def _lists(self, pool: ThreadPoolExecutor) -> IndexRun:
        from meshwright.greedy.index_run import IndexRun, PhaseRun  # few runs list pairs

        run = IndexRun if self.task.rule.k is None else PhaseRun
        return run(self.task, self.state, self.driver, pool, self.threads)

    def _level(self) -> int:
        """Return the level of the whole sweep."""
        return int(self.whole.cursor[LEVEL])

    def _listing_pays(self) -> bool:
        """Return whether to list the level that the sweep has reached, 2 or 1."""
        rows = stale_rows(self.whole, 0, len(self.whole.bound))
        sizes = np.diff(self.state.node_ptr)
        # A rebuild at level 1 finds a link, or a row whose topics are connected by then, which takes no time.
        missing = int(np.maximum(self.state.components - 1, 0).sum())
        needed = min(missing, len(rows)) / max(len(rows), 1) if self._level() == 1 else 1.0
        # Topics that are connected take no time either, but to count them takes longer than a little work.
        if not may_pay(needed * work_of(self.state, rows, sizes[rows])):
            return False
        topics = open_topics(self.state)
        return listing_pays(needed * work_of(self.state, rows, topics[rows]), topics, self._level())

    def _sweep(self, pool: ThreadPoolExecutor) -> None:
        """Sweep down to the first level that is listed, or to the end."""
        crews = [
            RowThreads(self.state, sweep, self.shared, self.scratches, pool)
            for sweep in ((self.whole, self.sparing) if self.threads > 1 else ())
        ]

        def before_stride() -> None:
            if 0 < self._level() <= self.undecided:
                self.undecided = self._level() - 1
                if self._listing_pays():
                    self.listed = self._level()
            if self._level() > self.listed:
                for crew in crews:
                    if crew.prepare():
                        self.driver.report()

        def step(goal: Goal, links: Links) -> int:
            if self._level() <= self.listed:
                return EXHAUSTED
            may_list_next = self._level() <= NEAR and (self.listed > 0 or self.undecided > 0)
            by_level = self.threads > 1 or may_list_next
            sweeps, scratch = (self.whole, self.sparing if self.shared else None), self.scratches[0]
            return run(self.state, *sweeps, scratch, self.floors, by_level, goal, links)

        try:
            self.driver.run(step, before_stride)
        finally:
            for crew in crews:
                crew.stop()


def stale_rows(sweep: Sweep, first: int, end: int) -> Ids:
    """Return the open rows of a range whose windows end above the sweep's level, and not rebuilt at it."""
    level, rows = sweep.cursor[LEVEL], slice(first, end)
    stale = (sweep.bound[rows] >= level) & (sweep.threshold[rows] > level) & (sweep.built[rows] != level)
    return (first + np.flatnonzero(stale & open_nodes(sweep, first, end))).astype(np.int32)


def open_nodes(sweep: Sweep, first: int, end: int) -> NDArray[np.bool_]:
    """Return which nodes of a range are open in a sweep."""
    words = sweep.open_nodes[first // WORD : end // WORD + 1]
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return bits[first % WORD :][: end - first].astype(bool)


def work_of(state: State, rows: Ids, topics: Ids) -> int:
    """Return about how many words of bits it takes to rebuild rows, given how many topics each sums."""
    words = state.bits.shape[1] - (rows >> 6).astype(np.int64)
    return int(((topics + np.int64(16)) * words).sum())


def open_topics(state: State) -> Ids:
    """Count, for each node, its topics that are not connected yet."""
    counted = np.zeros(len(state.node_topics) + 1, dtype=np.int32)
    np.cumsum((state.components > 1)[state.node_topics], out=counted[1:])
    return np.diff(counted[state.node_ptr])


def _floors(task: Task) -> Ids:
    """Return Low-ODA's floors by contribution of the best link; none under Greedy Merge and MinMax-ODA.

    MinMax-ODA takes any sparing link, and so need not know how good the best one is.
    """
    rule, most = task.rule, int(np.diff(task.interest.node_ptr).max(initial=0))
    levels = range(0 if rule.k is None or rule.k == np.inf else most + 1)
    return np.array([min(rule.lowest_sparing(best), most + 1) for best in levels], dtype=np.int32)


def _listed_state(task: Task) -> State:
    """Return the state before any link, without bits: lists of few topics are quicker to compare."""
    tuning = replace(task.tuning, heavy=task.interest.num_nodes + 1, node_bits=False)
    return layout.lay_out_state(task.interest, task.candidates, limit_of(task.max_degree), tuning)


def _counted_state(task: Task) -> State:
    """Return the state before any link, with the counts of pairs where they pay and fit."""
    interest, limit = task.interest, limit_of(task.max_degree)
    counted = layout.counted_below(interest, task.rule, task.candidates, task.tuning)
    if counted:
        ordered = layout.popular_first(interest)
        state = layout.lay_out_state(ordered, task.candidates, limit, task.tuning, counted)
        if count_pairs(state):
            return state
    return layout.lay_out_state(interest, task.candidates, limit, task.tuning)
