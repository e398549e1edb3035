"""Lists of neighbours that grow and shrink in place, in chunks, so that nothing is moved to make room.

A list is full chunks but for its first, into which new entries go: how many chunks it takes follows from its
length. What is in one chunk lies together in memory, so that walking through a list waits for it once only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.dynamic.net import LINKS, NONE, SPARE
from meshwright.jit.compiler import inlined, inner, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.dynamic.net import Int, Links, Lists


CHUNK = 8
"""A chunk is seven entries and the number of the next chunk."""
FULL = CHUNK - 1


def chunk_room(chunks: int) -> Ids:
    """Return room for so many chunks, laid so that none of them lies across two cache lines."""
    room = np.full(CHUNK * (chunks + 1), NONE, dtype=np.int32)
    skipped = -room.ctypes.data % (CHUNK * room.itemsize) // room.itemsize
    return room[skipped : skipped + CHUNK * chunks]


@inlined
def filled(count: Int) -> Int:
    """Return how many entries the first chunk of a list holds."""
    return (count - 1) % FULL + 1 if count > 0 else np.int64(0)


@inner
def push(lists: Lists, first: Ids, count: Ids, v: Int, value: Int) -> None:
    """Add a value to the list of node v."""
    there = filled(np.int64(count[v]))
    if there in (0, FULL):
        lists.tally[SPARE] -= 1
        chunk = lists.spare[lists.tally[SPARE]]
        lists.entries[chunk * CHUNK + FULL] = first[v]
        first[v] = chunk
        there = np.int64(0)
    lists.entries[first[v] * CHUNK + there] = value
    count[v] += 1


@inner
def discard(lists: Lists, first: Ids, count: Ids, v: Int, value: Int) -> bool:
    """Take a value out of the list of node v; say whether it was there."""
    there = filled(np.int64(count[v]))
    chunk, held = first[v], there
    while chunk != NONE:
        base = chunk * CHUNK
        for i in range(base, base + held):
            if lists.entries[i] == value:
                lists.entries[i] = lists.entries[first[v] * CHUNK + there - 1]
                count[v] -= 1
                if there == 1:
                    emptied = first[v]
                    first[v] = lists.entries[emptied * CHUNK + FULL]
                    lists.spare[lists.tally[SPARE]] = emptied
                    lists.tally[SPARE] += 1
                return True
        chunk, held = lists.entries[base + FULL], np.int64(FULL)
    return False


@inner
def empty(lists: Lists, first: Ids, count: Ids, v: Int) -> None:
    """Take everything out of the list of node v."""
    chunk = first[v]
    while chunk != NONE:
        lists.spare[lists.tally[SPARE]] = chunk
        lists.tally[SPARE] += 1
        chunk = lists.entries[chunk * CHUNK + FULL]
    first[v] = NONE
    count[v] = 0


@inlined
def write_out(lists: Lists, first: Ids, count: Ids, v: Int, out: Ids) -> Int:
    """Write the list of node v; return how long it is. For inner loops: `list_out` does the same."""
    written = np.int64(0)
    chunk, held = first[v], filled(np.int64(count[v]))
    while chunk != NONE:
        base = chunk * CHUNK
        for i in range(base, base + held):
            out[written] = lists.entries[i]
            written += 1
        chunk, held = lists.entries[base + FULL], np.int64(FULL)
    return written


@kernel
def list_out(lists: Lists, first: Ids, count: Ids, v: Int, out: Ids) -> Int:
    """Write the list of node v; return how long it is."""
    return write_out(lists, first, count, v, out)


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
