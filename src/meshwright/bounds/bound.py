"""The certified lower bound on links, and the pairs that its prices consider worth a link."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import Ids
from meshwright.bounds.ascent import PAYING, STEPS, Ascent
from meshwright.bounds.degree_limits import NodePrices
from meshwright.bounds.loads import MOST_PAIRS, Loads, Scan
from meshwright.bounds.prices import (
    SCALE,
    Prices,
    certify,
    check_effort,
    first_prices,
    polish,
    require_prices,
)
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.jit.announce import Clock
from meshwright.progress import Progress

if TYPE_CHECKING:
    from meshwright.bounds.load_kernels import Floats


EFFORTS = ("full", "first")
NEEDED = "needed at least"
"""The phase that progress reports next to the bound so far."""
ROUNDS = 4
"""Rounds of the ascent over which the rise of the bound is measured."""
SAVED_A_SECOND = 200.0
"""About how many links a second a search saves, start by prices included: 4,039 users of a social network."""
FAINT = np.float32(1e-4)
"""A price of 0 cannot rise: prices to start from begin at this at least."""


def prices(
    interest: Interest,
    *,
    effort: str = "full",
    start: Prices | None = None,
    seconds: float | None = None,
    longest: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Prices:
    """Return prices that prove a lower bound on the number of links; docs/certificate.md explains how.

    Parameters
    ----------
    interest
        The subscriptions to connect.
    effort
        `first` is a quick bound: equal prices, lowered until no pair carries more than 1. `full` improves
        them step by step.
    start
        Prices of an earlier run for the same interest, to continue from. The bound never gets worse.
    seconds
        Stop improving in time to be done by then; the answer then depends on the machine's speed. By default
        it does not. The first prices take as long as they take. What the limit cuts is noted as `rising`.
    longest
        Go on until then, after `seconds`, while the bound still rises faster than a search saves links: by
        more than `SAVED_A_SECOND`.
    threads
        How many threads to use; the prices do not depend on it.
    progress
        Called with the bound so far, the share of the work that is done (0 to 1) and the phase.

    Raises
    ------
    InputError
        For an unknown effort, or a start that was made for another interest.

    Examples
    --------
    >>> from meshwright import Interest
    >>> prices(Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}))
    Prices(at least 2 links for 3 nodes)
    """
    interest = Interest.of(interest)
    _check(interest, effort, start, seconds, threads)
    clock = Clock(seconds)
    loads = Loads(interest, threads)
    best = first_prices(loads) if start is None else certify(loads, start.scaled)
    # The first prices weigh all pairs twice. Polishing does so at least as often.
    clock.reserved = weighing = clock.gone
    if effort == "first" or best.bound == 0:
        return best
    ascent = Ascent(
        loads,
        best.q.astype(np.float32) if start is None else np.maximum(best.q.astype(np.float32), FAINT),
        0 if start is None else PAYING,
        clock,
    )
    curve = [(clock.gone, float(best.bound))]
    while not ascent.done or _goes_on(ascent, curve, longest):
        if progress is not None:
            proven = max(best.bound, int(ascent.value), int(ascent.value_paying))
            progress(proven, ascent.step / STEPS, NEEDED)
        ascent.round()
        curve.append((clock.gone, max(curve[-1][1], ascent.value, ascent.value_paying)))
    clock.reserved = 0.0
    for price, value in ((ascent.best_paying, ascent.value_paying), (ascent.best, ascent.value)):
        if value > best.bound - 1 and (best.bound < value or clock.allows(weighing)):
            found = polish(loads, price, clock)
            best = found if found.bound > best.bound else best
    if progress is not None:
        progress(best.bound, 1.0, NEEDED)
    return best if ascent.step >= ascent.steps else replace(best, rising=_slope(curve))


def _slope(curve: list[tuple[float, float]]) -> float:
    """Return by how much the bound rose a second in the last rounds."""
    (began, low), (ended, high) = curve[-min(len(curve), ROUNDS + 1)], curve[-1]
    return (high - low) / max(ended - began, 1e-3) if len(curve) > 1 else 0.0


def _goes_on(ascent: Ascent, curve: list[tuple[float, float]], longest: float | None) -> bool:
    """Give an ascent without time a tenth more, if the bound rises enough; return whether it did."""
    clock = ascent.clock
    if longest is None or clock.seconds is None or ascent.step >= ascent.steps or clock.seconds >= longest:
        return False
    worthwhile = len(curve) == 1 or _slope(curve) > SAVED_A_SECOND
    if worthwhile:
        clock.seconds = min(longest, clock.seconds + longest / 10)
    return worthwhile and not ascent.done


def _check(
    interest: Interest, effort: str, start: Prices | None, seconds: float | None, threads: int
) -> None:
    if effort not in EFFORTS:
        raise InputError(f"unknown effort {effort!r}: choose one of {', '.join(EFFORTS)}")
    check_effort(seconds, threads)
    if start is not None:
        require_prices(start).check(interest)


ROUNDING = 1e-5
"""Loads are sums of float32: a pair that carries 1 may appear to carry a little less."""


class TightPairs(NamedTuple):
    """Pairs of nodes u < v, in order."""

    u: Ids
    """By pair: the lower node."""
    v: Ids
    """By pair: the upper node."""
    load: Floats
    """By pair: what it carries."""


def pair_topics(interest: Interest) -> int:
    """Return the work of one scan of all pairs: over all topics, the number of pairs of subscribers.

    >>> from meshwright import Interest
    >>> pair_topics(Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}}))
    4
    """
    popularity = np.diff(interest.topic_ptr)
    return int((popularity * (popularity - 1) // 2).sum())


def tight_pairs(
    prices: Prices | NodePrices, *, most: int, slack: float = 0.1, threads: int = 1
) -> TightPairs:
    """Return the pairs that carry 1 − `slack` or more; of more than `most` of these, the heaviest.

    An overlay with as few links as the bound would use pairs that carry 1: they are candidates for good
    designs. With allowances, what they add to 1 does not count as carried. Ties go to the smaller (u, v). If
    too many pairs carry 1 to hold them all, the answer is an even sample of them.

    Raises
    ------
    InputError
        If `most` is negative or `slack` is not from 0 to 1.
    """
    if most < 0:
        raise InputError(f"{most} pairs: give zero or more")
    if not 0 <= slack <= 1:
        raise InputError(f"a slack of {slack}: give a number from 0 to 1")
    loads = Loads(prices.interest, threads)
    price = prices.q.astype(np.float32)
    extra = None
    if isinstance(prices, NodePrices):
        extra = ((prices.allowance - SCALE // 2) / SCALE).astype(np.float32)
    found = loads.scan(price, 1 - slack - ROUNDING, extra)
    while found.every > 1 and (less := _fitting_slack(found, slack)) > ROUNDING:
        slack = less
        found = loads.scan(price, 1 - slack - ROUNDING, extra)
    load = found.load if found.every == 1 else np.where(found.load >= 1 - 2 * ROUNDING, found.load, 0)
    order = np.sort(np.argsort(-load, kind="stable")[: min(most, np.count_nonzero(load))])
    return TightPairs(found.u[order], found.v[order], found.load[order])


def _fitting_slack(found: Scan, slack: float) -> float:
    """Return half the slack of a scan that found too many pairs, or less, as its sample suggests.

    A scan takes as long as a round of the ascent, so slack that still leaves twice too many is passed over.
    """
    slack /= 2
    while slack > ROUNDING and found.every * np.sum(found.load >= 1 - slack - ROUNDING) > 2 * MOST_PAIRS:
        slack /= 2
    return slack
