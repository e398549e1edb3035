"""Choose the backups of a node: a cover is a set of nodes that between them have all its topics.

A cover is chosen by the primal-dual algorithm (shadows, Alg. 12) or greedily (shadows, Alg. 11). Both weigh a
node by its links and its primaries, so that no node has too many of them. A node that is *barred* is no
candidate: v itself and the backups that it has already, so that the covers of v are disjoint.

The paper looks at all nodes. With a window, both look at a random part of the subscribers of each topic,
which makes the cost independent of the number of nodes: topics × window for Alg. 12, and backups × candidates
× words for Alg. 11.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import ALL_ONES, NOTHING, ONE, SIX, SIXTY_THREE, Bits, Ids, Int
from meshwright.churn.kernels.live_arrays import LiveArrays, count_bits
from meshwright.dynamic.mutable_overlay import (
    NONE,
    clear_bit,
    copy_list,
    draw,
    has_topic,
    lowest_position,
    push,
    without_lowest,
)
from meshwright.jit.compiler import inlined, inner
from meshwright.jit.simd import popcount

GREEDY, PRIMAL_DUAL = 0, 1
"""How a cover is chosen: by shadows, Alg. 11, or Alg. 12."""


BARRED = 2**30
"""What a barred node has in `live.paid`: more than any weight."""


@inlined
def weight(live: LiveArrays, u: Int) -> Int:
    """Return the weight of a node: its links and its primaries (Alg. 11, line 8; Alg. 12, line 5)."""
    return np.int64(live.degree[u]) + np.int64(live.primary_count[u])


@inner
def add_backup(live: LiveArrays, v: Int, w: Int, rest: Bits) -> None:
    """Make w a backup of v, and remove its topics from those still to cover."""
    live.paid[w] = BARRED
    push(live, live.backup_first, live.backup_count, v, w)
    push(live, live.primary_first, live.primary_count, w, v)
    for place in range(len(rest)):
        rest[place] &= ~live.bits[w, place]


@inner
def draw_topic(live: LiveArrays, rest: Bits, left: Int) -> Int:
    """Draw one of the `left` topics of a row of bits."""
    skipped = draw(live, left)
    for place in range(len(rest)):
        word = rest[place]
        if skipped >= popcount(word):
            skipped -= popcount(word)
            continue
        while skipped > 0:
            word = without_lowest(word)
            skipped -= 1
        return lowest_position(place, word)
    return np.int64(NONE)


class Scan(NamedTuple):
    """What a look at some subscribers of a topic found."""

    able: Int
    """How many candidates have any weight left."""
    best: Int
    """Of these, the one with the least weight left; undefined if there is none."""
    least: Int
    """That weight."""


NOBODY = 2**62
"""More than any weight and node in one number."""


@inlined
def scan_subscribers(live: LiveArrays, topic: Int, begin: Int, window: Int, eligible: Ids) -> Scan:
    """Look at `window` subscribers of a topic, from a place in its list on.

    Writes the candidates that have any weight left to `eligible`.
    """
    length, start = np.int64(live.member_length[topic]), live.member_start[topic]
    # A weight and a node in one number: the least number is the least weight, then the lowest node. Whether a
    # node counts is unpredictable, so there are no branches: without any weight left, one less than that is
    # negative, and as an unsigned number larger than all others.
    best, able = ALL_ONES, NOTHING
    looked, walked = np.int64(0), np.int64(0)
    while walked < length and looked < window:
        first = begin + walked if begin + walked < length else begin + walked - length
        # At least this many more entries are needed: stale ones do not count for the window.
        more = min(window - looked, length - walked, length - first)
        for at in range(np.uint64(start + first), np.uint64(start + first + more)):
            u = np.uint64(live.members[at])
            there = np.int64((live.holders[topic, u >> SIX] >> (u & SIXTY_THREE)) & ONE)
            left = np.int64(live.degree[u]) + np.int64(live.primary_count[u]) - np.int64(live.paid[u])
            # Nothing is left of a stale entry, nor of a barred node.
            left &= -there
            # Alg. 12, lines 8 and 9.
            eligible[able] = u
            able += np.uint64(left > 0)
            looked += there
            best = min(best, np.uint64(left - 1) << np.uint64(32) | u)
        walked += more
    node, least = np.int64(best & np.uint64(0xFFFFFFFF)), np.int64(best >> np.uint64(32)) + 1
    return Scan(np.int64(able), node, least)


@inner
def find_lightest(live: LiveArrays, topic: Int, begin: Int, window: Int) -> Int:
    """Return the candidate of least weight among the same subscribers, or else the next one after them.

    Returns −1 if there is none: all other subscribers are backups already.
    """
    length, start = np.int64(live.member_length[topic]), live.member_start[topic]
    lightest, looked = np.int64(NOBODY), np.int64(0)
    for i in range(length):
        if looked >= window and lightest != NOBODY:
            break
        u = np.int64(live.members[start + (begin + i if begin + i < length else begin + i - length)])
        if has_topic(live, u, topic):
            looked += 1
            if live.paid[u] != BARRED:
                lightest = min(lightest, np.int64(weight(live, u)) << 32 | u)
    return np.int64(NONE) if lightest == NOBODY else lightest & np.int64(0xFFFFFFFF)


@inner
def cover_by_weight(live: LiveArrays, v: Int, rest: Bits, window: Int, charged: Ids) -> None:
    """Add one primal-dual cover of the topics `rest` to the backups of v (Alg. 12).

    `live.paid` is what lines 13 and 14 have subtracted from the weight of each node in this cover. Where no
    candidate has any weight left, the one of least original weight is taken, so that nodes without links can
    be found too.
    """
    reached, eligible = np.int64(0), charged[len(live.degree) + 1 :]
    while True:
        left = count_bits(rest)
        if left == 0:
            break
        # Line 7.
        topic = draw_topic(live, rest, left)
        begin = np.int64(draw(live, np.int64(live.member_length[topic])))
        scan = scan_subscribers(live, topic, begin, window, eligible)
        if scan.able == 0:
            lightest = find_lightest(live, topic, begin, window)
            if lightest == NONE:
                # This cover goes without the topic.
                clear_bit(rest, topic)
            else:
                add_backup(live, v, lightest, rest)
            continue
        # Lines 13 and 14: all candidates pay the weight of the one that is taken.
        for j in range(scan.able):
            u = np.uint64(eligible[j])
            paid = np.int64(live.paid[u])
            charged[reached] = u
            reached += np.int64(paid == 0)
            live.paid[u] = paid + scan.least
        add_backup(live, v, scan.best, rest)
    for j in range(reached):
        live.paid[charged[j]] = 0


@inner
def list_candidates(live: LiveArrays, rest: Bits, window: Int, pool: Ids) -> Int:
    """Write the candidates of a greedy cover, and return how many there are.

    These are up to `window` subscribers of each topic, but fewer if that makes more than about four windows.
    """
    left = count_bits(rest)
    share = min(window, max(np.int64(1), 4 * window // max(np.int64(1), left)))
    count = np.int64(0)
    for place in range(len(rest)):
        word = rest[place]
        while word:
            topic = lowest_position(place, word)
            word = without_lowest(word)
            length, start = np.int64(live.member_length[topic]), live.member_start[topic]
            begin, found, i = np.int64(draw(live, length)), np.int64(0), np.int64(0)
            while i < length and found < share:
                at = begin + i if begin + i < length else begin + i - length
                u = np.int64(live.members[start + at])
                i += 1
                if live.paid[u] != BARRED and has_topic(live, u, topic):
                    found += 1
                    # A 1 in `paid` marks the nodes in the pool, which have several of the topics.
                    if live.paid[u] == 0:
                        live.paid[u] = 1
                        pool[count] = u
                        count += 1
    for j in range(count):
        live.paid[pool[j]] = 0
    return count


@inner
def cover_greedily(live: LiveArrays, v: Int, rest: Bits, window: Int, pool: Ids) -> None:
    """Add one greedy cover of the topics `rest` to the backups of v (Alg. 11)."""
    count = list_candidates(live, rest, window, pool)
    while True:
        best, most = np.int64(NONE), np.int64(0)
        for j in range(count):
            u = np.int64(pool[j])
            if live.paid[u] == BARRED:
                continue
            covered = np.int64(0)
            for place in range(len(rest)):
                covered += popcount(live.bits[u, place] & rest[place])
            if covered == 0:
                continue
            # Line 9: the least weight per topic covered. Compare products, which are exact.
            if best != NONE:
                mine, yours = weight(live, u) * most, weight(live, best) * covered
                if mine > yours or (mine == yours and u > best):
                    continue
            best, most = u, covered
        if best == NONE:
            break
        add_backup(live, v, best, rest)


@inner
def bar(live: LiveArrays, v: Int, paid: Int, work: Ids) -> None:
    """Bar a node and its backups by what they have paid, or make `live.paid` blank again."""
    live.paid[v] = paid
    for i in range(copy_list(live, live.backup_first, live.backup_count, v, work)):
        live.paid[work[i]] = paid


@inner
def cover(live: LiveArrays, v: Int, rest: Bits, method: Int, window: Int, work: Ids) -> None:
    """Add one cover of some topics to the backups of v, disjoint from the backups that it has."""
    bar(live, v, np.int64(BARRED), work)
    if method == GREEDY:
        cover_greedily(live, v, rest, window, work)
    else:
        cover_by_weight(live, v, rest, window, work)
    bar(live, v, np.int64(0), work)
