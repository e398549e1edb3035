"""From prices in floating point to a bound that is proven in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.bounds.prices import SCALE, Prices

if TYPE_CHECKING:
    from meshwright.bounds.kernels.loads import Floats, Whole
    from meshwright.bounds.loads import ExactLoads, Loads
    from meshwright.interest import Interest

NO_CEILING = 2**62
"""More than any pair carries."""
NEARLY = SCALE + SCALE // 1000
"""A pair that carries at most this is brought down to 1 instead of being paid for."""
LIFTS = 3
"""How often prices are lifted at most."""


def total_demand(interest: Interest, scaled: Whole) -> int:
    """Return what all topics ask for: the sum of their subscribers' prices without the least, in integers."""
    starts = interest.topic_ptr[:-1][np.diff(interest.topic_ptr) > 0]
    if not len(starts):
        return 0
    by_place = scaled[interest.topic_slots]
    return int(by_place.sum()) - int(np.minimum.reduceat(by_place, starts).sum())


def to_integers(price: Floats) -> Whole:
    """Return prices in units of 1/2³⁰, rounded down."""
    return (price.astype(np.float64) * SCALE).astype(np.int64)


def proven_links(value: int) -> int:
    """Return the number of links that a value in units of 1/2³⁰ proves: rounded up, as links are whole."""
    return max(0, -(-value // SCALE))


def first_prices(loads: Loads) -> Prices:
    """Return prices of 1, each divided by the largest load of a pair that counts it.

    For u and v, in each topic that they share, the divisor of either price is at least the load of the pair.
    So the pair carries at most 1 afterwards.
    """
    ones = np.full(loads.interest.num_subscriptions, SCALE, dtype=np.int64)
    found = loads.weigh(ones, NO_CEILING)
    scaled = np.where(found.heaviest > 0, lift(ones, found), 0)
    return certify(loads, scaled)


def certify(loads: Loads, scaled: Whole) -> Prices:
    """Return prices with the bound that they prove, adding up all pairs in integers."""
    value = total_demand(loads.interest, scaled) - loads.weigh(scaled, lifting=False).excess
    return Prices(loads.interest, scaled, proven_links(value))


def polish(loads: Loads, price: Floats) -> Prices:
    """Round prices to integers and lift them a few times; return the best, certified."""
    interest, scaled = loads.interest, to_integers(price)
    best, best_value = scaled, -1
    for lifts in range(LIFTS + 1):
        found = loads.weigh(scaled, NEARLY if lifts == 0 else SCALE, lifting=lifts < LIFTS)
        value = total_demand(interest, scaled) - found.excess
        if value > best_value:
            best, best_value = scaled, value
        scaled = lift(scaled, found)
    return Prices(interest, best, proven_links(best_value))


def lift(scaled: Whole, found: ExactLoads) -> Whole:
    """Divide each price by the largest load of a pair that counts it: slack prices become tight.

    A pair that carries at most the ceiling then carries at most 1, because neither divisor is below its load
    and rounding is downwards. Prices that pay for a pair beyond the ceiling do not rise.
    """
    divisor = np.where(found.heaviest > 0, found.heaviest, SCALE)
    divisor = np.where(found.paying, np.maximum(divisor, SCALE), divisor)
    return np.minimum(scaled * SCALE // divisor, SCALE)
