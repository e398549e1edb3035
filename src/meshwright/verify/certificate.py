"""Check what tables of prices prove: lower bounds on links and degrees, in exact arithmetic.

docs/certificate.md has the theorem and its proof.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.arrow import to_numpy
from meshwright.errors import InputError, first_five
from meshwright.interest import Interest

SCALE = 2**30
"""A price of 1, as an integer."""
HALF = SCALE // 2
"""What every node allows its links to carry, without a limit of its degree."""
HIGHEST = 16
"""No price and no allowance of a bound that knows the degree is above this."""
BITS = 31
"""Sums of loads are taken for this many lower bits, and for the others, apart."""
LOADS_AT_ONCE = 4_000_000
"""Maximum number of pair loads in memory at once."""


class CertificateError(InputError):
    """Prices that do not fit the interest: they prove nothing about it."""


class DegreeCertificateError(CertificateError):
    """Prices and allowances that do not fit the interest."""


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
    prices = _require_range(scaled, interest.num_subscriptions, "price", "subscription", 0, SCALE)
    allowance = np.full(interest.num_nodes, HALF, dtype=np.int64)
    return max(0, -(-_asked_less_excess(interest, prices, allowance) // SCALE))


def check_degree_prices(
    interest: Interest, scaled: NDArray[Any], allowance: NDArray[Any], degree: int | None
) -> int:
    """Return what prices and allowances prove: of links under a degree limit, or of the degree itself.

    `allowance` has a value for each node, `scaled` one for each subscription, both in units of 1/2³⁰. A link
    may carry the sum of its two ends' allowances. All links of an overlay may then carry the sum, over the
    nodes, of allowance · degree. With at most d links per node:

    - The links are at least what topics ask for, less what pairs carry beyond the allowances of their ends,
      less d times what the nodes allow beyond 1/2. That is the bound if `degree` is d.
    - d itself is at least what topics ask for, less what pairs carry beyond the allowances, divided by the
      sum of all allowances. That is the bound if `degree` is None.

    Raises
    ------
    CertificateError
        If there is not one price for each subscription and one allowance for each node, or one is not an
        integer in its range.

    Examples
    --------
    >>> from meshwright import Interest
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}, "d": {"x"}})
    >>> check_degree_prices(interest, np.full(4, 2**30), np.full(4, 2**29), None)
    2
    """
    prices = _require_range(scaled, interest.num_subscriptions, "price", "subscription", 0, HIGHEST * SCALE)
    least = 0 if degree is None else HALF
    allowed = _require_range(allowance, interest.num_nodes, "allowance", "node", least, HIGHEST * SCALE)
    value, total = _asked_less_excess(interest, prices, allowed), int(sum(allowed.tolist()))
    if degree is None:
        return max(0, -(-value // total)) if total else 0
    return max(0, -(-(value - degree * (total - HALF * interest.num_nodes)) // SCALE))


def _asked_less_excess(interest: Interest, prices: NDArray[np.int64], allowance: NDArray[np.int64]) -> int:
    """Return what all topics ask for, less what all pairs carry beyond the allowances of their ends."""
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
        # In place, as rows of loads are large: what each pair carries beyond the allowances of its ends.
        load -= allowance[first:last, None]
        load -= allowance[None, first:]
        over = np.maximum(np.triu(load, 1), 0)
        # Upper and lower bits apart, and rows as Python integers: no sum overflows, whatever the prices.
        beyond += sum((over >> BITS).sum(axis=1).tolist()) << BITS
        beyond += sum((over & (2**BITS - 1)).sum(axis=1).tolist())
    return asked - beyond


def check_price_table(interest: Interest, table: pa.Table) -> int:
    """Return the number of links that a table `node, topic, price` proves to be needed.

    Nodes and topics are given by name, rows in any order.

    Raises
    ------
    CertificateError
        If the table does not have exactly one row for each subscription, or a price is out of range.
    """
    order = _order_by_slot(interest, table)
    return check_prices(interest, to_numpy(table.column("price"))[order])


class DegreeProofs(NamedTuple):
    """What a table of prices and allowances proves."""

    links: int
    """The number of links needed with at most `degree` links per node."""
    degree: int
    """The lowest maximum degree possible."""


def check_degree_table(interest: Interest, table: pa.Table, degree: int) -> DegreeProofs:
    """Return what a table `node, topic, at_degree, lowest_degree` proves for at most `degree` links a node.

    Nodes and topics are given by name, rows in any order. A row with a topic has the two prices of that
    subscription, a row without one the two allowances of the node.

    Raises
    ------
    DegreeCertificateError
        If the table does not have exactly one row for each subscription and each node, or a value is out of
        range.
    """
    try:
        return _check_degree_table(interest, table, degree)
    except CertificateError as error:
        raise DegreeCertificateError(str(error)) from error


def _check_degree_table(interest: Interest, table: pa.Table, degree: int) -> DegreeProofs:
    of_node = pc.is_null(table.column("topic"))
    prices, allowances = table.filter(pc.invert(of_node)), table.filter(of_node)
    by_slot = _order_by_slot(interest, prices)
    nodes = pc.index_in(allowances.column("node"), interest.node_names.cast(pa.string())).combine_chunks()
    if nodes.null_count:
        raise CertificateError("it has allowances for unknown nodes")
    given = to_numpy(nodes)
    by_node = np.argsort(given, kind="stable")
    if not np.array_equal(given[by_node], np.arange(interest.num_nodes)):
        raise CertificateError("it does not have one allowance for each node")
    links, lowest = (
        check_degree_prices(
            interest,
            to_numpy(prices.column(name))[by_slot],
            to_numpy(allowances.column(name))[by_node],
            limit,
        )
        for name, limit in (("at_degree", degree), ("lowest_degree", None))
    )
    return DegreeProofs(links, lowest)


def _order_by_slot(interest: Interest, table: pa.Table) -> NDArray[np.int64]:
    """Return the rows of a table `node, topic, …` in the order of the interest's subscriptions."""
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
    return order


def gap(edges: int, needed: int) -> float | None:
    """Return the excess of links over those needed, as a share of these; None if unknown.

    >>> gap(105, 100), gap(0, 0), gap(5, 0)
    (0.05, 0.0, None)
    """
    if needed:
        return (edges - needed) / needed
    return None if edges else 0.0


def _require_range(
    given: NDArray[Any], count: int, what: str, each: str, least: int, most: int
) -> NDArray[np.int64]:
    """Return prices or allowances as 64-bit integers, one for each subscription or node, in their range."""
    if np.shape(given) != (count,):
        raise CertificateError(f"{what}s of shape {np.shape(given)} for {count} {each}s: give one for each")
    if given.dtype.kind not in "iu":
        raise CertificateError(f"{what}s of type {given.dtype}: give integers, in units of 1/2³⁰")
    bad = np.flatnonzero((given < least) | (given > most))
    if len(bad):
        raise CertificateError(
            f"{what}s {first_five(given[bad].tolist())} are out of range: "
            f"give integers from {least} to {most}"
        )
    return given.astype(np.int64)
