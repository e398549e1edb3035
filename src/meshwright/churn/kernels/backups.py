"""Backups: for each node, others that between them have each of its topics λ times (shadows, section V-G)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.churn.kernels.state import SPARE, ZERO, count_topics, rest_of, topic_at
from meshwright.dynamic.link_lists import FULL, discard, empty, list_out, push
from meshwright.dynamic.net import NONE, draw, has_topic
from meshwright.jit.compiler import compiled, inlined, inner, kernel
from meshwright.jit.simd import lowest_bit, popcount

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.churn.kernels.state import Live
    from meshwright.dynamic.net import Bits, Int

GREEDY, PRIMAL_DUAL = 0, 1
"""How a cover is chosen: shadows, Alg. 11 and Alg. 12."""


@inlined
def weight(live: Live, u: Int) -> Int:
    """Return a node's burden: its links and the nodes that it backs up."""
    return np.int64(live.degree[u]) + np.int64(live.primary_count[u])


@inner
def take(live: Live, v: Int, w: Int, rest: Bits) -> None:
    """Make w a backup of v."""
    live.mark[w] = 1
    push(live, live.backup_first, live.backup_count, v, w)
    push(live, live.primary_first, live.primary_count, w, v)
    for place in range(len(rest)):
        rest[place] &= ~live.bits[w, place]


@inner
def pick(live: Live, rest: Bits, left: Int) -> Int:
    """Draw one of the `left` topics of a set."""
    skipped = draw(live, left)
    for place in range(len(rest)):
        word = rest[place]
        if skipped >= popcount(word):
            skipped -= popcount(word)
            continue
        while skipped > 0:
            word = rest_of(word)
            skipped -= 1
        return topic_at(place, word)
    return np.int64(NONE)


@inner
def cover_by_weight(live: Live, v: Int, rest: Bits, window: Int, charged: Ids) -> None:
    """Add one primal-dual cover of the topics `rest` to the marked backups of v (Alg. 12).

    Of a topic no more than `window` subscribers are looked at, from a random place on, unless all of them are
    backups already. A node whose weight is used up is barred; if all are, the lightest is taken.
    """
    reached, eligible = np.int64(0), charged[len(live.degree) :]
    while True:
        left = np.int64(0)
        for place in range(len(rest)):
            left += popcount(rest[place])
        if left == 0:
            break
        topic = pick(live, rest, left)
        length, start = np.int64(live.member_length[topic]), live.member_start[topic]
        begin = np.int64(draw(live, length))
        best, lightest, light = np.int64(NONE), np.int64(NONE), np.int64(0)
        least, looked, able, i = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        while i < length and (looked < window or lightest == NONE):
            at = begin + i if begin + i < length else begin + i - length
            u = np.int64(live.members[start + at])
            i += 1
            if not has_topic(live, u, topic):
                continue
            looked += 1
            if live.mark[u] != NONE:
                continue
            own = np.int64(weight(live, u))
            if lightest == NONE or (own, u) < (light, lightest):
                light, lightest = own, u
            if own > live.paid[u]:
                eligible[able] = u
                able += 1
                if best == NONE or (own - live.paid[u], u) < (least, best):
                    best, least = u, np.int64(own - live.paid[u])
        if lightest == NONE:
            rest[topic >> 6] &= ~(np.uint64(1) << np.uint64(topic & 63))
            continue
        if best == NONE:
            take(live, v, lightest, rest)
            continue
        for j in range(able):
            u = np.int64(eligible[j])
            if live.paid[u] == 0:
                charged[reached] = u
                reached += 1
            live.paid[u] += least
        take(live, v, best, rest)
    for j in range(reached):
        live.paid[charged[j]] = 0


@inner
def cover_greedily(live: Live, v: Int, rest: Bits, window: Int, pool: Ids) -> None:
    """Add one greedy cover of the topics `rest` to the marked backups of v (Alg. 11).

    The candidates are all subscribers of these topics, or some of each: `window` of them, but in all not many
    more than four windows.
    """
    left = np.int64(0)
    for place in range(len(rest)):
        left += popcount(rest[place])
    share = min(window, max(np.int64(1), 4 * window // max(np.int64(1), left)))
    count = np.int64(0)
    for place in range(len(rest)):
        word = rest[place]
        while word:
            topic = topic_at(place, word)
            word = rest_of(word)
            length, start = np.int64(live.member_length[topic]), live.member_start[topic]
            begin, found, i = np.int64(draw(live, length)), np.int64(0), np.int64(0)
            while i < length and found < share:
                at = begin + i if begin + i < length else begin + i - length
                u = np.int64(live.members[start + at])
                i += 1
                if live.mark[u] == NONE and has_topic(live, u, topic):
                    found += 1
                    if live.paid[u] == 0:
                        live.paid[u] = 1
                        pool[count] = u
                        count += 1
    while True:
        best, most = np.int64(NONE), np.int64(0)
        for j in range(count):
            u = np.int64(pool[j])
            if live.mark[u] != NONE:
                continue
            covered = np.int64(0)
            for place in range(len(rest)):
                covered += popcount(live.bits[u, place] & rest[place])
            if covered == 0:
                continue
            if best != NONE:
                mine, yours = weight(live, u) * most, weight(live, best) * covered
                if mine > yours or (mine == yours and u > best):
                    continue
            best, most = u, covered
        if best == NONE:
            break
        take(live, v, best, rest)
    for j in range(count):
        live.paid[pool[j]] = 0


@inner
def cover(live: Live, v: Int, rest: Bits, method: Int, window: Int, work: Ids) -> None:
    """Add one cover of some topics to the backups of v, none of which is taken again."""
    live.mark[v] = 1
    count = list_out(live, live.backup_first, live.backup_count, v, work)
    for i in range(count):
        live.mark[work[i]] = 1
    if method == GREEDY:
        cover_greedily(live, v, rest, window, work)
    else:
        cover_by_weight(live, v, rest, window, work)
    live.mark[v] = NONE
    count = list_out(live, live.backup_first, live.backup_count, v, work)
    for i in range(count):
        live.mark[work[i]] = NONE


@inner
def find_short(live: Live, v: Int, doubtful: Bits, level: Bits, short: Bits, work: Ids) -> bool:
    """Find which of the doubtful topics of v its backups have too few times; say whether there are any.

    Enough is λ times, or as often as there are other subscribers.
    """
    coverage, some = len(level), False
    count = list_out(live, live.backup_first, live.backup_count, v, work)
    for place in range(len(doubtful)):
        asked = doubtful[place] & live.bits[v, place]
        short[place] = ZERO
        if asked == ZERO:
            continue
        # Bit by bit, level[r] are the topics that r + 1 backups or more have.
        for r in range(coverage):
            level[r] = ZERO
        for i in range(count):
            carried = live.bits[work[i], place] & asked
            for r in range(coverage):
                if carried == ZERO:
                    break
                again = carried & level[r]
                level[r] |= carried
                carried = again
        word = asked & ~level[coverage - 1]
        while word:
            bit = np.uint64(1) << lowest_bit(word)
            times = np.int64(0)
            for r in range(coverage):
                times += np.int64((level[r] & bit) != ZERO)
            if times < live.subscribers[topic_at(place, word)] - 1:
                short[place] |= bit
                some = True
            word = rest_of(word)
    return some


@compiled
def build(live: Live, v: Int, coverage: Int, method: Int, window: Int, work: Ids) -> None:
    """Build the backups of v anew: λ disjoint covers of its topics."""
    count = list_out(live, live.backup_first, live.backup_count, v, work)
    for i in range(count):
        discard(live, live.primary_first, live.primary_count, np.int64(work[i]), v)
    empty(live, live.backup_first, live.backup_count, v)
    rest = np.empty(live.bits.shape[1], dtype=np.uint64)
    for _ in range(coverage):
        for place in range(len(rest)):
            rest[place] = live.bits[v, place]
        cover(live, v, rest, method, window, work)


@compiled
def patch(
    live: Live, v: Int, doubtful: Bits, times: Int, coverage: Int, method: Int, window: Int, work: Ids
) -> None:
    """Add backups to v until each of the doubtful topics, which lack `times` at most, is covered again."""
    level = np.empty(coverage, dtype=np.uint64)
    short = np.empty(live.bits.shape[1], dtype=np.uint64)
    for _ in range(min(times, coverage)):
        if not find_short(live, v, doubtful, level, short, work):
            break
        cover(live, v, short, method, window, work)


@kernel
def chunks_needed(live: Live, v: Int, coverage: Int) -> Int:
    """Return how many chunks the backups of v and the primaries of those can take at most."""
    most = coverage * (count_topics(live, v) + 1)
    return most + most // FULL + 2


@compiled
def mend_backups(
    live: Live,
    queue: Ids,
    first: Int,
    doubtful: Bits,
    times: Int,
    coverage: Int,
    method: Int,
    window: Int,
    anew: bool,
    work: Ids,
) -> Int:
    """Patch the backups of each node from the `first` of a queue on, or build them anew.

    Returns how many are done: it stops where there may be too few chunks for the next.
    """
    for i in range(first, len(queue)):
        v = np.int64(queue[i])
        if live.tally[SPARE] < chunks_needed(live, v, coverage):
            return np.int64(i)
        if anew:
            build(live, v, coverage, method, window, work)
        else:
            patch(live, v, doubtful, times, coverage, method, window, work)
    return np.int64(len(queue))


@compiled
def welcome(live: Live, v: Int, topics: Bits, coverage: Int) -> None:
    """Make v a backup of the others in those of its new topics that hardly anybody else has.

    A join changes nobody else's backups (shadows, section V-E), but where a topic has no more than λ other
    subscribers, each of them needs all the others.
    """
    others = np.empty(coverage, dtype=np.int32)
    for place in range(len(topics)):
        word = topics[place]
        while word:
            topic = topic_at(place, word)
            word = rest_of(word)
            if live.subscribers[topic] - 1 > coverage:
                continue
            count = np.int64(0)
            start = live.member_start[topic]
            for i in range(start, start + live.member_length[topic]):
                u = live.members[i]
                if u != v and live.mark[u] == NONE and has_topic(live, u, topic):
                    live.mark[u] = 1
                    others[count] = u
                    count += 1
            for i in range(count):
                u = np.int64(others[i])
                live.mark[u] = NONE
                if not discard(live, live.backup_first, live.backup_count, u, v):
                    push(live, live.primary_first, live.primary_count, v, u)
                push(live, live.backup_first, live.backup_count, u, v)
