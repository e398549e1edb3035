"""Raising the value of prices: rounds of a scan of all pairs and some steps on the tight ones.

Prices want to rise, and pairs hold them down. A pair that carries L pulls with the weight e^(η·(L − 1)), so
with little as long as it is slack; a price rests when the pulls on it, its strain, come to 1. The stiffer η,
the nearer to 1 tight pairs get: it starts low, where prices move far, and rises.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from meshwright.bounds.certify import asked, integers
from meshwright.bounds.pool import make_pool
from meshwright.bounds.prices import SCALE

if TYPE_CHECKING:
    from meshwright.bounds.kernels.loads import Floats
    from meshwright.bounds.loads import Loads
    from meshwright.bounds.pool import Pool

STEPS = 160
"""Steps of the prices in all."""
LOOSE, STIFF = 20.0, 500.0
"""η at the first step, and at the last."""
PAYING = 88
"""From this step on a pair weighs no more than 1: it may carry more than that, which is paid for."""
RESTRAINT = 3.0
"""Before, a pair weighs at most e to this."""
REACH, FARTHEST = 10.0, 0.6
"""Pairs of a weight above e^−10 are looked at, but none that carries less than 1 − 0.6."""
SOFTNESS = 3.0
"""Two prices share a pair's weight when they differ by less than this share of η."""
RATE, PERSISTENCE = 2.0, 0.8
"""The length of a step, over η, and how much of the last one is in it."""
FEWEST_STEPS, MOST_STEPS = 8, 15
"""Steps between two scans: the more, the smaller a pool is beside all pairs."""
SLIP = 0.95
"""A value that falls below this share of the best was a step too far: back, and on with shorter steps."""
SHORTER, WIDER = 0.7, 2.0
"""After a slip steps are shorter by this factor, and the care of pools larger by this."""
CARE = 5.0
"""Pairs that weigh more than e to minus this are all in a pool, as far as there is room."""
PARTS = 4
"""A pool is worked on in so many parts by however many threads: sums must not depend on those."""


def stiffness(step: int) -> float:
    """Return η at a step.

    >>> stiffness(0), stiffness(STEPS)
    (20.0, 500.0)
    """
    return float(round(LOOSE * (STIFF / LOOSE) ** (min(step, STEPS) / STEPS), 3))


def reach(step: int) -> float:
    """Return by how much the load of a pair that is looked at may fall short of 1."""
    return min(REACH / stiffness(step), FARTHEST)


class Ascent:
    """Prices on their way up, from step 0, or from `PAYING` if they are good already."""

    def __init__(self, loads: Loads, price: Floats, step: int = 0) -> None:
        self.loads, self.price, self.step = loads, price.copy(), step
        self.rate, self.care = RATE, CARE
        self.momentum = np.zeros_like(price)
        self.paying = False
        self.best = self.best_paying = self.price.copy()
        self.value = self.value_paying = 0.0
        """What the best prices prove, without pairs that are paid for and with them."""
        self.pool: Pool | None = None
        self.slipped = False
        self.scan = loads.scan(self.price, 1 - reach(step))

    @property
    def done(self) -> bool:
        """Whether all steps were made."""
        return self.step >= STEPS

    def round(self) -> None:
        """Make some steps on the pairs that the last scan found, and scan again."""
        if self.step >= PAYING and not self.paying:
            self._begin_paying()
        eta = stiffness(self.step)
        self.pool = make_pool(self.loads, self.scan, eta, self.care, self.pool if self.slipped else None)
        count = round(1.5 * self.loads.updates / max(len(self.pool.ours), 1))
        count = min(max(count, FEWEST_STEPS), MOST_STEPS, (STEPS if self.paying else PAYING) - self.step)
        for _ in range(count):
            self._move(self.pool, eta)
        self.step += count
        self.scan = self.loads.scan(self.price, 1 - reach(self.step))
        if not self.paying:
            self.price /= self.scan.heaviest  # then no pair carries more than 1
        self._judge()

    def _begin_paying(self) -> None:
        """Go on from the best prices; in each topic the least of them is the root's, and asks for nothing."""
        self.paying = True
        self.price = self.best.copy()
        self.price[roots(self.loads, self.price)] = 0
        self.best_paying = self.price.copy()
        self.momentum[:] = 0

    def _move(self, pool: Pool, eta: float) -> None:
        from meshwright.bounds.kernels.steps import move, strain_of

        cap = 0.0 if self.paying else RESTRAINT
        strains = np.empty((PARTS, len(self.price)), dtype=np.float32)
        cuts = [len(pool.u) * part // PARTS for part in range(PARTS + 1)]

        def work(part: int, first: int, last: int) -> None:
            strain_of(
                pool.ptr, pool.ours, pool.theirs, pool.weight, first, last, self.price, np.float32(eta),
                np.float32(cap), np.float32(eta / SOFTNESS), strains[part],
            )  # fmt: skip

        self.loads.each(work, list(pairwise(cuts)))
        move(strains, self.price, self.momentum, np.float32(self.rate / eta), np.float32(PERSISTENCE))

    def _judge(self) -> None:
        """Keep the prices if they are the best so far; go back to those if they are far worse."""
        value = asked(self.loads.interest, integers(self.price)) / SCALE
        if self.paying:
            value -= self.scan.excess
        best = self.value_paying if self.paying else self.value
        self.slipped = value < SLIP * best
        if self.slipped:
            self.price = (self.best_paying if self.paying else self.best).copy()
            self.momentum[:] = 0
            self.rate *= SHORTER
            self.care += WIDER
        elif value > best and self.paying:
            self.value_paying, self.best_paying = value, self.price.copy()
        elif value > best:
            self.value, self.best = value, self.price.copy()


def roots(loads: Loads, price: Floats) -> list[int]:
    """Return for each topic the slot of its least price, the first of equals."""
    slots, ptr = loads.interest.topic_slots, loads.interest.topic_ptr.tolist()
    by_place = price[slots]
    return [
        int(slots[first + np.argmin(by_place[first:last])]) for first, last in pairwise(ptr) if last > first
    ]
