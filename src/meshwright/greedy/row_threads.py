"""Threads that rebuild and check the next rows of a level sweep, while one thread links.

Rows are prepared in waves. Under Greedy Merge the next wave is prepared while the rows of the last one are
linked. The state changes meanwhile, but whatever a thread reads, be it a bit, a label or the row of an entry,
stands for contributions that only fall. So a window may be too high by the time the sweep comes to it, but
never too low, and the links are those of one thread. For this to hold, no bit row gets a new owner while a
wave is under way: components that become large wait for their rows (`give_held_rows`).

Waves are short, because a window that is too high is used up in vain and rebuilt again.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from meshwright.arrays import Ids, frozen
from meshwright.greedy.kernels.bit_rows import give_held_rows
from meshwright.greedy.kernels.state import FRESH, INDEX, LEVEL, NO_STOP, ROW, STOP, Scratch, State, Sweep
from meshwright.greedy.kernels.sweep import prepare_rows, rows_to_visit

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
