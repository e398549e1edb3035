"""Check listed pairs, and link those that contribute the level, in order.

A list is sorted, so pairs with the same u follow each other: where u has each topic is noted once, and each
topic of v is looked up there.

Under a limit of the degree, a node that has reached it is closed: its bit in `allowed_nodes` is cleared.

At the last level no pair contributes 2 any more, so a link merges one topic, and none has to be listed. The
next link of node u is that to the smallest v > u which is open, has one of u's topics, and is in another
component there. So for each component of each topic, a pointer stands at the first later subscriber that is
open and outside. Nodes u ascend, components only grow, and nodes only close: pointers never go back. They
cost O(subscriptions) steps, plus those of small components to the next open node. Each link scans the
partners of u, one for each of its topics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import MOST, NOTHING, ONE, SIX, SIXTY_THREE, Ids, Int, Offsets
from meshwright.greedy.kernels.components import contribution, is_open, link
from meshwright.greedy.kernels.index import HALF
from meshwright.greedy.kernels.state import (
    BROKEN,
    EDGES,
    EXHAUSTED,
    FOUND,
    FULL,
    PAUSED,
    WORK,
    Goal,
    Links,
    State,
)
from meshwright.jit.compiler import inlined, kernel
from meshwright.jit.simd import prefetch

BLOCK = 1024
"""A level passes over this many pairs at a time if none of them contributes as much."""


class Bounds(NamedTuple):
    """What listed pairs contribute at most; empty for a list whose pairs contribute one level only."""

    pair: Ids
    """By pair."""
    block: Ids
    """By block of pairs: the highest of their bounds, or more."""


@inlined
def fetch_ahead(state: State, pairs: Offsets, i: Int, last: Int, u: Int, level: Int) -> None:
    """Fetch into the cache what the pairs after pair i need: first where, then what.

    Nodes v are anywhere in memory.
    """
    near, far = pairs[min(i + 8, last)] & HALF, pairs[min(i + 16, last)] & HALF
    prefetch(state.outside, far)
    prefetch(state.node_ptr, far)
    if state.outside[u] + state.outside[near] >= level:
        first, end = state.node_ptr[near], state.node_ptr[near + 1] - 1
        prefetch(state.node_topics, first)
        prefetch(state.node_label, first)
        # Few topics take one line of the cache, or two.
        prefetch(state.node_topics, end)
        prefetch(state.node_label, end)


@inlined
def note(state: State, noted: Ids, u: Int) -> None:
    """Note where u has each topic."""
    for i in range(state.node_ptr[u], state.node_ptr[u + 1]):
        noted[state.node_topics[i]] = i


@inlined
def contribution_of_noted(state: State, noted: Ids, u: Int, v: Int, level: Int) -> Int:
    """Return what `contribution` does, given that u's topics are noted: the pairs of a list have the same u.

    Each topic of v is looked up on its own, while merging two lists waits for every comparison. `noted` needs
    no clearing: what other nodes left there lies outside of u's entries.
    """
    if state.covered > 0 or len(state.pairs) > 0:
        return contribution(state, u, v, level)
    begin, count = np.uint64(state.node_ptr[u]), np.int64(0)
    size = np.uint64(state.node_ptr[u + 1]) - begin
    for j in range(np.uint64(state.node_ptr[v]), np.uint64(state.node_ptr[v + 1])):
        # Unsigned, so that what lies before u's entries is beyond them, too.
        i = np.uint64(noted[np.uint64(state.node_topics[j])] - state.node_ptr[u])
        # Without a branch: where u does not have the topic, any label of u is read.
        mine = state.node_label[begin + (i if i < size else NOTHING)]
        count += int((i < size) & (mine != state.node_label[j]))
    return count


@kernel
def keep(state: State, noted: Ids, pairs: Offsets, level: Int) -> int:
    """Move the listed pairs that still contribute `level` to the front, each once, and return how many.

    Several threads do this ahead of the one that links. They read labels and `outside` while these change,
    and drop a pair only if it contributes too little from then on:

    - A label is one aligned number, so what is read is a label that the entry has now or had before. Labels
      are never reused, and components are never divided. So two entries that had the same label at any times
      are in one component when the current link is done, and counting them as equal is right for every later
      pair. Two entries that are counted as different by mistake only keep a pair that `take` checks again.
    - `outside` only falls, so an old value is an upper bound, too.
    - `contribution_by_bits` counts each topic once, as certain or by its labels.
    """
    length = 0
    last, before = len(pairs) - 1, np.int64(-1)
    for i in range(len(pairs)):
        pair = pairs[i]
        u, v = pair >> 32, pair & HALF
        if before < 0 or u != before >> 32:
            note(state, noted, u)
        fetch_ahead(state, pairs, i, last, u, level)
        if pair != before and state.outside[u] + state.outside[v] >= level:
            pairs[length] = pair
            length += int(contribution_of_noted(state, noted, u, v, level) >= level)
        before = pair
    return length


@inlined
def both_open(state: State, u: Int, v: Int) -> bool:
    """Return whether both ends of a pair may be linked."""
    return bool(is_open(state.allowed_nodes, u) & is_open(state.allowed_nodes, v))


@inlined
def add_link(state: State, u: Int, v: Int, level: Int, limit: Int, goal: Goal, links: Links) -> int:
    """Add the link (u, v), and close ends that have reached the limit; return how that ended, or `FOUND`."""
    edge = state.tally[EDGES]
    if edge >= goal.max_edges:
        return EXHAUSTED
    if edge == len(links.u):
        return FULL
    links.u[edge], links.v[edge] = u, v
    links.contribution[edge] = link(state, u, v)
    state.tally[EDGES] = edge + 1
    for end in (u, v):
        if state.degree[end] >= limit:
            word = np.uint64(end)
            state.allowed_nodes[word >> SIX] &= ~(ONE << (word & SIXTY_THREE))
    # `link` counts on its own, so this checks the list: better no overlay than a wrong one.
    return FOUND if links.contribution[edge] == level else BROKEN


@inlined
def highest(bounds: Ids, begin: Int, end: Int) -> np.int32:
    """Return the highest bound of a block."""
    most = np.int32(0)
    for i in range(begin, end):
        most = max(most, bounds[i])
    return most


@inlined
def take_block(
    state: State,
    pairs: Offsets,
    bounds: Ids,
    level: Int,
    limit: Int,
    end: Int,
    cursor: Offsets,
    goal: Goal,
    links: Links,
) -> int:
    """Link the pairs from `cursor[0]` to `end` as `take` does; return how that ended, or `FOUND`."""
    tally, bounded, last = state.tally, len(bounds) > 0, len(pairs) - 1
    limited, row = limit < MOST, np.int64(-1)
    for i in range(cursor[0], end):
        cursor[0] = i
        if tally[WORK] > goal.work:
            return PAUSED
        tally[WORK] += 1
        # A pair with more than three common topics is listed more than once.
        if (bounded and bounds[i] != level) or (i > 0 and pairs[i] == pairs[i - 1]):
            continue
        u, v = pairs[i] >> 32, pairs[i] & HALF
        if limited and not both_open(state, u, v):
            continue
        # No pair contributes more than this: in each topic that it merges, one end is outside the giant.
        count: Int = np.int64(state.outside[u] + state.outside[v])
        fetch_ahead(state, pairs, i, last, u, level)
        if count >= level:
            tally[WORK] += 50
            if u != row:
                note(state, state.noted, u)
                row = u
            count = contribution_of_noted(state, state.noted, u, v, level)
            if count == level:
                status = add_link(state, u, v, level, limit, goal, links)
                if status != FOUND:
                    return status
                count = 0
        if bounded:
            bounds[i] = count
    return FOUND


@kernel
def take(
    state: State,
    pairs: Offsets,
    bounds: Bounds,
    level: Int,
    limit: Int,
    cursor: Offsets,
    goal: Goal,
    links: Links,
) -> int:
    """Link, in order, the listed pairs that contribute exactly `level`, from `cursor[0]` on.

    With bounds, pairs are passed over unless their bound is the level; it is lowered to what a check finds.
    Nodes are closed when they have `limit` links.
    """
    bounded = len(bounds.pair) > 0
    for block in range(cursor[0] // BLOCK, -(-len(pairs) // BLOCK)):
        if bounded and bounds.block[block] < level:
            continue
        begin, end = block * BLOCK, min((block + 1) * BLOCK, len(pairs))
        cursor[0] = max(cursor[0], begin)
        status = take_block(state, pairs, bounds.pair, level, limit, end, cursor, goal, links)
        if status != FOUND:
            return status
        cursor[0] = end
        if bounded:
            bounds.block[block] = highest(bounds.pair, begin, end)
    return EXHAUSTED


@kernel
def find(state: State, pairs: Offsets, bounds: Bounds, level: Int) -> int:
    """Return the place of the first listed pair that contributes exactly `level`, or the number of pairs.

    Pairs are passed over, and bounds lowered, as `take` does.
    """
    row = np.int64(-1)
    for block in range(len(bounds.block)):
        if bounds.block[block] < level:
            continue
        begin, end = block * BLOCK, min((block + 1) * BLOCK, len(pairs))
        for i in range(begin, end):
            u, v = pairs[i] >> 32, pairs[i] & HALF
            if bounds.pair[i] == level and both_open(state, u, v):
                if u != row:
                    note(state, state.noted, u)
                    row = u
                bounds.pair[i] = contribution_of_noted(state, state.noted, u, v, level)
                if bounds.pair[i] == level:
                    return i
        bounds.block[block] = highest(bounds.pair, begin, end)
    return len(pairs)


@inlined
def partner_in(state: State, here: Ids, ahead: Ids, u: Int, i: Int) -> Int:
    """Return the smallest v > u that a link from u merges in the topic of u's entry i, or the last number."""
    topic, label = state.node_topics[i], state.node_label[i]
    if state.components[topic] == 1:
        return np.int64(MOST)
    slot = np.int64(here[topic])
    while state.topic_nodes[slot] < u:
        slot += 1
    here[topic] = slot
    slot, end = max(slot + 1, np.int64(ahead[label])), state.topic_ptr[topic + 1]
    while slot < end and (
        not is_open(state.allowed_nodes, np.int64(state.topic_nodes[slot]))
        or state.node_label[state.entry[slot]] == label
    ):
        slot += 1
    ahead[label] = slot
    return np.int64(state.topic_nodes[slot]) if slot < end else np.int64(MOST)


@kernel
def take_singles(
    state: State,
    here: Ids,
    ahead: Ids,
    partner: Ids,
    limit: Int,
    cursor: Offsets,
    goal: Goal,
    links: Links,
) -> int:
    """Add the links of level 1 in order, from node `cursor[0]` on, given that no pair contributes more.

    `here[topic]` is a slot at or before the next node's; it starts at the topic's first. `ahead[component]`
    is the pointer; it starts at 0. `partner` is working memory, by topic of a node. Nodes are closed when
    they have `limit` links.
    """
    tally, nodes = state.tally, len(state.degree)
    for u in range(cursor[0], nodes):
        cursor[0] = u
        if tally[WORK] > goal.work:
            return PAUSED
        begin, count = state.node_ptr[u], state.node_ptr[u + 1] - state.node_ptr[u]
        first = True
        while is_open(state.allowed_nodes, u):
            best = np.int32(MOST)
            if first:
                for i in range(count):
                    partner[i] = partner_in(state, here, ahead, np.int64(u), begin + i)
                tally[WORK] += 10 * count
                first = False
            for i in range(count):
                best = min(best, partner[i])
            tally[WORK] += count // 8 + 1
            if best == MOST:
                break
            status = add_link(state, np.int64(u), np.int64(best), np.int64(1), limit, goal, links)
            if status != FOUND:
                return status
            # The link merged a single topic, and closed no node but its ends.
            for i in range(count):
                if partner[i] == best:
                    partner[i] = partner_in(state, here, ahead, np.int64(u), begin + i)
            if tally[WORK] > goal.work:
                return PAUSED
    cursor[0] = nodes
    return EXHAUSTED
