"""What a ruin leaves: for each topic it touched, the fragments apart from the rest.

Most topics of a link that is taken away have another way of two or three links, often through the same few
hubs. Topics are bits here, so that each of these ways is looked at once and not once for each topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.dynamic.fragments import forget, group_of, search
from meshwright.dynamic.link_lists import write_out
from meshwright.dynamic.net import NONE, has_topic, is_set
from meshwright.jit.compiler import inlined, inner, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets
    from meshwright.dynamic.fragments import Groups
    from meshwright.dynamic.net import Bits, Int, Net


HERE = 0
"""A neighbour's mark; marks are taken back at once."""


@inner
def mark_neighbours(net: Net, groups: Groups, pieces: Pieces, v: Int, mark: Int) -> None:
    """Set the marks of a node's neighbours."""
    for i in range(write_out(net, net.near_first, net.degree, v, pieces.near)):
        groups.mark[pieces.near[i]] = mark


@inner
def reach(net: Net, pieces: Pieces, x: Int) -> Int:
    """Return how many links a node's neighbours have."""
    links = np.int64(0)
    for i in range(write_out(net, net.near_first, net.degree, x, pieces.near)):
        links += net.degree[pieces.near[i]]
    return links


@inner
def find_bridged(net: Net, groups: Groups, pieces: Pieces, bridged: Bits, u: Int, v: Int) -> None:
    """Set the bits of the topics, u's and v's or not, of a node between them, or of two in a row."""
    bridged[:] = 0
    if reach(net, pieces, u) > reach(net, pieces, v):
        u, v = v, u
    mark_neighbours(net, groups, pieces, v, HERE)
    for i in range(write_out(net, net.near_first, net.degree, u, pieces.near)):
        w = np.int64(pieces.near[i])
        if groups.mark[w] == HERE:
            for word in range(len(bridged)):
                bridged[word] |= net.bits[w, word]
        for j in range(write_out(net, net.near_first, net.degree, w, pieces.far)):
            z = pieces.far[j]
            if groups.mark[z] == HERE:
                for word in range(len(bridged)):
                    bridged[word] |= net.bits[w, word] & net.bits[z, word]
    mark_neighbours(net, groups, pieces, v, NONE)


RECORDS, LOOSE, TOUCHED, MISSING = 0, 1, 2, 3
"""The fields of `Pieces.tally`: records, loose nodes, touched topics, merges still missing."""


class Pieces(NamedTuple):
    """One record for each node and topic in which it is in a fragment, not in the rest.

    A node with a record is *loose*. A fragment's label is 1 or more; the rest, and whoever has no record, has
    label 0.
    """

    slot: Ids
    """By record: the place of the node among the topic's subscribers, in `topic_nodes`."""
    node: Ids
    topic: Ids
    next_of_node: Ids
    next_of_topic: Ids
    label: Ids
    """By slot: the fragment's label."""
    node_first: Ids
    """By node: its first record."""
    topic_first: Ids
    """By topic: its first record; −2 if it was not touched."""
    loose: Ids
    touched: Ids
    ends: Ids
    """Working memory: the ends of lost links in one topic."""
    bridged: Bits
    """By lost link: the topics in which its ends are still connected by a short way."""
    near: Ids
    far: Ids
    """Working memory: the neighbours of a node, and of one of those."""
    tally: Offsets


UNTOUCHED = -2


@inlined
def slot_of(net: Net, topic: Int, v: Int) -> Int:
    """Return the place of node v among a topic's subscribers."""
    low: Int = net.topic_ptr[topic]
    high: Int = net.topic_ptr[topic + 1] - 1
    while low < high:
        middle = (low + high) >> 1
        if net.topic_nodes[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def label_of(pieces: Pieces, v: Int, topic: Int) -> Int:
    """Return the label of a subscriber of a topic."""
    record = pieces.node_first[v]
    while record != NONE:
        if pieces.topic[record] == topic:
            return np.int64(pieces.label[pieces.slot[record]])
        record = pieces.next_of_node[record]
    return np.int64(0)


@kernel
def touch_topics(net: Net, groups: Groups, pieces: Pieces, lost: Ids, number: Int) -> None:
    """Note the common topics of the ends of a lost link, but for those with another, short way.

    All links that are to be lost must be gone.
    """
    u, v = np.int64(lost[2 * number]), np.int64(lost[2 * number + 1])
    bridged = pieces.bridged[number]
    find_bridged(net, groups, pieces, bridged, u, v)
    i, j = net.node_ptr[u], net.node_ptr[v]
    while i < net.node_ptr[u + 1] and j < net.node_ptr[v + 1]:
        first, second = net.node_topics[i], net.node_topics[j]
        if first == second and pieces.topic_first[first] == UNTOUCHED and not is_set(bridged, first):
            pieces.topic_first[first] = NONE
            pieces.touched[pieces.tally[TOUCHED]] = first
            pieces.tally[TOUCHED] += 1
        i += np.int64(first <= second)
        j += np.int64(second <= first)


@kernel
def record_fragments(net: Net, groups: Groups, pieces: Pieces, lost: Ids, count: Int) -> bool:
    """Search every touched topic from the ends of the lost links, and record its fragments.

    Says no, with the records unfinished, when there are more of them than fit.
    """
    for i in range(pieces.tally[TOUCHED]):
        topic = np.int64(pieces.touched[i])
        ends = 0
        for j in range(2 * count):
            shared = has_topic(net, lost[j], topic) and has_topic(net, lost[j ^ 1], topic)
            # A link whose ends are connected otherwise split nothing off.
            if shared and not is_set(pieces.bridged[j >> 1], topic):
                pieces.ends[ends] = lost[j]
                ends += 1
        made, seen, rest = search(net, groups, topic, pieces.ends, ends)
        fits = True
        for j in range(seen):
            v = np.int64(groups.seen[j])
            group = group_of(groups, np.int64(groups.mark[v]))
            if group != rest:
                record = pieces.tally[RECORDS]
                if record == len(pieces.slot):
                    fits = False
                    break
                slot = slot_of(net, topic, v)
                pieces.tally[RECORDS] += 1
                pieces.slot[record], pieces.node[record], pieces.topic[record] = slot, v, topic
                pieces.label[slot] = group + 1
                if pieces.node_first[v] == NONE:
                    pieces.loose[pieces.tally[LOOSE]] = v
                    pieces.tally[LOOSE] += 1
                pieces.next_of_node[record] = pieces.node_first[v]
                pieces.node_first[v] = record
                pieces.next_of_topic[record] = pieces.topic_first[topic]
                pieces.topic_first[topic] = record
        for group in range(made):
            if group_of(groups, np.int64(group)) == group and group != rest:
                pieces.tally[MISSING] += 1
        forget(groups, seen)
        if not fits:
            return False
    return True


@inner
def join(pieces: Pieces, topic: Int, a: Int, b: Int) -> None:
    """Merge two fragments of a topic, or one and the rest."""
    if b == 0:
        a, b = b, a
    record = pieces.topic_first[topic]
    while record != NONE:
        if pieces.label[pieces.slot[record]] == b:
            pieces.label[pieces.slot[record]] = a
        record = pieces.next_of_topic[record]
    pieces.tally[MISSING] -= 1


@inner
def join_all(net: Net, pieces: Pieces, u: Int, v: Int) -> None:
    """Merge what a new link between u and v joins."""
    for turn in range(2):
        x, y = (u, v) if turn == 0 else (v, u)
        record = pieces.node_first[x]
        while record != NONE:
            topic = np.int64(pieces.topic[record])
            mine = np.int64(pieces.label[pieces.slot[record]])
            record = pieces.next_of_node[record]
            if has_topic(net, y, topic):
                yours = label_of(pieces, y, topic)
                if mine != yours:
                    join(pieces, topic, mine, yours)


@inner
def sweep_up(pieces: Pieces) -> None:
    """Forget all records."""
    for record in range(pieces.tally[RECORDS]):
        pieces.label[pieces.slot[record]] = 0
        pieces.node_first[pieces.node[record]] = NONE
    for i in range(pieces.tally[TOUCHED]):
        pieces.topic_first[pieces.touched[i]] = UNTOUCHED
    for field in range(len(pieces.tally)):
        pieces.tally[field] = 0
