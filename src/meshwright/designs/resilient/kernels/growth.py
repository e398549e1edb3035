"""Greedy growth by levels over what links add towards every topic being 2-connected.

Contributions only fall as links are added, so that the greedy order with ties to the smallest (u, v) is: for
each level from the highest down, for u ascending, for v > u ascending, take (u, v) if it contributes exactly
the level now. Each row u has an upper bound of its contributions, and a window of its best pairs; only rows
whose bound reaches the level are visited, and only those whose window does not reach down to it are counted
anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.designs.resilient.kernels.blocks import WORK, block_above, link, share_block
from meshwright.jit.compiler import inlined, inner, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Int, Offsets
    from meshwright.designs.resilient.kernels.blocks import State


class Weights(NamedTuple):
    """What a link counts for in each topic of both its ends."""

    pieces: int
    """If the ends are in different components."""
    missing: int
    """For each end that lacks links."""
    blocks: int
    """If the ends share no block."""


@inlined
def is_open(state: State, weights: Weights, topic: Int) -> bool:
    """Say whether some link may still count in a topic."""
    return bool(
        (weights.pieces > 0 and state.pieces[topic] > 1)
        or (weights.missing > 0 and state.wanting[topic] > 0)
        or (weights.blocks > 0 and state.merges[topic] > 0)
    )


@inner
def contribution(state: State, weights: Weights, u: Int, v: Int) -> int:
    """Return what the link (u, v) counts, if it is not there yet."""
    i, j, count = state.node_ptr[u], state.node_ptr[v], 0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second:
            mine, yours = np.int64(state.slot[i]), np.int64(state.slot[j])
            count += weights.missing * (int(state.missing[mine] > 0) + int(state.missing[yours] > 0))
            if state.label[mine] != state.label[yours]:
                count += weights.pieces + weights.blocks
            elif weights.blocks > 0 and not share_block(state, mine, yours):
                count += weights.blocks
        i += int(first <= second)
        j += int(second <= first)
    return count


@inlined
def count_topic(state: State, weights: Weights, counts: Ids, topic: Int, mine: Int) -> None:
    """Add what a link from slot `mine` counts in its topic to the counts of all later subscribers."""
    base = weights.missing * int(state.missing[mine] > 0)
    # Unsigned indices need no look at their sign.
    first, last = np.uint64(mine + 1), np.uint64(state.topic_ptr[topic + 1])
    label = state.label[mine]
    if weights.blocks == 0 or state.merges[topic] == 0:
        for other in range(first, last):
            count = base + weights.missing * int(state.missing[other] > 0)
            count += weights.pieces * int(state.label[other] != label)
            counts[np.uint32(state.topic_nodes[other])] += count
    else:
        block = block_above(state, mine)
        top = np.uint64(state.top[block]) if block >= 0 else last
        for other in range(first, last):
            count = base + weights.missing * int(state.missing[other] > 0)
            if state.label[other] != label:
                count += weights.pieces + weights.blocks
            else:
                yours = block_above(state, other)
                shared = block >= 0 and (block == yours or top == other)
                if not shared and not (yours >= 0 and state.top[yours] == mine):
                    count += weights.blocks
            counts[np.uint32(state.topic_nodes[other])] += count


LEVEL, ROW, LINKS = 0, 1, 2
"""The fields of `Rows.cursor`."""
A_CHECK = 32
"""The work of checking one pair, in subscribers counted."""


class Links(NamedTuple):
    """The links so far, in order, and for each node a chain of those to higher nodes."""

    u: Ids
    v: Ids
    earlier: Ids
    """By link: the one before it in its chain, or −1."""
    latest: Ids
    """By node: the last one of its chain, or −1."""


class Rows(NamedTuple):
    """For each row u, what is known of the pairs (u, v), v > u.

    No pair contributes more than `bound[u]`; pairs outside the window contribute less than `threshold[u]`.
    Window entries are in order of v, and their counts are upper bounds.
    """

    bound: Ids
    threshold: Ids
    length: Ids
    node: Ids
    """By row and place in its window: v."""
    most: Ids
    """By row and place in its window: what the pair contributes at most."""
    counts: Ids
    """For the row being counted, by v."""
    found: Ids
    """For the row being counted: the nodes with large counts, ascending."""
    of_count: Ids
    """For the row being counted: how many have each count."""
    cursor: Offsets


@kernel
def begin(state: State, rows: Rows, weights: Weights) -> None:
    """Bound every row by its open topics, and start at the highest level."""
    rows.cursor[LEVEL], rows.cursor[ROW] = 0, 0
    for u in range(len(rows.bound)):
        count = 0
        for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
            count += int(is_open(state, weights, np.int64(state.node_topics[i])))
        most = count * (weights.pieces + 2 * weights.missing + weights.blocks)
        rows.bound[u], rows.threshold[u], rows.length[u] = most, most + 1, 0
        rows.cursor[LEVEL] = max(rows.cursor[LEVEL], most)


@inner
def count_row(state: State, links: Links, rows: Rows, weights: Weights, u: Int, level: Int) -> int:
    """Count row u, choose the threshold of its window, and return how many nodes are found.

    Pairs that contribute less than half the level are left to a later count.
    """
    counts, of_count = rows.counts, rows.of_count
    counts[u + 1 :] = 0
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        topic, mine = np.int64(state.node_topics[i]), np.int64(state.slot[i])
        if is_open(state, weights, topic):
            count_topic(state, weights, counts, topic, mine)
            state.tally[WORK] += state.topic_ptr[topic + 1] - mine
    chained = links.latest[u]
    while chained >= 0:
        counts[links.v[chained]] = 0
        chained = links.earlier[chained]
    least = max(1, level // 2)
    for count in range(least, level + 1):
        of_count[count] = 0
    found = 0
    for v in range(np.uint64(u + 1), np.uint64(len(counts))):  # unsigned indices need no look at their sign
        if counts[v] >= least:
            rows.found[found] = v
            found += 1
            of_count[min(np.int64(counts[v]), level)] += 1
    threshold, total = level, of_count[level]
    while threshold > least and total + of_count[threshold - 1] <= rows.node.shape[1]:
        threshold -= 1
        total += of_count[threshold]
    rows.threshold[u] = threshold
    return found


@inner
def fill_window(rows: Rows, u: Int, begin: Int, end: Int) -> Int:
    """Fill row u's window with what is found from `begin` on, and return where it is full, or `end`."""
    at = 0
    for i in range(begin, end):
        v = rows.found[i]
        if rows.counts[v] >= rows.threshold[u]:
            if at == rows.node.shape[1]:
                end = np.int64(i)
                break
            rows.node[u, at], rows.most[u, at] = v, rows.counts[v]
            at += 1
    rows.length[u] = at
    return end


@inner
def visit(state: State, links: Links, rows: Rows, weights: Weights, u: Int, level: Int) -> None:
    """Take all links of row u that contribute the level, and bound the rest.

    Where more pairs may contribute the level than a window holds, it is filled again and again; the threshold
    then is the level, below which all those passed over have fallen.
    """
    found: Int = np.int64(0)
    at: Int = np.int64(0)
    if rows.threshold[u] > level:
        found = np.int64(count_row(state, links, rows, weights, u, level))
        at = fill_window(rows, u, at, found)
    while True:
        for i in range(rows.length[u]):
            if rows.most[u, i] >= level:
                v = np.int64(rows.node[u, i])
                rows.most[u, i] = contribution(state, weights, u, v)
                state.tally[WORK] += A_CHECK
                if rows.most[u, i] == level:
                    rows.most[u, i] = 0
                    here = rows.cursor[LINKS]
                    links.u[here], links.v[here] = u, v
                    links.earlier[here], links.latest[u] = links.latest[u], here
                    rows.cursor[LINKS] += 1
                    link(state, u, v)
        if at == found:
            break
        at = fill_window(rows, u, at, found)
    rows.bound[u] = rows.threshold[u] - 1
    for i in range(rows.length[u]):
        rows.bound[u] = max(rows.bound[u], rows.most[u, i])


@kernel
def sweep(state: State, links: Links, rows: Rows, weights: Weights, work: Int) -> bool:
    """Go down through the levels; say whether the end is reached, or it is time to pause."""
    cursor = rows.cursor
    while cursor[LEVEL] > 0:
        level = cursor[LEVEL]
        for u in range(cursor[ROW], len(rows.bound)):
            if rows.bound[u] >= level:
                cursor[ROW] = u
                if state.tally[WORK] > work:
                    return False
                visit(state, links, rows, weights, u, level)
        highest = 0
        for u in range(len(rows.bound)):
            highest = max(highest, rows.bound[u])
        cursor[LEVEL], cursor[ROW] = min(level - 1, highest), 0
    return True
