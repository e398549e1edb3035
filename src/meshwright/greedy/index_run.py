"""The index path of Greedy Merge: levels whose pairs are listed from the index of subscribers by topic.

`path_choice` decides which levels are listed and which are swept. Both paths add the same links: see
`kernels/index.py` and `kernels/listed_pairs.py`.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from meshwright.arrays import frozen
from meshwright.greedy.path_choice import LISTED, choose_three, choose_two, listing_twice_pays

if TYPE_CHECKING:
    from collections.abc import Callable

    from meshwright.arrays import Ids, Int, Offsets
    from meshwright.greedy.driver import Driver
    from meshwright.greedy.kernels.index import Buckets
    from meshwright.greedy.kernels.state import Rows, State
    from meshwright.greedy.level_run import Task

    Listing: TypeAlias = Callable[[Buckets, Ids, int, int, Offsets], Int]
    """Lists pairs of rows in a range, their first topic among some; returns how many, or `FULL_LIST`."""

FIRST_ROWS = 16
"""A level is listed in slices of rows. The first one has 1/16 of them: its links connect much of each topic,
and what remains is a smaller list."""
PORTION = 2**16
"""How many pairs a thread checks at a time, ahead of the one that links."""
STEPS_A_CALL = 20_000_000
"""How many steps a kernel may take between two looks at progress and at Ctrl-C: some tenths of a second."""
PAIRS_A_SUBSCRIPTION = 4
"""How many pairs a list may have for each subscription; with 12 bytes each, this bounds the memory."""
GROUP_BITS = 10
"""A list is sorted in up to 2^10 groups of rows: more would be scattered over too many places to write to."""
KEY_BITS = 32
"""The most bits of what tells a pair from the others of its group; with many nodes, there are more groups."""
MANY_BITS, FEW_BITS = 12, 8
"""The most bits of a digit by which a group is sorted: in large groups, and in small ones."""


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
        Threads that list, sort and check pairs, besides this one.
    """

    def __init__(
        self, task: Task, state: State, driver: Driver, pool: ThreadPoolExecutor, threads: int
    ) -> None:
        interest = task.interest
        self.interest, self.state, self.driver = interest, state, driver
        self.pool, self.threads = pool, threads
        room = task.tuning.room or PAIRS_A_SUBSCRIPTION * interest.num_subscriptions
        self._make_room(max(room, threads))

    @cached_property
    def buckets(self) -> list[Buckets]:
        """Working memory for listing by two or three topics, for each thread."""
        from meshwright.greedy.kernels.index import most_places

        places = most_places(self.state)
        return [lay_out_buckets(self.state, places) for _ in range(self.threads)]

    def _make_room(self, room: int) -> None:
        """Lay out memory for lists. What is not used takes none."""
        self.listed: Offsets = np.empty(room, dtype=np.int64)
        """Pairs as they are listed, a part for each thread; then all of them in order."""
        self.keys: Rows = np.empty(room, dtype=np.uint32)
        """The same pairs while they are sorted."""

    def list_high(self) -> bool:
        """List the pairs that contribute more than 3, and those of some or all rows that contribute 3.

        Return whether they fit. If only the former do, all of level 3 is listed when it is reached.
        """
        from meshwright.greedy.kernels.index import count_outside

        count_outside(self.state)
        nodes = self.interest.num_nodes
        first = nodes // FIRST_ROWS + 1
        self.third = np.zeros(0, dtype=np.int64)
        """The pairs of the rows below `cut` that contribute 3 or more, until the next list is made."""
        for cut in (first,) if listing_twice_pays(self.interest) else (nodes, first):
            pairs = self._list(3, 0, nodes, cut)
            if pairs is not None:
                self.cut, end = cut, int(np.searchsorted(pairs, cut << 32))
                self.third, rest = pairs[:end], pairs[end:]
                # A pair that shares more than three topics is listed more than once.
                repeated = self.third[np.flatnonzero(self.third[1:] == self.third[:-1])]
                self.high = np.concatenate((_once(repeated), _once(rest)))
                return True
        self.cut = 0
        parts, low, width = [], 0, first
        while low < nodes:
            pairs = self._list(3, low, low + width, 0)
            if pairs is not None:
                parts.append(_once(pairs))
                if sum(map(len, parts)) > len(self.listed):
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
            self._take(self.high, bounds, level)
        self._link(self.third, LISTED)
        self.link_from(LISTED, self.cut)

    def link_from(self, level: int, low: int = 0) -> None:
        """List and link the pairs of this level from row `low` on, and of the levels below it.

        No pair contributes more than the level, and none before the row contributes as much.
        """
        from meshwright.greedy.kernels.index import count_outside, list_by_one

        nodes = self.interest.num_nodes
        for now in range(min(level, LISTED), 1, -1):
            width = nodes if low > 0 else nodes // FIRST_ROWS + 1
            while low < nodes and not self._is_done():
                count_outside(self.state)
                pairs = self._list(now, low, low + width, low + width)
                if pairs is None:
                    if width == 1:
                        # The pairs of one row, at worst every node for each two or three of its topics.
                        self._make_room(2 * len(self.listed))
                    width = max(width // 2, 1)
                    continue
                self._link(pairs, now)
                low, width = low + width, FIRST_ROWS * width
            low = 0
        if self._is_done():
            return
        count_outside(self.state)
        missing = int(np.maximum(self.state.components - 1, 0).sum())
        pairs = np.empty(missing, dtype=np.int64)
        seen = np.zeros(self.interest.num_subscriptions, dtype=np.uint8)
        pairs = pairs[: list_by_one(self.state, seen, pairs)]
        pairs.sort()
        self._link(pairs, 1)

    def _is_done(self) -> bool:
        """Return whether no link may be added any more, or none is needed."""
        from meshwright.greedy.kernels.state import EDGES

        full = self.state.tally[EDGES] >= self.driver.max_edges
        return bool(full or self.state.components.max(initial=0) <= 1)

    def _link(self, pairs: Offsets, level: int) -> None:
        """Link the pairs of a sorted list that contribute the level, in order.

        With threads, the others check the next portions while this one links. They read labels and counts
        that are being changed: see `keep` for why that is safe. A portion that nobody has begun to check is
        linked as it is.
        """
        from meshwright.greedy.kernels.listed_pairs import keep

        if self.threads == 1:
            self._take(pairs, None, level)
            return
        portions = [pairs[begin : begin + PORTION] for begin in range(0, len(pairs), PORTION)]
        ahead: deque[Future[int]] = deque()
        for number, portion in enumerate(portions):
            for later in range(number + 1 + len(ahead), min(number + 2 * self.threads - 1, len(portions))):
                noted = np.full_like(self.state.noted, -1)
                ahead.append(self.pool.submit(keep, self.state, noted, portions[later], level))
            self._take(portion, None, level)
            if ahead:
                check = ahead.popleft()
                if not check.cancel():
                    portions[number + 1] = portions[number + 1][: check.result()]

    def _take(self, pairs: Offsets, bounds: Ids | None, level: int) -> None:
        from meshwright.greedy.kernels.listed_pairs import take

        cursor = np.zeros(1, dtype=np.int64)
        bounds = np.zeros(0, dtype=np.int32) if bounds is None else bounds
        self.driver.run(lambda goal, links: take(self.state, pairs, bounds, level, cursor, goal, links))

    def _list(self, level: int, low: int, high: int, cut: int) -> Offsets | None:
        """Return the pairs of level 3 or 2 in rows from low to high, sorted, or None if they do not fit.

        From row `cut` on, only those above level 3 are listed.
        """
        from meshwright.greedy.kernels import index

        if level == LISTED:
            listing: Listing = partial(index.list_by_three, self.state, cut)
        else:
            listing = partial(index.list_by_two, self.state)
        chunks = deque(self._chunks(level))
        share = len(self.listed) // self.threads
        parts = [self.listed[thread * share : (thread + 1) * share] for thread in range(self.threads)]
        lengths = [0] * self.threads
        buckets = self.buckets

        def work(thread: int) -> None:
            while chunks:
                try:
                    topics = chunks.popleft()
                except IndexError:
                    break
                rest = parts[thread][lengths[thread] :]
                found = int(listing(buckets[thread], topics, low, high, rest))
                if found == index.FULL_LIST:
                    lengths[thread] = -1
                    chunks.clear()
                    break
                lengths[thread] += found
                if thread == 0:
                    self.driver.report()

        try:
            self._on_each_thread(work)
        finally:
            chunks.clear()
        if min(lengths) < 0:
            return None
        return self.sort([part[:length] for part, length in zip(parts, lengths, strict=True)])

    def sort(self, parts: list[Offsets]) -> Offsets:
        """Return the listed pairs of all threads in order."""
        from meshwright.greedy.kernels.pair_order import count_groups, deal_groups, sort_groups

        last = self.interest.num_nodes - 1
        bits = last.bit_length()
        # The rest of u and v must fit into a key.
        shift = max(min(bits - GROUP_BITS, KEY_BITS - bits), 0)
        counts = np.zeros((self.threads, (last >> shift) + 1), dtype=np.int64)
        self._on_each_thread(lambda thread: count_groups(parts[thread], shift, counts[thread]))
        # In each group, what the first thread has listed comes first.
        places = np.cumsum(counts.T).reshape(counts.T.shape).T - counts
        sizes = counts.sum(axis=0)
        ends = np.cumsum(sizes)
        keys, listed = self.keys, self.listed
        self._on_each_thread(lambda thread: deal_groups(parts[thread], bits, shift, places[thread], keys))
        bounds = np.searchsorted(ends, np.linspace(0, ends[-1], self.threads + 1)[1:-1])
        bounds = np.concatenate(([0], bounds, [len(ends)]))
        values = 1 << digit_bits(bits + shift, int(ends[-1]) // len(ends))

        def sort(thread: int) -> None:
            digits, spare = np.empty(values, dtype=np.int64), np.empty(sizes.max(), dtype=np.uint32)
            first, end = int(bounds[thread]), int(bounds[thread + 1])
            sort_groups(keys, spare, listed, ends, first, end, bits, shift, digits)

        self._on_each_thread(sort)
        return listed[: ends[-1]]

    def _on_each_thread(self, work: Callable[[int], None]) -> None:
        """Call a function with the number of each thread, on that thread, and wait for all of them."""
        jobs = [self.pool.submit(work, thread) for thread in range(1, self.threads)]
        try:
            work(0)
        finally:
            for job in jobs:
                job.result()

    def _chunks(self, level: int) -> list[Ids]:
        """Return the open topics, in parts of about equal work."""
        sizes = np.diff(self.interest.node_ptr)
        steps = choose_three(sizes) if level == LISTED else choose_two(sizes)
        count = max(int(steps.sum()) // STEPS_A_CALL, 4 * self.threads if self.threads > 1 else 1)
        topics = np.flatnonzero(self.state.components > 1)
        # The first topics have the most topics after them: deal all out like cards.
        return [frozen(topics[i::count], np.int32) for i in range(min(count, len(topics)))]


def digit_bits(bits: int, pairs: int) -> int:
    """Return how many bits to sort at a time, so that as few digits as possible cover all bits.

    Groups of this many pairs must be worth counting all values of a digit.
    """
    most = MANY_BITS if pairs >= 1 << (MANY_BITS - 1) else FEW_BITS
    return max(-(-bits // max(-(-bits // most), 1)), 1)


def _once(pairs: Offsets) -> Offsets:
    """Return each pair of a sorted list once."""
    once: Offsets = pairs[np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]]
    return once


def lay_out_buckets(state: State, places: int) -> Buckets:
    """Return the working memory of one thread that lists pairs, for `most_places`."""
    from meshwright.greedy.kernels.index import Buckets

    topics, members = len(state.components), int(np.diff(state.topic_ptr).max(initial=0))
    by_member = [np.zeros(members, dtype=np.int32) for _ in range(4)]
    # Kernels copy sixteen numbers at a time, whether they need all of them or not.
    by_place = [np.zeros(places + 16, dtype=np.int32) for _ in range(7)]
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
        second=by_member[3],
        third=by_place[4],
        own=by_place[5],
        stepper=by_place[6],
        before=np.zeros(places, dtype=np.int64),
        hit=np.zeros(places, dtype=np.int64),
        recent=np.full(topics, -1, dtype=np.int64),
        met=np.full(members, -1, dtype=np.int64),
        group=np.zeros(5 * members, dtype=np.int32),
        numbers=np.zeros(2, dtype=np.int64),
    )
