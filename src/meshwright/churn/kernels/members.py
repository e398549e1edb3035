"""The subscribers of each topic: lists in which those who left stay until room is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.churn.kernels.state import ONE, SIX, SIXTY_THREE, rest_of, topic_at
from meshwright.compiling import inner, kernel
from meshwright.search.kernels.net import NONE, has_topic

if TYPE_CHECKING:
    from meshwright.churn.kernels.state import Live
    from meshwright.interest import Ids
    from meshwright.search.kernels.net import Bits, Int

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
