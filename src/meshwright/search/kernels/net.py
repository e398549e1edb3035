"""An overlay that changes in place: links as half-edges in doubly linked lists, one list for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from meshwright.compiling import inlined, inner, kernel

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.interest import Ids, Offsets

    Bits: TypeAlias = NDArray[np.uint64]
    Int: TypeAlias = int | np.int64

NONE = -1
"""The end of a list."""
LINKS, FREE, STEPS, CHANCE, TAKEN = 0, 1, 2, 3, 4
"""The fields of `Net.tally`: links, unused link numbers, steps, the state of chance, steps kept."""

ONE, SIX, SIXTY_THREE = np.uint64(1), np.uint64(6), np.uint64(63)


class Links(Protocol):
    """What these kernels need of an overlay that changes in place; the search's `Net` is one.

    Link e has the halves 2e, at its one end, and 2e + 1, at the other.
    """

    @property
    def bits(self) -> Bits:
        """By node: its topics, a bit each."""

    @property
    def head(self) -> Ids:
        """By node: its first half."""

    @property
    def target(self) -> Ids:
        """By half: the node at the other end."""

    @property
    def following(self) -> Ids:
        """By half: the next of the same node."""

    @property
    def before(self) -> Ids:
        """By half: the last of the same node."""

    @property
    def degree(self) -> Ids:
        """By node: how many links it has."""

    @property
    def free(self) -> Ids:
        """A stack of unused link numbers."""

    @property
    def tally(self) -> Offsets:
        """Counts, by the fields above."""


class Net(NamedTuple):
    """The interest, which stays, and the links."""

    node_ptr: Offsets
    node_topics: Ids
    topic_ptr: Offsets
    topic_nodes: Ids
    bits: Bits
    """By node: its topics, a bit each."""
    head: Ids
    """By node: its first half."""
    target: Ids
    """By half: the node at the other end."""
    following: Ids
    before: Ids
    """By half: the next and the last of the same node."""
    degree: Ids
    free: Ids
    """A stack of unused link numbers."""
    tally: Offsets


@inlined
def is_set(row: Bits, topic: Int) -> bool:
    """Say whether a topic is in a row of bits."""
    word = np.uint64(topic)
    return bool((row[word >> SIX] >> (word & SIXTY_THREE)) & ONE)


@inlined
def has_topic(net: Links, v: Int, topic: Int) -> bool:
    """Say whether node v subscribes to a topic."""
    word = np.uint64(topic)
    return bool((net.bits[v, word >> SIX] >> (word & SIXTY_THREE)) & ONE)


@inner
def attach(net: Links, half: Int, node: Int, other: Int) -> None:
    """Put a half at the front of a node's list."""
    net.target[half] = other
    net.before[half] = NONE
    net.following[half] = net.head[node]
    if net.head[node] != NONE:
        net.before[net.head[node]] = half
    net.head[node] = half
    net.degree[node] += 1


@inner
def detach(net: Links, half: Int, node: Int) -> None:
    """Take a half out of a node's list."""
    last, following = net.before[half], net.following[half]
    if last == NONE:
        net.head[node] = following
    else:
        net.following[last] = following
    if following != NONE:
        net.before[following] = last
    net.degree[node] -= 1


@inner
def add_link(net: Links, u: Int, v: Int) -> Int:
    """Link two nodes; return the link's number."""
    net.tally[FREE] -= 1
    link = np.int64(net.free[net.tally[FREE]])
    attach(net, 2 * link, u, v)
    attach(net, 2 * link + 1, v, u)
    net.tally[LINKS] += 1
    return link


@kernel
def remove_link(net: Links, link: Int) -> None:
    """Take a link away; its number may be used again."""
    detach(net, 2 * link, np.int64(net.target[2 * link + 1]))
    detach(net, 2 * link + 1, np.int64(net.target[2 * link]))
    net.free[net.tally[FREE]] = link
    net.tally[FREE] += 1
    net.tally[LINKS] -= 1


@kernel
def find_link(net: Links, u: Int, v: Int) -> Int:
    """Return the number of the link between two nodes, or −1."""
    if net.degree[u] > net.degree[v]:
        u, v = v, u
    half = net.head[u]
    while half != NONE:
        if net.target[half] == v:
            return np.int64(half >> 1)
        half = net.following[half]
    return np.int64(NONE)


@kernel
def add_links(net: Links, us: Ids, vs: Ids) -> None:
    """Link many pairs."""
    for i in range(len(us)):
        add_link(net, np.int64(us[i]), np.int64(vs[i]))


@kernel
def fill_topic_bits(net: Net) -> None:
    """Set each node's bits over topics."""
    for v in range(len(net.head)):
        for i in range(net.node_ptr[v], net.node_ptr[v + 1]):
            topic = np.uint64(net.node_topics[i])
            net.bits[v, topic >> SIX] |= ONE << (topic & SIXTY_THREE)


@kernel
def list_links(head: Ids, target: Ids, following: Ids, us: Ids, vs: Ids) -> int:
    """Write both ends of every link, the smaller first; return how many there are."""
    count = 0
    for u in range(len(head)):
        half = head[u]
        while half != NONE:
            if u < target[half]:
                us[count], vs[count] = u, target[half]
                count += 1
            half = following[half]
    return count


@inlined
def draw(net: Links, below: Int) -> Int:
    """Draw a number from 0 to `below` − 1 (splitmix64)."""
    net.tally[CHANCE] += np.int64(-7046029254386353131)
    word = np.uint64(net.tally[CHANCE])
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.int64((word >> np.uint64(33)) % np.uint64(below))
