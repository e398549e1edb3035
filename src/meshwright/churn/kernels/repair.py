"""The greedy step of a repair: link some nodes, best link first, until the fragments are joined.

It chooses what the engine would, with today's overlay as its start, these nodes as candidates and the broken
topics as filter; but it looks only at the nodes in fragments, since the others have nothing to join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.churn.kernels.damage import BROKEN, MISSING
from meshwright.churn.kernels.state import LINKS, NODES, TOP, ZERO, link, rest_of, topic_at
from meshwright.dynamic.net import NONE, draw, has_topic
from meshwright.jit.compiler import compiled, inner
from meshwright.jit.simd import popcount

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets
    from meshwright.churn.kernels.damage import Damage
    from meshwright.churn.kernels.state import Live
    from meshwright.dynamic.net import Bits, Int


SAMPLE = 96
"""How many subscribers of a topic are looked at."""
PARTNERS = 64
"""How many are chosen."""


@compiled
def add_partners(live: Live, asked: Bits, cap: Int, out: Ids, count: Int) -> Int:
    """Write nodes with fewer links than `cap` and the most of some topics behind `count` others.

    Of each topic some subscribers are looked at, from a random place on. Returns how many there are then.
    """
    topics = np.int64(0)
    for place in range(len(asked)):
        topics += popcount(asked[place])
    listed = np.empty(min(np.int64(len(live.degree)), topics * SAMPLE), dtype=np.int32)
    found = 0
    for place in range(len(asked)):
        word = asked[place]
        while word:
            topic = topic_at(place, word)
            word = rest_of(word)
            length, start = np.int64(live.member_length[topic]), live.member_start[topic]
            at = np.int64(draw(live, length))
            for _ in range(min(length, np.int64(SAMPLE))):
                u = live.members[start + at]
                at = at + 1 if at + 1 < length else np.int64(0)
                if live.mark[u] == NONE and live.degree[u] < cap and has_topic(live, u, topic):
                    live.mark[u] = 1
                    listed[found] = u
                    found += 1
    spread = np.zeros(64 * len(asked) + 1, dtype=np.int32)
    score = np.empty(found, dtype=np.int32)
    for i in range(found):
        live.mark[listed[i]] = NONE
        common = np.int64(0)
        for place in range(len(asked)):
            common += popcount(live.bits[listed[i], place] & asked[place])
        score[i] = common
        spread[common] += 1
    least, more = len(spread) - 1, 0
    while least > 0 and more + spread[least] <= PARTNERS:
        more += spread[least]
        least -= 1
    # All above the score that fills the places, and of those with that score the first.
    left = PARTNERS - more
    for i in range(found):
        if score[i] > least or (score[i] == least and left > 0):
            left -= int(score[i] == least)
            out[count] = listed[i]
            count += 1
    return count


NO_LIMIT = 2**31 - 1


class Bench(NamedTuple):
    """The candidates of a repair, ascending, and what those of them in fragments are cut off in."""

    shadows: Ids
    place: Ids
    """By row: the place of a cut-off node among the shadows."""
    row: Ids
    """By shadow: its row, or −1."""
    off: Bits
    """By row: the topics in which the node is in a fragment."""
    label: Ids
    """By row and broken topic: the number of that fragment, or 0 for the rest."""
    bound: Ids
    """By row: no link of the node joins more topics."""
    choice: Offsets
    """The best link, the best that spares the maximum degree: joined, lower end, upper end, row, place."""


@compiled
def lay_out(live: Live, damage: Damage, shadows: Ids) -> Bench:
    """Set the bench: columns for the broken topics, rows for the nodes in fragments."""
    columns = 0
    row = np.full(len(shadows), NONE, dtype=np.int32)
    for i in range(len(damage.node)):
        if live.column[damage.topic[i]] == NONE:
            live.column[damage.topic[i]] = columns
            columns += 1
        row[live.row[damage.node[i]]] = 0
    rows = 0
    for i in range(len(shadows)):
        if row[i] == 0:
            row[i] = rows
            rows += 1
    place = np.empty(rows, dtype=np.int32)
    for i in range(len(shadows)):
        if row[i] != NONE:
            place[row[i]] = i
    off = np.zeros((rows, live.bits.shape[1]), dtype=np.uint64)
    label = np.zeros((rows, damage.tally[BROKEN]), dtype=np.int32)
    bound = np.full(rows, live.bits.shape[1] * 64, dtype=np.int32)
    for i in range(len(damage.node)):
        mine, topic = row[live.row[damage.node[i]]], np.uint64(damage.topic[i])
        off[mine, topic >> np.uint64(6)] |= np.uint64(1) << (topic & np.uint64(63))
        label[mine, live.column[damage.topic[i]]] = damage.label[i]
    return Bench(shadows, place, row, off, label, bound, np.zeros(10, dtype=np.int64))


@inner
def joined(live: Live, bench: Bench, x: Int, other: Int) -> Int:
    """Count the topics that a link between row x and a shadow would join."""
    y, count = np.int64(bench.row[other]), np.int64(0)
    v = np.int64(bench.shadows[other])
    if y == NONE:
        for place in range(bench.off.shape[1]):
            count += popcount(bench.off[x, place] & live.bits[v, place])
        return count
    u = np.int64(bench.shadows[bench.place[x]])
    for place in range(bench.off.shape[1]):
        mine, yours = bench.off[x, place], bench.off[y, place]
        count += popcount((mine ^ yours) & live.bits[u, place] & live.bits[v, place])
        both = mine & yours
        while both:
            column = live.column[topic_at(place, both)]
            count += np.int64(bench.label[x, column] != bench.label[y, column])
            both = rest_of(both)
    return count


@inner
def look_through(live: Live, bench: Bench, x: Int, top: Int, cap: Int) -> None:
    """Compare every link of a row with the best so far; ties go to the smallest pair."""
    choice = bench.choice
    u = np.int64(bench.shadows[bench.place[x]])
    most = np.int64(0)
    if live.degree[u] < cap:
        for other in range(len(bench.shadows)):
            v = np.int64(bench.shadows[other])
            if v == u or live.degree[v] >= cap:
                continue
            count = np.int64(joined(live, bench, x, np.int64(other)))
            if count == 0:
                continue
            most = max(most, count)
            low, high = min(u, v), max(u, v)
            calm = live.degree[u] < top and live.degree[v] < top
            for base in range(0, 10 if calm else 5, 5):
                if count < choice[base]:
                    continue
                if count > choice[base] or (low, high) < (choice[base + 1], choice[base + 2]):
                    choice[base], choice[base + 1], choice[base + 2] = count, low, high
                    choice[base + 3], choice[base + 4] = x, other
    bench.bound[x] = most


@inner
def merge(live: Live, bench: Bench, x: Int, other: Int) -> Int:
    """Join the fragments that a link between row x and a shadow joins; return in how many topics."""
    y, count = np.int64(bench.row[other]), np.int64(0)
    u, v = np.int64(bench.shadows[bench.place[x]]), np.int64(bench.shadows[other])
    for place in range(bench.off.shape[1]):
        mine = bench.off[x, place]
        yours = ZERO if y == NONE else bench.off[y, place]
        word = (mine | yours) & live.bits[u, place] & live.bits[v, place]
        while word:
            bit = word & (~word + np.uint64(1))
            column = live.column[topic_at(place, word)]
            word = rest_of(word)
            one = bench.label[x, column]
            two = np.int32(0) if y == NONE else bench.label[y, column]
            if one == two:
                continue
            count += 1
            keep, gone = min(one, two), max(one, two)
            for r in range(len(bench.place)):
                if bench.label[r, column] == gone:
                    bench.label[r, column] = keep
                    if keep == 0:
                        bench.off[r, place] &= ~bit
    return count


@inner
def choose(live: Live, bench: Bench, k: float, top: Int, cap: Int) -> Int:
    """Find the link that Low-ODA(k) takes next; return where it stands in `choice`, or −1.

    Contributions only fall: a row whose bound is below what was found is not looked through again.
    """
    choice, first = bench.choice, np.int64(0)
    choice[0], choice[5] = 0, 0
    for x in range(1, len(bench.place)):
        if bench.bound[x] > bench.bound[first]:
            first = np.int64(x)
    look_through(live, bench, first, top, cap)
    for x in range(len(bench.place)):
        bound = bench.bound[x]
        if x == first or bound == 0:
            continue
        if bound < choice[0] and (bound < choice[5] or bound * k < choice[0]):
            continue
        look_through(live, bench, np.int64(x), top, cap)
    if choice[0] == 0:
        return np.int64(NONE)
    return np.int64(5 if choice[5] > 0 and choice[5] * k >= choice[0] else 0)


@inner
def cap_of(live: Live, slack: Int) -> Int:
    """Return how many links are enough: so many more than the mean, rounded."""
    nodes = max(np.int64(1), live.tally[NODES])
    return np.int64((2 * live.tally[LINKS] + nodes // 2) // nodes) + slack


@compiled
def mend(
    live: Live, damage: Damage, shadows: Ids, k: float, local: bool, cap: Int, soft: bool, most: Int
) -> tuple[Ids, bool]:
    """Link shadows until the damage is mended; return the links made, and whether it is.

    `shadows` are ascending and have their places in `live.row`. The maximum degree in the rule is that of the
    overlay, or with `local` that of the shadows. No more than `most` links are made, and nobody gets more
    than `cap`, unless that is `soft` and no other way is left.
    """
    made = np.empty((min(most, damage.tally[MISSING]), 2), dtype=np.int32)
    count, missing = 0, damage.tally[MISSING]
    bench = lay_out(live, damage, shadows)
    top = live.tally[TOP]
    if local:
        top = np.int64(0)
        for i in range(len(shadows)):
            top = max(top, np.int64(live.degree[shadows[i]]))
    while missing > 0 and count < len(made):
        at = choose(live, bench, k, top, cap)
        if at == NONE:
            if not soft:
                break
            cap, soft = np.int64(NO_LIMIT), False
            bench.bound[:] = NO_LIMIT
            continue
        low, high = bench.choice[at + 1], bench.choice[at + 2]
        missing -= merge(live, bench, bench.choice[at + 3], bench.choice[at + 4])
        link(live, low, high)
        top = max(top, np.int64(live.degree[low]), np.int64(live.degree[high]))
        made[count, 0], made[count, 1] = low, high
        count += 1
    for i in range(len(damage.topic)):
        live.column[damage.topic[i]] = NONE
    return made[:count], missing == 0
