"""The pairs that prices hold to be worth a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.bounds.improve import prepare
from meshwright.bounds.loads import Loads
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.bounds.kernels.relation import Floats
    from meshwright.bounds.prices import Prices
    from meshwright.interest import Ids, Interest


ROUNDING = 1e-5
"""Loads are sums of float32: a pair that carries 1 may seem to carry a little less."""


class TightPairs(NamedTuple):
    """Pairs of nodes u < v in order, and what each carries."""

    u: Ids
    v: Ids
    load: Floats


def pair_topics(interest: Interest) -> int:
    """Return what one look at all pairs takes: over all topics, the number of pairs of its subscribers.

    >>> from meshwright import Interest
    >>> pair_topics(Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}}))
    4
    """
    popularity = np.diff(interest.topic_ptr)
    return int((popularity * (popularity - 1) // 2).sum())


def tight_pairs(prices: Prices, *, most: int, slack: float = 0.1, threads: int = 1) -> TightPairs:
    """Return the pairs that carry 1 − `slack` or more, or the `most` that carry most of these.

    A pair that carries 1 is one that an overlay with as few links as the bound would use: candidates for
    good designs. Ties go to the smaller (u, v). Where even of those that carry 1 there are too many to hold,
    they are every so-manieth.

    Raises
    ------
    InputError
        If `most` is negative or `slack` is not from 0 to 1.
    """
    if most < 0:
        raise InputError(f"{most} pairs: give zero or more")
    if not 0 <= slack <= 1:
        raise InputError(f"a slack of {slack}: give a number from 0 to 1")
    prepare()
    loads = Loads(prices.interest, threads)
    price = prices.q.astype(np.float32)
    found = loads.scan(price, 1 - slack - ROUNDING)
    while found.every > 1 and slack > ROUNDING:
        slack /= 2
        found = loads.scan(price, 1 - slack - ROUNDING)
    order = np.sort(np.argsort(-found.load, kind="stable")[:most])
    return TightPairs(found.u[order], found.v[order], found.load[order])
