"""What a loss of links, nodes or subscriptions breaks: the fragments of each topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import ONE, SIX, SIXTY_THREE
from meshwright.churn.kernels.state import ZERO, rest_of, topic_at
from meshwright.dynamic.fragments import forget, group_of, search
from meshwright.dynamic.link_lists import list_neighbours
from meshwright.dynamic.net import NONE
from meshwright.jit.compiler import compiled, inner
from meshwright.jit.simd import lowest_bit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets
    from meshwright.churn.kernels.state import Live
    from meshwright.dynamic.fragments import Groups
    from meshwright.dynamic.net import Bits, Int


MISSING, FRAGMENTS, BROKEN = 0, 1, 2
"""The fields of `Damage.tally`: merges that are missing, fragments found, topics that are broken."""


class Damage(NamedTuple):
    """Who is cut off in what: one record for each node and topic in a fragment that is not the rest.

    The rest of a topic is the fragment that the search did not have to walk to its end.
    """

    node: Ids
    topic: Ids
    label: Ids
    """By record: the number of the fragment within its topic, from 1."""
    tally: Offsets


@compiled
def doubled(values: Ids) -> Ids:
    """Return the same values with as much room again."""
    more = np.empty(2 * len(values), dtype=np.int32)
    more[: len(values)] = values
    return more


@compiled
def find_damage(live: Live, groups: Groups, ends: Ids, lost: Bits, whole: bool) -> Damage:
    """Search each topic that lost something from the ends of what was lost, and record the fragments.

    `ends[i]` is somebody next to a loss in the topics `lost[i]`, which it has. Every fragment of a topic must
    hold one of its ends. Unless `whole`, only nodes with a place in `live.row` are recorded.
    """
    node, topic_of = np.empty(64, dtype=np.int32), np.empty(64, dtype=np.int32)
    label = np.empty(64, dtype=np.int32)
    tally = np.zeros(3, dtype=np.int64)
    here = np.empty(len(ends), dtype=np.int32)
    count = 0
    for place in range(lost.shape[1]):
        word = ZERO
        for i in range(len(ends)):
            word |= lost[i, place]
        while word:
            bit = np.uint64(1) << lowest_bit(word)
            topic = topic_at(place, word)
            word = rest_of(word)
            found = 0
            for i in range(len(ends)):
                if lost[i, place] & bit:
                    here[found] = ends[i]
                    found += 1
            if found < 2:
                continue
            made, seen, rest = search(live, groups, topic, here, found)
            pieces = 0
            for i in range(made):
                pieces += int(group_of(groups, np.int64(i)) == i)
            if pieces > 1:
                tally[MISSING] += pieces - 1
                tally[FRAGMENTS] += pieces
                tally[BROKEN] += 1
                for i in range(seen):
                    v = groups.seen[i]
                    group = group_of(groups, np.int64(groups.mark[v]))
                    if group == rest or not (whole or live.row[v] != NONE):
                        continue
                    if count == len(node):
                        node, topic_of, label = doubled(node), doubled(topic_of), doubled(label)
                    node[count], topic_of[count], label[count] = v, topic, group + 1
                    count += 1
            forget(groups, seen)
    return Damage(node[:count], topic_of[:count], label[:count], tally)


@compiled
def alone(live: Live, v: Int, topics: Bits) -> Damage:
    """Record that v is cut off, by itself, in these topics, where others have them."""
    room = 0
    for place in range(len(topics)):
        word = topics[place]
        while word:
            room += 1
            word = rest_of(word)
    node, topic_of = np.full(room, v, dtype=np.int32), np.empty(room, dtype=np.int32)
    count = 0
    for place in range(len(topics)):
        word = topics[place]
        while word:
            topic = topic_at(place, word)
            word = rest_of(word)
            if live.subscribers[topic] > 1:
                topic_of[count] = topic
                count += 1
    tally: NDArray[np.int64] = np.zeros(3, dtype=np.int64)
    tally[MISSING], tally[FRAGMENTS], tally[BROKEN] = count, 2 * count, count
    return Damage(node[:count], topic_of[:count], np.ones(count, dtype=np.int32), tally)


@inner
def flip(live: Live, v: Int, topic: Int) -> None:
    """Take a subscriber's bit from a topic, or give it back."""
    node = np.uint64(v)
    live.holders[topic, node >> SIX] ^= ONE << (node & SIXTY_THREE)


@compiled
def shatter(live: Live, groups: Groups, gone: Ids) -> tuple[Int, Int]:
    """Return how many topics are split when nodes fail at once, and how many subscribers that cuts off.

    Of each topic, all subscribers outside its largest fragment are cut off. Who fails has no topics for the
    time of the search, which therefore does not walk through it.
    """
    words = live.bits.shape[1]
    losses = 0
    for v in gone:
        losses += live.degree[v]
    ends, lost = np.empty(losses, dtype=np.int32), np.empty((losses, words), dtype=np.uint64)
    kept = np.empty((len(gone), words), dtype=np.uint64)
    count: Int = np.int64(0)
    for i in range(len(gone)):
        for place in range(words):
            kept[i, place] = live.bits[gone[i], place]
        found = list_neighbours(live, np.int64(gone[i]), ends[count:])
        for j in range(count, count + found):
            for place in range(words):
                lost[j, place] = kept[i, place]
        count += found
    for v in gone:
        for place in range(words):
            live.bits[v, place] = ZERO
    split, cut_off = 0, np.int64(0)
    here = np.empty(losses, dtype=np.int32)
    sizes = np.empty(losses, dtype=np.int64)
    for place in range(words):
        word = ZERO
        for i in range(losses):
            lost[i, place] &= live.bits[ends[i], place]
            word |= lost[i, place]
        while word:
            bit = np.uint64(1) << lowest_bit(word)
            topic = topic_at(place, word)
            word = rest_of(word)
            found = 0
            for i in range(losses):
                if lost[i, place] & bit:
                    here[found] = ends[i]
                    found += 1
            left = np.int64(live.subscribers[topic])
            for i in range(len(gone)):
                if kept[i, place] & bit:
                    left -= 1
                    flip(live, np.int64(gone[i]), topic)
            made, seen, rest = search(live, groups, topic, here, found)
            for i in range(len(gone)):
                if kept[i, place] & bit:
                    flip(live, np.int64(gone[i]), topic)
            for group in range(made):
                sizes[group] = 0
            for i in range(seen):
                sizes[group_of(groups, np.int64(groups.mark[groups.seen[i]]))] += 1
            pieces, walked, largest = 1, np.int64(0), np.int64(0)
            for group in range(made):
                if group != rest and sizes[group] > 0:
                    pieces += 1
                    walked += sizes[group]
                    largest = max(largest, sizes[group])
            forget(groups, seen)
            if pieces > 1:
                split += 1
                cut_off += left - max(largest, left - walked)
    for i in range(len(gone)):
        for place in range(words):
            live.bits[gone[i], place] = kept[i, place]
    return split, cut_off
