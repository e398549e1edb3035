"""The state of a live overlay as arrays: subscriptions, links, backups and primaries.

Nodes are in numbered slots. The slot of a node that leaves goes to a later newcomer. The kernels never make
room: the caller does, before it calls them (see `churn.allocate`).

Each topic also has a list of its subscribers, so that some of them can be drawn. A subscriber that leaves
stays in the list, and its bit in `holders` says that it is gone. A list is compacted when more than about
half of it is stale, which makes a leave O(1) per topic, amortised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Bits, Ids, Int, Offsets
from meshwright.dynamic.mutable_overlay import (
    NONE,
    SHARED,
    add_link,
    clear_bit,
    has_topic,
    lowest_position,
    remove_link,
    set_bit,
    without_lowest,
)
from meshwright.jit.compiler import compiled, helper, inlined, inner, kernel
from meshwright.jit.simd import popcount

TOP, NODES = SHARED, SHARED + 1
"""The counters in `LiveArrays.tally` behind the shared ones: the maximum degree, and the nodes."""
COUNTERS = SHARED + 2


class LiveArrays(NamedTuple):
    """A `MutableOverlay` with subscribers, degrees and backups."""

    bits: Bits
    """By node: its topics, one bit each."""
    holders: Bits
    """By topic: its subscribers, one bit each."""
    near_first: Ids
    """By node: the first chunk of its neighbours."""
    degree: Ids
    """By node: the number of its neighbours."""
    tally: Offsets
    """Counters: links, unused chunks, the state of the random numbers, the maximum degree, nodes."""
    spread: Ids
    """By degree: how many slots have it."""
    subscribers: Ids
    """By topic: how many nodes subscribe to it."""
    member_start: Offsets
    """By topic: where its list of subscribers begins in `members`."""
    member_room: Ids
    """By topic: how many entries its list has room for."""
    member_length: Ids
    """By topic: how many entries its list has."""
    members: Ids
    """The lists of subscribers, with stale entries of nodes that left."""
    entries: Ids
    """The chunks of the lists of neighbours, backups and primaries."""
    spare: Ids
    """A stack of unused chunks."""
    backup_first: Ids
    """By node: the first chunk of its backups."""
    backup_count: Ids
    """By node: the number of its backups."""
    primary_first: Ids
    """By node: the first chunk of its primaries, the nodes that it is a backup of."""
    primary_count: Ids
    """By node: the number of its primaries."""
    mark: Ids
    """Working memory by node; −1 between uses."""
    paid: Ids
    """Working memory by node; 0 between uses."""
    row: Ids
    """By node: its place among the candidates of a repair; −1 between repairs."""
    column: Ids
    """By topic: its column in the table of a repair; −1 between repairs."""


class RepairRule(NamedTuple):
    """How repairs choose links and backups; see `churn.Policy`."""

    k: float
    """Low-ODA's k, ρ in the paper."""
    local: bool
    """Whether the maximum degree in the rule is that of the candidates, not of the overlay."""
    everybody: bool
    """Whether all subscribers of broken topics are candidates and there are no backups: the naive policy."""
    coverage: int
    """How often the backups of a node cover each of its topics; 0 for no backups."""
    method: int
    """How a cover is chosen: `GREEDY` or `PRIMAL_DUAL`."""
    window: int
    """How many subscribers of a topic are looked at for a backup."""
    rebuild_backups: bool
    """Whether a node that loses a backup chooses all its backups again."""
    newcomers: bool
    """Whether a newcomer becomes a backup of nodes whose topics have too few others."""
    repairs: bool
    """Whether damage is repaired; if not, the caller designs the overlay from scratch."""
    spares: bool
    """Whether nodes with many links get another one only where there is no other way: the tidy policy."""
    slack: int
    """How far above the mean a node has many links."""


# -- topics ---------------------------------------------------------------------------------------------


@kernel
def count_topics(live: LiveArrays, v: Int) -> Int:
    """Return the number of topics of a node."""
    return count_bits(live.bits[v])


@inlined
def count_bits(row: Bits) -> Int:
    """Return the number of bits set in a row."""
    count = np.int64(0)
    for place in range(len(row)):
        count += popcount(row[place])
    return count


@helper
def list_bits(row: Bits) -> Ids:
    """Return the positions of the bits set in a row, ascending."""
    out = np.empty(len(row) * 64, dtype=np.int32)
    count = 0
    for place in range(len(row)):
        word = row[place]
        while word:
            out[count] = lowest_position(place, word)
            word = without_lowest(word)
            count += 1
    return out[:count]


@compiled
def topics_of(live: LiveArrays, v: Int) -> Ids:
    """Return the topics of a node, ascending."""
    return list_bits(live.bits[v])


@helper
def bits_of(topics: Ids, words: Int) -> Bits:
    """Return topics as a row of bits."""
    row = np.zeros(words, dtype=np.uint64)
    for i in range(len(topics)):
        set_bit(row, np.int64(topics[i]))
    return row


# -- links ----------------------------------------------------------------------------------------------


@inner
def count_degree(live: LiveArrays, v: Int, change: Int) -> None:
    """Update the distribution and the maximum of degrees, after the degree of a node changed by `change`."""
    degree = np.int64(live.degree[v])
    live.spread[degree - change] -= 1
    live.spread[degree] += 1
    live.tally[TOP] = max(live.tally[TOP], degree)
    while live.tally[TOP] > 0 and live.spread[live.tally[TOP]] == 0:
        live.tally[TOP] -= 1


@inner
def link(live: LiveArrays, u: Int, v: Int) -> None:
    """Link two nodes."""
    add_link(live, u, v)
    count_degree(live, u, np.int64(1))
    count_degree(live, v, np.int64(1))


@inner
def unlink(live: LiveArrays, u: Int, v: Int) -> None:
    """Remove the link between two nodes."""
    remove_link(live, u, v)
    count_degree(live, u, np.int64(-1))
    count_degree(live, v, np.int64(-1))


@kernel
def link_all(live: LiveArrays, us: Ids, vs: Ids) -> None:
    """Link many pairs."""
    for i in range(len(us)):
        link(live, np.int64(us[i]), np.int64(vs[i]))


@kernel
def unlink_all(live: LiveArrays, pairs: Ids) -> None:
    """Remove the links between many pairs."""
    for i in range(len(pairs)):
        unlink(live, np.int64(pairs[i, 0]), np.int64(pairs[i, 1]))


# -- subscribers ----------------------------------------------------------------------------------------

MOST_STALE = 16
"""A list of subscribers may have this many stale entries, and as many again as there are subscribers."""


@kernel
def compact(live: LiveArrays, topic: Int) -> None:
    """Remove stale and repeated entries from the list of subscribers of a topic."""
    start, kept = live.member_start[topic], np.int64(0)
    for i in range(start, start + live.member_length[topic]):
        v = live.members[i]
        # A node that left and came back is in the list twice.
        if live.mark[v] == NONE and has_topic(live, v, topic):
            live.mark[v] = 1
            live.members[start + kept] = v
            kept += 1
    for i in range(start, start + kept):
        live.mark[live.members[i]] = NONE
    live.member_length[topic] = kept


@inner
def has_room(live: LiveArrays, topics: Ids) -> bool:
    """Return whether the list of each of these topics has room for one more, compacted if necessary."""
    for i in range(len(topics)):
        topic = np.int64(topics[i])
        if live.member_length[topic] == live.member_room[topic]:
            compact(live, topic)
            if live.member_length[topic] == live.member_room[topic]:
                return False
    return True


@inner
def add_topic(live: LiveArrays, v: Int, topic: Int) -> None:
    """Subscribe a node to a topic; its list must have room."""
    set_bit(live.bits[v], topic)
    set_bit(live.holders[topic], v)
    live.members[live.member_start[topic] + live.member_length[topic]] = v
    live.member_length[topic] += 1
    live.subscribers[topic] += 1


@inner
def remove_topics(live: LiveArrays, v: Int, topics: Bits) -> None:
    """Unsubscribe a node from topics, all of which it has."""
    for place in range(len(topics)):
        word = topics[place]
        live.bits[v, place] &= ~word
        while word:
            topic = lowest_position(place, word)
            live.subscribers[topic] -= 1
            clear_bit(live.holders[topic], v)
            if live.member_length[topic] > 2 * live.subscribers[topic] + MOST_STALE:
                compact(live, topic)
            word = without_lowest(word)


@inner
def list_subscribers(live: LiveArrays, topic: Int, out: Ids, count: Int) -> Int:
    """Write the unmarked subscribers of a topic behind the first `count` of `out`, and mark them."""
    start = live.member_start[topic]
    for i in range(start, start + live.member_length[topic]):
        v = live.members[i]
        if live.mark[v] == NONE and has_topic(live, v, topic):
            live.mark[v] = 1
            out[count] = v
            count += 1
    return count
