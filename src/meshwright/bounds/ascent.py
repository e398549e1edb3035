"""The ascent that improves prices: rounds of a scan of all pairs and some steps on the tight ones.

Prices want to rise, and pairs hold them down. A pair that carries L pulls with the weight e^(η·(L − 1)),
which is small as long as the pair is slack. A price rests when the pulls on it, its *strain*, add up to 1.
The larger η, the nearer tight pairs get to 1: it starts low, where prices move far, and rises.

The steps between two scans use a *pool* of tight pairs instead of all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids
from meshwright.bounds.prices import SCALE, to_integers, total_demand
from meshwright.jit.announce import Clock, working_seconds

if TYPE_CHECKING:
    from meshwright.bounds.load_kernels import Floats
    from meshwright.bounds.loads import Loads, Scan
    from meshwright.bounds.step_kernels import Pool

STEPS = 160
"""Steps of the prices in all."""
LOOSE, STIFF = 20.0, 500.0
"""η at the first step, and at the last."""
PAYING = 88
"""From this step on a pair weighs no more than 1. It may then carry more than 1, which is paid for."""
RESTRAINT = 3.0
"""Before that, a pair weighs at most e to this power."""
REACH, FARTHEST = 10.0, 0.6
"""Scans look for pairs of a weight above e^−10 that carry at least 1 − 0.6."""
SOFTNESS = 3.0
"""Two prices share a pair's weight if they differ by less than this share of 1/η."""
RATE, PERSISTENCE = 2.0, 0.8
"""The length of a step, over η, and the share of the last step in it."""
FEWEST_STEPS, MOST_STEPS = 8, 15
"""Steps between two scans: the smaller the pool is compared with all pairs, the more."""
SLIP = 0.95
"""A value below this share of the best was a step too far: go back, and continue with shorter steps."""
SHORTER, WIDER = 0.7, 2.0
"""After a slip, steps get shorter by this factor, and the care of pools larger by this much."""
CARE = 5.0
"""Pairs that weigh more than e to minus this are all in a pool, as far as there is room."""
PARTS = 4
"""A pool is processed in this many parts, on any number of threads: sums must not depend on that."""


class Stopwatch:
    """How long each part of a round has taken at most."""

    def __init__(self) -> None:
        self.longest = {"scan": 0.0, "pool": 0.0, "step": 0.0}

    @contextmanager
    def time(self, part: str) -> Iterator[None]:
        """Measure one part."""
        began = working_seconds()
        yield
        self.longest[part] = max(self.longest[part], working_seconds() - began)

    @property
    def shortest_round(self) -> float:
        """The seconds of a round with a single step."""
        return sum(self.longest.values())

    @property
    def rest_of_round(self) -> float:
        """The seconds of one more step and the scan that ends a round."""
        return self.longest["step"] + self.longest["scan"]


def stiffness(step: int, loose: float = LOOSE, steps: int = STEPS) -> float:
    """Return η at a step, if it is `loose` at the first one of all `steps`.

    >>> stiffness(0), stiffness(STEPS), stiffness(5, 50.0, 10)
    (20.0, 500.0, 158.114)
    """
    return float(round(loose * (STIFF / loose) ** (min(step, steps) / steps), 3))


class Ascent:
    """Prices that improve round by round, from step 0, or from `PAYING` if they are good already."""

    loose, steps = LOOSE, STEPS
    """η at the first step, and the number of steps in all."""

    def __init__(self, loads: Loads, price: Floats, step: int = 0, clock: Clock | None = None) -> None:
        self.loads, self.price, self.step = loads, price.copy(), step
        self.clock, self.watch = clock or Clock(None), Stopwatch()
        self.rate, self.care = RATE, CARE
        self.momentum = np.zeros_like(price)
        self.extra = np.zeros(loads.interest.num_nodes, dtype=np.float32)
        """By node: what it allows each of its pairs to carry beyond 1."""
        self.highest = 1.0
        """No price rises above this."""
        self.paying = False
        self.best = self.best_paying = self.price.copy()
        self.value = self.value_paying = 0.0
        """What the best prices prove: with no pair above 1, and with pairs above 1 that are paid for."""
        self.pool: Pool | None = None
        self.slipped = False
        self.scan = self._scan()

    @property
    def done(self) -> bool:
        """Whether all steps were made, or there is no time for another round."""
        return self.step >= self.steps or not self.clock.allows(self.watch.shortest_round)

    @property
    def stiffness(self) -> float:
        """η at the current step."""
        return stiffness(self.step, self.loose, self.steps)

    def round(self) -> None:
        """Make some steps on the pairs that the last scan found, then scan again."""
        if self.step >= PAYING and not self.paying:
            self._begin_paying()
        eta = self.stiffness
        with self.watch.time("pool"):
            self.pool = make_pool(self.loads, self.scan, eta, self.care, self.pool if self.slipped else None)
        count = round(1.5 * self.loads.updates / max(len(self.pool.ours), 1))
        count = min(max(count, FEWEST_STEPS), MOST_STEPS, (self.steps if self.paying else PAYING) - self.step)
        for _ in range(count):
            with self.watch.time("step"):
                self._move(self.pool, eta)
            self.step += 1
            # Pools differ in size: a round may take far longer than the last one did.
            if not self.clock.allows(self.watch.rest_of_round):
                break
        self.scan = self._scan()
        if not self.paying:
            # Neither divisor of a pair is below its load, so no pair carries more than 1 afterwards.
            self.price /= self.scan.heaviest
        self._keep_best()

    def _scan(self) -> Scan:
        # A scan looks for the pairs that have a weight, not farther than that is worth it.
        reach = min(REACH / self.stiffness, FARTHEST)
        with self.watch.time("scan"):
            return self.loads.scan(self.price, 1 - reach, self.extra)

    def _begin_paying(self) -> None:
        """Continue from the best prices; set the least of each topic to 0, as it asks for nothing."""
        self.paying = True
        self.price = self.best.copy()
        self.price[roots(self.loads, self.price)] = 0
        self.best_paying = self.price.copy()
        self.momentum[:] = 0

    def _move(self, pool: Pool, eta: float) -> None:
        """Make one step on a pool."""
        from meshwright.bounds.step_kernels import add_strain, move

        cap = 0.0 if self.paying else RESTRAINT
        strains = np.empty((PARTS, len(self.price)), dtype=np.float32)
        pulls = np.empty((PARTS, len(self.extra)), dtype=np.float32)
        cuts = [len(pool.u) * part // PARTS for part in range(PARTS + 1)]

        def work(part: int, first: int, last: int) -> None:
            add_strain(
                pool, first, last, self.price, self.extra, np.float32(eta), np.float32(cap),
                np.float32(eta / SOFTNESS), strains[part], pulls[part],
            )  # fmt: skip

        self.loads.for_each_block(work, list(pairwise(cuts)))
        rate, highest = np.float32(self.rate / eta), np.float32(self.highest)
        move(strains, self.price, self.momentum, rate, np.float32(PERSISTENCE), highest)
        self._move_extra(pulls, eta)

    def _move_extra(self, pulls: Floats, eta: float) -> None:
        """Change what nodes allow; without a limit of their links, that is nothing."""

    def _keep_best(self) -> None:
        """Keep the prices if they are the best so far; go back to the best if they are far worse."""
        value = total_demand(self.loads.interest, to_integers(self.price)) / SCALE
        if self.paying:
            value -= self.scan.excess
        best = self.value_paying if self.paying else self.value
        self.slipped = value < SLIP * best
        if self.slipped:
            self.price = (self.best_paying if self.paying else self.best).copy()
            self._shorten()
        elif value > best and self.paying:
            self.value_paying, self.best_paying = value, self.price.copy()
        elif value > best:
            self.value, self.best = value, self.price.copy()

    def _shorten(self) -> None:
        """Continue from a standstill, with shorter steps on larger pools."""
        self.momentum[:] = 0
        self.rate *= SHORTER
        self.care += WIDER


def roots(loads: Loads, price: Floats) -> list[int]:
    """Return for each topic the slot of its least price, the first among equals."""
    slots, ptr = loads.interest.topic_slots, loads.interest.topic_ptr.tolist()
    by_place = price[slots]
    return [
        int(slots[first + np.argmin(by_place[first:last])]) for first, last in pairwise(ptr) if last > first
    ]


ENTRIES_PER_SLOT = 30
"""How large a pool may be: shared topics of its pairs, for each subscription."""
FEWEST_ENTRIES, MOST_ENTRIES = 20_000, 12_000_000
"""But always at least and at most this many."""
SAMPLE = 2_000
"""The number of pairs from which to estimate how many topics a pair shares."""


def make_pool(loads: Loads, scan: Scan, eta: float, care: float, older: Pool | None = None) -> Pool:
    """Return a pool of the pairs that a scan found and of those of an older pool.

    Of the pairs with a weight e^(η·(L − 1)) below e^−`care` only a sample is taken, with a higher weight
    instead; likewise of heavier ones if there are too many.
    """
    mean = _shared_topics(loads, scan)
    entries = ENTRIES_PER_SLOT * loads.interest.num_subscriptions
    entries = min(max(entries, FEWEST_ENTRIES), MOST_ENTRIES)
    chance = sampling_chances(eta * (scan.load.astype(np.float64) - 1), care, entries / max(mean, 1.0))
    # Take a pair wherever the running sum of chances passes a whole number: an even sample without
    # randomness.
    taken = np.diff(np.floor(np.cumsum(chance)), prepend=0.0) > 0
    u, v = scan.u[taken], scan.v[taken]
    weight = (scan.every / chance[taken]).astype(np.float32)
    if older is not None:
        u, v, weight = _add_older(u, v, weight, older)
    return list_shared_topics(loads, u, v, weight)


def sampling_chances(exponent: NDArray[np.float64], care: float, most: float) -> NDArray[np.float64]:
    """Return the chance of taking each pair of weight e^exponent: e^(exponent + care), at most 1.

    If that takes more than `most` pairs in all, `care` is lowered, down to 1.
    """
    stride = 1 + len(exponent) // 20_000
    some = exponent[::stride]
    less = care
    # A running sum, since `sum` groups its terms by rules that differ between machines; 0 without pairs.
    while less > 1 and float(np.cumsum(_nearness(some + less), dtype=np.float64)[-1:].sum()) * stride > most:
        less = max(1.0, less - 0.25)
    return _nearness(exponent + less)


def _nearness(exponent: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return nearly e^exponent, but at most 1, rounded alike by every machine."""
    near = np.maximum(1 + np.minimum(exponent, 0.0) / 64, 0.0)
    for _ in range(6):
        near *= near
    return np.maximum(near, 1e-9)


def list_shared_topics(loads: Loads, u: Ids, v: Ids, weight: Floats) -> Pool:
    """Return a pool of these pairs, with the topics that each shares; pairs with the same u are adjacent."""
    from meshwright.bounds.step_kernels import Pool, count_shared, fill_shared

    ptr = np.zeros(len(u) + 1, dtype=np.int64)
    mark = loads.marks[0]
    count_shared(loads.relation, u, v, mark, ptr)
    ours, theirs = np.empty(ptr[-1], dtype=np.int32), np.empty(ptr[-1], dtype=np.int32)
    fill_shared(loads.relation, u, v, mark, ptr, ours, theirs)
    return Pool(u, v, weight, ptr, ours, theirs)


def _shared_topics(loads: Loads, scan: Scan) -> float:
    """Estimate how many topics a pair shares on average."""
    stride = 1 + len(scan.u) // SAMPLE
    some = list_shared_topics(loads, scan.u[::stride].copy(), scan.v[::stride].copy(), scan.load[::stride])
    return len(some.ours) / max(len(some.u), 1)


def _add_older(u: Ids, v: Ids, weight: Floats, older: Pool) -> tuple[Ids, Ids, Floats]:
    """Add the pairs of an older pool that are missing, each with weight 1."""
    us, vs = np.concatenate((u, older.u)), np.concatenate((v, older.v))
    weights = np.concatenate((weight, np.ones(len(older.u), dtype=np.float32)))
    # A stable sort: of two equal pairs the newer one comes first, and stays.
    order = np.lexsort((vs, us))
    us, vs, weights = us[order], vs[order], weights[order]
    new = np.concatenate(([True], (us[1:] != us[:-1]) | (vs[1:] != vs[:-1])))[: len(us)]
    return us[new], vs[new], weights[new]
