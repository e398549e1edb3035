"""The index path of MinMax-ODA and Low-ODA: phases of one maximum degree each, with lists of open nodes.

As long as the maximum degree is D, a sparing link is one between nodes with fewer than D links: *open* nodes.
In a phase contributions fall and nodes close, so sparing links are found as those of Greedy Merge are: level
by level, each listed when it is reached, among the nodes that are still open. Most nodes are closed after
level 3, so the lists of the levels below are short. A phase ends where no sparing link is good enough. Then
the best link of all is taken, and the maximum degree rises.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy.index_run import FIRST_ROWS, IndexRun, open_below
from meshwright.greedy.path_choice import LISTED

if TYPE_CHECKING:
    from meshwright.arrays import Offsets
    from meshwright.greedy.driver import Driver
    from meshwright.greedy.kernels.state import State
    from meshwright.greedy.level_run import Task


NO_LEVEL = 2**31
"""Stands for the last level that was linked as long as there is none: above every level."""


class PhaseRun(IndexRun):
    """Links by a rule that spares the maximum degree; see `IndexRun` for the parameters.

    `allowed_nodes` of the state are the nodes that are open now: in a phase, or for the best link of all.
    """

    def __init__(
        self, task: Task, state: State, driver: Driver, pool: ThreadPoolExecutor, threads: int
    ) -> None:
        super().__init__(task, state, driver, pool, threads)
        self.rule, self.unlimited = task.rule, state
        """`allowed_nodes` of the latter are the nodes that may be linked at all."""
        self.level = 0
        """No pair contributes more."""
        self.limit, self.done_to = 0, NO_LEVEL
        """The limit that closed nodes in the last phase, and the last level that it linked."""

    def _cuts(self) -> tuple[int, ...]:
        """Return only row 0: each phase lists level 3 when it is reached."""
        return (0,)

    def link_all(self) -> None:
        """Link phase after phase, after `list_high`."""
        self.level = max(LISTED, int(self.bounds.pair.max(initial=0)))
        going = True
        while going:
            best = self._link_phase()
            going = not self._is_done() and self._link_best(self._find_best() if best is None else best)

    def _open(self, limit: int) -> int:
        """Open just the nodes with fewer links than the limit, and return the limit that closes them."""
        limit = min(limit, self.state.max_degree)
        self.state.allowed_nodes[:] = open_below(self.unlimited, limit)
        return limit

    def _link_phase(self) -> Offsets | None:
        """Link sparing pairs, level by level, until none is good enough next to the best link of all.

        Return the latter if it is known.
        """
        limit = self._open(int(self.state.degree.max(initial=0)))
        level = self._first_level(limit)
        while level > 0 and self.state.allowed_nodes.any() and not self._is_done():
            if level < self.rule.lowest_sparing(self.level):
                # The best link of all may contribute less by now.
                best = self._find_best()
                if level < self.rule.lowest_sparing(self.level):
                    return best
                self._open(limit)
            self._link_sparing(level, limit)
            self.done_to = level
            level -= 1
        return None

    def _first_level(self, limit: int) -> int:
        """Return the level at which a phase begins: below those of the last one, if no node was opened.

        Contributions only fall, so those levels are still empty.
        """
        degree = self.state.degree
        if ((degree >= self.limit) & (degree < limit)).any():
            self.done_to = NO_LEVEL
        self.limit = limit
        return min(self.level, self.done_to - 1)

    def _link_sparing(self, level: int, limit: int) -> None:
        if level > LISTED:
            self._take(self.high, self.bounds, level, limit)
        elif level > 1:
            at_once = level == LISTED and not self.twice
            self._link_level(level, limit, 0, self.interest.num_nodes if at_once else self.first_rows)
        else:
            self._link_singles(limit)

    def _link_best(self, best: Offsets) -> bool:
        """Take the best link of all, which raises the maximum degree; return whether there is one."""
        from meshwright.greedy.kernels.state import EDGES

        before = int(self.state.tally[EDGES])
        if self.level > 1:
            self._take(best, None, self.level, self.state.max_degree)
        else:
            self._link_singles(self.state.max_degree, 1)
        return int(self.state.tally[EDGES]) > before

    def _find_best(self) -> Offsets:
        """Lower `level` to what the best link of all contributes, and return that; none at level 1."""
        from meshwright.greedy.kernels.index import count_outside
        from meshwright.greedy.kernels.listed_pairs import find

        self._open(self.state.max_degree)
        for level in range(self.level, LISTED, -1):
            place = find(self.state, self.high, self.bounds, level)
            if place < len(self.high):
                self.level = level
                return self.high[place : place + 1]
        count_outside(self.state)
        nodes = self.interest.num_nodes
        for level in range(min(self.level, LISTED), 1, -1):
            low, width = 0, nodes // FIRST_ROWS**2 + 1
            while low < nodes:
                pairs = self.lists.list_pairs(level, low, low + width, low + width)
                if pairs is None:
                    width = self.lists.narrower(width)
                    continue
                if len(pairs):
                    # None contributes more, so each of these contributes the level.
                    self.level = level
                    return pairs[:1].copy()
                low, width = low + width, FIRST_ROWS * width
        self.level = 1
        return np.zeros(0, dtype=np.int64)
