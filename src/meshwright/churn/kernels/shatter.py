"""What a failure would break, without anything being changed or repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.churn.kernels.state import ONE, SIX, SIXTY_THREE, ZERO, rest_of, topic_at
from meshwright.compiling import compiled, inner
from meshwright.search.kernels.fragments import forget, group_of, search
from meshwright.search.kernels.links import list_neighbours
from meshwright.words import lowest_bit

if TYPE_CHECKING:
    from meshwright.churn.kernels.state import Live
    from meshwright.interest import Ids
    from meshwright.search.kernels.fragments import Groups
    from meshwright.search.kernels.net import Int


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
