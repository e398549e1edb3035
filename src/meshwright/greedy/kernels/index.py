"""List the pairs that contribute a low level, from the index of subscribers by topic, and link listed pairs.

A pair that contributes w has w common topics, and is in different components of each. So nested buckets find
it: the subscribers of a topic t1, among them those of t2 > t1, among them those of t3 > t2. Most buckets of
three topics hold one node or none, so all buckets together cost O(Σ C(|T(v)|, 3)) steps, where the level
sweep pays O(|T(v)|·|V|/64) for each row that it rebuilds.

Labels are compared in the bucket, so a list holds only pairs that contribute the level when it is made. Links
that are added later can only lower contributions: `take` checks each pair again before it links it.

- Level 4 and above: `list_by_three` with `more`, once: pairs that differ in a fourth topic, too.
- Level 3: `list_by_three`. No pair contributes more, so each one is listed once.
- Level 2: `list_by_two`. Most nodes are in the largest component of most topics by then, and two nodes that
  both are do not differ. The bucket is divided by this, and only pairs that can differ are compared.
- Level 1: `list_by_one`. What a link merges is one topic, so topics no longer depend on each other: the first
  subscriber of a topic is linked to the first member of every other component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.greedy.kernels.components import contribution, is_open, link
from meshwright.greedy.kernels.state import BROKEN, EDGES, EXHAUSTED, FULL, PAUSED, WORK
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import prefetch

if TYPE_CHECKING:
    from meshwright.arrays import Bytes, Ids, Int, Offsets
    from meshwright.greedy.kernels.state import Goal, Links, State

FULL_LIST = -1
"""What a listing returns if the list has no room for all pairs."""


HALF = np.int64(0xFFFFFFFF)
"""Keeps v of a pair."""
AHEAD = 12
"""How many subscribers ahead are fetched into the cache."""


class Buckets(NamedTuple):
    """Working memory of one thread that lists pairs: the subscribers of one topic and their other topics.

    A *member* is a subscriber of t1, a *place* one of its later topics. Members descend; along a chain, the
    places of one topic, they ascend.
    """

    node: Ids
    """By member: the node."""
    mine: Ids
    """By member: its component in t1."""
    last: Ids
    """By member: where its places end."""
    topic: Ids
    """By place: the topic, greater than t1; ascending for each member."""
    label: Ids
    """By place: the member's component in this topic."""
    owner: Ids
    """By place: the member."""
    following: Ids
    """By place: the next place of the same topic, or −1."""
    head: Ids
    """By topic: its first place, or −1; all −1 between two topics t1."""
    touched: Ids
    """The topics that have a place."""
    recent: Offsets
    """By topic t3: its last leaf, together with the number of the bucket that it belongs to."""
    leaf: Ids
    """By leaf, three numbers: its place in t3, its place in t2, and the leaf of the same topic before it."""
    group: Ids
    """Four lists of places, by whether the node is outside the largest component of t1 and of t2."""
    bucket: Offsets
    """One number: how many buckets there were."""


@inlined
def gather(state: State, buckets: Buckets, topic: Int, low: Int, spare: np.uint64) -> Int:
    """Copy the later topics of a topic's subscribers from node `low` on; return how many topics they touch.

    Connected topics are left out. The last `spare` places of a member are in no chain.
    """
    members = place = touched = np.uint64(0)
    begin = state.topic_ptr[topic]
    for slot in range(state.topic_ptr[topic + 1] - 1, begin - 1, -1):
        v, entry = np.int64(state.topic_nodes[slot]), np.int64(state.entry[slot])
        if v < low:
            break
        if not is_open(state.allowed_nodes, v):
            continue
        # What comes next is anywhere in memory: fetch it while this one is copied.
        ahead = max(slot - AHEAD, begin)
        prefetch(state.node_topics, np.int64(state.entry[ahead]))
        prefetch(state.node_label, np.int64(state.entry[ahead]))
        prefetch(state.node_ptr, np.int64(state.topic_nodes[ahead]))
        first = place
        for i in range(np.uint64(entry + 1), np.uint64(state.node_ptr[v + 1])):
            other = np.uint64(state.node_topics[i])
            buckets.topic[place], buckets.label[place] = other, state.node_label[i]
            buckets.owner[place] = members
            place += np.uint64(state.components[other] > 1)
        if place - first > spare:
            for p in range(first, place - spare):
                other = np.uint64(buckets.topic[p])
                buckets.touched[touched] = other
                touched += np.uint64(buckets.head[other] < 0)
                buckets.following[p] = buckets.head[other]
                buckets.head[other] = p
            buckets.node[members], buckets.mine[members] = v, state.node_label[entry]
            buckets.last[members] = place
            members += np.uint64(1)
        else:
            place = first
    return np.int64(touched)


@inner
def differ_later(buckets: Buckets, p: Int, q: Int) -> bool:
    """Return whether the members of two places of one topic differ in a later topic."""
    end, other_end = buckets.last[buckets.owner[p]], buckets.last[buckets.owner[q]]
    i, j = p + 1, q + 1
    while i < end and j < other_end:
        first, second = buckets.topic[i], buckets.topic[j]
        if first == second and buckets.label[i] != buckets.label[j]:
            return True
        i += int(first <= second)
        j += int(second <= first)
    return False


@kernel
def list_by_three(
    state: State, more: bool, buckets: Buckets, topics: Ids, low: Int, high: Int, pairs: Offsets
) -> int:
    """List the pairs (u, v), low ≤ u < high, that differ in three common topics, the first in `topics`.

    With `more`, only those that differ in a fourth topic. A pair is listed once for each set of three topics.
    Pairs are numbers u·2³² + v, in no order; returns how many there are, or `FULL_LIST`.
    """
    length = 0
    for number in range(len(topics)):
        topic = np.int64(topics[number])
        if state.components[topic] == 1:
            continue
        for k in range(gather(state, buckets, topic, low, np.uint64(2 if more else 1))):
            second = buckets.touched[k]
            p = np.int64(buckets.head[second])
            buckets.head[second] = -1
            leaves = 0
            buckets.bucket[0] += 1
            bucket = buckets.bucket[0]
            # Members ascend along the chain. Without one below `high`, or without two, there is no pair.
            if buckets.node[buckets.owner[p]] >= high or buckets.following[p] < 0:
                continue
            while p >= 0:
                x = buckets.owner[p]
                v, mine, label = np.int64(buckets.node[x]), buckets.mine[x], buckets.label[p]
                for q in range(p + 1, np.int64(buckets.last[x])):
                    third, own = buckets.topic[q], buckets.label[q]
                    recent = buckets.recent[third]
                    before = np.int64(-1)
                    if recent >> 32 == bucket:
                        before = recent & HALF
                        at = before
                        while at >= 0:
                            other = np.int64(buckets.leaf[3 * at])
                            y = buckets.owner[other]
                            if (
                                buckets.label[other] != own
                                and buckets.mine[y] != mine
                                and buckets.label[buckets.leaf[3 * at + 1]] != label
                                and (not more or differ_later(buckets, other, q))
                            ):
                                if length == len(pairs):
                                    for rest in range(k + 1, len(buckets.touched)):
                                        buckets.head[buckets.touched[rest]] = -1
                                    return FULL_LIST
                                pairs[length] = (np.int64(buckets.node[y]) << 32) | v
                                length += 1
                            at = np.int64(buckets.leaf[3 * at + 2])
                    if v < high:
                        buckets.leaf[3 * leaves], buckets.leaf[3 * leaves + 1] = q, p
                        buckets.leaf[3 * leaves + 2] = before
                        buckets.recent[third] = (bucket << 32) | np.int64(leaves)
                        leaves += 1
                p = np.int64(buckets.following[p])
    return length


@kernel
def list_by_two(state: State, buckets: Buckets, topics: Ids, low: Int, high: Int, pairs: Offsets) -> int:
    """List the pairs (u, v), low ≤ u < high, that differ in two common topics, the first in `topics`."""
    length = 0
    room = np.int64(len(buckets.node))
    for number in range(len(topics)):
        topic = np.int64(topics[number])
        if state.components[topic] == 1:
            continue
        giant = state.giant[topic]
        for k in range(gather(state, buckets, topic, low, np.uint64(0))):
            second = buckets.touched[k]
            p = np.int64(buckets.head[second])
            buckets.head[second] = -1
            if buckets.node[buckets.owner[p]] >= high or buckets.following[p] < 0:
                continue
            second_giant = state.giant[second]
            none = inner_one = outer_one = both = 0
            while p >= 0:
                x = buckets.owner[p]
                v, mine, label = np.int64(buckets.node[x]), buckets.mine[x], buckets.label[p]
                kind = int(mine != giant) + 2 * int(label != second_giant)
                for other_kind in range(4):
                    if kind | other_kind != 3:
                        continue
                    count = none if other_kind == 0 else inner_one if other_kind == 1 else outer_one
                    count = both if other_kind == 3 else count
                    if length + count > len(pairs):
                        for rest in range(k + 1, len(buckets.touched)):
                            buckets.head[buckets.touched[rest]] = -1
                        return FULL_LIST
                    for i in range(other_kind * room, other_kind * room + count):
                        q = buckets.group[i]
                        y = buckets.owner[q]
                        # Written in any case, kept if the two differ: without a branch that is unpredictable.
                        pairs[length] = (np.int64(buckets.node[y]) << 32) | v
                        length += int(buckets.mine[y] != mine and buckets.label[q] != label)
                if v < high:
                    if kind == 0:
                        buckets.group[none] = p
                        none += 1
                    elif kind == 1:
                        buckets.group[room + inner_one] = p
                        inner_one += 1
                    elif kind == 2:
                        buckets.group[2 * room + outer_one] = p
                        outer_one += 1
                    else:
                        buckets.group[3 * room + both] = p
                        both += 1
                p = np.int64(buckets.following[p])
    return length


@kernel
def list_by_one(state: State, seen: Bytes, pairs: Offsets) -> int:
    """List the links of level 1: the first subscriber of each topic with the first of every other component.

    `seen`, by component, is zeros. Only nodes that may be linked count.
    """
    length = 0
    for topic in range(len(state.components)):
        u: Int = np.int64(-1)
        if state.components[topic] > 1:
            for slot in range(state.topic_ptr[topic], state.topic_ptr[topic + 1]):
                v, label = np.int64(state.topic_nodes[slot]), state.node_label[state.entry[slot]]
                if seen[label] == 0 and is_open(state.allowed_nodes, v):
                    seen[label] = 1
                    if u < 0:
                        u = v
                    else:
                        pairs[length] = (u << 32) | v
                        length += 1
    return length


@kernel
def count_outside(state: State) -> None:
    """Call the largest component of each topic its giant, and count where each node is outside of it.

    Topics with bits keep the giant that their bits describe.
    """
    for topic in range(state.covered, len(state.components)):
        best: Int = np.int64(state.topic_ptr[topic])
        for slot in range(best, state.topic_ptr[topic + 1]):
            # A component that was merged keeps the size it had, which is less than that of what it joined.
            if state.size[slot] > state.size[best]:
                best = slot
        state.giant[topic] = best
    for v in range(len(state.degree)):
        count = 0
        for i in range(state.node_ptr[v], state.node_ptr[v + 1]):
            count += int(state.node_label[i] != state.giant[state.node_topics[i]])
        state.outside[v] = count


@inlined
def fetch_ahead(state: State, pairs: Offsets, i: Int, last: Int, u: Int, level: Int) -> None:
    """Fetch into the cache what the pairs after pair i need: first where, then what.

    Nodes v are anywhere in memory.
    """
    near, far = pairs[min(i + 8, last)] & HALF, pairs[min(i + 16, last)] & HALF
    prefetch(state.outside, far)
    prefetch(state.node_ptr, far)
    if state.outside[u] + state.outside[near] >= level:
        prefetch(state.node_topics, state.node_ptr[near])
        prefetch(state.node_label, state.node_ptr[near])


@kernel
def keep(state: State, pairs: Offsets, level: Int) -> int:
    """Move the listed pairs that still contribute `level` to the front, each once, and return how many.

    Several threads do this ahead of `take`. What is dropped here contributes too little from now on.
    """
    length = 0
    last, before = len(pairs) - 1, np.int64(-1)
    for i in range(len(pairs)):
        pair = pairs[i]
        u, v = pair >> 32, pair & HALF
        fetch_ahead(state, pairs, i, last, u, level)
        if pair != before and state.outside[u] + state.outside[v] >= level:
            pairs[length] = pair
            length += int(contribution(state, u, v, level) >= level)
        before = pair
    return length


@kernel
def take(
    state: State, pairs: Offsets, bounds: Ids, level: Int, cursor: Offsets, goal: Goal, links: Links
) -> int:
    """Link, in order, the listed pairs that contribute exactly `level`, from `cursor[0]` on.

    With `bounds`, pairs are passed over unless their bound is the level; it is lowered to what a check finds.
    """
    tally, bounded, last = state.tally, len(bounds) > 0, len(pairs) - 1
    for i in range(cursor[0], len(pairs)):
        cursor[0] = i
        if tally[WORK] > goal.work:
            return PAUSED
        tally[WORK] += 1
        # A pair with more than three common topics is listed more than once.
        if (bounded and bounds[i] != level) or (i > 0 and pairs[i] == pairs[i - 1]):
            continue
        u, v = pairs[i] >> 32, pairs[i] & HALF
        # No pair contributes more than this: in each topic that it merges, one end is outside the giant.
        count: Int = np.int64(state.outside[u] + state.outside[v])
        fetch_ahead(state, pairs, i, last, u, level)
        if count >= level:
            tally[WORK] += 50
            count = contribution(state, u, v, level)
            if count == level:
                edge = tally[EDGES]
                if edge >= goal.max_edges:
                    return EXHAUSTED
                if edge == len(links.u):
                    return FULL
                links.u[edge], links.v[edge] = u, v
                links.contribution[edge] = link(state, u, v)
                tally[EDGES] = edge + 1
                # `link` counts on its own, so this checks the list: better no overlay than a wrong one.
                if links.contribution[edge] != level:
                    return BROKEN
                count = 0
        if bounded:
            bounds[i] = count
    cursor[0] = len(pairs)
    return EXHAUSTED
