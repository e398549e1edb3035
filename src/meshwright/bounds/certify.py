"""From prices in floating point to a bound that integers prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.bounds.prices import SCALE, Prices

if TYPE_CHECKING:
    from meshwright.bounds.kernels.loads import Floats, Whole
    from meshwright.bounds.loads import Loads, Weighing
    from meshwright.interest import Interest

NO_CEILING = 2**62
NEARLY = SCALE + SCALE // 1000
"""A pair that carries a little more than 1 is brought down to it rather than paid for."""
LIFTS = 3


def asked(interest: Interest, scaled: Whole) -> int:
    """Return what all topics ask for: the sum of their subscribers' prices without the least, in integers."""
    starts = interest.topic_ptr[:-1][np.diff(interest.topic_ptr) > 0]
    if not len(starts):
        return 0
    by_place = scaled[interest.topic_slots]
    return int(by_place.sum()) - int(np.minimum.reduceat(by_place, starts).sum())


def integers(price: Floats) -> Whole:
    """Return prices in units of 1/2³⁰, rounded down."""
    return (price.astype(np.float64) * SCALE).astype(np.int64)


def proven(value: int) -> int:
    """Return the whole number of links that a value in units of 1/2³⁰ proves."""
    return max(0, -(-value // SCALE))


def first_prices(loads: Loads) -> Prices:
    """Return all prices of 1, brought down by the largest load of a pair that counts each.

    For u and v the divisor of either price is at least the load of the pair, in each topic that they share:
    what is left of the load is at most 1.
    """
    ones = np.full(loads.interest.num_subscriptions, SCALE, dtype=np.int64)
    found = loads.weigh(ones, NO_CEILING)
    scaled = np.where(found.heaviest > 0, lifted(ones, found), 0)
    return certified(loads, scaled)


def certified(loads: Loads, scaled: Whole) -> Prices:
    """Return prices with the bound that they prove, all pairs checked in integers."""
    value = asked(loads.interest, scaled) - loads.weigh(scaled, lifting=False).excess
    return Prices(loads.interest, scaled, proven(value))


def polished(loads: Loads, price: Floats) -> Prices:
    """Round prices to integers and lift them while that proves more; return the best, certified."""
    interest, scaled = loads.interest, integers(price)
    best, best_value = scaled, -1
    for lift in range(LIFTS + 1):
        found = loads.weigh(scaled, NEARLY if lift == 0 else SCALE, lifting=lift < LIFTS)
        value = asked(interest, scaled) - found.excess
        if value > best_value:
            best, best_value = scaled, value
        scaled = lifted(scaled, found)
    return Prices(interest, best, proven(best_value))


def lifted(scaled: Whole, found: Weighing) -> Whole:
    """Divide each price by the largest load of a pair that counts it: what was slack becomes tight.

    A pair that carries at most the ceiling then carries at most 1, since neither divisor is below its load,
    and rounding is downwards. Prices that pay for a pair beyond the ceiling do not rise.
    """
    divisor = np.where(found.heaviest > 0, found.heaviest, SCALE)
    divisor = np.where(found.paying, np.maximum(divisor, SCALE), divisor)
    return np.minimum(scaled * SCALE // divisor, SCALE)
