"""Records of the fragments that a ruin leaves: which nodes it cut off, in which topics.

After some links are gone, each topic that they may have split is *touched*, and a search finds its fragments.
One of these is the rest. A node in another fragment of a topic gets a record with the label of that fragment,
1 or more. The rest has label 0, and so does every subscriber without a record. A node with a record is
*loose*.

Records are in two chains, those of a node and those of a topic. A link of u and v joins the topics that both
have and in which their labels differ; merging two fragments changes the labels in the chain of the topic. The
merges still missing are counted: the ruin is repaired when this count is 0.

There is room for a fixed number of records. A ruin that needs more is given up.

**Detours** spare most of the searches. When a link is removed, most topics of its ends are still connected by
a path of two or three links, often through the same few hubs. Topics are bits here, so that each path is
walked once for all topics, instead of once for each of them. The cost is the links of the neighbours of one
end, and a few words of bits for each path that is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.dynamic.fragments import clear_marks, find_fragments, group_of
from meshwright.dynamic.link_lists import copy_list_inlined
from meshwright.dynamic.mutable_overlay import NONE, has_topic, is_set
from meshwright.jit.compiler import inlined, inner, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Ids, Int, Offsets
    from meshwright.dynamic.fragments import Groups


RECORDS, LOOSE, TOUCHED, MISSING = 0, 1, 2, 3
"""The counters in `FragmentRecords.tally`: records, loose nodes, touched topics, merges still missing."""
UNTOUCHED = -2
"""The first record of a topic that is not touched."""
HERE = 0
"""The mark of a neighbour of the other end; marks are cleared before the call returns."""


class Net(NamedTuple):
    """A `MutableOverlay` whose interest is also there as lists, each of them ascending."""

    node_ptr: Offsets
    """By node: where its topics begin in `node_topics`, and one more for the end of the last."""
    node_topics: Ids
    """The topics of node 0, of node 1, and so on."""
    topic_ptr: Offsets
    """By topic: where its subscribers begin in `topic_nodes`, and one more for the end of the last."""
    topic_nodes: Ids
    """The subscribers of topic 0, of topic 1, and so on."""
    bits: Bits
    """By node: its topics, one bit each."""
    holders: Bits
    """By topic: its subscribers, one bit each."""
    near_first: Ids
    """By node: the first chunk of its neighbours."""
    degree: Ids
    """By node: the number of its neighbours."""
    entries: Ids
    """The chunks of the lists of neighbours."""
    spare: Ids
    """A stack of unused chunks."""
    tally: Offsets
    """Counters: links, unused chunks, and the state of the random numbers."""


class FragmentRecords(NamedTuple):
    """One record for each node and topic in which the node is in a fragment other than the rest."""

    slot: Ids
    """By record: the place of the node among the subscribers of the topic, in `Net.topic_nodes`."""
    node: Ids
    """By record: the node."""
    topic: Ids
    """By record: the topic."""
    next_of_node: Ids
    """By record: the next one of the same node, or −1."""
    next_of_topic: Ids
    """By record: the next one of the same topic, or −1."""
    label: Ids
    """By slot: the label of the fragment."""
    node_first: Ids
    """By node: its first record, or −1."""
    topic_first: Ids
    """By topic: its first record, −1 if it has none, −2 if it is not touched."""
    loose: Ids
    """The loose nodes, in the order they were found."""
    touched: Ids
    """The touched topics, in the order they were found."""
    ends: Ids
    """Working memory: the ends of the lost links in one topic."""
    bridged: Bits
    """By lost link: the topics in which a detour connects its ends."""
    near: Ids
    """Working memory: the neighbours of a node."""
    far: Ids
    """Working memory: the neighbours of one of these."""
    tally: Offsets
    """Counters, by the constants above."""


@inlined
def slot_of(net: Net, topic: Int, v: Int) -> Int:
    """Return the place of a node among the subscribers of a topic, by binary search."""
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
def label_of(records: FragmentRecords, v: Int, topic: Int) -> Int:
    """Return the label of a subscriber of a topic."""
    record = records.node_first[v]
    while record != NONE:
        if records.topic[record] == topic:
            return np.int64(records.label[records.slot[record]])
        record = records.next_of_node[record]
    return np.int64(0)


@inner
def mark_neighbours(net: Net, groups: Groups, near: Ids, v: Int, mark: Int) -> None:
    """Set the marks of the neighbours of a node."""
    for i in range(copy_list_inlined(net, net.near_first, net.degree, v, near)):
        groups.mark[near[i]] = mark


@inner
def links_of_neighbours(net: Net, near: Ids, x: Int) -> Int:
    """Return how many links the neighbours of a node have."""
    links = np.int64(0)
    for i in range(copy_list_inlined(net, net.near_first, net.degree, x, near)):
        links += net.degree[near[i]]
    return links


@inner
def find_detours(net: Net, groups: Groups, near: Ids, far: Ids, bridged: Bits, u: Int, v: Int) -> None:
    """Set in `bridged` the topics of every path u – w – v, and of every path u – w – z – v.

    These are topics that w, or w and z, have; u and v need not have them. `near` and `far` are working memory
    for the neighbours of a node.
    """
    bridged[:] = 0
    # The paths are the same from either end: walk them from the end with less to walk.
    if links_of_neighbours(net, near, u) > links_of_neighbours(net, near, v):
        u, v = v, u
    mark_neighbours(net, groups, near, v, HERE)
    for i in range(copy_list_inlined(net, net.near_first, net.degree, u, near)):
        w = np.int64(near[i])
        # w is next to both ends: a path of two links in all topics of w.
        if groups.mark[w] == HERE:
            for word in range(len(bridged)):
                bridged[word] |= net.bits[w, word]
        for j in range(copy_list_inlined(net, net.near_first, net.degree, w, far)):
            z = far[j]
            # u – w – z – v: three links, in the topics that both w and z have.
            if groups.mark[z] == HERE:
                for word in range(len(bridged)):
                    bridged[word] |= net.bits[w, word] & net.bits[z, word]
    mark_neighbours(net, groups, near, v, NONE)


@kernel
def touch_topics(net: Net, groups: Groups, records: FragmentRecords, lost: Ids, number: Int) -> None:
    """Touch the topics of both ends of a lost link, except those with a detour.

    All lost links must be gone already: a detour must not use one of them.
    """
    u, v = np.int64(lost[2 * number]), np.int64(lost[2 * number + 1])
    bridged = records.bridged[number]
    find_detours(net, groups, records.near, records.far, bridged, u, v)
    # Both lists of topics are ascending: walk them side by side.
    i, j = net.node_ptr[u], net.node_ptr[v]
    while i < net.node_ptr[u + 1] and j < net.node_ptr[v + 1]:
        first, second = net.node_topics[i], net.node_topics[j]
        if first == second and records.topic_first[first] == UNTOUCHED and not is_set(bridged, first):
            records.topic_first[first] = NONE
            records.touched[records.tally[TOUCHED]] = first
            records.tally[TOUCHED] += 1
        # Advance the list with the smaller topic, or both, without a branch.
        i += np.int64(first <= second)
        j += np.int64(second <= first)


@inner
def list_ends(net: Net, records: FragmentRecords, topic: Int, lost: Ids, count: Int) -> Int:
    """Write the ends of the lost links that may have split a topic, and return how many there are."""
    ends = np.int64(0)
    for j in range(2 * count):
        shared = has_topic(net, lost[j], topic) and has_topic(net, lost[j ^ 1], topic)
        # A link with a detour split nothing off.
        if shared and not is_set(records.bridged[j >> 1], topic):
            records.ends[ends] = lost[j]
            ends += 1
    return ends


@inner
def add_record(net: Net, records: FragmentRecords, v: Int, topic: Int, label: Int) -> bool:
    """Record that a node is in a fragment of a topic, and return whether there was room."""
    record = records.tally[RECORDS]
    if record == len(records.slot):
        return False
    # The record goes to the front of both chains.
    slot = slot_of(net, topic, v)
    records.tally[RECORDS] += 1
    records.slot[record], records.node[record], records.topic[record] = slot, v, topic
    records.label[slot] = label
    if records.node_first[v] == NONE:
        records.loose[records.tally[LOOSE]] = v
        records.tally[LOOSE] += 1
    records.next_of_node[record] = records.node_first[v]
    records.node_first[v] = record
    records.next_of_topic[record] = records.topic_first[topic]
    records.topic_first[topic] = record
    return True


@kernel
def record_fragments(net: Net, groups: Groups, records: FragmentRecords, lost: Ids, count: Int) -> bool:
    """Find the fragments of every touched topic, and record them.

    Returns False, with the records incomplete, if there is no room for all of them.
    """
    for i in range(records.tally[TOUCHED]):
        topic = np.int64(records.touched[i])
        ends = list_ends(net, records, topic, lost, count)
        made, seen, rest = find_fragments(net, groups, topic, records.ends, ends, np.int64(0))
        fits = True
        for j in range(seen):
            v = np.int64(groups.seen[j])
            group = group_of(groups, np.int64(groups.mark[v]))
            # Labels of fragments begin at 1.
            if group != rest and not add_record(net, records, v, topic, group + 1):
                fits = False
                break
        # Each fragment but the rest takes one merge.
        for group in range(made):
            if group_of(groups, np.int64(group)) == group and group != rest:
                records.tally[MISSING] += 1
        clear_marks(groups, seen)
        if not fits:
            return False
    return True


@inner
def merge_fragments(records: FragmentRecords, topic: Int, a: Int, b: Int) -> None:
    """Merge two fragments of a topic, or one and the rest."""
    # The rest keeps its label 0: its subscribers without a record cannot be given another one.
    if b == 0:
        a, b = b, a
    record = records.topic_first[topic]
    while record != NONE:
        if records.label[records.slot[record]] == b:
            records.label[records.slot[record]] = a
        record = records.next_of_topic[record]
    records.tally[MISSING] -= 1


@inner
def merge_across(net: Net, records: FragmentRecords, u: Int, v: Int) -> None:
    """Merge the fragments that a new link between u and v joins."""
    # A topic is joined only if one end is cut off in it, and thus has a record. Where both ends have one, the
    # second turn finds equal labels.
    for turn in range(2):
        x, y = (u, v) if turn == 0 else (v, u)
        record = records.node_first[x]
        while record != NONE:
            topic = np.int64(records.topic[record])
            mine = np.int64(records.label[records.slot[record]])
            record = records.next_of_node[record]
            if has_topic(net, y, topic):
                yours = label_of(records, y, topic)
                if mine != yours:
                    merge_fragments(records, topic, mine, yours)


@inner
def clear_records(records: FragmentRecords) -> None:
    """Remove all records."""
    for record in range(records.tally[RECORDS]):
        records.label[records.slot[record]] = 0
        records.node_first[records.node[record]] = NONE
    for i in range(records.tally[TOUCHED]):
        records.topic_first[records.touched[i]] = UNTOUCHED
    for field in range(len(records.tally)):
        records.tally[field] = 0
