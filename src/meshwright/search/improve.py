"""The compiled steps of ruin and recreate: remove a few links, join the fragments, keep that if no worse.

A step removes up to `lost` links at a random node and at nodes similar to it, records the fragments, and adds
the links that join the most, as long as they can be no more than were removed. If they are not enough, the
step is undone. Only with `lowering` a step may add some links more, so that a node comes down to the cap.
Between steps every topic is connected, and all working memory is blank. Steps that change the overlay without
a gain are kept too: they lead to others that gain.

The *best partner* of a loose node x is found by counting for all nodes at once what a link from x joins. Each
topic in which x is cut off gives a row of bits, its subscribers outside the fragment of x. The rows are added
up in bit-sliced counters: slice i holds bit i of every node's count. The cost is the words of a row for each
such topic, about, plus one step for each record of another loose node. Gains only fall while links are added,
so an old gain is an upper bound; `fresh` says whether it is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import NOTHING, Bits, Ids, Int, Offsets
from meshwright.dynamic.fragments import Groups
from meshwright.dynamic.mutable_overlay import (
    LINKS,
    NONE,
    add_link,
    chunks_for,
    clear_bit,
    draw,
    has_topic,
    list_neighbours,
    lowest_position,
    remove_link,
    set_bit,
    without_lowest,
)
from meshwright.greedy.kernels.bit_rows import add_carry, count_one, digits_of, keep_largest
from meshwright.jit.compiler import inner, kernel
from meshwright.search.fragment_records import (
    LOOSE,
    MISSING,
    TOUCHED,
    FragmentRecords,
    Net,
    clear_records,
    join_recorded,
    label_of,
    merge_across,
    record_fragments,
    touch_topics,
)
from meshwright.search.topic_trees import TopicTrees, restore_cuts


class Partners(NamedTuple):
    """Rows of bits over nodes, and the best partner found for each loose node."""

    barred: Bits
    """Two rows: the nodes that have as many links as the cap, and those that have more."""
    carry: Bits
    """Working memory: the row that is being added; then the nodes that may be the partner."""
    slices: Bits
    """Working memory: the counters."""
    gain: Ids
    """By loose node: how much its best link joins, or an upper bound of it."""
    partner: Ids
    """By loose node: the other end of its best link, or −1."""
    fresh: Ids
    """By loose node: how many links had been added when its gain was counted, or −1."""
    forbidden: Ids
    """Two nodes that must not be linked, or −1 twice."""


@kernel
def update_barred(net: Net, partners: Partners, v: Int, cap: Int) -> None:
    """Note whether a node has as many links as the cap, and whether more, after its degree has changed."""
    for over in range(2):
        if net.degree[v] < cap + over:
            clear_bit(partners.barred[over], v)
        else:
            set_bit(partners.barred[over], v)


@inner
def load_others(net: Net, records: FragmentRecords, partners: Partners, topic: Int, label: Int) -> None:
    """Set the carry to the subscribers of a topic outside one of its fragments."""
    for j in range(np.uint64(len(partners.carry))):
        partners.carry[j] = net.holders[topic, j]
    record = records.topic_first[topic]
    while record != NONE:
        if records.label[records.slot[record]] == label:
            clear_bit(partners.carry, np.int64(records.node[record]))
        record = records.next_of_topic[record]


@inner
def count_joined(net: Net, records: FragmentRecords, partners: Partners, x: Int) -> Int:
    """Count for every node how much a link from x would join, and return how many slices are in use."""
    # A link joins each touched topic at most once.
    top = digits_of(np.int64(records.tally[TOUCHED]))
    for i in range(top):
        for j in range(np.uint64(len(partners.carry))):
            partners.slices[i, j] = NOTHING
    rows, record = np.int64(0), records.node_first[x]
    while record != NONE:
        mine = np.int64(records.label[records.slot[record]])
        if mine > 0:
            load_others(net, records, partners, np.int64(records.topic[record]), mine)
            # No count is above the number of rows: a carry goes no further than the digits of that.
            rows += 1
            add_carry(partners.carry, partners.slices, digits_of(rows))
        record = records.next_of_node[record]
    # Where x itself is in the rest, a link to a loose node joins that node's fragment.
    for i in range(records.tally[LOOSE]):
        v = np.int64(records.loose[i])
        record = records.node_first[v]
        while record != NONE and v != x:
            topic = np.int64(records.topic[record])
            apart = records.label[records.slot[record]] > 0 and has_topic(net, x, topic)
            if apart and label_of(records, x, topic) == 0:
                count_one(partners.slices, np.uint64(v))
            record = records.next_of_node[record]
    return top


@inner
def choose_partner(net: Net, row: Bits) -> Int:
    """Choose the node of least degree in a row of bits; among several, each is equally likely."""
    best: Int = np.int64(NONE)
    ties = np.int64(0)
    for j in range(np.uint64(len(row))):
        left = row[j]
        while left != NOTHING:
            v = lowest_position(np.int64(j), left)
            left = without_lowest(left)
            if best == NONE or net.degree[v] < net.degree[best]:
                best, ties = v, np.int64(0)
            elif net.degree[v] == net.degree[best]:
                # Reservoir sampling: the n-th of the tied nodes replaces the choice with probability 1/n.
                ties += 1
                if draw(net, ties + 1) == 0:
                    best = v
    return best


@kernel
def find_best_partner(
    net: Net, records: FragmentRecords, partners: Partners, position: Int, cap: Int, over: Int, made: Int
) -> None:
    """Find the best partner of the loose node at a position: most joined, then least degree, then at random.

    Nodes may get `over`, 0 or 1, links more than the cap. `made` is the number of links added so far.
    """
    x = np.int64(records.loose[position])
    partners.fresh[position] = made
    partners.gain[position], partners.partner[position] = 0, NONE
    if net.degree[x] >= cap + over:
        return
    top = count_joined(net, records, partners, x)
    words = np.uint64(len(partners.carry))
    # Every node may be the partner, except barred ones and the other end of the forbidden pair. A link to x
    # itself or to a neighbour of x joins nothing.
    for j in range(words):
        partners.carry[j] = ~partners.barred[over, j]
    for end in range(2):
        if partners.forbidden[end] == x:
            clear_bit(partners.carry, np.int64(partners.forbidden[1 - end]))
    most = keep_largest(partners.carry, partners.slices, top, NOTHING, words)
    if most > 0:
        partners.gain[position], partners.partner[position] = most, choose_partner(net, partners.carry)


MOST_MORE = 4
"""The most links that a step may add beyond those it removed, so that a node comes down to the cap."""


class StepLinks(NamedTuple):
    """The links that a step removed and added, two ends each."""

    lost: Ids
    """The ends of the links removed. The first end of a link is the node at which it was removed."""
    made: Ids
    """The ends of the links added."""
    excess: Offsets
    """One number: by how many links nodes exceed the cap, in all, more than before the step."""


class Limits(NamedTuple):
    """What a step may do."""

    lost: int
    """The most links to remove."""
    cap: int
    """No node gets more links than this, but for `lowering`."""
    lowering: int
    """If not 0, a step at a node above the cap may push others over it instead, and one of this many such
    steps may add one link more than it removed, or at times some more."""
    above: Ids
    """The nodes that had more links than the cap before the first step."""


@inner
def similar_node(net: Net, links: StepLinks, lost: Int, seed: Int) -> Int:
    """Draw a node similar to the seed: with one of its topics, or next to one of the links removed."""
    if draw(net, np.int64(2)) == 0:
        span = net.node_ptr[seed + 1] - net.node_ptr[seed]
        topic = np.int64(net.node_topics[net.node_ptr[seed] + draw(net, span)])
        begin = net.topic_ptr[topic]
        return np.int64(net.topic_nodes[begin + draw(net, net.topic_ptr[topic + 1] - begin)])
    if lost > 0:
        return np.int64(links.lost[2 * draw(net, lost) + 1])
    return seed


@inner
def remove_links_at(net: Net, near: Ids, links: StepLinks, x: Int, lost: Int, limits: Limits) -> Int:
    """Remove links of a node until the limit is reached, and return how many are removed in all."""
    most, cap = np.int64(limits.lost), limits.cap
    # A node with more links than that keeps some of them, chosen at random.
    spared = max(np.int64(0), net.degree[x] - most)
    for i in range(list_neighbours(net, x, near)):
        if lost == most:
            break
        y = np.int64(near[i])
        if spared > 0 and draw(net, np.int64(net.degree[x])) >= most:
            spared -= 1
            continue
        links.excess[0] -= np.int64(net.degree[x] > cap) + np.int64(net.degree[y] > cap)
        remove_link(net, x, y)
        links.lost[2 * lost], links.lost[2 * lost + 1] = x, y
        lost += 1
    return lost


@inner
def first_node(net: Net, limits: Limits) -> Int:
    """Draw the node at which a ruin begins."""
    # The maximum degree falls only if all nodes above the cap lose links, however few they are.
    if len(limits.above) and draw(net, np.int64(2)) == 0:
        high = np.int64(limits.above[draw(net, len(limits.above))])
        if net.degree[high] > limits.cap:
            return high
    seed = draw(net, len(net.degree))
    # Steps that begin at a node with a single link, or with as many as it may have, hardly ever gain.
    for _ in range(8):
        if 1 < net.degree[seed] < limits.cap or draw(net, np.int64(8)) == 0:
            break
        seed = draw(net, len(net.degree))
    return seed


@inner
def ruin(net: Net, trees: TopicTrees, records: FragmentRecords, links: StepLinks, limits: Limits) -> Int:
    """Remove links at a node and up to two similar ones, as many as the limits allow; return how many."""
    lost: Int = np.int64(0)
    links.excess[0] = 0
    seed = first_node(net, limits)
    if net.degree[seed] == 0:
        return lost
    for turn in range(1 + draw(net, np.int64(3))):
        x = seed if turn == 0 else similar_node(net, links, lost, seed)
        lost = remove_links_at(net, records.near, links, x, lost, limits)
    for i in range(lost):
        touch_topics(net, trees, records, links.lost, np.int64(i))
    return lost


@inner
def bound_gains(records: FragmentRecords, partners: Partners) -> None:
    """Give each loose node an upper bound of what a link of it can join."""
    for position in range(records.tally[LOOSE]):
        own, record = 0, records.node_first[records.loose[position]]
        while record != NONE:
            own += 1
            record = records.next_of_node[record]
        # A link joins at most the topics in which one of its ends is loose. Each link is looked for from the
        # end that is loose in more topics, so the other end adds no more than this one.
        partners.gain[position], partners.fresh[position] = 2 * own, NONE


@inner
def recreate(
    net: Net, records: FragmentRecords, partners: Partners, links: StepLinks, cap: Int, over: Int, most: Int
) -> bool:
    """Join the fragments greedily, and return whether `most` links were enough.

    Nodes may get `over`, 0 or 1, links more than the cap.
    """
    made = np.int64(0)
    bound_gains(records, partners)
    while records.tally[MISSING] > 0:
        best = np.int64(0)
        for position in range(1, records.tally[LOOSE]):
            if partners.gain[position] > partners.gain[best]:
                best = np.int64(position)
        # No link joins more than this one's bound: give up if the links left cannot join what is missing.
        if (most - made) * partners.gain[best] < records.tally[MISSING]:
            return False
        # The bound is the largest of all. Count it exactly, and look again, until the largest one is exact.
        if partners.fresh[best] != made:
            find_best_partner(net, records, partners, best, cap, over, made)
            continue
        x, v = np.int64(records.loose[best]), np.int64(partners.partner[best])
        links.excess[0] += np.int64(net.degree[x] >= cap) + np.int64(net.degree[v] >= cap)
        add_link(net, x, v)
        merge_across(net, records, x, v)
        update_barred(net, partners, x, cap)
        update_barred(net, partners, v, cap)
        links.made[2 * made], links.made[2 * made + 1] = x, v
        made += 1
    return True


@inner
def undo(net: Net, links: StepLinks, lost: Int, made: Int) -> None:
    """Remove the links added, and put back those removed."""
    for i in range(made):
        remove_link(net, np.int64(links.made[2 * i]), np.int64(links.made[2 * i + 1]))
    for i in range(lost):
        add_link(net, np.int64(links.lost[2 * i]), np.int64(links.lost[2 * i + 1]))


@inner
def update_all_barred(net: Net, partners: Partners, ends: Ids, count: Int, cap: Int) -> None:
    """Note which ends of `count` links may get another link."""
    for i in range(2 * count):
        update_barred(net, partners, np.int64(ends[i]), cap)


@kernel
def improve(
    net: Net,
    trees: TopicTrees,
    groups: Groups,
    records: FragmentRecords,
    partners: Partners,
    links: StepLinks,
    steps: Int,
    limits: Limits,
) -> None:
    """Try `steps` steps of ruin and recreate."""
    cap = limits.cap
    for v in range(len(net.degree)):
        update_barred(net, partners, np.int64(v), cap)
    for _ in range(steps):
        before = net.tally[LINKS]
        lost = ruin(net, trees, records, links, limits)
        update_all_barred(net, partners, links.lost, lost, cap)
        done = lost > 0 and record_fragments(net, trees, groups, records, links.lost, lost)
        if done:
            # One of the links removed must not come back in this step: mostly it would, and nothing changed.
            chosen = draw(net, lost)
            partners.forbidden[0], partners.forbidden[1] = links.lost[2 * chosen], links.lost[2 * chosen + 1]
            # What a node above the cap gives up, another may take: from there it may be easier to lower.
            over = np.int64(limits.lowering > 0 and links.excess[0] < 0)
            more: Int = np.int64(0)
            fits = chunks_for(before + MOST_MORE, len(net.degree)) <= len(net.spare)
            if over == 1 and fits and draw(net, np.int64(limits.lowering)) == 0:
                more = np.int64(MOST_MORE if draw(net, np.int64(8)) == 0 else 1)
            done = recreate(net, records, partners, links, cap, over, lost + more)
        # Links added so far, also by a `recreate` that gave up.
        made = net.tally[LINKS] - (before - lost)
        # The links beyond the cap may move from node to node, but never become more. More than one link more
        # has to make them fewer.
        done = done and links.excess[0] + np.int64(made > lost + 1) <= 0
        if done:
            join_recorded(net, trees, records, links.made, made)
        else:
            undo(net, links, lost, made)
            restore_cuts(net, trees)
            update_all_barred(net, partners, links.lost, lost, cap)
            update_all_barred(net, partners, links.made, made, cap)
        clear_records(records)
        trees.tally[0] = 0
