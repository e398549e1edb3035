"""Arbitrary links: pairs drawn uniformly from all that are not linked yet and whose ends are not full.

Two open nodes are drawn until they are different and not linked. Each unlinked pair of open nodes is then
equally likely. Where most open pairs are linked already this takes too long: after `PATIENCE` draws in a row
without a link the kernel stops, and its caller lists the pairs that are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.jit.compiler import inner, kernel
from meshwright.jit.xorshift import below

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Ids, Int

PATIENCE = 64
"""Draws in a row without a link. If half of the open pairs are free, this happens once in 2⁶⁴ times."""


class ArbitraryLinks(NamedTuple):
    """The links so far, and the nodes that may get more."""

    u: Ids
    """By link: the smaller end. There is room for as many as the budgets allow."""
    v: Ids
    """By link: the larger end."""
    degree: Ids
    """By node: how many links it has."""
    head: Ids
    """By node: its last entry in `earlier`, or −1; entry 2·i is link i at u, entry 2·i + 1 is link i at v."""
    earlier: Ids
    """By entry: the entry before it of the same node, or −1."""
    open_nodes: Ids
    """The nodes below the maximum degree, in any order; the rest is unused."""
    counts: Ids
    """Two numbers: how many links there are, and how many open nodes."""
    stream: Bits
    """One stream of random numbers."""


@inner
def are_linked(links: ArbitraryLinks, a: Int, b: Int) -> bool:
    """Return whether two nodes are linked: search the links of the one that has fewer."""
    if links.degree[a] > links.degree[b]:
        a, b = b, a
    entry = links.head[a]
    while entry >= 0:
        link = entry >> 1
        if links.u[link] == b or links.v[link] == b:
            return True
        entry = links.earlier[entry]
    return False


@inner
def add_link(links: ArbitraryLinks, a: Int, b: Int) -> None:
    """Add a link between two nodes."""
    link = links.counts[0]
    u, v = min(a, b), max(a, b)
    links.u[link], links.v[link] = u, v
    links.earlier[2 * link], links.earlier[2 * link + 1] = links.head[u], links.head[v]
    links.head[u], links.head[v] = 2 * link, 2 * link + 1
    links.degree[u] += 1
    links.degree[v] += 1
    links.counts[0] = link + 1


@kernel
def draw_links(links: ArbitraryLinks, max_degree: Int) -> None:
    """Draw links until the columns are full, at most one node is open, or draws find no link."""
    misses = 0
    while links.counts[0] < len(links.u) and links.counts[1] > 1 and misses < PATIENCE:
        i = below(links.stream, np.int64(0), np.int64(links.counts[1]))
        j = below(links.stream, np.int64(0), np.int64(links.counts[1]))
        a, b = np.int64(links.open_nodes[i]), np.int64(links.open_nodes[j])
        misses += 1
        if a == b or are_linked(links, a, b):
            continue
        misses = 0
        add_link(links, a, b)
        # The last open node takes the place of a full one: the later place first, as it may be the last.
        for place in (max(i, j), min(i, j)):
            if links.degree[links.open_nodes[place]] >= max_degree:
                links.counts[1] -= 1
                links.open_nodes[place] = links.open_nodes[links.counts[1]]


@kernel
def draw_from(links: ArbitraryLinks, us: Ids, vs: Ids, max_degree: Int) -> None:
    """Take listed pairs in random order, each if its ends are not full, until the columns are full.

    Of a random order, the next pair that fits is each of those that fit with equal chance.
    """
    for left in range(len(us), 0, -1):
        if links.counts[0] == len(links.u):
            break
        i = below(links.stream, np.int64(0), np.int64(left))
        a, b = np.int64(us[i]), np.int64(vs[i])
        us[i], vs[i] = us[left - 1], vs[left - 1]
        if max(links.degree[a], links.degree[b]) < max_degree:
            add_link(links, a, b)
