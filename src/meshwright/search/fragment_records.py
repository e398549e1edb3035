"""Records of the fragments that a ruin leaves: which nodes it cut off, in which topics.

After some links are gone, each topic that they may have split is *touched*, and a search finds its fragments.
One of these is the rest. A node in another fragment of a topic gets a record with the label of that fragment,
1 or more. The rest has label 0, and so does every subscriber without a record. A node with a record is
*loose*.

Records are in two chains, those of a node and those of a topic. A link of u and v joins the topics that both
have and in which their labels differ; merging two fragments changes the labels in the chain of the topic. The
merges still missing are counted: the ruin is repaired when this count is 0.

There is room for a fixed number of records. A ruin that needs more is given up.

A **tree** of each topic tells which topics a lost link touches: those in whose tree it is. See `topic_trees`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Bits, Ids, Int, Offsets
from meshwright.dynamic.fragments import Groups, clear_marks
from meshwright.dynamic.mutable_overlay import NONE, copy_list_inlined, has_topic, is_set
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.search.topic_trees import TopicTrees, cut, find_fragment, join_trees, slot_of

RECORDS, LOOSE, TOUCHED, MISSING = 0, 1, 2, 3
"""The counters in `FragmentRecords.tally`: records, loose nodes, touched topics, merges still missing."""
UNTOUCHED = -2
"""The first record of a topic that is not touched."""


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
    alone: Bits
    """By end of a lost link: its topics that none of its neighbours has."""
    near: Ids
    """Working memory: the neighbours of a node."""
    tally: Offsets
    """Counters, by the constants above."""


@inlined
def label_of(records: FragmentRecords, v: Int, topic: Int) -> Int:
    """Return the label of a subscriber of a topic."""
    record = records.node_first[v]
    while record != NONE:
        if records.topic[record] == topic:
            return np.int64(records.label[records.slot[record]])
        record = records.next_of_node[record]
    return np.int64(0)


@kernel
def touch_topics(net: Net, trees: TopicTrees, records: FragmentRecords, lost: Ids, number: Int) -> None:
    """Cut a lost link out of the trees that it is in, and touch their topics."""
    u, v = lost[2 * number], lost[2 * number + 1]
    # Both lists of topics are ascending: walk them side by side.
    i, j = net.node_ptr[u], net.node_ptr[v]
    while i < net.node_ptr[u + 1] and j < net.node_ptr[v + 1]:
        first, second = net.node_topics[i], net.node_topics[j]
        if first == second:
            untouched = records.topic_first[first] == UNTOUCHED
            if untouched:
                trees.first_cut[first] = NONE
            if cut(net, trees, np.int64(first), lost, number) and untouched:
                records.topic_first[first] = NONE
                records.touched[records.tally[TOUCHED]] = first
                records.tally[TOUCHED] += 1
        # Advance the list with the smaller topic, or both, without a branch.
        i += np.int64(first <= second)
        j += np.int64(second <= first)


@inner
def find_alone(net: Net, records: FragmentRecords, lost: Ids, count: Int) -> None:
    """Find for each end of a lost link the topics in which it has no neighbour left, all topics at once."""
    for end in range(2 * count):
        x, alone = np.int64(lost[end]), records.alone[end]
        for word in range(len(alone)):
            alone[word] = net.bits[x, word]
        for i in range(copy_list_inlined(net, net.near_first, net.degree, x, records.near)):
            y = np.int64(records.near[i])
            for word in range(len(alone)):
                alone[word] &= ~net.bits[y, word]


@inner
def add_record(records: FragmentRecords, slot: Int, v: Int, topic: Int, label: Int) -> bool:
    """Record that a node is in a fragment of a topic, and return whether there was room."""
    record = records.tally[RECORDS]
    if record == len(records.slot):
        return False
    # The record goes to the front of both chains.
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


@inner
def record_topic(net: Net, trees: TopicTrees, groups: Groups, records: FragmentRecords, topic: Int) -> bool:
    """Find and record the fragments of a touched topic, and return whether there was room."""
    fits, made, label = True, trees.first_cut[topic], np.int64(0)
    while made != NONE and fits:
        top = np.int64(trees.lower[made])
        label += 1
        # Most fragments are single nodes, which need no search.
        if is_set(records.alone[trees.end[made]], topic):
            fits = add_record(records, slot_of(net, trees, topic, top), top, topic, label)
            records.tally[MISSING] += 1
        # Another search may have hung the node elsewhere already.
        elif trees.parent[slot_of(net, trees, topic, top)] == NONE:
            seen = find_fragment(net, trees, groups, topic, top)
            # More than half of the topic is the rest, and what was the rest before is a fragment.
            if 2 * seen > net.topic_ptr[topic + 1] - net.topic_ptr[topic]:
                clear_marks(groups, seen)
                seen = find_fragment(net, trees, groups, topic, np.int64(trees.root[topic]))
                trees.root[topic] = top
            for i in range(seen):
                v = np.int64(groups.seen[i])
                fits = fits and add_record(records, slot_of(net, trees, topic, v), v, topic, label)
            records.tally[MISSING] += np.int64(seen > 0)
            clear_marks(groups, seen)
        made = trees.next_cut[made]
    return fits


@kernel
def record_fragments(
    net: Net, trees: TopicTrees, groups: Groups, records: FragmentRecords, lost: Ids, count: Int
) -> bool:
    """Find the fragments of every touched topic, and record them.

    Returns False, with the records incomplete, if there is no room for all of them.
    """
    find_alone(net, records, lost, count)
    for i in range(records.tally[TOUCHED]):
        if not record_topic(net, trees, groups, records, np.int64(records.touched[i])):
            return False
    return True


@inner
def join_recorded(net: Net, trees: TopicTrees, records: FragmentRecords, made: Ids, count: Int) -> None:
    """Join the trees of all fragments by the `count` links that a step has made."""
    for j in range(2 * count):
        # A link joins fragments only in topics in which one of its ends is cut off, and thus has a record.
        x, y = np.int64(made[j]), np.int64(made[j ^ 1])
        record = records.node_first[x]
        while record != NONE:
            topic = np.int64(records.topic[record])
            if has_topic(net, y, topic):
                join_trees(net, trees, topic, x, y)
            record = records.next_of_node[record]


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
