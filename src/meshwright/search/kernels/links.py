"""The links of an overlay that changes in place: a list of neighbours for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import inner, kernel
from meshwright.search.kernels.lists import FULL, discard, list_out, push
from meshwright.search.kernels.net import LINKS

if TYPE_CHECKING:
    from meshwright.interest import Ids
    from meshwright.search.kernels.net import Int, Links


@kernel
def chunks_for(links: Int, nodes: Int) -> Int:
    """Return how many chunks so many more links of so many nodes take at most."""
    # A node takes one chunk for every seven neighbours, rounded up.
    return np.int64((2 * links + (FULL - 1) * min(nodes, 2 * links)) // FULL)


@inner
def add_link(net: Links, u: Int, v: Int) -> None:
    """Link two nodes that are not linked."""
    push(net, net.near_first, net.degree, u, v)
    push(net, net.near_first, net.degree, v, u)
    net.tally[LINKS] += 1


@kernel
def remove_link(net: Links, u: Int, v: Int) -> None:
    """Take the link between two nodes away."""
    discard(net, net.near_first, net.degree, u, v)
    discard(net, net.near_first, net.degree, v, u)
    net.tally[LINKS] -= 1


@kernel
def add_links(net: Links, us: Ids, vs: Ids) -> None:
    """Link many pairs."""
    for i in range(len(us)):
        add_link(net, np.int64(us[i]), np.int64(vs[i]))


@kernel
def list_neighbours(net: Links, v: Int, out: Ids) -> Int:
    """Write a node's neighbours; return how many there are."""
    return list_out(net, net.near_first, net.degree, v, out)


@kernel
def list_links(net: Links, near: Ids, us: Ids, vs: Ids) -> int:
    """Write both ends of every link, the smaller first; return how many there are.

    `near` is working memory for the neighbours of a node.
    """
    count = 0
    for u in range(len(net.degree)):
        for i in range(list_neighbours(net, np.int64(u), near)):
            if u < near[i]:
                us[count], vs[count] = u, near[i]
                count += 1
    return count
