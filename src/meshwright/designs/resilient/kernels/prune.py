"""Removal of the links that no topic needs to stay 2-connected.

A topic that is linked in two ways stays so without the link between a and b exactly when two ways are left
between a and b. One way is found by a search breadth first, and then a cut is looked for along it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.jit.compiler import inner, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Int, Offsets


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


class Search(NamedTuple):
    """Working memory, by slot."""

    seen: Offsets
    """The last search that came by."""
    before: Ids
    """Where it came from."""
    place: Ids
    """The place on the way between the ends, or −1."""
    way: Ids
    """By place: the slot."""
    queue: Ids


@inner
def find_way(product: Product, search: Search, a: Int, b: Int, barred: Int, stamp: Int) -> int:
    """Find a shortest way from a to b without the barred link, and return its length, or −1."""
    seen, before, queue = search.seen, search.before, search.queue
    queue[0], seen[a], taken, reached = a, stamp, 0, 1
    while taken < reached and seen[b] != stamp:
        here = queue[taken]
        taken += 1
        for i in range(product.ptr[here], product.ptr[here + 1]):
            there, by = product.slots[i], product.links[i]
            if seen[there] != stamp and by != barred and product.kept[by]:
                seen[there], before[there] = stamp, here
                queue[reached] = there
                reached += 1
    if seen[b] != stamp:
        return -1
    length, here = 0, b
    while here != a:
        length += 1
        here = before[here]
    here = b
    for place in range(length, -1, -1):
        search.way[place], search.place[here] = here, place
        here = before[here]
    return length


@inner
def furthest_place(product: Product, search: Search, start: Int, barred: Int, stamp: Int, goal: Int) -> int:
    """Search from a slot of the way, off the way, and return the furthest place of the way that is met.

    What a search with the same stamp has seen is not looked at again. Ends early at the goal.
    """
    queue, furthest = search.queue, 0
    queue[0], taken, reached = start, 0, 1
    while taken < reached and furthest < goal:
        here = queue[taken]
        taken += 1
        for i in range(product.ptr[here], product.ptr[here + 1]):
            there, by = product.slots[i], product.links[i]
            if by != barred and product.kept[by]:
                if search.place[there] >= 0:
                    furthest = max(furthest, search.place[there])
                elif search.seen[there] != stamp:
                    search.seen[there] = stamp
                    queue[reached] = there
                    reached += 1
    return furthest


@inner
def two_ways(product: Product, search: Search, a: Int, b: Int, barred: Int, stamp: Int) -> bool:
    """Say whether a and b are linked without the barred link, and no third slot separates them.

    The slot at a place between them does if nothing before it leads, off the way, beyond it. The stamp must
    be new, and so must the one after it.
    """
    length = np.int64(find_way(product, search, a, b, barred, stamp))
    furthest = at = 0
    while furthest < length:
        start = np.int64(search.way[at])
        furthest = max(furthest, furthest_place(product, search, start, barred, stamp + 1, length))
        at += 1
        if furthest == at:
            break
    for place in range(length + 1):
        search.place[search.way[place]] = -1
    return furthest == length


@kernel
def take_spare_links(product: Product, search: Search, wants: Ids) -> None:
    """Take away, from the last link to the first, each one that no topic needs.

    `wants` says by slot how many neighbours it must keep: where one has no more, no search is worthwhile.
    """
    stamp = np.int64(1)
    for i in range(len(product.u) - 1, -1, -1):
        link, needed = np.int64(i), False
        count = common_slots(product, link)
        for k in range(count):
            for end in (product.mine[k], product.yours[k]):
                needed |= product.degree[end] <= wants[end]
        for k in range(count):
            if needed:
                break
            a, b = np.int64(product.mine[k]), np.int64(product.yours[k])
            needed = not two_ways(product, search, a, b, link, stamp)
            stamp += 2
        if not needed:
            product.kept[link] = False
            change_degrees(product, link, np.int64(-1))
