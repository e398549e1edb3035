"""The best partner of a loose node: the node to which a link joins the most fragments.

What a link from x to each other node would join is counted for all nodes at once. Nodes are bits: each topic
in which x is cut off gives one row of bits, its subscribers outside the fragment of x. These rows are added
up in bit-sliced counters: slice i holds bit i of the count of every node. The cost is the words of a row for
each topic of x that is cut off, about, plus one step for each record of another loose node.

Gains only fall while links are added. So an old gain is an upper bound, and `fresh` says whether it is
exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import NOTHING, Bits, Ids, Int
from meshwright.dynamic.mutable_overlay import (
    NONE,
    clear_bit,
    draw,
    has_topic,
    lowest_position,
    set_bit,
    without_lowest,
)
from meshwright.greedy.kernels.bit_rows import count_one, keep_largest
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import EIGHT, any_of, load, nothing, store
from meshwright.search.fragment_records import LOOSE, TOUCHED, FragmentRecords, Net, label_of


class Partners(NamedTuple):
    """Rows of bits over nodes, and the best partner found for each loose node."""

    barred: Bits
    """Two rows: the nodes that have as many links as the cap, and those that have more."""
    carry: Bits
    """Working memory: the row that is being added; then the nodes that may be the partner."""
    slices: Bits
    """Working memory: the counters."""
    gain: Ids
    """By loose node: how much its best link joins, or an upper bound of it."""
    partner: Ids
    """By loose node: the other end of its best link, or −1."""
    fresh: Ids
    """By loose node: how many links had been added when its gain was counted, or −1."""
    forbidden: Ids
    """Two nodes that must not be linked, or −1 twice."""


@kernel
def update_barred(net: Net, partners: Partners, v: Int, cap: Int) -> None:
    """Note whether a node has as many links as the cap, and whether more, after its degree has changed."""
    for over in range(2):
        if net.degree[v] < cap + over:
            clear_bit(partners.barred[over], v)
        else:
            set_bit(partners.barred[over], v)


@inlined
def digits_of(count: Int) -> Int:
    """Return how many binary digits a count has."""
    digits = np.int64(0)
    while count > 0:
        digits += 1
        count >>= 1
    return digits


@inner
def add_carry(partners: Partners, top: Int) -> None:
    """Add the carry, a row of bits, to the counters of `top` slices."""
    carry, words = partners.carry, np.uint64(len(partners.carry))
    for k in range(top):
        digits, left = partners.slices[k], nothing()
        for j in range(NOTHING, words, EIGHT):
            digit, more = load(digits, j), load(carry, j)
            store(digits, j, digit ^ more)
            more = more & digit
            store(carry, j, more)
            left = left | more
        # No count has a carry into the next slice.
        if any_of(left) == NOTHING:
            return


@inner
def load_others(net: Net, records: FragmentRecords, partners: Partners, topic: Int, label: Int) -> None:
    """Set the carry to the subscribers of a topic outside one of its fragments."""
    for j in range(np.uint64(len(partners.carry))):
        partners.carry[j] = net.holders[topic, j]
    record = records.topic_first[topic]
    while record != NONE:
        if records.label[records.slot[record]] == label:
            clear_bit(partners.carry, np.int64(records.node[record]))
        record = records.next_of_topic[record]


@inner
def count_joined(net: Net, records: FragmentRecords, partners: Partners, x: Int) -> Int:
    """Count for every node how much a link from x would join, and return how many slices are in use."""
    # A link joins each touched topic at most once.
    top = digits_of(np.int64(records.tally[TOUCHED]))
    for i in range(top):
        for j in range(np.uint64(len(partners.carry))):
            partners.slices[i, j] = NOTHING
    rows, record = np.int64(0), records.node_first[x]
    while record != NONE:
        mine = np.int64(records.label[records.slot[record]])
        if mine > 0:
            load_others(net, records, partners, np.int64(records.topic[record]), mine)
            # No count is above the number of rows: a carry goes no further than the digits of that.
            rows += 1
            add_carry(partners, digits_of(rows))
        record = records.next_of_node[record]
    # Where x itself is in the rest, a link to a loose node joins that node's fragment.
    for i in range(records.tally[LOOSE]):
        v = np.int64(records.loose[i])
        record = records.node_first[v]
        while record != NONE and v != x:
            topic = np.int64(records.topic[record])
            apart = records.label[records.slot[record]] > 0 and has_topic(net, x, topic)
            if apart and label_of(records, x, topic) == 0:
                count_one(partners.slices, np.uint64(v))
            record = records.next_of_node[record]
    return top


@inner
def choose_partner(net: Net, row: Bits) -> Int:
    """Choose the node of least degree in a row of bits; among several, each is equally likely."""
    best: Int = np.int64(NONE)
    ties = np.int64(0)
    for j in range(np.uint64(len(row))):
        left = row[j]
        while left != NOTHING:
            v = lowest_position(np.int64(j), left)
            left = without_lowest(left)
            if best == NONE or net.degree[v] < net.degree[best]:
                best, ties = v, np.int64(0)
            elif net.degree[v] == net.degree[best]:
                # Reservoir sampling: the n-th of the tied nodes replaces the choice with probability 1/n.
                ties += 1
                if draw(net, ties + 1) == 0:
                    best = v
    return best


@kernel
def find_best_partner(
    net: Net, records: FragmentRecords, partners: Partners, position: Int, cap: Int, over: Int, made: Int
) -> None:
    """Find the best partner of the loose node at a position: most joined, then least degree, then at random.

    Nodes may get `over`, 0 or 1, links more than the cap. `made` is the number of links added so far.
    """
    x = np.int64(records.loose[position])
    partners.fresh[position] = made
    partners.gain[position], partners.partner[position] = 0, NONE
    if net.degree[x] >= cap + over:
        return
    top = count_joined(net, records, partners, x)
    words = np.uint64(len(partners.carry))
    # Every node may be the partner, except barred ones and the other end of the forbidden pair. A link to x
    # itself or to a neighbour of x joins nothing.
    for j in range(words):
        partners.carry[j] = ~partners.barred[over, j]
    for end in range(2):
        if partners.forbidden[end] == x:
            clear_bit(partners.carry, np.int64(partners.forbidden[1 - end]))
    most = keep_largest(partners.carry, partners.slices, top, NOTHING, words)
    if most > 0:
        partners.gain[position], partners.partner[position] = most, choose_partner(net, partners.carry)
