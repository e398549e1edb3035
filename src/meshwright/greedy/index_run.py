"""The index path of Greedy Merge: levels whose pairs are listed from the index of subscribers by topic.

`path_choice` decides which levels are listed and which are swept. Both paths add the same links: see
`kernels/index.py`.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from meshwright.arrays import frozen
from meshwright.greedy.path_choice import LISTED, choose_three, choose_two

if TYPE_CHECKING:
    from collections.abc import Callable

    from meshwright.arrays import Ids, Offsets
    from meshwright.greedy.driver import Driver
    from meshwright.greedy.kernels.index import Buckets
    from meshwright.greedy.kernels.state import State
    from meshwright.greedy.level_run import Task
    from meshwright.interest import Interest

    Listing: TypeAlias = Callable[[Buckets, Ids, int, int, Offsets], int]
    """Lists pairs of rows in a range, their first topic among some; returns how many, or `FULL_LIST`."""

FIRST_ROWS = 16
"""A level is listed in slices of rows. The first one has 1/16 of them: its links connect most of each topic,
and what remains is a small list."""
PORTION = 2**19
"""How many pairs each thread checks ahead of the one that links."""
STEPS_A_CALL = 20_000_000
"""How many steps a kernel may take between two looks at progress and at Ctrl-C: some tenths of a second."""
PAIRS_A_SUBSCRIPTION = 8
"""How many pairs a list may have for each subscription; with 8 bytes each, this bounds the memory."""


class IndexRun:
    """Lists the pairs of the low levels, or of all, and links them.

    Parameters
    ----------
    task
        What is linked.
    state
        The state, with `outside` to be counted.
    driver
        Runs the kernel that links, and keeps the links.
    pool, threads
        Threads that list pairs, besides this one.
    """

    def __init__(
        self, task: Task, state: State, driver: Driver, pool: ThreadPoolExecutor, threads: int
    ) -> None:
        interest = task.interest
        self.interest, self.state, self.driver = interest, state, driver
        self.pool, self.threads = pool, threads
        room = task.tuning.room or PAIRS_A_SUBSCRIPTION * interest.num_subscriptions
        self.pairs: Offsets = np.empty(max(room, threads), dtype=np.int64)
        """Working memory for listed pairs, a part for each thread. What is not used takes no memory."""
        self.buckets = [lay_out_buckets(interest) for _ in range(threads)]

    def list_high(self) -> bool:
        """List the pairs that contribute 3 and more; return whether they fit.

        Where all do, the list also serves for level 3. Else only those that contribute more than 3 are kept.
        """
        from meshwright.greedy.kernels.index import count_outside

        count_outside(self.state)
        nodes = self.interest.num_nodes
        length = self._list(3, 0, nodes)
        self.third: Offsets | None = None
        if length is not None:
            # A pair that shares more than three topics is listed more than once.
            self.third = self.pairs[:length]
            self.high = np.unique(self.third[1:][self.third[1:] == self.third[:-1]])
            return True
        parts, low, width = [], 0, nodes // FIRST_ROWS + 1
        while low < nodes:
            length = self._list(4, low, low + width)
            if length is not None:
                parts.append(np.unique(self.pairs[:length]))
                if sum(map(len, parts)) > len(self.pairs):
                    return False
                low, width = low + width, 2 * width
            elif width == 1:
                return False
            else:
                width //= 2
        self.high = np.concatenate(parts)
        return True

    def link_all(self) -> None:
        """Link all levels, after `list_high`."""
        sizes = np.diff(self.interest.node_ptr).astype(np.int32)
        bounds = np.minimum(sizes[self.high >> 32], sizes[self.high & 0xFFFFFFFF])
        for level in range(int(bounds.max(initial=0)), LISTED, -1):
            self._link(self.high, bounds, level)
        if self.third is not None:
            self._link(self.third, None, LISTED)
        self.link_from(LISTED if self.third is None else LISTED - 1)

    def link_from(self, level: int) -> None:
        """List and link the pairs of this level and of those below it, given that none contributes more."""
        from meshwright.greedy.kernels.index import count_outside, list_by_one

        nodes = self.interest.num_nodes
        for now in range(min(level, LISTED), 1, -1):
            low, width = 0, nodes // FIRST_ROWS + 1
            while low < nodes and not self._is_done():
                count_outside(self.state)
                length = self._list(now, low, low + width)
                if length is None:
                    if width == 1:
                        # The pairs of one row, at worst every node for each two or three of its topics.
                        self.pairs = np.empty(2 * len(self.pairs), dtype=np.int64)
                    width = max(width // 2, 1)
                    continue
                self._link(self.pairs[:length], None, now)
                low, width = low + width, FIRST_ROWS * width
        if self._is_done():
            return
        count_outside(self.state)
        missing = int(np.maximum(self.state.components - 1, 0).sum())
        pairs = np.empty(missing, dtype=np.int64)
        seen = np.zeros(self.interest.num_subscriptions, dtype=np.uint8)
        pairs = pairs[: list_by_one(self.state, seen, pairs)]
        pairs.sort()
        self._link(pairs, None, 1)

    def _is_done(self) -> bool:
        """Return whether no link may be added any more, or none is needed."""
        from meshwright.greedy.kernels.state import EDGES

        full = self.state.tally[EDGES] >= self.driver.max_edges
        return bool(full or self.state.components.max(initial=0) <= 1)

    def _link(self, pairs: Offsets, bounds: Ids | None, level: int) -> None:
        """Link the pairs of a sorted list that contribute the level, in order."""
        if bounds is not None:
            self._take(pairs, bounds, level)
            return
        # With threads, check each portion ahead of the one that links.
        portion = len(pairs) if self.threads == 1 else PORTION * self.threads
        for begin in range(0, len(pairs), max(portion, 1)):
            some = pairs[begin : begin + portion]
            self._take(some if self.threads == 1 else some[: self._keep(some, level)], None, level)

    def _take(self, pairs: Offsets, bounds: Ids | None, level: int) -> None:
        from meshwright.greedy.kernels.index import take

        cursor = np.zeros(1, dtype=np.int64)
        bounds = np.zeros(0, dtype=np.int32) if bounds is None else bounds
        self.driver.run(lambda goal, links: take(self.state, pairs, bounds, level, cursor, goal, links))

    def _keep(self, pairs: Offsets, level: int) -> int:
        """Move the pairs that still contribute the level to the front, on all threads; return how many."""
        from meshwright.greedy.kernels.index import keep

        parts = np.array_split(pairs, self.threads)
        jobs = [self.pool.submit(keep, self.state, part, level) for part in parts[1:]]
        lengths = [keep(self.state, parts[0], level), *(job.result() for job in jobs)]
        return _join(pairs, [len(part) for part in parts], lengths)

    def _list(self, level: int, low: int, high: int) -> int | None:
        """List the pairs of a level, in rows from low to high, sorted; level 4 stands for all above 3.

        Return how many there are, or None if they do not fit.
        """
        from meshwright.greedy.kernels import index

        if level == 2:
            listing: Listing = partial(index.list_by_two, self.state)
        else:
            listing = partial(index.list_by_three, self.state, bool(level > LISTED))
        chunks = deque(self._chunks(min(level, LISTED)))
        share = len(self.pairs) // self.threads
        lengths = [0] * self.threads

        def work(thread: int) -> None:
            part = self.pairs[thread * share : (thread + 1) * share]
            while chunks:
                try:
                    topics = chunks.popleft()
                except IndexError:
                    break
                found = listing(self.buckets[thread], topics, low, high, part[lengths[thread] :])
                if found == index.FULL_LIST:
                    lengths[thread] = -1
                    chunks.clear()
                    break
                lengths[thread] += found
                if thread == 0:
                    self.driver.report()
            if self.threads > 1 and lengths[thread] > 0:
                part[: lengths[thread]].sort()

        jobs = [self.pool.submit(work, thread) for thread in range(1, self.threads)]
        try:
            work(0)
        finally:
            chunks.clear()
            for job in jobs:
                job.result()
        if min(lengths) < 0:
            return None
        total = _join(self.pairs, [share] * self.threads, lengths)
        # Each of several threads has sorted what it listed. A stable sort merges sorted parts.
        self.pairs[:total].sort(kind=None if self.threads == 1 else "stable")
        return total

    def _chunks(self, level: int) -> list[Ids]:
        """Return the open topics, in parts of about equal work."""
        sizes = np.diff(self.interest.node_ptr)
        steps = choose_three(sizes) if level == LISTED else choose_two(sizes)
        count = max(int(steps.sum()) // STEPS_A_CALL, 4 * self.threads if self.threads > 1 else 1)
        topics = np.flatnonzero(self.state.components > 1)
        # The first topics have the most topics after them: deal all out like cards.
        return [frozen(topics[i::count], np.int32) for i in range(min(count, len(topics)))]


def _join(pairs: Offsets, shares: list[int], lengths: list[int]) -> int:
    """Move the used fronts of consecutive parts together; return how long they are in total."""
    begin = total = 0
    for share, length in zip(shares, lengths, strict=True):
        pairs[total : total + length] = pairs[begin : begin + length]
        begin, total = begin + share, total + length
    return total


def lay_out_buckets(interest: Interest) -> Buckets:
    """Return the working memory of one thread that lists pairs."""
    from meshwright.greedy.kernels.index import Buckets

    sizes, popularity = np.diff(interest.node_ptr), np.diff(interest.topic_ptr)
    ends = np.concatenate(([0], np.cumsum(sizes[interest.topic_nodes])))
    places = int(np.diff(ends[interest.topic_ptr]).max(initial=0)) + 1
    members, topics = int(popularity.max(initial=0)), interest.num_topics
    by_member = [np.zeros(members, dtype=np.int32) for _ in range(3)]
    by_place = [np.zeros(places, dtype=np.int32) for _ in range(4)]
    return Buckets(
        node=by_member[0],
        mine=by_member[1],
        last=by_member[2],
        topic=by_place[0],
        label=by_place[1],
        owner=by_place[2],
        following=by_place[3],
        head=np.full(topics, -1, dtype=np.int32),
        touched=np.zeros(topics + 1, dtype=np.int32),
        recent=np.zeros(topics, dtype=np.int64),
        leaf=np.zeros(3 * places, dtype=np.int32),
        group=np.zeros(4 * members, dtype=np.int32),
        bucket=np.zeros(1, dtype=np.int64),
    )
