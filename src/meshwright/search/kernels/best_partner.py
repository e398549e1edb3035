"""The best partner of a loose node: what a link to each other node would join, counted for all at once.

Nodes are bits. The nodes that a topic of the loose node offers are one row of bits; rows are added up in
bit-sliced counters, of which slice i holds bit i of every node's count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import ONE, SIX, SIXTY_THREE
from meshwright.dynamic.net import NONE, draw, has_topic
from meshwright.greedy.kernels.bit_counters import count_one, keep_largest
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import EIGHT, any_of, load, lowest_bit, nothing, store
from meshwright.search.kernels.pieces import LOOSE, TOUCHED, label_of

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.dynamic.net import Bits, Int, Net
    from meshwright.search.kernels.pieces import Pieces

ZERO = np.uint64(0)


class Partners(NamedTuple):
    """Rows of bits over nodes, and what was found."""

    barred: Bits
    """The nodes that have as many links as they may."""
    carry: Bits
    """Working memory: the row that is being added."""
    slices: Bits
    """Working memory: the counters."""
    gain: Ids
    """By loose node: no link of it joins more."""
    partner: Ids
    fresh: Ids
    """By loose node: how many links had been made when its gain was found."""
    forbidden: Ids
    """A pair that must not be linked, or −1."""


@kernel
def bar(net: Net, partners: Partners, v: Int, cap: Int) -> None:
    """Note whether a node may be given another link; its degree has changed."""
    word, bit = np.uint64(v) >> SIX, ONE << (np.uint64(v) & SIXTY_THREE)
    if net.degree[v] < cap:
        partners.barred[word] &= ~bit
    else:
        partners.barred[word] |= bit


@inlined
def slices_for(count: Int) -> Int:
    """Return how many binary digits a count has."""
    digits = np.int64(0)
    while count > 0:
        digits += 1
        count >>= 1
    return digits


@inner
def add_carry(partners: Partners, top: Int) -> None:
    """Add the carry, a row of bits, to the counters of `top` slices, as far as it goes."""
    carry, words = partners.carry, np.uint64(len(partners.carry))
    for k in range(top):
        digits, left = partners.slices[k], nothing()
        for j in range(ZERO, words, EIGHT):
            digit, more = load(digits, j), load(carry, j)
            store(digits, j, digit ^ more)
            more = more & digit
            store(carry, j, more)
            left = left | more
        if any_of(left) == ZERO:
            return


@inner
def count_joined(net: Net, pieces: Pieces, partners: Partners, x: Int) -> Int:
    """Count for every node what a link from x would join; return how many slices are in use."""
    words = np.uint64(len(partners.carry))
    top = slices_for(np.int64(pieces.tally[TOUCHED]))  # a link joins each of these once at most
    for i in range(top):
        for j in range(words):
            partners.slices[i, j] = ZERO
    count, record = np.int64(0), pieces.node_first[x]
    while record != NONE:
        topic, mine = np.int64(pieces.topic[record]), pieces.label[pieces.slot[record]]
        if mine > 0:
            for j in range(words):
                partners.carry[j] = net.holders[topic, j]
            other = pieces.topic_first[topic]
            while other != NONE:
                if pieces.label[pieces.slot[other]] == mine:
                    same = np.uint64(pieces.node[other])
                    partners.carry[same >> SIX] &= ~(ONE << (same & SIXTY_THREE))
                other = pieces.next_of_topic[other]
            count += 1  # so many rows: carries go no further than the digits of that
            add_carry(partners, slices_for(count))
        record = pieces.next_of_node[record]
    # Loose nodes may also be joined in topics in which x itself is part of the rest.
    for i in range(pieces.tally[LOOSE]):
        v = np.int64(pieces.loose[i])
        record = pieces.node_first[v]
        while record != NONE and v != x:
            topic = np.int64(pieces.topic[record])
            apart = pieces.label[pieces.slot[record]] > 0 and has_topic(net, x, topic)
            if apart and label_of(pieces, x, topic) == 0:
                count_one(partners.slices, np.uint64(v))
            record = pieces.next_of_node[record]
    return top


@kernel
def look_around(net: Net, pieces: Pieces, partners: Partners, position: Int, cap: Int, made: Int) -> None:
    """Find the best partner of a loose node: most joined, then least degree, then by chance."""
    x = np.int64(pieces.loose[position])
    partners.fresh[position] = made
    partners.gain[position], partners.partner[position] = 0, NONE
    if net.degree[x] >= cap:
        return
    top = count_joined(net, pieces, partners, x)
    words = np.uint64(len(partners.carry))
    for j in range(words):
        partners.carry[j] = ~partners.barred[j]
    for end in range(2):
        if partners.forbidden[end] == x:
            other = np.uint64(partners.forbidden[1 - end])
            partners.carry[other >> SIX] &= ~(ONE << (other & SIXTY_THREE))
    most = keep_largest(partners.carry, partners.slices, top, ZERO, words)
    if most == 0:
        return
    best, ties = np.int64(NONE), np.int64(0)
    for j in range(words):
        left = partners.carry[j]
        while left != ZERO:
            v = np.int64(j) * 64 + np.int64(lowest_bit(left))
            left &= left - ONE
            if best == NONE or net.degree[v] < net.degree[best]:
                best, ties = v, np.int64(0)
            elif net.degree[v] == net.degree[best]:
                ties += 1
                if draw(net, ties + 1) == 0:
                    best = v
    partners.gain[position], partners.partner[position] = most, best
