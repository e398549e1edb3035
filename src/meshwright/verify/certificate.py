"""What a table of prices proves: at least so many links are needed, checked in exact arithmetic."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.interest import Interest

SCALE = 2**30
"""A price of 1, as an integer."""
LOADS_AT_ONCE = 4_000_000
"""How many pair loads are held together: bounds the memory of one step."""


def check_prices(interest: Interest, scaled: NDArray[Any]) -> int:
    """Return the number of links that every topic-connected overlay needs at least, as these prices prove.

    `scaled` has a price for each subscription, in the order of `interest.node_topics`, in units of 1/2³⁰. A
    pair of nodes carries, for each topic that both subscribe to, the larger of their two prices. What a topic
    asks for is the sum of its subscribers' prices without the least one. All that topics ask for must be
    carried by links, each carries 1 or what it carries beyond that: so the links are at least what is asked
    for less what all pairs carry beyond 1, rounded up. Any prices prove something; see docs/certificate.md.

    All is integers, from numpy alone: memory for some of the rows of the pairs' loads, time quadratic in the
    number of subscribers of each topic.

    Raises
    ------
    InputError
        If there is not one price for each subscription, or one is no integer from 0 to 2³⁰.

    Examples
    --------
    >>> from meshwright import Interest
    >>> interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}})
    >>> check_prices(interest, np.array([2**29, 2**29, 2**29, 2**29, 2**30]))
    2
    """
    prices = _checked(interest, scaled)
    # By topic, and within a topic by node: slots are in the order of nodes.
    order = np.argsort(interest.node_topics, kind="stable")
    node = interest.node_of_slot[order]
    price = prices[order]
    cuts = np.searchsorted(interest.node_topics[order], np.arange(interest.num_topics + 1)).tolist()
    shared = [(start, end) for start, end in pairwise(cuts) if end - start > 1]
    asked = sum(int(price[start:end].sum()) - int(price[start:end].min()) for start, end in shared)
    beyond = 0
    height = max(1, LOADS_AT_ONCE // max(interest.num_nodes, 1))
    for first in range(0, interest.num_nodes, height):
        last = min(first + height, interest.num_nodes)
        load = np.zeros((last - first, interest.num_nodes - first), dtype=np.int64)
        for start, end in shared:
            low, high = start + np.searchsorted(node[start:end], (first, last))
            if low < high:
                rows, columns = node[low:high] - first, node[low:end] - first
                load[np.ix_(rows, columns)] += np.maximum(price[low:high, None], price[None, low:end])
        over = np.maximum(np.triu(load, 1) - SCALE, 0)
        beyond += sum(over.sum(axis=1).tolist())
    return max(0, -((beyond - asked) // SCALE))


def gap(edges: int, needed: int) -> float | None:
    """Return by which part of the links that are needed some are more; None if nothing is known to be needed.

    >>> gap(105, 100), gap(0, 0), gap(5, 0)
    (0.05, 0.0, None)
    """
    if needed:
        return (edges - needed) / needed
    return None if edges else 0.0


def _checked(interest: Interest, scaled: NDArray[Any]) -> NDArray[np.int64]:
    """Return the prices as integers, or say what is wrong with them."""
    if np.shape(scaled) != (interest.num_subscriptions,):
        raise InputError(
            f"prices of shape {np.shape(scaled)} for {interest.num_subscriptions} subscriptions: "
            "give one for each"
        )
    if scaled.dtype.kind not in "iu":
        raise InputError(f"prices of type {scaled.dtype}: give integers, in units of 1/2³⁰")
    bad = np.flatnonzero((scaled < 0) | (scaled > SCALE))
    if len(bad):
        raise InputError(
            f"prices {first_five(scaled[bad].tolist())} are out of range: give integers from 0 to {SCALE}"
        )
    return scaled.astype(np.int64)
