"""What every overlay that changes in place is made of: its arrays, its topic bits and its random numbers.

The search and the live overlay each have their own NamedTuple of arrays. The kernels of this room take either
one: they need only the fields of `MutableOverlay`.

Topics and nodes are bits in rows of 64-bit words: `bits` has a row of topics for each node, `holders` a row
of nodes for each topic. Both say the same; a kernel reads the one whose words it already has in the cache.

Lists of neighbours grow and shrink in place. A list is a chain of chunks. A chunk holds seven values and the
number of the next chunk. All chunks of a list are full except the first, into which new values go. So the
length of a list determines how many chunks it has and how many values are in the first one, and nothing ever
moves to make room.

Adding a value is O(1), removing one is O(length), and emptying a list is O(chunks). A chunk never crosses a
cache line: a walk through a list waits for memory once per chunk.

Unused chunks are on a stack. Callers make sure that enough of them are there; the kernels do not check.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from meshwright.arrays import ONE, SIX, SIXTY_THREE, Bits, Ids, Int, Offsets
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import lowest_bit, matching

NONE = -1
"""The end of a list, and a mark or a number that is not set."""

LINKS, SPARE, CHANCE = 0, 1, 2
"""The counters in `tally`: links, unused chunks of lists, and the state of the random numbers."""
SHARED = 3
"""How many counters every overlay has. The counters of one kind of overlay come after these."""


class ChunkLists(Protocol):
    """The lists of values in chunks."""

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


CHUNK = 8
"""The entries of a chunk: seven values and the number of the next chunk."""
FULL = CHUNK - 1
"""The values of a full chunk."""


def allocate_chunks(chunks: int) -> Ids:
    """Return the entries of `chunks` chunks, none of which crosses a cache line."""
    room = np.full(CHUNK * (chunks + 1), NONE, dtype=np.int32)
    skipped = -room.ctypes.data % (CHUNK * room.itemsize) // room.itemsize
    return room[skipped : skipped + CHUNK * chunks]


@kernel
def chunks_for(links: Int, nodes: Int) -> Int:
    """Return how many chunks `links` more links of `nodes` nodes need at most."""
    # A node needs one chunk for every seven neighbours, rounded up.
    return np.int64((2 * links + (FULL - 1) * min(nodes, 2 * links)) // FULL)


@inlined
def first_chunk_length(count: Int) -> Int:
    """Return how many values are in the first chunk of a list of `count` values."""
    return (count - 1) % FULL + 1 if count > 0 else np.int64(0)


@inner
def push(lists: ChunkLists, first: Ids, count: Ids, v: Int, value: Int) -> None:
    """Add a value to the list of node v."""
    there = first_chunk_length(np.int64(count[v]))
    # The list is empty or its first chunk is full: a new chunk goes in front.
    if there in (0, FULL):
        lists.tally[SPARE] -= 1
        chunk = lists.spare[lists.tally[SPARE]]
        lists.entries[chunk * CHUNK + FULL] = first[v]
        first[v] = chunk
        there = np.int64(0)
    lists.entries[first[v] * CHUNK + there] = value
    count[v] += 1


@inner
def discard(lists: ChunkLists, first: Ids, count: Ids, v: Int, value: Int) -> bool:
    """Remove a value from the list of node v, and return whether it was there."""
    there = first_chunk_length(np.int64(count[v]))
    chunk, length = np.int64(first[v]), there
    while chunk != NONE:
        base = np.uint64(chunk) * np.uint64(CHUNK)
        # Compare all entries of the chunk at once, and leave out those behind its length.
        found = matching(lists.entries, base, value) & ((ONE << np.uint64(length)) - ONE)
        if found:
            # The last value of the first chunk fills the gap, so that all other chunks stay full.
            lists.entries[base + lowest_bit(found)] = lists.entries[first[v] * CHUNK + there - 1]
            count[v] -= 1
            # The first chunk is empty now: the next one becomes the first, and is full.
            if there == 1:
                emptied = first[v]
                first[v] = lists.entries[emptied * CHUNK + FULL]
                lists.spare[lists.tally[SPARE]] = emptied
                lists.tally[SPARE] += 1
            return True
        chunk, length = np.int64(lists.entries[base + np.uint64(FULL)]), np.int64(FULL)
    return False


@inner
def clear(lists: ChunkLists, first: Ids, count: Ids, v: Int) -> None:
    """Remove all values from the list of node v."""
    chunk = first[v]
    while chunk != NONE:
        lists.spare[lists.tally[SPARE]] = chunk
        lists.tally[SPARE] += 1
        chunk = lists.entries[chunk * CHUNK + FULL]
    first[v] = NONE
    count[v] = 0


@inlined
def copy_list_inlined(lists: ChunkLists, first: Ids, count: Ids, v: Int, out: Ids) -> Int:
    """Do the same as `copy_list`, compiled into its caller: for inner loops."""
    written = np.int64(0)
    chunk, length = first[v], first_chunk_length(np.int64(count[v]))
    while chunk != NONE:
        base = chunk * CHUNK
        for i in range(base, base + length):
            out[written] = lists.entries[i]
            written += 1
        # All chunks after the first are full.
        chunk, length = lists.entries[base + FULL], np.int64(FULL)
    return written


@kernel
def copy_list(lists: ChunkLists, first: Ids, count: Ids, v: Int, out: Ids) -> Int:
    """Write the list of node v to `out`, and return its length."""
    return copy_list_inlined(lists, first, count, v, out)


@inner
def add_link(net: MutableOverlay, u: Int, v: Int) -> None:
    """Link two nodes that are not linked."""
    push(net, net.near_first, net.degree, u, v)
    push(net, net.near_first, net.degree, v, u)
    net.tally[LINKS] += 1


@kernel
def remove_link(net: MutableOverlay, u: Int, v: Int) -> None:
    """Remove the link between two nodes."""
    discard(net, net.near_first, net.degree, u, v)
    discard(net, net.near_first, net.degree, v, u)
    net.tally[LINKS] -= 1


@kernel
def add_links(net: MutableOverlay, us: Ids, vs: Ids) -> None:
    """Link many pairs."""
    for i in range(len(us)):
        add_link(net, np.int64(us[i]), np.int64(vs[i]))


@kernel
def list_neighbours(net: MutableOverlay, v: Int, out: Ids) -> Int:
    """Write the neighbours of a node to `out`, and return how many there are."""
    return copy_list(net, net.near_first, net.degree, v, out)


@kernel
def list_links(net: MutableOverlay, near: Ids, us: Ids, vs: Ids) -> int:
    """Write both ends of every link, the smaller one to `us`, and return how many links there are.

    `near` is working memory for the neighbours of a node.
    """
    count = 0
    for u in range(len(net.degree)):
        for i in range(list_neighbours(net, np.int64(u), near)):
            if u < near[i]:
                us[count], vs[count] = u, near[i]
                count += 1
    return count
