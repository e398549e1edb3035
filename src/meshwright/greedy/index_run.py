"""The index path: levels whose pairs are listed from the index of subscribers by topic, and linked.

`path_choice` decides which levels are listed and which are swept. Both paths add the same links: see
`kernels/index.py` and `kernels/listed_pairs.py`.

MinMax-ODA and Low-ODA run in phases of one maximum degree each. As long as the maximum degree is D, a sparing
link is one between nodes with fewer than D links: *open* nodes. In a phase contributions fall and nodes
close, so sparing links are found as those of Greedy Merge are: level by level, each listed when it is
reached, among the nodes that are still open. Most nodes are closed after level 3, so the lists of the levels
below are short. A phase ends where no sparing link is good enough. Then the best link of all is taken, and
the maximum degree rises.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from meshwright.arrays import Bits, Ids, Offsets
from meshwright.greedy.engine import Driver
from meshwright.greedy.kernels.index import count_outside
from meshwright.greedy.kernels.listed_pairs import BLOCK, Bounds, find, keep, take, take_singles
from meshwright.greedy.kernels.state import EDGES, Goal, Links, State
from meshwright.greedy.pair_lists import PairLists
from meshwright.greedy.path_choice import LISTED, Task, choose_three, listing_twice_pays

FIRST_ROWS = 16
"""A level is listed in slices of rows. The first one has 1/16 of them: its links connect much of each topic,
and what remains is a smaller list."""
PORTION = 2**16
"""How many pairs a thread checks at a time, ahead of the one that links."""


class IndexRun:
    """Lists the pairs of the low levels, or of all, and links them.

    Parameters
    ----------
    task
        What is linked.
    state
        The state. Nodes that have `max_degree` links are closed: their bits in `allowed_nodes` are cleared.
    driver
        Runs the kernels that link, and keeps the links.
    pool, threads
        Threads that list, sort and check pairs, besides this one.
    """

    def __init__(
        self, task: Task, state: State, driver: Driver, pool: ThreadPoolExecutor, threads: int
    ) -> None:
        self.interest, self.driver = task.interest, driver
        self.pool, self.threads = pool, threads
        outside = np.zeros(len(state.degree), dtype=np.int32)
        self.state = state._replace(outside=outside, allowed_nodes=open_below(state, state.max_degree))
        self.lists = PairLists(task.interest, self.state, task.tuning.room, pool, threads, driver.report)
        self.twice = listing_twice_pays(task)
        """Whether level 3 is better listed in two slices."""
        self.high: Offsets = np.zeros(0, dtype=np.int64)
        """The pairs that contribute more than 3."""
        self.bounds: Bounds = bounds_of(np.zeros(0, dtype=np.int32))
        """What each of them contributes at most."""
        self.third: Offsets = np.zeros(0, dtype=np.int64)
        """The pairs of the rows below `cut` that contribute 3 or more, until the next list is made."""
        self.cut = 0

    @property
    def first_rows(self) -> int:
        """How many rows the first slice of a level has."""
        return self.interest.num_nodes // FIRST_ROWS + 1

    def list_high(self) -> bool:
        """List the pairs that contribute more than 3, and those of some or all rows that contribute 3.

        Return whether they fit. If only the former do, all of level 3 is listed when it is reached.
        """
        count_outside(self.state)
        nodes = self.interest.num_nodes
        for cut in self._cuts():
            pairs = self.lists.list_pairs(LISTED, 0, nodes, cut)
            if pairs is not None:
                self.cut, end = cut, int(np.searchsorted(pairs, cut << 32))
                self.third = pairs[:end]
                # A pair that differs in more than three topics is listed more than once.
                repeated = self.third[np.flatnonzero(self.third[1:] == self.third[:-1])]
                both, times = _once(repeated)
                self._keep_high([(both, self._topics_of(times + 1)), self._above(pairs[end:])])
                return True
        parts: list[tuple[Offsets, Ids]] = []
        low, width = 0, self.first_rows
        while low < nodes:
            pairs = self.lists.list_pairs(LISTED, low, low + width, 0)
            if pairs is not None:
                parts.append(self._above(pairs))
                count, done = sum(len(part) for part, _ in parts), min(low + width, nodes)
                # The rows below have fewer pairs each: give up as soon as all would hardly fit.
                if count > self.lists.room or count * nodes > 2 * self.lists.room * done:
                    return False
                low, width = low + width, 2 * width
            elif width == 1:
                return False
            else:
                width //= 2
        self._keep_high(parts)
        return True

    def _keep_high(self, parts: list[tuple[Offsets, Ids]]) -> None:
        """Keep the pairs above level 3, with what they contribute before any link."""
        self.high = np.concatenate([pairs for pairs, _ in parts])
        self.bounds = bounds_of(np.concatenate([contributions for _, contributions in parts]))

    def _above(self, pairs: Offsets) -> tuple[Offsets, Ids]:
        """Return each pair of a list of those above level 3 once, and what it contributes.

        In each bucket of two topics, its first meeting does not count. So a pair with c topics is listed
        C(c, 3) − C(c − 1, 2) = C(c − 1, 3) times.
        """
        once, times = _once(pairs)
        return once, self._topics_of(times) + np.int32(1)

    def _topics_of(self, sets: Offsets) -> Ids:
        """Return how many topics there are, given how many sets of three they have."""
        most = int(np.diff(self.interest.node_ptr).max(initial=0))
        by_topics = choose_three(np.arange(most + 1, dtype=np.float64))
        return np.searchsorted(by_topics, sets).astype(np.int32)

    def _cuts(self) -> tuple[int, ...]:
        """Return the rows up to which level 3 may be listed together with the levels above, best first."""
        nodes = self.interest.num_nodes
        return (self.first_rows,) if self.twice else (nodes, self.first_rows)

    def link_all(self) -> None:
        """Link all levels, after `list_high`."""
        limit = self.state.max_degree
        for level in range(int(self.bounds.pair.max(initial=0)), LISTED, -1):
            self._take(self.high, self.bounds, level, limit)
        self._link(self.third, LISTED, limit)
        # The next list overwrites it, or has more room and leaves it behind.
        self.third = self.third[:0].copy()
        self.link_from(LISTED, self.cut)

    def link_from(self, level: int, low: int = 0) -> None:
        """List and link the pairs of this level from row `low` on, and of the levels below it.

        No pair contributes more than the level, and none before the row contributes as much.
        """
        for now in range(min(level, LISTED), 1, -1):
            width = self.interest.num_nodes if low > 0 else self.first_rows
            self._link_level(now, self.state.max_degree, low, width)
            low = 0
        self._link_singles(self.state.max_degree)

    def _link_level(self, level: int, limit: int, low: int, width: int) -> None:
        """List and link the pairs of level 3 or 2 from row `low` on, those of `width` rows at first."""
        growth = FIRST_ROWS
        while low < self.interest.num_nodes and not self._is_done():
            count_outside(self.state)
            while (pairs := self.lists.list_pairs(level, low, low + width, low + width)) is None:
                width, growth = self.lists.narrower(width), 2
            self._link(pairs, level, limit)
            low, width = low + width, growth * width

    def _is_done(self) -> bool:
        """Return whether no link may be added any more, or none is needed."""
        full = self.state.tally[EDGES] >= self.driver.max_edges
        return bool(full or self.state.components.max(initial=0) <= 1)

    def _link_singles(self, limit: int, most: int | None = None) -> None:
        """Link the pairs of level 1, `most` of them at most, given that no pair contributes more."""
        if self._is_done():
            return
        count_outside(self.state)
        here = self.state.topic_ptr[:-1].astype(np.int32)
        ahead = np.zeros(self.interest.num_subscriptions, dtype=np.int32)
        partner = np.zeros(int(np.diff(self.interest.node_ptr).max(initial=0)), dtype=np.int32)
        cursor = np.zeros(1, dtype=np.int64)
        end = self.driver.max_edges if most is None else int(self.state.tally[EDGES]) + most

        def step(goal: Goal, links: Links) -> int:
            goal = goal._replace(max_edges=min(goal.max_edges, end))
            return take_singles(self.state, here, ahead, partner, limit, cursor, goal, links)

        self.driver.run(step)

    def _link(self, pairs: Offsets, level: int, limit: int) -> None:
        """Link the pairs of a sorted list that contribute the level, in order.

        With threads, the others check the next portions while this one links. They read labels and counts
        that are being changed: see `keep` for why that is safe. A portion that nobody has begun to check is
        linked as it is.
        """
        if self.threads == 1:
            self._take(pairs, None, level, limit)
            return
        portions = [pairs[begin : begin + PORTION] for begin in range(0, len(pairs), PORTION)]
        most_ahead = min(2 * self.threads - 2, len(portions) - 1)
        spare = [np.full_like(self.state.noted, -1) for _ in range(most_ahead)]
        ahead: deque[tuple[Future[int], Ids]] = deque()
        for number, portion in enumerate(portions):
            for later in range(number + 1 + len(ahead), min(number + 1 + most_ahead, len(portions))):
                noted = spare.pop()
                check = self.pool.submit(keep, self.state, noted, portions[later], level)
                ahead.append((check, noted))
            self._take(portion, None, level, limit)
            if ahead:
                check, noted = ahead.popleft()
                if not check.cancel():
                    portions[number + 1] = portions[number + 1][: check.result()]
                spare.append(noted)

    def _take(self, pairs: Offsets, bounds: Bounds | None, level: int, limit: int) -> None:
        cursor = np.zeros(1, dtype=np.int64)
        known = bounds_of(np.zeros(0, dtype=np.int32)) if bounds is None else bounds
        self.driver.run(lambda goal, links: take(self.state, pairs, known, level, limit, cursor, goal, links))


def open_below(state: State, limit: int) -> Bits:
    """Return, as a bit row, the nodes that may be linked and have fewer links than a limit."""
    fewer = np.zeros(64 * len(state.allowed_nodes), dtype=bool)
    fewer[: len(state.degree)] = state.degree < limit
    return state.allowed_nodes & np.packbits(fewer, bitorder="little").view(np.uint64)


def bounds_of(pairs: Ids) -> Bounds:
    """Return the bounds of listed pairs, also by block."""
    blocks = np.arange(0, len(pairs), BLOCK)
    return Bounds(pairs, np.maximum.reduceat(pairs, blocks) if len(pairs) else pairs.copy())


def _once(pairs: Offsets) -> tuple[Offsets, Offsets]:
    """Return each pair of a sorted list once, and how often it is listed."""
    first = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)])
    return pairs[first], np.diff(np.append(first, len(pairs)))


NO_LEVEL = 2**31
"""Sentinel: no level linked yet; above every level."""


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
        before = int(self.state.tally[EDGES])
        if self.level > 1:
            self._take(best, None, self.level, self.state.max_degree)
        else:
            self._link_singles(self.state.max_degree, 1)
        return int(self.state.tally[EDGES]) > before

    def _find_best(self) -> Offsets:
        """Lower `level` to what the best link of all contributes, and return that; none at level 1."""
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
