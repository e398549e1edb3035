"""The state of a live overlay: who subscribes to what, the links, backups and primaries, all in arrays.

Nodes sit in numbered slots; who leaves gives its slot to a later newcomer. The kernels never make room: the
caller does, before it calls them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import ONE, SIX, SIXTY_THREE
from meshwright.dynamic.link_lists import add_link, remove_link
from meshwright.dynamic.net import NONE, has_topic
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import lowest_bit, popcount

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets
    from meshwright.dynamic.net import Bits, Int


LINKS, SPARE, STEPS, CHANCE, TAKEN, TOP, NODES = 0, 1, 2, 3, 4, 5, 6
"""The fields of `Live.tally`.

The first five are the search's: links, unused chunks of lists, steps, the state of chance, steps kept. Then
the maximum degree, and the nodes that are there.
"""

ZERO = np.uint64(0)


class Live(NamedTuple):
    """An interest and an overlay that change in place; it is also the search's `Links`."""

    bits: Bits
    """By node: its topics, a bit each."""
    holders: Bits
    """By topic: its subscribers, a bit each."""
    near_first: Ids
    degree: Ids
    """By node: the first chunk of its neighbours, and how many they are."""
    tally: Offsets
    spread: Ids
    """By degree: how many slots have it."""
    subscribers: Ids
    """By topic: how many subscribe to it."""
    member_start: Offsets
    """By topic: where its list of subscribers begins in `members`."""
    member_room: Ids
    member_length: Ids
    members: Ids
    """Lists of subscribers, with entries of some who left in between: a topic's bit tells."""
    entries: Ids
    """Chunks of the lists of neighbours, backups and primaries."""
    spare: Ids
    """A stack of unused chunks."""
    backup_first: Ids
    backup_count: Ids
    primary_first: Ids
    primary_count: Ids
    mark: Ids
    """Working memory by node, −1 between uses."""
    paid: Ids
    """Working memory by node, 0 between uses."""
    row: Ids
    """Working memory by node, −1 between uses."""
    column: Ids
    """Working memory by topic, −1 between uses."""


@inlined
def rest_of(word: np.uint64) -> np.uint64:
    """Return a word without its lowest bit."""
    return word & (word - ONE)


@inlined
def topic_at(place: Int, word: np.uint64) -> Int:
    """Return the topic of a word's lowest bit, the word being the `place`-th of a row of bits."""
    return np.int64(place) * 64 + np.int64(lowest_bit(word))


@kernel
def count_topics(live: Live, v: Int) -> Int:
    """Return how many topics a node has."""
    count = np.int64(0)
    for place in range(live.bits.shape[1]):
        count += popcount(live.bits[v, place])
    return count


@inner
def set_topic(live: Live, v: Int, topic: Int) -> None:
    """Let a node have a topic."""
    word, node = np.uint64(topic), np.uint64(v)
    live.bits[v, word >> SIX] |= ONE << (word & SIXTY_THREE)
    live.holders[topic, node >> SIX] |= ONE << (node & SIXTY_THREE)


@inner
def shift(live: Live, v: Int, change: Int) -> None:
    """Note that a node's degree has risen or fallen by one, so that the maximum degree is known."""
    degree = np.int64(live.degree[v])
    live.spread[degree - change] -= 1
    live.spread[degree] += 1
    live.tally[TOP] = max(live.tally[TOP], degree)
    while live.tally[TOP] > 0 and live.spread[live.tally[TOP]] == 0:
        live.tally[TOP] -= 1


@inner
def link(live: Live, u: Int, v: Int) -> None:
    """Link two nodes."""
    add_link(live, u, v)
    shift(live, u, np.int64(1))
    shift(live, v, np.int64(1))


@inner
def unlink(live: Live, u: Int, v: Int) -> None:
    """Take the link between two nodes away."""
    remove_link(live, u, v)
    shift(live, u, np.int64(-1))
    shift(live, v, np.int64(-1))


@kernel
def link_all(live: Live, us: Ids, vs: Ids) -> None:
    """Link many pairs."""
    for i in range(len(us)):
        link(live, np.int64(us[i]), np.int64(vs[i]))


@kernel
def unlink_all(live: Live, pairs: Ids) -> None:
    """Take away the links between many pairs."""
    for i in range(len(pairs)):
        unlink(live, np.int64(pairs[i, 0]), np.int64(pairs[i, 1]))


MOST_STALE = 16
"""A list may have so many entries of those who left, and as many again as there are subscribers."""


@kernel
def compact(live: Live, topic: Int) -> None:
    """Keep each subscriber of a topic once, and nobody else."""
    start, kept = live.member_start[topic], np.int64(0)
    for i in range(start, start + live.member_length[topic]):
        v = live.members[i]
        if live.mark[v] == NONE and has_topic(live, v, topic):
            live.mark[v] = 1
            live.members[start + kept] = v
            kept += 1
    for i in range(start, start + kept):
        live.mark[live.members[i]] = NONE
    live.member_length[topic] = kept


@inner
def has_room(live: Live, topics: Ids) -> bool:
    """Say whether each of these topics can take one more subscriber, after a look for entries to drop."""
    for i in range(len(topics)):
        topic = np.int64(topics[i])
        if live.member_length[topic] == live.member_room[topic]:
            compact(live, topic)
            if live.member_length[topic] == live.member_room[topic]:
                return False
    return True


@inner
def enter(live: Live, v: Int, topic: Int) -> None:
    """Add a subscriber whose bit is set; there must be room."""
    live.members[live.member_start[topic] + live.member_length[topic]] = v
    live.member_length[topic] += 1
    live.subscribers[topic] += 1


@inner
def drop(live: Live, v: Int, topics: Bits) -> None:
    """Take these topics, all of which it has, from a node."""
    node = np.uint64(v)
    for place in range(len(topics)):
        word = topics[place]
        live.bits[v, place] &= ~word
        while word:
            topic = topic_at(place, word)
            live.subscribers[topic] -= 1
            live.holders[topic, node >> SIX] &= ~(ONE << (node & SIXTY_THREE))
            if live.member_length[topic] > 2 * live.subscribers[topic] + MOST_STALE:
                compact(live, topic)
            word = rest_of(word)


@inner
def list_subscribers(live: Live, topic: Int, out: Ids, count: Int) -> Int:
    """Write the subscribers of a topic who are not marked behind `count` others, and mark them."""
    start = live.member_start[topic]
    for i in range(start, start + live.member_length[topic]):
        v = live.members[i]
        if live.mark[v] == NONE and has_topic(live, v, topic):
            live.mark[v] = 1
            out[count] = v
            count += 1
    return count
