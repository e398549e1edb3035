"""What a loss of links, nodes or subscriptions breaks: for each topic the fragments, found from its ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.churn.kernels.state import ZERO, rest_of, topic_at
from meshwright.compiling import compiled
from meshwright.search.kernels.fragments import forget, group_of, search
from meshwright.search.kernels.net import NONE
from meshwright.words import lowest_bit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.churn.kernels.state import Live
    from meshwright.interest import Ids, Offsets
    from meshwright.search.kernels.fragments import Groups
    from meshwright.search.kernels.net import Bits, Int

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
