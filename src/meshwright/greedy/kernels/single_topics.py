"""The last level: no pair contributes 2 any more, so a link merges one topic, and none has to be listed.

The next link of node u is that to the smallest v > u which is open, has one of u's topics, and is in another
component there. So for each component of each topic, a pointer stands at the first later subscriber that is
open and outside. Nodes u ascend, components only grow, and nodes only close: pointers never go back. They
cost O(subscriptions) steps, plus those of small components to the next open node. Each link scans the
partners of u, one for each of its topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import MOST
from meshwright.greedy.kernels.components import is_open
from meshwright.greedy.kernels.listed_pairs import add_link
from meshwright.greedy.kernels.state import EXHAUSTED, FOUND, PAUSED, WORK
from meshwright.jit.compiler import inlined, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Int, Offsets
    from meshwright.greedy.kernels.state import Goal, Links, State


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

    `here` has, by topic, a slot not after that of the next node, at first its first slot; `ahead`, by
    component, the pointer, at first 0. `partner` is working memory, by topic of a node. Nodes are closed when
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
