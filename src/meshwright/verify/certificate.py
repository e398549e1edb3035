"""Check what a table of prices proves: a lower bound on the links of any plan, in exact arithmetic.

docs/certificate.md has the theorem and its proof.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import to_numpy
from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.interest import Interest

SCALE = 2**30
"""A price of 1, as an integer."""
LOADS_AT_ONCE = 4_000_000
"""Maximum number of pair loads in memory at once."""


class CertificateError(InputError):
    """Prices that do not fit the interest: they prove nothing about it."""


def check_prices(interest: Interest, scaled: NDArray[Any]) -> int:
    """Return the number of links that every topic-connected overlay needs at least, as these prices prove.

    `scaled` has a price for each subscription, in the order of `interest.node_topics`, in units of 1/2³⁰.

    - A pair of nodes carries, for each topic that both subscribe to, the larger of their two prices.
    - A topic asks for the sum of its subscribers' prices without the least one.
    - All that topics ask for must be carried by links. Each carries 1, or what it carries beyond that.

    So the links are at least what is asked for less what all pairs carry beyond 1, rounded up. Any prices
    prove something. All arithmetic is in integers, by numpy alone. Memory is that of some rows of the pairs'
    loads; time is quadratic in the number of subscribers of each topic.

    Raises
    ------
    CertificateError
        If there is not one price for each subscription, or one is not an integer from 0 to 2³⁰.

    Examples
    --------
    >>> from meshwright import Interest
    >>> interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}})
    >>> check_prices(interest, np.array([2**29, 2**29, 2**29, 2**29, 2**30]))
    2
    """
    prices = _require_prices(interest, scaled)
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
        # Row u − first, column v − first: what the pair u, v carries. Only v > u counts.
        load = np.zeros((last - first, interest.num_nodes - first), dtype=np.int64)
        for start, end in shared:
            low, high = start + np.searchsorted(node[start:end], (first, last))
            if low < high:
                rows, columns = node[low:high] - first, node[low:end] - first
                load[np.ix_(rows, columns)] += np.maximum(price[low:high, None], price[None, low:end])
        over = np.maximum(np.triu(load, 1) - SCALE, 0)
        # Rows are added up as Python integers, which do not overflow.
        beyond += sum(over.sum(axis=1).tolist())
    return max(0, -((beyond - asked) // SCALE))


def check_price_table(interest: Interest, table: pa.Table) -> int:
    """Return the number of links that a table `node, topic, price` proves to be needed.

    Nodes and topics are given by name, rows in any order.

    Raises
    ------
    CertificateError
        If the table does not have exactly one row for each subscription, or a price is out of range.
    """
    nodes, topics = (
        pc.index_in(table.column(column), names.cast(pa.string())).combine_chunks()
        for column, names in (("node", interest.node_names), ("topic", interest.topic_names))
    )
    if nodes.null_count or topics.null_count:
        raise CertificateError("it has prices for unknown nodes or topics")
    width = max(interest.num_topics, 1)
    given = to_numpy(nodes).astype(np.int64) * width + to_numpy(topics)
    wanted = interest.node_of_slot.astype(np.int64) * width + interest.node_topics
    order = np.argsort(given, kind="stable")
    if not np.array_equal(given[order], wanted):
        raise CertificateError("it does not have one price for each subscription")
    return check_prices(interest, to_numpy(table.column("price"))[order])


def gap(edges: int, needed: int) -> float | None:
    """Return the excess of links over those needed, as a share of these; None if unknown.

    >>> gap(105, 100), gap(0, 0), gap(5, 0)
    (0.05, 0.0, None)
    """
    if needed:
        return (edges - needed) / needed
    return None if edges else 0.0


def _require_prices(interest: Interest, scaled: NDArray[Any]) -> NDArray[np.int64]:
    """Return the prices as 64-bit integers, one for each subscription, from 0 to 1."""
    if np.shape(scaled) != (interest.num_subscriptions,):
        raise CertificateError(
            f"prices of shape {np.shape(scaled)} for {interest.num_subscriptions} subscriptions: "
            "give one for each"
        )
    if scaled.dtype.kind not in "iu":
        raise CertificateError(f"prices of type {scaled.dtype}: give integers, in units of 1/2³⁰")
    bad = np.flatnonzero((scaled < 0) | (scaled > SCALE))
    if len(bad):
        raise CertificateError(
            f"prices {first_five(scaled[bad].tolist())} are out of range: give integers from 0 to {SCALE}"
        )
    return scaled.astype(np.int64)
