"""Prices: a proof of how many links an interest needs at least, certified in integers.

Prices are found in floating point and rounded down to units of 1/2³⁰. From there on everything is exact: what
topics ask for, what pairs carry, and the number of links that follows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import check_threads, frozen
from meshwright.errors import InputError
from meshwright.interest import Interest

if TYPE_CHECKING:
    from meshwright.bounds.load_kernels import Floats, Whole
    from meshwright.bounds.loads import ExactLoads, Loads
    from meshwright.jit.announce import Clock

SCALE = 2**30
"""A price of 1, as an integer. The verifier has a constant of its own; a test compares them."""
NO_CEILING = 2**62
"""More than any pair carries."""
NEARLY = SCALE + SCALE // 1000
"""A pair that carries at most this is brought down to 1 instead of being paid for."""
LIFTS = 3
"""How often prices are lifted at most."""


@dataclass(frozen=True, eq=False)
class Prices:
    """A price for each subscription, and the number of links that they prove to be needed.

    `meshwright.verify.check_prices` finds `bound` again from `scaled`. docs/certificate.md has the proof.
    """

    interest: Interest
    scaled: NDArray[np.int64]
    """In the order of `interest.node_topics`, in units of 1/2³⁰."""
    bound: int
    """How many links every overlay that connects each topic needs at least."""
    checked: bool = True
    """Whether the bound was computed here. One that was read from a plan is only what the plan states."""
    rising: float | None = None
    """If a limit of time cut the search for prices: by how many links a second the bound rose at the end."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaled", in_range(self.scaled, 1))

    def check(self, interest: Interest) -> None:
        """Reject any interest but the one that they were found for."""
        check_interest(self.interest, interest)

    @property
    def q(self) -> NDArray[np.float64]:
        """The prices as numbers from 0 to 1."""
        return self.scaled / SCALE

    def __repr__(self) -> str:
        return f"Prices(at least {self.bound:,} links for {self.interest.num_nodes:,} nodes)"


def check_interest(made_for: Interest, interest: Interest) -> None:
    """Refuse prices that were made for another interest."""
    if made_for is not interest and made_for.fingerprint != interest.fingerprint:
        raise InputError("the prices were made for another interest: leave them out")


def check_effort(seconds: float | None, threads: int) -> None:
    """Refuse a limit of time or a number of threads that makes no sense."""
    if seconds is not None and (not isinstance(seconds, Real) or not seconds >= 0):
        raise InputError(f"{seconds} seconds: give zero or more, or leave it out")
    check_threads(threads)


def in_range(scaled: NDArray[np.int64], highest: int) -> NDArray[np.int64]:
    """Return prices or allowances as a constant array; raise an InputError if one is not from 0 to `highest`.

    Sums of larger ones might not fit into 64 bits.
    """
    if len(scaled) and not (scaled.min() >= 0 and scaled.max() <= highest * SCALE):
        raise InputError(f"prices and allowances are from 0 to {highest}: make them again with --certify")
    return frozen(scaled, np.int64)


def require_prices(prices: object) -> Prices:
    """Return prices with a bound that was computed here.

    Raise an InputError for anything else, and if the bound that a plan states is not what its prices prove.
    """
    from meshwright.bounds.loads import Loads

    if not isinstance(prices, Prices):
        raise InputError(f"prices are {type(prices).__name__}: give what mw.bounds.prices returns")
    if prices.checked:
        return prices
    proven = certify(Loads(prices.interest), prices.scaled)
    if proven.bound != prices.bound:
        raise InputError(
            f"the prices prove that {proven.bound:,} links are needed, not {prices.bound:,} as stated: leave "
            "them out"
        )
    return replace(proven, rising=prices.rising)


def gap(edges: int, bound: int) -> float | None:
    """Return by which share of a lower bound some links are above it; None if only the bound is 0.

    >>> gap(105, 100), gap(0, 0), gap(5, 0)
    (0.05, 0.0, None)
    """
    if bound:
        return (edges - bound) / bound
    return None if edges else 0.0


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


def polish(loads: Loads, price: Floats, clock: Clock) -> Prices:
    """Round prices to integers and lift them a few times, at least once; return the best, certified."""
    interest, scaled = loads.interest, to_integers(price)
    best, best_value = scaled, -1
    longest = 0.0
    for lifts in range(LIFTS + 1):
        began = clock.gone
        # The last time only certifies, which takes half as long as lifting.
        last = lifts == LIFTS or (lifts > 0 and not clock.allows(1.5 * longest))
        found = loads.weigh(scaled, NEARLY if lifts == 0 else SCALE, lifting=not last)
        value = total_demand(interest, scaled) - found.excess
        if value > best_value:
            best, best_value = scaled, value
        if last:
            break
        scaled = lift(scaled, found)
        longest = max(longest, clock.gone - began)
    return Prices(interest, best, proven_links(best_value))


def lift(scaled: Whole, found: ExactLoads) -> Whole:
    """Divide each price by the largest load of a pair that counts it: slack prices become tight.

    A pair that carries at most the ceiling then carries at most 1, because neither divisor is below its load
    and rounding is downwards. Prices that pay for a pair beyond the ceiling do not rise.
    """
    divisor = np.where(found.heaviest > 0, found.heaviest, SCALE)
    divisor = np.where(found.paying, np.maximum(divisor, SCALE), divisor)
    return np.minimum(scaled * SCALE // divisor, SCALE)
