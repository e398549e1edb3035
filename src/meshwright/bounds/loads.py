"""The loads of all pairs of nodes under some prices, on one or more threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, frozen
from meshwright.bounds.prices import SCALE
from meshwright.interest import Interest

if TYPE_CHECKING:
    from meshwright.bounds.load_kernels import Flags, Floats, Relation, Whole

Answer = TypeVar("Answer")

MOST_PAIRS = 2_500_000
"""The most pairs that one scan keeps: bounds its memory."""
ROOM = 100_000
"""How many pairs each thread has room for at first."""


class Scan(NamedTuple):
    """What a scan finds: the pairs above its threshold in order, or every `every`-th of them."""

    u: Ids
    """By pair: the lower node."""
    v: Ids
    """By pair: the upper node."""
    load: Floats
    """By pair: what it carries."""
    every: int
    """Each pair stands for this many."""
    excess: float
    """What all pairs carry beyond 1, in all."""
    heaviest: Floats
    """By slot: the largest load of a pair that counts it, or 1 if none carries more."""


class ExactLoads(NamedTuple):
    """What exact integers show, in units of 1/2³⁰."""

    excess: int
    """What all pairs carry beyond 1, in all."""
    heaviest: Whole
    """By slot: the largest load, of those up to the ceiling, of a pair that counts it."""
    paying: Flags
    """By slot: whether it is the larger price in a pair that carries more than the ceiling."""


class Loads:
    """The pair loads of one interest, for any prices; the answers do not depend on `threads`."""

    def __init__(self, interest: Interest, threads: int = 1) -> None:
        from meshwright.bounds.load_kernels import NONE

        self.interest, self.relation = interest, relation_of(interest)
        later = np.asarray(interest.topic_ptr)[interest.node_topics + 1] - self.relation.place
        self.updates = int(later.sum())
        """How many additions all loads take."""
        self.threads = threads
        # Threads get rows by their work: the additions, and an eighth as much for a look at each later node.
        work = np.concatenate(([0], np.cumsum(later, dtype=np.float64)))[interest.node_ptr]
        work += np.arange(interest.num_nodes + 1) * (interest.num_nodes / 8)
        cuts = np.searchsorted(work, np.linspace(0, work[-1], threads + 1)[1:-1]).tolist()
        self._blocks = list(zip([0, *cuts], [*cuts, interest.num_nodes], strict=True))
        self._rooms = [ROOM] * threads
        self._float_rows = np.zeros((threads, interest.num_nodes), dtype=np.float32)
        self._exact_rows = np.zeros((threads, interest.num_nodes), dtype=np.int64)
        self.marks = np.full((threads, interest.num_topics), NONE, dtype=np.int32)
        """Working memory of kernels: −1 between their calls."""

    def scan(self, price: Floats, threshold: float, extra: Floats | None = None) -> Scan:
        """Return the pairs that carry more than `threshold`, and what is carried beyond 1; prices by slot.

        What the ends of a pair allow it beyond 1, `extra` by node, does not count as carried.
        """
        by_place = price[self.interest.topic_slots]
        if extra is None:
            extra = np.zeros(self.interest.num_nodes, dtype=np.float32)
        every = 1
        while True:
            found, excess, heaviest = self._scan_all(by_place, extra, threshold, every)
            kept = sum(part[0] for part in found)
            if kept <= MOST_PAIRS:
                break
            # Too many: scan again and keep fewer of them, evenly. Each row may keep one more than its share.
            more = 1 + every * kept // MOST_PAIRS
            for thread, part in enumerate(found):
                wanted = part[0] * every // more + self.interest.num_nodes
                self._rooms[thread] = max(self._rooms[thread], min(wanted, MOST_PAIRS))
            every = more
        u, v, load = (np.concatenate([part[column] for part in found]) for column in (1, 2, 3))
        # Rows are added up one by one: `sum` would group them, by rules that differ between machines.
        total = float(np.cumsum(excess)[-1]) if len(excess) else 0.0
        return Scan(u, v, load, every, total, heaviest.max(axis=0)[self.relation.place])

    def _scan_all(
        self, price: Floats, extra: Floats, threshold: float, every: int
    ) -> tuple[list[tuple[int, Ids, Ids, Floats]], NDArray[np.float64], Floats]:
        """Scan all rows; return what each thread keeps, the excess by row, and the heaviest by thread."""
        from meshwright.bounds.load_kernels import ScanRoom, Scratch, scan

        excess = np.zeros(self.interest.num_nodes)
        heaviest = np.ones((self.threads, len(price)), dtype=np.float32)

        def work(thread: int, first: int, last: int) -> tuple[int, Ids, Ids, Floats]:
            scratch = Scratch(self._float_rows[thread], self.marks[thread])
            while True:
                size = self._rooms[thread]
                u, v = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
                room = ScanRoom(excess, heaviest[thread], u, v, np.empty(size, dtype=np.float32))
                kept = scan(
                    self.relation, price, extra, first, last, np.float32(threshold), every, scratch, room
                )
                if kept <= size or kept > MOST_PAIRS:
                    return kept, u[:kept], v[:kept], room.load[:kept]
                # Not all of them found room: make more, and scan these rows again.
                self._rooms[thread] = kept + kept // 4

        return self.for_each_block(work, self._blocks), excess, heaviest

    def weigh(
        self, scaled: Whole, ceiling: int = SCALE, *, lifting: bool = True, extra: Whole | None = None
    ) -> ExactLoads:
        """Return in integers what is carried beyond 1 and, if `lifting`, what bounds each price; by slot.

        What the ends of a pair allow it beyond 1, `extra` by node, does not count as carried.
        """
        from meshwright.bounds.load_kernels import Scratch, WeighRoom, weigh

        by_place = scaled[self.interest.topic_slots]
        if extra is None:
            extra = np.zeros(self.interest.num_nodes, dtype=np.int64)
        heaviest = np.zeros((self.threads, len(scaled)), dtype=np.int64)
        paying = np.zeros((self.threads, len(scaled)), dtype=np.bool_)

        def work(thread: int, first: int, last: int) -> int:
            scratch = Scratch(self._exact_rows[thread], self.marks[thread])
            room = WeighRoom(heaviest[thread], paying[thread])
            return int(weigh(self.relation, by_place, extra, first, last, ceiling, lifting, scratch, room))

        excess = sum(self.for_each_block(work, self._blocks))
        place = self.relation.place
        return ExactLoads(excess, heaviest.max(axis=0)[place], np.logical_or.reduce(paying)[place])

    def for_each_block(
        self, work: Callable[[int, int, int], Answer], blocks: list[tuple[int, int]]
    ) -> list[Answer]:
        """Call `work` with the number and the bounds of each block, on several threads if there are."""
        if self.threads == 1:
            return [work(i, first, last) for i, (first, last) in enumerate(blocks)]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, range(len(blocks)), *zip(*blocks, strict=True)))


def relation_of(interest: Interest) -> Relation:
    """Return an interest in the layout of the kernels."""
    from meshwright.bounds.load_kernels import Relation

    place = np.empty(interest.num_subscriptions, dtype=np.int32)
    place[interest.topic_slots] = np.arange(interest.num_subscriptions, dtype=np.int32)
    here = interest.node_ptr, interest.node_topics, interest.topic_ptr, interest.topic_nodes
    return Relation(*here, frozen(place, np.int32))
