"""Ruin and recreate: take a few links away, link the fragments again by fewer, keep it if it is no worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.dynamic.fragments import connected
from meshwright.dynamic.link_lists import add_link, chunks_for, list_neighbours, remove_link
from meshwright.dynamic.net import LINKS, NONE, STEPS, TAKEN, draw, has_topic
from meshwright.jit.compiler import inner, kernel
from meshwright.search.kernels.best_partner import bar, look_around
from meshwright.search.kernels.pieces import (
    LOOSE,
    MISSING,
    join_all,
    record_fragments,
    sweep_up,
    touch_topics,
)

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.dynamic.fragments import Groups
    from meshwright.dynamic.net import Int, Net
    from meshwright.search.kernels.best_partner import Partners
    from meshwright.search.kernels.pieces import Pieces


class Desk(NamedTuple):
    """Working memory of the steps."""

    lost: Ids
    """The ends of the links taken away, two for each."""
    made: Ids
    """The ends of the links made, two for each."""
    pair: Ids


@inner
def recreate(net: Net, pieces: Pieces, partners: Partners, desk: Desk, cap: Int, most: Int) -> bool:
    """Link the fragments greedily; say whether `most` links were enough."""
    loose, made = pieces.tally[LOOSE], np.int64(0)
    for position in range(loose):
        # A link joins at most what both its ends are loose in, and counts from the end that is loose in more.
        records, record = 0, pieces.node_first[pieces.loose[position]]
        while record != NONE:
            records += 1
            record = pieces.next_of_node[record]
        partners.gain[position], partners.fresh[position] = 2 * records, NONE
    while pieces.tally[MISSING] > 0:
        best = np.int64(0)
        for position in range(1, loose):
            if partners.gain[position] > partners.gain[best]:
                best = np.int64(position)
        # No link joins more than the best may: with those that are left, is the end in reach?
        if (most - made) * partners.gain[best] < pieces.tally[MISSING]:
            return False
        if partners.fresh[best] != made:
            look_around(net, pieces, partners, best, cap, made)
            continue
        x, v = np.int64(pieces.loose[best]), np.int64(partners.partner[best])
        add_link(net, x, v)
        join_all(net, pieces, x, v)
        bar(net, partners, x, cap)
        bar(net, partners, v, cap)
        desk.made[2 * made], desk.made[2 * made + 1] = x, v
        made += 1
    return True


@inner
def is_redundant(net: Net, groups: Groups, desk: Desk, u: Int, v: Int) -> bool:
    """Say whether every topic of both ends stays connected without a link; it is taken away and put back."""
    remove_link(net, u, v)
    desk.pair[0], desk.pair[1] = u, v
    needed = False
    for i in range(net.node_ptr[u], net.node_ptr[u + 1]):
        topic = np.int64(net.node_topics[i])
        if has_topic(net, v, topic) and not connected(net, groups, topic, desk.pair):
            needed = True
            break
    add_link(net, u, v)
    return not needed


@kernel
def prune(net: Net, groups: Groups, desk: Desk, us: Ids, vs: Ids) -> None:
    """Take away, one after another in the order given, the links that no topic needs."""
    for i in range(len(us)):
        u, v = np.int64(us[i]), np.int64(vs[i])
        if is_redundant(net, groups, desk, u, v):
            remove_link(net, u, v)


@inner
def ruin(net: Net, groups: Groups, pieces: Pieces, desk: Desk, most: Int) -> Int:
    """Take links away at a node and at one or two that are like it; return how many."""
    lost = np.int64(0)
    seed = draw(net, len(net.degree))
    if draw(net, np.int64(8)) == 0:
        # Now and then one with many links, of a few drawn: so that the maximum degree falls.
        for _ in range(16):
            other = draw(net, len(net.degree))
            if net.degree[other] > net.degree[seed]:
                seed = other
    if net.degree[seed] == 0:
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
        for i in range(list_neighbours(net, x, pieces.near)):
            if lost == most:
                break
            y = np.int64(pieces.near[i])
            # A hub loses some of its links only.
            if skip > 0 and draw(net, np.int64(net.degree[x])) >= most:
                skip -= 1
                continue
            remove_link(net, x, y)
            desk.lost[2 * lost], desk.lost[2 * lost + 1] = x, y
            lost += 1
    for i in range(lost):
        touch_topics(net, groups, pieces, desk.lost, np.int64(i))
    return lost


@inner
def undo(net: Net, desk: Desk, lost: Int, made: Int) -> None:
    """Put the links back as they were."""
    for i in range(made):
        remove_link(net, np.int64(desk.made[2 * i]), np.int64(desk.made[2 * i + 1]))
    for i in range(lost):
        add_link(net, np.int64(desk.lost[2 * i]), np.int64(desk.lost[2 * i + 1]))


@inner
def was_above(net: Net, desk: Desk, lost: Int, cap: Int) -> bool:
    """Say whether the first node of a ruin had more links than the cap."""
    seed = desk.lost[0]
    links = np.int64(net.degree[seed])
    for i in range(2 * lost):
        links += np.int64(desk.lost[i] == seed)
    return bool(links > cap)


@kernel
def remake(
    net: Net,
    groups: Groups,
    pieces: Pieces,
    partners: Partners,
    desk: Desk,
    steps: Int,
    most: Int,
    cap: Int,
    lowering: bool,
) -> None:
    """Try so many steps; when `lowering`, one that begins at a node above the cap may take a link more.

    One of the links that a step takes away may not come back in it: it would, most of the time.
    """
    for v in range(len(net.degree)):
        bar(net, partners, np.int64(v), cap)
    for _ in range(steps):
        net.tally[STEPS] += 1
        before = net.tally[LINKS]
        lost = ruin(net, groups, pieces, desk, most)
        for i in range(2 * lost):
            bar(net, partners, np.int64(desk.lost[i]), cap)
        whole = lost > 0 and record_fragments(net, groups, pieces, desk.lost, lost)
        if whole:
            chosen = draw(net, lost)
            partners.forbidden[0], partners.forbidden[1] = desk.lost[2 * chosen], desk.lost[2 * chosen + 1]
            fits = chunks_for(before + 1, len(net.degree)) <= len(net.spare)
            spare = lowering and fits and was_above(net, desk, lost, cap)
            whole = recreate(net, pieces, partners, desk, cap, lost + np.int64(spare))
        made = net.tally[LINKS] - (before - lost)
        sweep_up(pieces)
        if whole:
            net.tally[TAKEN] += 1
        else:
            undo(net, desk, lost, made)
            for i in range(2 * lost):
                bar(net, partners, np.int64(desk.lost[i]), cap)
            for i in range(2 * made):
                bar(net, partners, np.int64(desk.made[i]), cap)
