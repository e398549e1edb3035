"""All topics' sub-overlays in one graph: a vertex for each subscription, an edge for each link of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.compiling import inner, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.greedy.kernels.state import Int
    from meshwright.interest import Ids, Offsets


class Product(NamedTuple):
    """The graph, as links are taken away; a *slot* is a position in the interest's `topic_nodes`."""

    node_ptr: Offsets
    node_topics: Ids
    slot: Ids
    """By position in `node_topics`: the slot of the same subscription."""
    u: Ids
    v: Ids
    kept: NDArray[np.bool_]
    """By link: whether it is still there."""
    degree: Ids
    """By slot: how many neighbours are left."""
    ptr: Offsets
    slots: Ids
    """The neighbours of slot 0, then of slot 1, and so on."""
    links: Ids
    """The link that leads to each of them."""
    mine: Ids
    """For the link being looked at: the slots of u in the topics of both ends."""
    yours: Ids
    """The slots of v in the same topics."""


@inner
def common_slots(product: Product, link: Int) -> int:
    """Write the slots of a link's ends in each topic of both, and return how many topics these are."""
    topics, u, v = product.node_topics, product.u[link], product.v[link]
    i, j, count = product.node_ptr[u], product.node_ptr[v], 0
    while i < product.node_ptr[u + 1] and j < product.node_ptr[v + 1]:
        first, second = topics[i], topics[j]
        if first == second:
            product.mine[count], product.yours[count] = product.slot[i], product.slot[j]
            count += 1
        i += int(first <= second)
        j += int(second <= first)
    return count


@inner
def change_degrees(product: Product, link: Int, change: Int) -> None:
    """Add to the degrees of a link's ends in each topic of both."""
    for k in range(common_slots(product, link)):
        product.degree[product.mine[k]] += change
        product.degree[product.yours[k]] += change


@kernel
def count_neighbours(product: Product) -> None:
    """Count the neighbours of every slot."""
    for link in range(len(product.u)):
        change_degrees(product, np.int64(link), np.int64(1))


@kernel
def fill_neighbours(product: Product) -> None:
    """Fill in the neighbours of every slot: entry s + 1 of `ptr` moves from slot s's begin to its end."""
    for link in range(len(product.u)):
        for k in range(common_slots(product, np.int64(link))):
            a, b = product.mine[k], product.yours[k]
            for here, there in ((a, b), (b, a)):
                at = product.ptr[here + 1]
                product.slots[at], product.links[at] = there, link
                product.ptr[here + 1] = at + 1
