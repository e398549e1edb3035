"""All pair loads of some prices, on one or more threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from meshwright.arrays import frozen
from meshwright.bounds.prices import SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.bounds.kernels.loads import Floats, Relation, Whole
    from meshwright.interest import Interest

Answer = TypeVar("Answer")

MOST_PAIRS = 2_500_000
"""No more pairs than this are kept of one scan: bounds its memory."""
ROOM = 100_000
"""For how many pairs of each thread there is room at first."""


class Scan(NamedTuple):
    """What a scan found: the pairs above its threshold in order, or every `every`-th of them."""

    u: Ids
    v: Ids
    load: Floats
    every: int
    excess: float
    """What all pairs carry beyond 1, in all."""
    heaviest: Floats
    """By slot: the largest load of a pair that counts it, or 1 if none carries more."""


class Weighing(NamedTuple):
    """What exact integers say, in units of 1/2³⁰."""

    excess: int
    """What all pairs carry beyond 1, in all."""
    heaviest: Whole
    """By slot: the largest load, of those up to the ceiling, of a pair that counts it."""
    paying: NDArray[np.bool_]
    """By slot: whether it is the larger price in a pair that carries more than the ceiling."""


class Loads:
    """The pair loads of one interest, for whatever prices; the answers do not depend on `threads`."""

    def __init__(self, interest: Interest, threads: int = 1) -> None:
        from meshwright.bounds.kernels.loads import NONE

        self.interest, self.relation = interest, lay_out(interest)
        later = np.asarray(interest.topic_ptr)[interest.node_topics + 1] - self.relation.place
        self.updates = int(later.sum())
        """How many additions all loads take."""
        self.threads = threads
        # Rows are dealt out by their work: the additions, and a look at each later node.
        work = np.concatenate(([0], np.cumsum(later, dtype=np.float64)))[interest.node_ptr]
        work += np.arange(interest.num_nodes + 1) * (interest.num_nodes / 8)
        cuts = np.searchsorted(work, np.linspace(0, work[-1], threads + 1)[1:-1]).tolist()
        self._blocks = list(zip([0, *cuts], [*cuts, interest.num_nodes], strict=True))
        self._rooms = [ROOM] * threads
        self._float_rows = np.zeros((threads, interest.num_nodes), dtype=np.float32)
        self._exact_rows = np.zeros((threads, interest.num_nodes), dtype=np.int64)
        self.marks = np.full((threads, interest.num_topics), NONE, dtype=np.int32)
        """Working memory of kernels, −1 between their calls."""

    def scan(self, price: Floats, threshold: float) -> Scan:
        """Find the pairs that carry more than `threshold`, and what is carried beyond 1; prices by slot."""
        by_place = price[self.interest.topic_slots]
        every = 1
        while True:
            excess = np.zeros(self.interest.num_nodes)
            heaviest = np.ones((self.threads, len(price)), dtype=np.float32)

            def scan(thread: int, first: int, last: int) -> tuple[int, Ids, Ids, Floats]:
                return self._scan_rows(thread, first, last, by_place, threshold, every, excess, heaviest)  # noqa: B023

            found = self.each(scan, self._blocks)
            kept = sum(part[0] for part in found)
            if kept <= MOST_PAIRS:
                break
            every = 1 + every * kept // MOST_PAIRS
        u, v, load = (np.concatenate([part[column] for part in found]) for column in (1, 2, 3))
        total = float(np.cumsum(excess)[-1]) if len(excess) else 0.0
        return Scan(u, v, load, every, total, heaviest.max(axis=0))

    def _scan_rows(
        self,
        thread: int,
        first: int,
        last: int,
        price: Floats,
        threshold: float,
        every: int,
        excess: NDArray[np.float64],
        heaviest: Floats,
    ) -> tuple[int, Ids, Ids, Floats]:
        from meshwright.bounds.kernels.loads import scan

        while True:
            room = self._rooms[thread]
            us, vs = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
            loads = np.empty(room, dtype=np.float32)
            kept = scan(
                self.relation, price, first, last, np.float32(threshold), every, self._float_rows[thread],
                self.marks[thread], excess, heaviest[thread], us, vs, loads,
            )  # fmt: skip
            if kept <= room or kept > MOST_PAIRS:
                return kept, us[:kept], vs[:kept], loads[:kept]
            self._rooms[thread] = kept + kept // 4

    def weigh(self, scaled: Whole, ceiling: int = SCALE, *, lifting: bool = True) -> Weighing:
        """Add up in integers what is carried beyond 1, and, if `lifting`, what bounds each price; by slot."""
        from meshwright.bounds.kernels.loads import weigh

        by_place = scaled[self.interest.topic_slots]
        heaviest = np.zeros((self.threads, len(scaled)), dtype=np.int64)
        paying = np.zeros((self.threads, len(scaled)), dtype=np.bool_)

        def work(thread: int, first: int, last: int) -> int:
            load, mark = self._exact_rows[thread], self.marks[thread]
            beyond = weigh(
                self.relation, by_place, first, last, SCALE, ceiling, lifting, load, mark,
                heaviest[thread], paying[thread],
            )  # fmt: skip
            return int(beyond)

        excess = sum(self.each(work, self._blocks))
        place = self.relation.place
        return Weighing(excess, heaviest.max(axis=0)[place], np.logical_or.reduce(paying)[place])

    def each(self, work: Callable[[int, int, int], Answer], blocks: list[tuple[int, int]]) -> list[Answer]:
        """Do the work for each block, on a thread of its own if there are several."""
        if self.threads == 1:
            return [work(i, first, last) for i, (first, last) in enumerate(blocks)]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, range(len(blocks)), *zip(*blocks, strict=True)))


def lay_out(interest: Interest) -> Relation:
    """Arrange an interest for the kernels."""
    from meshwright.bounds.kernels.loads import Relation

    place = np.empty(interest.num_subscriptions, dtype=np.int32)
    place[interest.topic_slots] = np.arange(interest.num_subscriptions, dtype=np.int32)
    return Relation(
        frozen(interest.node_ptr, np.int64),
        frozen(interest.node_topics, np.int32),
        frozen(interest.topic_ptr, np.int64),
        frozen(interest.topic_nodes, np.int32),
        frozen(place, np.int32),
    )
