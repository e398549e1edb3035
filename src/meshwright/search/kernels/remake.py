"""Ruin and recreate: take a few links away, link the fragments again by fewer, keep it if it is no worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.compiling import kernel
from meshwright.search.kernels.fragments import connected
from meshwright.search.kernels.net import (
    LINKS,
    NONE,
    STEPS,
    TAKEN,
    add_link,
    draw,
    find_link,
    has_topic,
    remove_link,
)
from meshwright.search.kernels.pieces import (
    LOOSE,
    MISSING,
    join_all,
    label_of,
    record_fragments,
    sweep_up,
    touch_topics,
)

if TYPE_CHECKING:
    from meshwright.interest import Ids
    from meshwright.search.kernels.fragments import Groups
    from meshwright.search.kernels.net import Int, Net
    from meshwright.search.kernels.pieces import Pieces


class Desk(NamedTuple):
    """Working memory of the steps."""

    lost: Ids
    """The ends of the links taken away, two for each."""
    made: Ids
    """The ends of the links made, two for each."""
    joined: Ids
    """By node: what a link from the node in hand would join; zero between uses."""
    reached: Ids
    gain: Ids
    """By loose node: no link of it joins more."""
    partner: Ids
    fresh: Ids
    """By loose node: how many links had been made when its gain was found."""
    pair: Ids


@kernel
def look_around(net: Net, pieces: Pieces, desk: Desk, position: Int, cap: Int, made: Int) -> None:
    """Find the best partner of a loose node: most joined, then least degree, then by chance."""
    x = np.int64(pieces.loose[position])
    reached = 0
    record = pieces.node_first[x]
    while record != NONE:
        topic, mine = pieces.topic[record], pieces.label[pieces.slot[record]]
        if mine > 0:
            for slot in range(net.topic_ptr[topic], net.topic_ptr[topic + 1]):
                if pieces.label[slot] != mine:
                    v = net.topic_nodes[slot]
                    if desk.joined[v] == 0:
                        desk.reached[reached] = v
                        reached += 1
                    desk.joined[v] += 1
        record = pieces.next_of_node[record]
    # Loose nodes may also be joined in topics in which x itself is part of the rest.
    for i in range(pieces.tally[LOOSE]):
        v = np.int64(pieces.loose[i])
        record = pieces.node_first[v]
        while record != NONE and v != x:
            topic = np.int64(pieces.topic[record])
            apart = pieces.label[pieces.slot[record]] > 0 and has_topic(net, x, topic)
            if apart and label_of(net, pieces, x, topic) == 0:
                if desk.joined[v] == 0:
                    desk.reached[reached] = v
                    reached += 1
                desk.joined[v] += 1
            record = pieces.next_of_node[record]
    best, ties = np.int64(NONE), 0
    room = net.degree[x] < cap
    for i in range(reached):
        v = np.int64(desk.reached[i])
        count = desk.joined[v]
        if room and net.degree[v] < cap:
            better = best == NONE or count > desk.joined[best]
            if not better and count == desk.joined[best]:
                better = net.degree[v] < net.degree[best]
                if net.degree[v] == net.degree[best]:
                    ties += 1
                    better = draw(net, ties + 1) == 0
                elif better:
                    ties = 0
            elif better:
                ties = 0
            if better:
                best = v
    desk.gain[position] = 0 if best == NONE else desk.joined[best]
    desk.partner[position] = best
    desk.fresh[position] = made
    for i in range(reached):
        desk.joined[desk.reached[i]] = 0


@kernel
def recreate(net: Net, pieces: Pieces, desk: Desk, cap: Int, most: Int) -> bool:
    """Link the fragments greedily; say whether `most` links were enough."""
    loose, made = pieces.tally[LOOSE], np.int64(0)
    for position in range(loose):
        # A link joins at most what both its ends are loose in, and counts from the end that is loose in more.
        records, record = 0, pieces.node_first[pieces.loose[position]]
        while record != NONE:
            records += 1
            record = pieces.next_of_node[record]
        desk.gain[position], desk.fresh[position] = 2 * records, NONE
    while pieces.tally[MISSING] > 0:
        best = np.int64(0)
        for position in range(1, loose):
            if desk.gain[position] > desk.gain[best]:
                best = np.int64(position)
        if desk.gain[best] == 0 or made == most:
            return False
        if desk.fresh[best] != made:
            look_around(net, pieces, desk, best, cap, made)
            continue
        x, v = np.int64(pieces.loose[best]), np.int64(desk.partner[best])
        add_link(net, x, v)
        join_all(net, pieces, x, v)
        desk.made[2 * made], desk.made[2 * made + 1] = x, v
        made += 1
    return True


@kernel
def is_redundant(net: Net, groups: Groups, desk: Desk, link: Int) -> bool:
    """Say whether every topic of both ends stays connected without a link; it is taken away and put back."""
    u, v = np.int64(net.target[2 * link + 1]), np.int64(net.target[2 * link])
    remove_link(net, link)
    desk.pair[0], desk.pair[1] = u, v
    needed = False
    for i in range(net.node_ptr[u], net.node_ptr[u + 1]):
        topic = np.int64(net.node_topics[i])
        if has_topic(net, v, topic) and not connected(net, groups, topic, desk.pair):
            needed = True
            break
    add_link(net, u, v)  # takes the number it had: the stack gives back what it got last
    return not needed


@kernel
def prune(net: Net, groups: Groups, desk: Desk, us: Ids, vs: Ids) -> None:
    """Take away, one after another in the order given, the links that no topic needs."""
    for i in range(len(us)):
        link = find_link(net, np.int64(us[i]), np.int64(vs[i]))
        if is_redundant(net, groups, desk, link):
            remove_link(net, link)


@kernel
def ruin(net: Net, pieces: Pieces, desk: Desk, most: Int) -> Int:
    """Take links away at a node and at one or two that are like it; return how many."""
    lost = np.int64(0)
    seed = draw(net, len(net.head))
    if draw(net, np.int64(8)) == 0:
        # Now and then one with many links, of a few drawn: so that the maximum degree falls.
        for _ in range(16):
            other = draw(net, len(net.head))
            if net.degree[other] > net.degree[seed]:
                seed = other
    if net.head[seed] == NONE:
        return lost
    for turn in range(1 + draw(net, np.int64(3))):
        x = seed
        if turn > 0:
            # Somebody with a topic of the seed's, or a neighbour.
            if draw(net, np.int64(2)) == 0:
                span = net.node_ptr[seed + 1] - net.node_ptr[seed]
                topic = np.int64(net.node_topics[net.node_ptr[seed] + draw(net, span)])
                begin = net.topic_ptr[topic]
                x = np.int64(net.topic_nodes[begin + draw(net, net.topic_ptr[topic + 1] - begin)])
            elif lost > 0:
                x = np.int64(desk.lost[2 * draw(net, lost) + 1])
        skip = max(np.int64(0), net.degree[x] - most)
        half = net.head[x]
        while half != NONE and lost < most:
            link = np.int64(half >> 1)
            y = np.int64(net.target[half])
            half = net.following[half]
            # A hub loses some of its links only.
            if skip > 0 and draw(net, np.int64(net.degree[x])) >= most:
                skip -= 1
                continue
            remove_link(net, link)
            touch_topics(net, pieces, x, y)
            desk.lost[2 * lost], desk.lost[2 * lost + 1] = x, y
            lost += 1
    return lost


@kernel
def undo(net: Net, desk: Desk, lost: Int, made: Int) -> None:
    """Put the links back as they were."""
    for i in range(made):
        remove_link(net, find_link(net, np.int64(desk.made[2 * i]), np.int64(desk.made[2 * i + 1])))
    for i in range(lost):
        add_link(net, np.int64(desk.lost[2 * i]), np.int64(desk.lost[2 * i + 1]))


@kernel
def remake(net: Net, groups: Groups, pieces: Pieces, desk: Desk, steps: Int, most: Int, cap: Int) -> None:
    """Try so many steps."""
    for _ in range(steps):
        net.tally[STEPS] += 1
        before = net.tally[LINKS]
        lost = ruin(net, pieces, desk, most)
        whole = record_fragments(net, groups, pieces, desk.lost, lost)
        whole = whole and recreate(net, pieces, desk, cap, lost)
        made = net.tally[LINKS] - (before - lost)
        sweep_up(pieces)
        if whole:
            net.tally[TAKEN] += 1
        else:
            undo(net, desk, lost, made)
