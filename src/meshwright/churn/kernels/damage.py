"""The damage that a loss of links, nodes or subscriptions does: the fragments of each topic.

A loss is a list of nodes, its *ends*, and for each of them the topics in which it lost a neighbour. Every
fragment of a topic contains one of the ends, because the topic was connected before. So each topic that lost
something is searched from its ends (see `dynamic.fragments`), at a cost that follows the smaller fragments.
An end without a neighbour in the topic is a fragment of its own. Most small fragments are such: bits find
them for all topics at once, and only the others are searched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import NOTHING, ONE, SIX, SIXTY_THREE, Bits, Ids, Int, Offsets
from meshwright.churn.kernels.live_arrays import LiveArrays, count_bits
from meshwright.dynamic.fragments import Groups, clear_marks, find_fragments, group_of
from meshwright.dynamic.mutable_overlay import NONE, list_neighbours, lowest_position, without_lowest
from meshwright.jit.compiler import compiled, helper, inlined, inner
from meshwright.jit.simd import lowest_bit

MISSING, FRAGMENTS, BROKEN = 0, 1, 2
"""The counters in `Damage.tally`: merges still missing, fragments found, topics that are split."""


class Damage(NamedTuple):
    """One record for each node and topic in which the node is in a fragment other than the rest.

    The rest of a topic is the fragment that the search did not have to walk to its end.
    """

    node: Ids
    """By record: the node."""
    topic: Ids
    """By record: the topic. The records of a topic follow each other."""
    label: Ids
    """By record: the number of the fragment within its topic, from 1."""
    tally: Offsets
    """Counters, by the constants above."""


@helper
def with_double_room(values: Ids) -> Ids:
    """Return an array twice as long that begins with the same values."""
    more = np.empty(2 * len(values), dtype=np.int32)
    for i in range(len(values)):
        more[i] = values[i]
    return more


@inlined
def lowest_only(word: np.uint64) -> np.uint64:
    """Return the lowest set bit of a word, in its place."""
    return word & (~word + ONE)


@inner
def find_left(live: LiveArrays, ends: Ids, work: Ids, left: Bits) -> None:
    """Find the topics that each end still shares with a neighbour."""
    words = left.shape[1]
    for i in range(len(ends)):
        for place in range(words):
            left[i, place] = NOTHING
        for j in range(list_neighbours(live, np.int64(ends[i]), work)):
            y = np.uint64(work[j])
            for place in range(words):
                left[i, place] |= live.bits[y, place]


@inlined
def select_ends(ends: Ids, lost: Bits, left: Bits, place: Int, shift: np.uint64, out: Ids) -> tuple[Int, Int]:
    """Write the ends that lost a neighbour in one topic; return how many, and how many have none left there.

    Those without a neighbour in the topic come last. `out` has room for one entry more than there are ends.
    """
    count, connected = np.int64(0), np.int64(0)
    for i in range(len(ends)):
        # Which ends have the topic cannot be predicted. So every end is written, and stays if it counts.
        there = (lost[i, place] >> shift) & ONE
        near = there & (left[i, place] >> shift)
        first, x = out[connected], ends[i]
        out[count] = first if near else x
        out[connected] = x if near else out[connected]
        count += np.int64(there)
        connected += np.int64(near)
    return count, count - connected


@inner
def count_pieces(groups: Groups, made: Int) -> Int:
    """Return how many groups were not merged into others."""
    pieces = np.int64(0)
    for i in range(made):
        pieces += np.int64(groups.parent[i] == i)
    return pieces


@inner
def record_nodes(
    live: LiveArrays, groups: Groups, seen: Int, rest: Int, whole: bool, node: Ids, label: Ids
) -> Int:
    """Write the nodes reached that are in a fragment other than the rest, and the number of the fragment.

    Unless `whole`, only candidates are written. Returns how many there are.
    """
    count = np.int64(0)
    for i in range(seen):
        v = np.int64(groups.seen[i])
        group = group_of(groups, np.int64(groups.mark[v]))
        if group != rest and (whole or live.row[v] != NONE):
            node[count], label[count] = v, group + 1
            count += 1
    return count


@helper
def find_damage(live: LiveArrays, groups: Groups, ends: Ids, lost: Bits, whole: bool) -> Damage:
    """Record the fragments of each topic that lost something.

    `lost[i]` are the topics, all of which it has, in which `ends[i]` lost a neighbour. Unless `whole`, only
    nodes with a place in `live.row`, the candidates of the repair, are recorded.
    """
    node, topic_of = np.empty(64, dtype=np.int32), np.empty(64, dtype=np.int32)
    label = np.empty(64, dtype=np.int32)
    tally = np.zeros(3, dtype=np.int64)
    here = np.empty(len(ends) + 1, dtype=np.int32)
    left = np.empty(lost.shape, dtype=np.uint64)
    # The queues of searches are blank memory between them.
    find_left(live, ends, groups.queued, left)
    count: Int = np.int64(0)
    for place in range(lost.shape[1]):
        word = NOTHING
        for i in range(len(ends)):
            word |= lost[i, place]
        while word:
            topic = lowest_position(place, word)
            found, alone = select_ends(ends, lost, left, np.int64(place), lowest_bit(word), here)
            word = without_lowest(word)
            # Every fragment contains an end: with one end, there is one fragment.
            if found < 2:
                continue
            made, seen, rest = find_fragments(live, groups, topic, here, found, alone)
            pieces = count_pieces(groups, made)
            if pieces > 1:
                tally[MISSING] += pieces - 1
                tally[FRAGMENTS] += pieces
                tally[BROKEN] += 1
                while count + seen > len(node):
                    node, label = with_double_room(node), with_double_room(label)
                    topic_of = with_double_room(topic_of)
                more = record_nodes(live, groups, seen, rest, whole, node[count:], label[count:])
                topic_of[count : count + more] = topic
                count += more
            clear_marks(groups, seen)
    return Damage(node[:count], topic_of[:count], label[:count], tally)


@inner
def list_shared(live: LiveArrays, topics: Bits, out: Ids) -> Int:
    """Write the topics with at least two subscribers, and return how many there are."""
    count = np.int64(0)
    for place in range(len(topics)):
        word = topics[place]
        while word:
            topic = lowest_position(place, word)
            word = without_lowest(word)
            if live.subscribers[topic] > 1:
                out[count] = topic
                count += 1
    return count


@helper
def isolate(live: LiveArrays, v: Int, topics: Bits) -> Damage:
    """Record that a node alone is cut off in those of its topics that others have too."""
    topic_of = np.empty(count_bits(topics), dtype=np.int32)
    count = list_shared(live, topics, topic_of)
    tally: NDArray[np.int64] = np.zeros(3, dtype=np.int64)
    tally[MISSING], tally[FRAGMENTS], tally[BROKEN] = count, 2 * count, count
    return Damage(np.full(count, v, dtype=np.int32), topic_of[:count], np.ones(count, dtype=np.int32), tally)


# -- damage without a repair ----------------------------------------------------------------------------


@inner
def flip_holders(live: LiveArrays, gone: Ids, own: Bits, place: Int, bit: np.uint64, topic: Int) -> Int:
    """Take the bits of failed nodes out of a topic, or put them back, and return how many there are."""
    count = np.int64(0)
    for i in range(len(gone)):
        if own[i, place] & bit:
            node = np.uint64(gone[i])
            live.holders[topic, node >> SIX] ^= ONE << (node & SIXTY_THREE)
            count += 1
    return count


@inner
def count_cut_off(groups: Groups, made: Int, seen: Int, rest: Int, left: Int, sizes: Offsets) -> Int:
    """Return how many of the `left` subscribers of a topic are outside its largest fragment."""
    for group in range(made):
        sizes[group] = 0
    for i in range(seen):
        sizes[group_of(groups, np.int64(groups.mark[groups.seen[i]]))] += 1
    walked, largest = np.int64(0), np.int64(0)
    for group in range(made):
        if group != rest:
            walked += sizes[group]
            largest = max(largest, sizes[group])
    # The subscribers that were not reached belong to the rest.
    return left - max(largest, left - walked)


@compiled
def count_damage(live: LiveArrays, groups: Groups, gone: Ids) -> tuple[Int, Int]:
    """Return how many topics are split if nodes fail at once, and how many subscribers that cuts off.

    In each topic, all subscribers outside its largest fragment are cut off. Nothing is changed: while a topic
    is searched, the failed nodes do not have it, so the search does not pass through them.

    Only a topic that a lost link carried can be split, so topics are taken from the ends of lost links, one
    word of 64 at a time. Invariant of the loop: up to its word, `lost[i]` holds the common topics of the ends
    of the i-th lost link. Cost: the words of all lost links, and a search for each topic.
    """
    words, losses = live.bits.shape[1], 0
    for v in gone:
        losses += live.degree[v]
    ends, lost = np.empty(losses, dtype=np.int32), np.empty((losses, words), dtype=np.uint64)
    own = np.empty((len(gone), words), dtype=np.uint64)
    count: Int = np.int64(0)
    # The far end of every lost link, and the topics of the node that it loses.
    for i in range(len(gone)):
        own[i] = live.bits[gone[i]]
        found = list_neighbours(live, np.int64(gone[i]), ends[count:])
        for j in range(count, count + found):
            lost[j] = own[i]
        count += found
    split, cut_off = 0, np.int64(0)
    here, sizes = np.empty(losses + 1, dtype=np.int32), np.empty(losses, dtype=np.int64)
    # Failed nodes are no ends: they have no topics for the time being.
    for v in gone:
        live.bits[v, :] = NOTHING
    for place in range(words):
        word = NOTHING
        for i in range(losses):
            lost[i, place] &= live.bits[ends[i], place]
            word |= lost[i, place]
        while word:
            topic, bit = lowest_position(place, word), lowest_only(word)
            found, alone = select_ends(ends, lost, lost, np.int64(place), lowest_bit(word), here)
            word = without_lowest(word)
            # Take the topic from the failed nodes for the search, and give it back after it.
            left = np.int64(live.subscribers[topic]) - flip_holders(live, gone, own, place, bit, topic)
            made, seen, rest = find_fragments(live, groups, topic, here, found, alone)
            flip_holders(live, gone, own, place, bit, topic)
            cut = count_cut_off(groups, made, seen, rest, left, sizes)
            clear_marks(groups, seen)
            split += int(cut > 0)
            cut_off += cut
    for i in range(len(gone)):
        live.bits[gone[i]] = own[i]
    return split, cut_off
