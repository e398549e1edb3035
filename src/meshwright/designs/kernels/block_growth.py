"""The picker over blocks: greedy growth by what a link adds towards every topic being 2-connected.

In each topic of both its ends a link counts by three weights: if it merges two components, for each end that
still needs links, and if its ends share no block. These counts only fall as links are added, so the greedy
order is that of the level sweep: for each level from the highest down, for u ascending, for v > u ascending,
take (u, v) if it counts exactly the level now. The windows are a `Sweep`, with its invariant.

Why a second loop next to the engine's `row_windows` and `sweep`: bit rows cannot say whether two nodes share
a block, so a row is counted subscriber by subscriber, O(Σ n_t) over the open topics of u; and because that is
expensive, one count serves a whole visit of the row, which refills its window from it as often as needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Ids, Int
from meshwright.designs.kernels.blocks import Blocks, block_above, link, share_block
from meshwright.greedy.kernels.state import (
    A_SUBSCRIBER,
    EDGES,
    EXHAUSTED,
    FULL,
    LEVEL,
    PAUSED,
    ROW,
    WORK,
    Goal,
    Links,
    State,
    Sweep,
)
from meshwright.greedy.kernels.sweep import highest_bound, next_row
from meshwright.jit.compiler import inlined, kernel

A_CHECK = 32 * A_SUBSCRIBER
"""The work of checking one pair."""


class Weights(NamedTuple):
    """What a link counts for in each topic of both its ends."""

    components: int
    """If the ends are in different components."""
    missing: int
    """For each end that needs more links."""
    blocks: int
    """If the ends share no block."""


class CountedRow(NamedTuple):
    """Working memory of the row that is being counted."""

    counts: Ids
    """By node v: what (u, v) counts."""
    found: Ids
    """The nodes with large counts, ascending."""
    histogram: Ids
    """By count: how many nodes have it."""


@inlined
def is_open(state: State, blocks: Blocks, weights: Weights, topic: Int) -> bool:
    """Return whether some link may still count in a topic."""
    return bool(
        (weights.components > 0 and state.components[topic] > 1)
        or (weights.missing > 0 and blocks.wanting[topic] > 0)
        or (weights.blocks > 0 and blocks.merges[topic] > 0)
    )


@inlined
def count_of(state: State, blocks: Blocks, weights: Weights, u: Int, v: Int) -> int:
    """Return what the link (u, v) counts, if it does not exist yet."""
    i, j, count = state.node_ptr[u], state.node_ptr[v], 0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second:
            mine, yours = np.int64(blocks.slot[i]), np.int64(blocks.slot[j])
            count += weights.missing * (int(blocks.missing[mine] > 0) + int(blocks.missing[yours] > 0))
            if blocks.label[mine] != blocks.label[yours]:
                count += weights.components + weights.blocks
            elif weights.blocks > 0 and not share_block(blocks, mine, yours):
                count += weights.blocks
        i += int(first <= second)
        j += int(second <= first)
    return count


@inlined
def count_topic(state: State, blocks: Blocks, weights: Weights, counts: Ids, topic: Int, mine: Int) -> None:
    """Add what a link from slot `mine` counts in its topic to the counts of all later subscribers."""
    base = weights.missing * int(blocks.missing[mine] > 0)
    # Unsigned indices spare the test for negative ones.
    first, last = np.uint64(mine + 1), np.uint64(state.topic_ptr[topic + 1])
    label = blocks.label[mine]
    if weights.blocks == 0 or blocks.merges[topic] == 0:
        # Blocks do not matter: no branches.
        for other in range(first, last):
            count = base + weights.missing * int(blocks.missing[other] > 0)
            count += weights.components * int(blocks.label[other] != label)
            counts[np.uint32(state.topic_nodes[other])] += count
    else:
        # As in `share_block`, with the block of `mine` looked up once; without one, `top` matches no slot.
        block = block_above(blocks, mine)
        top = np.uint64(blocks.top[block]) if block >= 0 else last
        for other in range(first, last):
            count = base + weights.missing * int(blocks.missing[other] > 0)
            if blocks.label[other] != label:
                count += weights.components + weights.blocks
            else:
                yours = block_above(blocks, other)
                shared = block >= 0 and (block == yours or top == other)
                if not shared and not (yours >= 0 and blocks.top[yours] == mine):
                    count += weights.blocks
            counts[np.uint32(state.topic_nodes[other])] += count


@kernel
def begin(state: State, blocks: Blocks, sweep: Sweep, weights: Weights) -> None:
    """Begin a phase: bound every row by its open topics, and start at the highest level."""
    sweep.cursor[LEVEL], sweep.cursor[ROW] = 0, 0
    for u in range(len(sweep.bound)):
        count = 0
        for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
            count += int(is_open(state, blocks, weights, np.int64(state.node_topics[i])))
        most = count * (weights.components + 2 * weights.missing + weights.blocks)
        sweep.bound[u], sweep.threshold[u], sweep.length[u] = most, most + 1, 0
        sweep.cursor[LEVEL] = max(sweep.cursor[LEVEL], most)


@inlined
def count_row(
    state: State, blocks: Blocks, sweep: Sweep, row: CountedRow, weights: Weights, links: Links, u: Int
) -> int:
    """Count row u, choose the threshold of its window, and return how many nodes are found."""
    level, room = sweep.cursor[LEVEL], sweep.window_ptr[u + 1] - sweep.window_ptr[u]
    counts, histogram = row.counts, row.histogram
    counts[u + 1 :] = 0
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        topic, mine = np.int64(state.node_topics[i]), np.int64(blocks.slot[i])
        if is_open(state, blocks, weights, topic):
            count_topic(state, blocks, weights, counts, topic, mine)
            state.tally[WORK] += A_SUBSCRIBER * (state.topic_ptr[topic + 1] - mine)
    # A pair that is linked may still seem to count, by ends that need links: take these out.
    chained = blocks.latest[u]
    while chained >= 0:
        counts[links.v[chained]] = 0
        chained = blocks.earlier[chained]
    # Pairs below half the level are left to a later count: the list stays short.
    least = max(1, level // 2)
    for count in range(least, level + 1):
        histogram[count] = 0
    found = 0
    for v in range(np.uint64(u + 1), np.uint64(len(counts))):
        if counts[v] >= least:
            row.found[found] = v
            found += 1
            histogram[min(np.int64(counts[v]), level)] += 1
    # The lowest threshold at which all pairs that reach it fit into the window, but at most the level.
    threshold, total = level, np.int64(histogram[level])
    while threshold > least and total + histogram[threshold - 1] <= room:
        threshold -= 1
        total += histogram[threshold]
    sweep.threshold[u] = threshold
    return found


@inlined
def fill_window(sweep: Sweep, row: CountedRow, u: Int, first: Int, found: Int) -> Int:
    """Fill row u's window with the nodes found from place `first` on; return where it is full, or `found`."""
    begin = sweep.window_ptr[u]
    room = sweep.window_ptr[u + 1] - begin
    length, end = np.int64(0), found
    for i in range(first, found):
        v = row.found[i]
        if row.counts[v] >= sweep.threshold[u]:
            if length == room:
                end = np.int64(i)
                break
            sweep.window_node[begin + length], sweep.window_count[begin + length] = v, row.counts[v]
            length += 1
    sweep.length[u] = length
    return end


@inlined
def visit(
    state: State, blocks: Blocks, sweep: Sweep, row: CountedRow, weights: Weights, links: Links, u: Int
) -> None:
    """Take all links of row u that count the level, and bound the rest.

    Where more pairs may count the level than a window holds, the window is filled again and again. The
    threshold then is the level, and all pairs passed over have fallen below it.

    Invariant: a window holds the pairs of the row from its threshold on, with counts that are exact or too
    high, since counts only fall. So a pair is counted again before it is linked. Cost: a count of the row if
    its threshold is above the level, and a check for each entry of the window that may count the level.
    """
    level = sweep.cursor[LEVEL]
    found: Int = np.int64(0)
    at: Int = np.int64(0)
    if sweep.threshold[u] > level:
        # The window does not reach down to the level: count the whole row again.
        found = np.int64(count_row(state, blocks, sweep, row, weights, links, u))
        at = fill_window(sweep, row, u, at, found)
    begin = sweep.window_ptr[u]
    while True:
        for i in range(begin, begin + sweep.length[u]):
            if sweep.window_count[i] >= level:
                v = np.int64(sweep.window_node[i])
                sweep.window_count[i] = count_of(state, blocks, weights, u, v)
                state.tally[WORK] += A_CHECK
                if sweep.window_count[i] == level:
                    # Linked, the pair counts nothing any more; u heads the list of its earlier links.
                    sweep.window_count[i] = 0
                    edge = state.tally[EDGES]
                    links.u[edge], links.v[edge] = u, v
                    blocks.earlier[edge], blocks.latest[u] = blocks.latest[u], edge
                    state.tally[EDGES] = edge + 1
                    links.contribution[edge] = link(state, blocks, u, v)
        if at == found:
            break
        at = fill_window(sweep, row, u, at, found)
    # What is not in the window counts less than the threshold.
    sweep.bound[u] = sweep.threshold[u] - 1
    for i in range(begin, begin + sweep.length[u]):
        sweep.bound[u] = max(sweep.bound[u], sweep.window_count[i])


@kernel
def run(
    state: State, blocks: Blocks, sweep: Sweep, row: CountedRow, weights: Weights, goal: Goal, links: Links
) -> int:
    """Go down through the levels until no link counts, or it is time to pause."""
    cursor, nodes = sweep.cursor, len(sweep.bound)
    while cursor[LEVEL] > 0:
        level = cursor[LEVEL]
        u = next_row(sweep, cursor[ROW], level)
        while u < nodes:
            cursor[ROW] = u
            if state.tally[WORK] > goal.work:
                return PAUSED
            # A visit takes a link to each later node at most.
            if state.tally[EDGES] + nodes - u > len(links.u):
                return FULL
            visit(state, blocks, sweep, row, weights, links, u)
            u = next_row(sweep, u + 1, level)
        cursor[LEVEL], cursor[ROW] = min(level - 1, highest_bound(sweep)), 0
    return EXHAUSTED
