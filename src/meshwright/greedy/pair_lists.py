"""Lists of pairs that contribute a low level, made by several threads and sorted by (u, v).

Their memory is proportional to the number of subscriptions, and doubled only if the pairs of one row alone
do not fit.

Pairs are sorted first into groups of rows, then each group by radix. A pair is the number u·2³² + v. Dealing
the pairs out to groups of 2^`shift` rows reads and writes each one once. In its group a pair needs only the
rest of u and v, a *key* of 32 bits at most. A group fits into the cache, where it is sorted digit by digit;
the last digit writes pairs again. No step waits for a comparison that cannot be predicted. Each thread deals
out the pairs that it has listed, to places that no other thread writes to, and then sorts some of the groups.
The result does not depend on who dealt what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

import numpy as np

from meshwright.arrays import Ids, Int, Offsets, frozen
from meshwright.greedy.kernels.index import FULL_LIST, HALF, Buckets, add_places, list_by_three, list_by_two
from meshwright.greedy.kernels.state import Rows, State
from meshwright.greedy.path_choice import LISTED, choose_three, choose_two
from meshwright.interest import Interest
from meshwright.jit.compiler import inlined, kernel


class Groups(NamedTuple):
    """How a list is divided into groups of rows, and what a key consists of."""

    low: Int
    """The first row of the first group."""
    shift: Int
    """A group has 2^`shift` rows, so the rest of u takes `shift` bits of a key, the upper ones."""
    bits: Int
    """The bits of v."""


@kernel
def count_groups(groups: Groups, pairs: Offsets, counts: Offsets) -> None:
    """Count the pairs of each group."""
    for i in range(len(pairs)):
        counts[((pairs[i] >> 32) - groups.low) >> groups.shift] += 1


@kernel
def deal_groups(groups: Groups, pairs: Offsets, places: Offsets, keys: Rows) -> None:
    """Write the key of each pair to the next place of its group, and advance that place."""
    bits, shift = np.int64(groups.bits), np.int64(groups.shift)
    rest = (np.int64(1) << shift) - 1
    for i in range(len(pairs)):
        u, v = (pairs[i] >> 32) - groups.low, pairs[i] & HALF
        keys[places[u >> shift]] = ((u & rest) << bits) | v
        places[u >> shift] += 1


@inlined
def count_digits(keys: Rows, begin: Int, end: Int, at: Int, work: Offsets) -> None:
    """Put into `work` how many of some keys come before those with each value of the digit at bit `at`."""
    mask = np.int64(len(work) - 1)
    for value in range(len(work)):
        work[value] = 0
    for i in range(begin, end):
        work[(np.int64(keys[i]) >> at) & mask] += 1
    before = np.int64(0)
    for value in range(len(work)):
        count = work[value]
        work[value] = before
        before += count


@kernel
def sort_groups(
    groups: Groups,
    keys: Rows,
    spare: Rows,
    pairs: Offsets,
    ends: Offsets,
    first: Int,
    last: Int,
    work: Offsets,
) -> None:
    """Sort the groups from `first` to `last`, which end at `ends`, and write their pairs to the same places.

    Each digit, the lowest first, moves the keys of a group in a stable order: to `spare`, back again, and in
    the end to `pairs`. `work` has a place for each value of a digit, a power of two.

    Invariant: before the digit at bit `at`, the keys of the group are sorted by their lower `at` bits. Cost:
    each key is read and written once for each digit, and counted once.
    """
    low, bits, shift = np.int64(groups.low), np.int64(groups.bits), np.int64(groups.shift)
    mask, width, node = np.int64(len(work) - 1), np.int64(0), (np.int64(1) << bits) - 1
    while (1 << width) <= mask:
        width += 1
    for group in range(first, last):
        begin, end = np.int64(0) if group == 0 else ends[group - 1], ends[group]
        # `keys` holds all groups, `spare` one: the keys are at `here` to `stop`, and go to `out`.
        source, here, stop = keys, begin, end
        target, out = spare, np.int64(0)
        at = np.int64(0)
        while at + width < bits + shift:
            # Afterwards, `work` says where the next key with each value of the digit goes.
            count_digits(source, here, stop, at, work)
            for i in range(here, stop):
                own = (np.int64(source[i]) >> at) & mask
                target[out + work[own]] = source[i]
                work[own] += 1
            source, target = target, source
            here, stop, out = out, out + (end - begin), here
            at += width
        # The last digit writes whole pairs to their places: the group says the upper bits of u.
        count_digits(source, here, stop, at, work)
        for i in range(here, stop):
            key = np.int64(source[i])
            own = (key >> at) & mask
            u = low + ((np.int64(group) << shift) | (key >> bits))
            pairs[begin + work[own]] = (u << 32) | (key & node)
            work[own] += 1


Listing: TypeAlias = Callable[[Buckets, Ids, int, int, Offsets], Int]
"""Lists pairs of rows in a range, their first topic among some; returns how many, or `FULL_LIST`."""

STEPS_A_CALL = 20_000_000
"""How many steps a kernel may take between two looks at progress and at Ctrl-C: some tenths of a second."""
PAIRS_A_SUBSCRIPTION = 4
"""How many pairs a list may have for each subscription, 12 bytes each; those above level 3 come on top."""
GROUP_BITS = 10
"""A list is sorted in up to 2^10 groups of rows: more would be scattered over too many places to write to."""
KEY_BITS = 32
"""The most bits that identify a pair within its group; with many nodes, there are more groups."""
MANY_BITS, FEW_BITS = 12, 8
"""The most bits of a digit by which a group is sorted: in large groups, and in small ones."""


class PairLists:
    """Lists pairs from the index of subscribers by topic.

    Parameters
    ----------
    interest, state
        Whose pairs are listed.
    room
        How many pairs a list may have; by default some for each subscription.
    pool, threads
        Threads that list and sort pairs, besides this one.
    report
        Called between two parts of a list: it reports progress, and what it raises ends the run.
    """

    def __init__(
        self,
        interest: Interest,
        state: State,
        room: int | None,
        pool: ThreadPoolExecutor,
        threads: int,
        report: Callable[[], None],
    ) -> None:
        self.interest, self.state = interest, state
        self.pool, self.threads, self.report = pool, threads, report
        self.make_room(max(room or PAIRS_A_SUBSCRIPTION * interest.num_subscriptions, threads))

    @cached_property
    def buckets(self) -> list[Buckets]:
        """Working memory for listing by two or three topics, for each thread."""
        places = most_places(self.interest)
        return [lay_out_buckets(self.state, places) for _ in range(self.threads)]

    @property
    def room(self) -> int:
        """How many pairs a list may have."""
        return len(self.listed)

    def narrower(self, rows: int) -> int:
        """Return fewer rows to list, where the pairs of that many do not fit; for one row, make room."""
        if rows == 1:
            # At worst every node, for each two or three topics of the row.
            self.make_room(2 * self.room)
        return max(rows // 2, 1)

    def make_room(self, room: int) -> None:
        """Lay out memory for lists. What is not used takes none."""
        self.listed: Offsets = np.empty(room, dtype=np.int64)
        """Pairs as they are listed, a part for each thread; then all of them in order."""
        self.keys: Rows = np.empty(room, dtype=np.uint32)
        """The same pairs while they are sorted."""

    def list_pairs(self, level: int, low: int, high: int, cut: int) -> Offsets | None:
        """Return the pairs of level 3 or 2 in rows from low to high, sorted, or None if they do not fit.

        From row `cut` on, only those above level 3 are listed. The pairs are in working memory: the next list
        overwrites them.
        """
        if level == LISTED:
            listing: Listing = partial(list_by_three, self.state, cut)
        else:
            listing = partial(list_by_two, self.state)
        chunks = deque(self._chunks(level))
        share = len(self.listed) // self.threads
        parts = [self.listed[thread * share : (thread + 1) * share] for thread in range(self.threads)]
        lengths = [0] * self.threads
        buckets = self.buckets

        def work(thread: int) -> None:
            while True:
                try:
                    topics = chunks.popleft()
                except IndexError:
                    break
                rest = parts[thread][lengths[thread] :]
                found = int(listing(buckets[thread], topics, low, high, rest))
                if found == FULL_LIST:
                    lengths[thread] = -1
                    chunks.clear()
                    break
                lengths[thread] += found
                if thread == 0:
                    self.report()

        self._on_each_thread(work, chunks.clear)
        if min(lengths) < 0:
            return None
        rows = min(high, self.interest.num_nodes) - low
        return self.sort([part[:length] for part, length in zip(parts, lengths, strict=True)], low, rows)

    def sort(self, parts: list[Offsets], low: int, rows: int) -> Offsets:
        """Return the listed pairs of all threads in order; they are pairs of some rows from `low` on."""
        bits, row_bits = (self.interest.num_nodes - 1).bit_length(), (rows - 1).bit_length()
        # The rest of u and v must fit into a key.
        shift = max(min(row_bits - GROUP_BITS, KEY_BITS - bits), 0)
        groups = Groups(low, shift, bits)
        counts = np.zeros((self.threads, ((rows - 1) >> shift) + 1), dtype=np.int64)
        self._on_each_thread(lambda thread: count_groups(groups, parts[thread], counts[thread]))
        # In each group, what the first thread has listed comes first.
        places = np.cumsum(counts.T).reshape(counts.T.shape).T - counts
        sizes = counts.sum(axis=0)
        ends = np.cumsum(sizes)
        keys, listed = self.keys, self.listed
        self._on_each_thread(lambda thread: deal_groups(groups, parts[thread], places[thread], keys))
        bounds = np.searchsorted(ends, np.linspace(0, ends[-1], self.threads + 1)[1:-1])
        bounds = np.concatenate(([0], bounds, [len(ends)]))
        values = 1 << digit_bits(bits + shift, int(ends[-1]) // len(ends))

        def sort(thread: int) -> None:
            digits, spare = np.empty(values, dtype=np.int64), np.empty(sizes.max(), dtype=np.uint32)
            first, end = int(bounds[thread]), int(bounds[thread + 1])
            sort_groups(groups, keys, spare, listed, ends, first, end, digits)

        self._on_each_thread(sort)
        return listed[: ends[-1]]

    def _on_each_thread(self, work: Callable[[int], None], cancel: Callable[[], None] = lambda: None) -> None:
        """Call a function with the number of each thread, on that thread, and wait for all of them.

        If one fails, or is interrupted, `cancel` tells the others to stop.
        """

        def watched(thread: int) -> None:
            try:
                work(thread)
            except BaseException:
                cancel()
                raise

        jobs = [self.pool.submit(watched, thread) for thread in range(1, self.threads)]
        try:
            watched(0)
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


def most_places(interest: Interest) -> int:
    """Return how many places the subscribers of a topic need at most, with one to write beyond them."""
    places = np.zeros(interest.num_topics, dtype=np.int64)
    add_places(interest.node_ptr, interest.node_topics, places)
    return int(places.max(initial=0)) + 1


def lay_out_buckets(state: State, places: int) -> Buckets:
    """Return the working memory of one thread that lists pairs, for `most_places`."""
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
