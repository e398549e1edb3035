"""What every overlay that changes in place is made of: its arrays, its topic bits and its random numbers.

The search and the live overlay each have their own NamedTuple of arrays. The kernels of this room take either
one: they need only the fields of `MutableOverlay`.

Topics and nodes are bits in rows of 64-bit words: `bits` has a row of topics for each node, `holders` a row
of nodes for each topic. Both say the same; a kernel reads the one whose words it already has in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from meshwright.arrays import ONE, SIX, SIXTY_THREE
from meshwright.jit.compiler import inlined, kernel
from meshwright.jit.simd import lowest_bit

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Ids, Int, Offsets

NONE = -1
"""The end of a list, and a mark or a number that is not set."""

LINKS, SPARE, CHANCE = 0, 1, 2
"""The counters in `tally`: links, unused chunks of lists, and the state of the random numbers."""
SHARED = 3
"""How many counters every overlay has. The counters of one kind of overlay come after these."""


class ChunkLists(Protocol):
    """The lists of values in chunks, see `link_lists`."""

    @property
    def entries(self) -> Ids:
        """The chunks of all lists."""

    @property
    def spare(self) -> Ids:
        """A stack of unused chunks."""

    @property
    def tally(self) -> Offsets:
        """Counters, by the constants above."""


class MutableOverlay(ChunkLists, Protocol):
    """An interest as bits, and links as lists of neighbours."""

    @property
    def bits(self) -> Bits:
        """By node: its topics, one bit each."""

    @property
    def holders(self) -> Bits:
        """By topic: its subscribers, one bit each."""

    @property
    def near_first(self) -> Ids:
        """By node: the first chunk of its neighbours."""

    @property
    def degree(self) -> Ids:
        """By node: the number of its neighbours."""


@inlined
def is_set(row: Bits, position: Int) -> bool:
    """Return whether a bit of a row is set."""
    at = np.uint64(position)
    return bool((row[at >> SIX] >> (at & SIXTY_THREE)) & ONE)


@inlined
def set_bit(row: Bits, position: Int) -> None:
    """Set a bit of a row."""
    at = np.uint64(position)
    row[at >> SIX] |= ONE << (at & SIXTY_THREE)


@inlined
def clear_bit(row: Bits, position: Int) -> None:
    """Clear a bit of a row."""
    at = np.uint64(position)
    row[at >> SIX] &= ~(ONE << (at & SIXTY_THREE))


@inlined
def without_lowest(word: np.uint64) -> np.uint64:
    """Return a word without its lowest set bit."""
    return word & (word - ONE)


@inlined
def lowest_position(place: Int, word: np.uint64) -> Int:
    """Return the position in its row of the lowest set bit of a word, the `place`-th of the row."""
    return np.int64(place) * 64 + np.int64(lowest_bit(word))


@inlined
def has_topic(net: MutableOverlay, v: Int, topic: Int) -> bool:
    """Return whether a node subscribes to a topic.

    Loops over the nodes of one topic call this. They read one row of `holders`, which stays in the cache.
    """
    at = np.uint64(v)
    return bool((net.holders[topic, at >> SIX] >> (at & SIXTY_THREE)) & ONE)


@kernel
def fill_bits(bits: Bits, holders: Bits, node_ptr: Offsets, node_topics: Ids) -> None:
    """Set the bits of an interest: the topics of each node, and the subscribers of each topic."""
    for v in range(len(node_ptr) - 1):
        node = np.uint64(v)
        for i in range(node_ptr[v], node_ptr[v + 1]):
            topic = np.uint64(node_topics[i])
            bits[v, topic >> SIX] |= ONE << (topic & SIXTY_THREE)
            holders[topic, node >> SIX] |= ONE << (node & SIXTY_THREE)


@inlined
def draw(net: ChunkLists, below: Int) -> Int:
    """Draw a number from 0 to `below` − 1 (splitmix64).

    The state is one counter of `tally`, so a copy of the arrays continues with the same numbers.
    """
    # The golden ratio 0x9E3779B97F4A7C15, as a signed integer.
    net.tally[CHANCE] += np.int64(-7046029254386353131)
    word = np.uint64(net.tally[CHANCE])
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    # 31 bits are enough for any count of nodes or links, and the remainder is close to uniform.
    return np.int64((word >> np.uint64(33)) % np.uint64(below))
