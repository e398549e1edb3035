"""List the pairs that contribute a low level, from the index of subscribers by topic.

A pair that contributes w has w common topics, and is in different components of each. So nested buckets find
it: the subscribers of a topic t1, among them those of t2 > t1, among them those of t3 > t2. Most buckets of
three topics hold one node or none, so all buckets together cost O(Σ C(|T(v)|, 3)) steps, where the level
sweep pays O(|T(v)|·|V|/64) for each row that it rebuilds.

Labels are compared in the bucket, so a list holds only pairs that contribute the level when it is made. Links
that are added later can only lower contributions: `listed_pairs` checks each pair again before it links it.

- Level 4 and above: `list_by_three`, before any link: pairs that are found more than once.
- Level 3: `list_by_three`, before any link or when the level is reached. Then no pair contributes more, so
  each one is listed once.
- Level 2: `list_by_two`. Most nodes are in the largest component of most topics by then, and two nodes that
  both are do not differ. The bucket is divided by this, and only pairs that can differ are compared.
- Level 1 needs no list: see `take_singles`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meshwright.arrays import ALL_ONES, NOTHING, ONE, Ids, Int, Offsets
from meshwright.greedy.kernels.components import is_open
from meshwright.greedy.kernels.state import State
from meshwright.jit.compiler import inlined, kernel
from meshwright.jit.simd import SIXTEEN, copy_sixteen, fill_sixteen, prefetch

FULL_LIST = -1
"""What a listing returns if the list has no room for all pairs."""


HALF = np.int64(0xFFFFFFFF)
"""Keeps v of a pair."""
NONE = ALL_ONES
"""No place: −1 as an index. Indices are unsigned, since a signed one may count from the end."""
TWO, THREE, FOUR = np.uint64(2), np.uint64(3), np.uint64(4)
FEW = np.uint64(8)
"""Up to this many nodes of a bucket are compared one by one, whether or not they can differ."""
AHEAD = 12
"""How many subscribers ahead are fetched into the cache."""
NEXT_LINE = 8
"""Later topics may reach into the next line of the cache: eight numbers on, that one is fetched, too."""


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
    second: Ids
    """By member: its component in t2."""
    third: Ids
    """By step, a later topic of a member of the bucket of t1 and t2: that topic."""
    own: Ids
    """By step: the member's component in that topic."""
    stepper: Ids
    """By step: the member."""
    before: Offsets
    """By step: the last step before it with the same topic, as `recent` has it."""
    hit: Offsets
    """The steps that have one before them in their bucket."""
    recent: Offsets
    """By topic t3: its last step, counted through all buckets."""
    met: Offsets
    """By member: by whom it was last found to share three topics, together with the number of the bucket."""
    group: Ids
    """Five lists of places: all, and by whether the node is outside the largest component of t1 and of t2."""
    numbers: Offsets
    """Two numbers: how many buckets of two topics there were, and how many steps in them."""


@kernel
def add_places(node_ptr: Offsets, node_topics: Ids, places: Offsets) -> None:
    """Count, by topic, the places that its subscribers need: one for each of their later topics."""
    for v in range(len(node_ptr) - 1):
        for i in range(node_ptr[v], node_ptr[v + 1]):
            places[node_topics[i]] += node_ptr[v + 1] - i - 1


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
        prefetch(state.node_ptr, np.int64(state.topic_nodes[ahead]))
        for near in (np.int64(state.entry[ahead]), np.int64(state.entry[ahead]) + NEXT_LINE):
            prefetch(state.node_topics, near)
            prefetch(state.node_label, near)
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


@inlined
def lay_out_steps(buckets: Buckets, p: Any, high: Int) -> tuple[Any, Any]:
    """Lay out the steps of a bucket whose chain begins at place p, sixteen numbers at a time.

    How many later topics a member has is unpredictable: what is copied too many is overwritten next. Return
    how many steps there are, and how many of them belong to nodes below `high`.
    """
    steps = inserted = NOTHING
    while p != NONE:
        x = np.uint64(buckets.owner[p])
        buckets.second[x] = buckets.label[p]
        begin, end = p + ONE, np.uint64(buckets.last[x])
        for q in range(begin, end, SIXTEEN):
            copy_sixteen(buckets.third, steps + (q - begin), buckets.topic, q)
            copy_sixteen(buckets.own, steps + (q - begin), buckets.label, q)
            fill_sixteen(buckets.stepper, steps + (q - begin), np.int64(x))
        steps += end - begin
        inserted = steps if buckets.node[x] < high else inserted
        p = np.uint64(buckets.following[p])
    return steps, inserted


@inlined
def find_hits(buckets: Buckets, steps: Any, inserted: Any) -> Any:
    """Chain the steps of a bucket that have the same topic; return how many have one before them.

    Only the first `inserted` steps count as before another. There are no branches: few steps are hits, and
    which ones is unpredictable.
    """
    first, hits = buckets.numbers[1], NOTHING
    for i in range(steps):
        third = np.uint64(buckets.third[i])
        recent = buckets.recent[third]
        buckets.before[i], buckets.hit[hits] = recent, np.int64(i)
        hits += np.uint64(recent >= first)
        buckets.recent[third] = first + np.int64(i) if i < inserted else recent
    return hits


@inlined
def list_hits(buckets: Buckets, hits: Any, cut: Int, length: Any, pairs: Offsets) -> Any:
    """List the pairs of a bucket that differ in its three topics; return the new length.

    If the list is full, the length returned is greater than its size.
    """
    bucket, first = buckets.numbers[0] << 32, buckets.numbers[1]
    for k in range(hits):
        i = np.uint64(buckets.hit[k])
        x = np.uint64(buckets.stepper[i])
        v, mine, label, own = np.int64(buckets.node[x]), buckets.mine[x], buckets.second[x], buckets.own[i]
        visit, at = bucket | np.int64(x), buckets.before[i]
        while at >= first:
            if length == np.uint64(len(pairs)):
                return length + ONE
            step = np.uint64(at - first)
            y = np.uint64(buckets.stepper[step])
            u = np.int64(buckets.node[y])
            differ = (buckets.own[step] != own) & (buckets.second[y] != label) & (buckets.mine[y] != mine)
            met = buckets.met[y] == visit
            # Written in any case, kept if wanted: without a branch that is unpredictable. A node met for the
            # second time differs in a fourth topic.
            pairs[length] = (u << 32) | v
            length += np.uint64(differ & (met | (u < cut)))
            buckets.met[y] = visit if differ else buckets.met[y]
            at = buckets.before[step]
    return length


@inlined
def forget_chains(buckets: Buckets, first: Int) -> None:
    """Forget the chains that were not looked at, from the topic touched as number `first` on."""
    for rest in range(first, len(buckets.touched)):
        buckets.head[buckets.touched[rest]] = -1


@kernel
def list_by_three(
    state: State, cut: Int, buckets: Buckets, topics: Ids, low: Int, high: Int, pairs: Offsets
) -> Int:
    """List the pairs (u, v), low ≤ u < high, that differ in three common topics, the first in `topics`.

    From row `cut` on, only those that differ in a fourth topic. A pair is listed once for each set of
    three topics. Pairs are numbers u·2³² + v, in no order; returns how many there are, or `FULL_LIST`.
    """
    length = NOTHING
    for number in range(len(topics)):
        topic = np.int64(topics[number])
        if state.components[topic] == 1:
            continue
        for k in range(gather(state, buckets, topic, low, np.uint64(1 if low < cut else 2))):
            second = np.uint64(buckets.touched[k])
            p = np.uint64(buckets.head[second])
            buckets.head[second] = -1
            # Members ascend along the chain. Without one below `high`, or without two, there is no pair.
            if buckets.node[np.uint64(buckets.owner[p])] >= high or buckets.following[p] < 0:
                continue
            steps, inserted = lay_out_steps(buckets, p, high)
            hits = find_hits(buckets, steps, inserted)
            length = list_hits(buckets, hits, cut, length, pairs)
            buckets.numbers[0] += 1
            buckets.numbers[1] += steps
            if length > np.uint64(len(pairs)):
                forget_chains(buckets, k + 1)
                return FULL_LIST
    return np.int64(length)


@inlined
def compare(
    buckets: Buckets,
    pairs: Offsets,
    length: np.uint64,
    begin: np.uint64,
    count: np.uint64,
    v: Int,
    mine: Int,
    label: Int,
) -> np.uint64:
    """List the pairs of v with the places of a group that differ in both topics; return the new length."""
    for i in range(begin, begin + count):
        q = np.uint64(buckets.group[i])
        y = np.uint64(buckets.owner[q])
        # Written in any case, kept if the two differ: without a branch that is unpredictable.
        pairs[length] = (np.int64(buckets.node[y]) << 32) | v
        length += np.uint64((buckets.mine[y] != mine) & (buckets.label[q] != label))
    return length


@kernel
def list_by_two(state: State, buckets: Buckets, topics: Ids, low: Int, high: Int, pairs: Offsets) -> Int:
    """List the pairs (u, v), low ≤ u < high, that differ in two common topics, the first in `topics`."""
    length = NOTHING
    room = np.uint64(len(buckets.node))
    for number in range(len(topics)):
        topic = np.int64(topics[number])
        if state.components[topic] == 1:
            continue
        giant = state.giant[topic]
        for k in range(gather(state, buckets, topic, low, NOTHING)):
            second = np.uint64(buckets.touched[k])
            p = np.uint64(buckets.head[second])
            buckets.head[second] = -1
            if buckets.node[np.uint64(buckets.owner[p])] >= high or buckets.following[p] < 0:
                continue
            second_giant = state.giant[second]
            # How many are in each group: all together, and by kind.
            total = none = inner_one = outer_one = both = NOTHING
            while p != NONE:
                x = np.uint64(buckets.owner[p])
                v, mine, label = np.int64(buckets.node[x]), buckets.mine[x], buckets.label[p]
                kind = int(mine != giant) + 2 * int(label != second_giant)
                if length + total > np.uint64(len(pairs)):
                    forget_chains(buckets, k + 1)
                    return FULL_LIST
                if total <= FEW:
                    length = compare(buckets, pairs, length, NOTHING, total, v, mine, label)
                else:
                    # In each topic one of the two must be outside the giant.
                    length = compare(buckets, pairs, length, FOUR * room, both, v, mine, label)
                    if kind & 1 == 1:
                        length = compare(buckets, pairs, length, THREE * room, outer_one, v, mine, label)
                    if kind & 2 == 2:
                        length = compare(buckets, pairs, length, TWO * room, inner_one, v, mine, label)
                    if kind == 3:
                        length = compare(buckets, pairs, length, room, none, v, mine, label)
                if v < high:
                    buckets.group[total] = p
                    total += ONE
                    if kind == 0:
                        buckets.group[room + none] = p
                        none += ONE
                    elif kind == 1:
                        buckets.group[TWO * room + inner_one] = p
                        inner_one += ONE
                    elif kind == 2:
                        buckets.group[THREE * room + outer_one] = p
                        outer_one += ONE
                    else:
                        buckets.group[FOUR * room + both] = p
                        both += ONE
                p = np.uint64(buckets.following[p])
    return np.int64(length)


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
