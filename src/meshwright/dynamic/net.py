"""What the search works on: an interest, and an overlay that changes in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from meshwright.arrays import ONE, SIX, SIXTY_THREE
from meshwright.jit.compiler import inlined, kernel

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets

    Bits: TypeAlias = NDArray[np.uint64]
    Int: TypeAlias = int | np.int64

NONE = -1
"""The end of a list."""
LINKS, SPARE, STEPS, CHANCE, TAKEN = 0, 1, 2, 3, 4
"""The fields of `Net.tally`: links, unused chunks of lists, steps, the state of chance, steps kept."""


class Lists(Protocol):
    """What lists in chunks are made of."""

    @property
    def entries(self) -> Ids:
        """The chunks of all lists."""

    @property
    def spare(self) -> Ids:
        """A stack of unused chunks."""

    @property
    def tally(self) -> Offsets:
        """Counts, by the fields above."""


class Links(Lists, Protocol):
    """What these kernels need of an overlay that changes in place; the search's `Net` is one."""

    @property
    def holders(self) -> Bits:
        """By topic: its subscribers, a bit each."""

    @property
    def near_first(self) -> Ids:
        """By node: the first chunk of its neighbours."""

    @property
    def degree(self) -> Ids:
        """By node: how many neighbours it has."""


class Net(NamedTuple):
    """The interest, which stays, and the links."""

    node_ptr: Offsets
    node_topics: Ids
    topic_ptr: Offsets
    topic_nodes: Ids
    bits: Bits
    """By node: its topics, a bit each."""
    holders: Bits
    """By topic: its subscribers, a bit each."""
    near_first: Ids
    """By node: the first chunk of its neighbours."""
    degree: Ids
    entries: Ids
    """The chunks of the lists of neighbours."""
    spare: Ids
    """A stack of unused chunks."""
    tally: Offsets


@inlined
def is_set(row: Bits, topic: Int) -> bool:
    """Say whether a topic is in a row of bits."""
    word = np.uint64(topic)
    return bool((row[word >> SIX] >> (word & SIXTY_THREE)) & ONE)


@inlined
def has_topic(net: Links, v: Int, topic: Int) -> bool:
    """Say whether node v subscribes to a topic: who asks for one topic again and again asks near by."""
    word = np.uint64(v)
    return bool((net.holders[topic, word >> SIX] >> (word & SIXTY_THREE)) & ONE)


@kernel
def fill_bits(net: Net) -> None:
    """Set each node's bits over topics, and each topic's over nodes."""
    for v in range(len(net.degree)):
        node = np.uint64(v)
        for i in range(net.node_ptr[v], net.node_ptr[v + 1]):
            topic = np.uint64(net.node_topics[i])
            net.bits[v, topic >> SIX] |= ONE << (topic & SIXTY_THREE)
            net.holders[topic, node >> SIX] |= ONE << (node & SIXTY_THREE)


@inlined
def draw(net: Links, below: Int) -> Int:
    """Draw a number from 0 to `below` − 1 (splitmix64)."""
    net.tally[CHANCE] += np.int64(-7046029254386353131)
    word = np.uint64(net.tally[CHANCE])
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.int64((word >> np.uint64(33)) % np.uint64(below))
