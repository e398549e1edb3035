"""Backups and primaries of each node, kept right as nodes come and go.

`coverage` is λ: a node has λ disjoint covers of its topics as its backups (shadows, section V-G). When a
backup leaves or gives up a topic, the paper builds all backups of its primaries again (shadows, Alg. 8); by
default only the topics that became short are covered again, which is far cheaper and no worse.

The invariants, all of them audited: a backup shares a topic with its primary; each topic of a node is covered
λ times, or as often as it has other subscribers; the lists of primaries are the inverse of those of backups.
"""

from __future__ import annotations

import numpy as np

from meshwright.arrays import NOTHING, Bits, Ids, Int
from meshwright.churn.kernels.covers import cover
from meshwright.churn.kernels.damage import lowest_only
from meshwright.churn.kernels.live_arrays import LiveArrays, RepairRule, count_topics
from meshwright.dynamic.mutable_overlay import (
    FULL,
    NONE,
    SPARE,
    clear,
    copy_list,
    discard,
    has_topic,
    lowest_position,
    push,
    without_lowest,
)
from meshwright.jit.compiler import compiled, helper, inlined, inner, kernel

FEW = 4
"""Up to this many times, `find_short` counts in registers."""


@inner
def release_backups(live: LiveArrays, v: Int, work: Ids) -> None:
    """Remove all backups of a node."""
    for i in range(copy_list(live, live.backup_first, live.backup_count, v, work)):
        discard(live, live.primary_first, live.primary_count, np.int64(work[i]), v)
    clear(live, live.backup_first, live.backup_count, v)


@inner
def release_primaries(live: LiveArrays, v: Int, queue: Ids, queued: Int, work: Ids) -> Int:
    """Remove all primaries of a node, queue those that have no mark, and return the length of the queue."""
    for i in range(copy_list(live, live.primary_first, live.primary_count, v, work)):
        u = np.int64(work[i])
        discard(live, live.backup_first, live.backup_count, u, v)
        if live.mark[u] == NONE:
            queue[queued] = u
            queued += 1
    clear(live, live.primary_first, live.primary_count, v)
    return queued


@inlined
def count_to_four(
    live: LiveArrays, backups: Ids, count: Int, place: Int, asked: np.uint64, level: Bits
) -> None:
    """Find which of 64 topics at least one, two, three and four of some backups have, in registers."""
    one = two = three = four = NOTHING
    for i in range(count):
        has = live.bits[np.uint64(backups[i]), place] & asked
        four |= three & has
        three |= two & has
        two |= one & has
        one |= has
    level[0], level[1], level[2], level[3] = one, two, three, four


@inlined
def count_to_any(
    live: LiveArrays, backups: Ids, count: Int, place: Int, asked: np.uint64, level: Bits
) -> None:
    """Do the same for as many times as `level` has words."""
    for r in range(len(level)):
        level[r] = NOTHING
    for i in range(count):
        has = live.bits[np.uint64(backups[i]), place] & asked
        for r in range(len(level) - 1, 0, -1):
            level[r] |= level[r - 1] & has
        level[0] |= has


@inner
def find_short(
    live: LiveArrays, v: Int, doubtful: Bits, coverage: Int, level: Bits, short: Bits, work: Ids
) -> bool:
    """Find which of the doubtful topics of v its backups cover too few times; return whether there are any.

    Enough is λ times, or as often as there are other subscribers. `level` has a word for each of λ, and at
    least four.
    """
    some = False
    count = copy_list(live, live.backup_first, live.backup_count, v, work)
    for place in range(len(doubtful)):
        asked = doubtful[place] & live.bits[v, place]
        short[place] = NOTHING
        if asked == NOTHING:
            continue
        # For 64 topics at once: level[r] are the topics that at least r + 1 backups have.
        if len(level) == FEW:
            count_to_four(live, work, count, np.int64(place), asked, level)
        else:
            count_to_any(live, work, count, np.int64(place), asked, level)
        word = asked & ~level[coverage - 1]
        while word:
            bit = lowest_only(word)
            times = np.int64(0)
            for r in range(coverage):
                times += np.int64((level[r] & bit) != NOTHING)
            if times < live.subscribers[lowest_position(place, word)] - 1:
                short[place] |= bit
                some = True
            word = without_lowest(word)
    return some


@helper
def build(live: LiveArrays, v: Int, rule: RepairRule, work: Ids) -> None:
    """Choose all backups of v again: λ disjoint covers of its topics (Alg. 11 and 12)."""
    release_backups(live, v, work)
    rest = np.empty(live.bits.shape[1], dtype=np.uint64)
    for _ in range(rule.coverage):
        for place in range(len(rest)):
            rest[place] = live.bits[v, place]
        cover(live, v, rest, rule.method, rule.window, work)


@inner
def patch(
    live: LiveArrays,
    v: Int,
    doubtful: Bits,
    times: Int,
    rule: RepairRule,
    level: Bits,
    short: Bits,
    work: Ids,
) -> None:
    """Add backups to v until each of the doubtful topics, which lack at most `times`, is covered again.

    `level` and `short` are working memory: λ words or at least four, and a row of topics.
    """
    for _ in range(min(times, rule.coverage)):
        if not find_short(live, v, doubtful, rule.coverage, level, short, work):
            break
        cover(live, v, short, rule.method, rule.window, work)


@kernel
def chunks_needed(live: LiveArrays, v: Int, coverage: Int) -> Int:
    """Return how many chunks the backups of v, and their lists of primaries, need at most."""
    most = coverage * (count_topics(live, v) + 1)
    return most + most // FULL + 2


@compiled
def repair_backups(
    live: LiveArrays, queue: Ids, first: Int, doubtful: Bits, times: Int, rule: RepairRule, work: Ids
) -> Int:
    """Patch the backups of each node of a queue, from the `first` on, or build them again.

    Returns how many nodes are done. It stops early where there may be too few unused chunks for the next one.
    """
    level = np.empty(max(FEW, rule.coverage), dtype=np.uint64)
    short = np.empty(live.bits.shape[1], dtype=np.uint64)
    for i in range(first, len(queue)):
        v = np.int64(queue[i])
        if live.tally[SPARE] < chunks_needed(live, v, rule.coverage):
            return np.int64(i)
        if rule.rebuild_backups:
            build(live, v, rule, work)
        else:
            patch(live, v, doubtful, times, rule, level, short, work)
    return np.int64(len(queue))


@helper
def back_up_rare_topics(live: LiveArrays, v: Int, topics: Bits, coverage: Int) -> None:
    """Make v a backup of the other subscribers of those of its new topics that at most λ others have.

    A join changes no other node's backups (shadows, section V-E). But a topic with at most λ other
    subscribers needs all of them as backups of each other.
    """
    others = np.empty(coverage, dtype=np.int32)
    for place in range(len(topics)):
        word = topics[place]
        while word:
            topic = lowest_position(place, word)
            word = without_lowest(word)
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
                # If v is a backup of u already, removing it first keeps it from being one twice.
                if not discard(live, live.backup_first, live.backup_count, u, v):
                    push(live, live.primary_first, live.primary_count, v, u)
                push(live, live.backup_first, live.backup_count, u, v)


@inner
def share_topic(live: LiveArrays, u: Int, v: Int) -> bool:
    """Return whether two nodes have a topic in common."""
    common = NOTHING
    for place in range(live.bits.shape[1]):
        common |= live.bits[u, place] & live.bits[v, place]
    return bool(common != NOTHING)


@inner
def release_strangers(live: LiveArrays, v: Int, old: Bits, queue: Ids, work: Ids) -> Int:
    """Remove the backups and primaries of v that share no topic with it any more.

    Queues the primaries that have one of the topics `old`, which v no longer has, and returns how many.
    """
    for i in range(copy_list(live, live.backup_first, live.backup_count, v, work)):
        w = np.int64(work[i])
        if not share_topic(live, v, w):
            discard(live, live.backup_first, live.backup_count, v, w)
            discard(live, live.primary_first, live.primary_count, w, v)
    queued = np.int64(0)
    for i in range(copy_list(live, live.primary_first, live.primary_count, v, work)):
        u = np.int64(work[i])
        if not share_topic(live, v, u):
            discard(live, live.backup_first, live.backup_count, u, v)
            discard(live, live.primary_first, live.primary_count, v, u)
        hit = NOTHING
        for place in range(len(old)):
            hit |= old[place] & live.bits[u, place]
        if hit:
            queue[queued] = u
            queued += 1
    return queued
