"""Each kind of change from beginning to end: note it, find the damage, mend it, keep backups right."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.churn.kernels.backups import build, mend_backups, patch, welcome
from meshwright.churn.kernels.damage import FRAGMENTS, alone, find_damage
from meshwright.churn.kernels.repair import NO_LIMIT, PARTNERS, add_partners, cap_of, mend
from meshwright.churn.kernels.state import (
    NODES,
    ZERO,
    drop,
    enter,
    has_room,
    list_subscribers,
    rest_of,
    set_topic,
    topic_at,
    unlink,
)
from meshwright.dynamic.link_lists import discard, empty, list_neighbours, list_out
from meshwright.dynamic.net import NONE
from meshwright.jit.compiler import compiled, inner

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.churn.kernels.damage import Damage
    from meshwright.churn.kernels.state import Live
    from meshwright.dynamic.fragments import Groups
    from meshwright.dynamic.net import Bits, Int


class Rule(NamedTuple):
    """How repairs choose; see `churn.Policy`."""

    k: float
    local: bool
    everybody: bool
    """All subscribers of broken topics are candidates, and there are no backups: the naive policy."""
    coverage: int
    method: int
    window: int
    anew: bool
    mends: bool
    """Whether the damage is mended; if not, the caller designs anew."""
    spares: bool
    """Whether nodes with many links get no more where there is another way."""
    slack: int
    """How many links more than the mean are many."""


class Change(NamedTuple):
    """What came of a change: links made and lost, fragments found, and whose backups wait to be mended."""

    made: Ids
    lost: Ids
    fragments: Int
    queue: Ids
    done: Int
    """How many of the queue are done; −1 if nothing was changed, because a topic's list is full."""
    topics: Ids
    """The topics of nodes that left."""


@compiled
def gather_everybody(live: Live, damage: Damage) -> Ids:
    """Return all subscribers of the broken topics, ascending."""
    out = np.empty(len(live.degree), dtype=np.int32)
    count: Int = np.int64(0)
    last = -1
    for i in range(len(damage.topic)):
        if damage.topic[i] != last:
            last = damage.topic[i]
            count = list_subscribers(live, np.int64(last), out, count)
    shadows = np.sort(out[:count])
    for i in range(count):
        live.mark[shadows[i]] = NONE
        live.row[shadows[i]] = i
    return shadows


@compiled
def gather(live: Live, some: Ids, count: Int) -> Ids:
    """Return the distinct nodes among the first `count` who are not barred by a mark, ascending."""
    kept = 0
    for i in range(count):
        v = some[i]
        if live.mark[v] == NONE:
            live.mark[v] = 1
            some[kept] = v
            kept += 1
    shadows = np.sort(some[:kept])
    for i in range(kept):
        live.mark[shadows[i]] = NONE
        live.row[shadows[i]] = i
    return shadows


@compiled
def repair(live: Live, damage: Damage, shadows: Ids, rule: Rule) -> Ids:
    """Mend the damage and return the links made."""
    if rule.everybody:
        for v in shadows:
            live.row[v] = NONE
        shadows = gather_everybody(live, damage)
    cap = cap_of(live, rule.slack) if rule.spares else np.int64(NO_LIMIT)
    made, _ = mend(live, damage, shadows, rule.k, rule.local, cap, rule.spares, NO_LIMIT if rule.mends else 0)
    for i in range(len(shadows)):
        live.row[shadows[i]] = NONE
    return made


@inner
def shadows_of(live: Live, v: Int, work: Ids, count: Int) -> Int:
    """Write the neighbours and backups of a node behind `count` others."""
    count += list_neighbours(live, v, work[count:])
    return count + list_out(live, live.backup_first, live.backup_count, v, work[count:])


@compiled
def join(live: Live, v: Int, topics: Ids, fresh: bool, rule: Rule, work: Ids) -> Change:
    """Let a node have topics that it did not have; if it is `fresh`, it is there from now on.

    Only the node itself can be cut off, so it is linked to its backups (shadows, Alg. 9 and 10).
    """
    nothing, nobody = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32)
    if not has_room(live, topics):
        return Change(nothing, nothing, 0, nobody, -1, nobody)
    new = np.zeros(live.bits.shape[1], dtype=np.uint64)
    for i in range(len(topics)):
        topic = np.uint64(topics[i])
        new[topic >> np.uint64(6)] |= np.uint64(1) << (topic & np.uint64(63))
        set_topic(live, v, np.int64(topics[i]))
        enter(live, v, np.int64(topics[i]))
    if fresh:
        live.tally[NODES] += 1
    if rule.coverage > 0:
        if fresh:
            build(live, v, rule.coverage, rule.method, rule.window, work)
        else:
            patch(live, v, new, rule.coverage, rule.coverage, rule.method, rule.window, work)
        welcome(live, v, new, rule.coverage)
    off = new.copy()
    neighbours = list_neighbours(live, v, work)
    for i in range(neighbours):
        for place in range(len(off)):
            off[place] &= ~live.bits[work[i], place]
    damage = alone(live, v, off)
    count = shadows_of(live, v, work, np.int64(0))
    work[count] = v
    count += 1
    if rule.spares:
        count = add_partners(live, off, cap_of(live, rule.slack), work, count)
    shadows = gather(live, work, count)
    made = repair(live, damage, shadows, rule)
    return Change(made, nothing, damage.tally[FRAGMENTS], nobody, 0, nobody)


@compiled
def leave(live: Live, groups: Groups, gone: Ids, rule: Rule, work: Ids) -> Change:
    """Take nodes away, all at once, and repair what that broke (shadows, Alg. 7 and 8)."""
    words = live.bits.shape[1]
    losses = near = primaries = 0
    held = np.zeros(words, dtype=np.uint64)
    for v in gone:
        losses += live.degree[v]
        near += live.degree[v] + live.backup_count[v]
        primaries += live.primary_count[v]
        for place in range(words):
            held[place] |= live.bits[v, place]
    ends, lost = np.empty(losses, dtype=np.int32), np.empty((losses, words), dtype=np.uint64)
    removed, queue = np.empty((losses, 2), dtype=np.int32), np.empty(primaries, dtype=np.int32)
    around = np.empty(near + PARTNERS, dtype=np.int32)
    count: Int = np.int64(0)
    for v in gone:
        count = shadows_of(live, np.int64(v), around, count)
    for v in gone:
        live.mark[v] = 1
    if rule.spares:
        count = add_partners(live, held, cap_of(live, rule.slack), around, count)
    shadows = gather(live, around, count)
    some = taken = 0
    queued: Int = 0
    for v in gone:
        for i in range(list_neighbours(live, np.int64(v), work)):
            u = work[i]
            removed[taken, 0], removed[taken, 1] = min(u, v), max(u, v)
            taken += 1
            if live.mark[u] == NONE:
                ends[some] = u
                for place in range(words):
                    lost[some, place] = live.bits[u, place] & live.bits[v, place]
                some += 1
            unlink(live, np.int64(u), np.int64(v))
    for v in gone:
        queued = resign(live, np.int64(v), queue, queued, work)
    for v in gone:
        live.mark[v] = NONE
    for v in gone:
        drop(live, np.int64(v), live.bits[v].copy())
        live.tally[NODES] -= 1
    damage = find_damage(live, groups, ends[:some], lost[:some], rule.everybody)
    made = repair(live, damage, shadows, rule)
    waiting = distinct(live, queue[:queued])
    done = mend_backups(
        live, waiting, np.int64(0), held, np.int64(len(gone)), rule.coverage, rule.method, rule.window,
        rule.anew, work,
    )  # fmt: skip
    return Change(made, removed[:taken], damage.tally[FRAGMENTS], waiting, done, spelled(held))


@inner
def resign(live: Live, v: Int, queue: Ids, queued: Int, work: Ids) -> Int:
    """Free a node of its backups and primaries; queue those primaries that are not marked."""
    count = list_out(live, live.backup_first, live.backup_count, v, work)
    for i in range(count):
        discard(live, live.primary_first, live.primary_count, np.int64(work[i]), v)
    empty(live, live.backup_first, live.backup_count, v)
    count = list_out(live, live.primary_first, live.primary_count, v, work)
    for i in range(count):
        u = np.int64(work[i])
        discard(live, live.backup_first, live.backup_count, u, v)
        if live.mark[u] == NONE:
            queue[queued] = u
            queued += 1
    empty(live, live.primary_first, live.primary_count, v)
    return queued


@compiled
def distinct(live: Live, nodes: Ids) -> Ids:
    """Keep each node once, in order."""
    kept = 0
    for i in range(len(nodes)):
        v = nodes[i]
        if live.mark[v] == NONE:
            live.mark[v] = 1
            nodes[kept] = v
            kept += 1
    for i in range(kept):
        live.mark[nodes[i]] = NONE
    return nodes[:kept]


@compiled
def unsubscribe(live: Live, groups: Groups, v: Int, topics: Ids, rule: Rule, work: Ids) -> Change:
    """Take topics from a node that stays, and join again those of its neighbours that it connected."""
    words = live.bits.shape[1]
    old = np.zeros(words, dtype=np.uint64)
    for i in range(len(topics)):
        topic = np.uint64(topics[i])
        old[topic >> np.uint64(6)] |= np.uint64(1) << (topic & np.uint64(63))
    losses = live.degree[v]
    ends, lost = np.empty(losses, dtype=np.int32), np.empty((losses, words), dtype=np.uint64)
    list_neighbours(live, v, ends)
    for i in range(losses):
        for place in range(words):
            lost[i, place] = live.bits[ends[i], place] & old[place]
    count = shadows_of(live, v, work, np.int64(0))
    drop(live, v, old)
    if rule.spares:
        count = add_partners(live, old, cap_of(live, rule.slack), work, count)
    queue = np.empty(live.primary_count[v] + 1, dtype=np.int32)
    shadows = gather(live, work, count)
    damage = find_damage(live, groups, ends, lost, rule.everybody)
    made = repair(live, damage, shadows, rule)
    queued = part(live, v, old, queue, work)
    done = mend_backups(
        live, queue[:queued], np.int64(0), old, np.int64(1), rule.coverage, rule.method, rule.window,
        rule.anew, work,
    )  # fmt: skip
    nothing = np.empty((0, 2), dtype=np.int32)
    return Change(made, nothing, damage.tally[FRAGMENTS], queue[:queued], done, topics)


@inner
def part(live: Live, v: Int, old: Bits, queue: Ids, work: Ids) -> Int:
    """Part v from backups and primaries with whom it shares no topic any more.

    Queues the primaries that it backed up in a topic it no longer has, and returns how many.
    """
    count = list_out(live, live.backup_first, live.backup_count, v, work)
    for i in range(count):
        w = np.int64(work[i])
        if not share_topic(live, v, w):
            discard(live, live.backup_first, live.backup_count, v, w)
            discard(live, live.primary_first, live.primary_count, w, v)
    queued = np.int64(0)
    count = list_out(live, live.primary_first, live.primary_count, v, work)
    for i in range(count):
        u = np.int64(work[i])
        if not share_topic(live, v, u):
            discard(live, live.backup_first, live.backup_count, u, v)
            discard(live, live.primary_first, live.primary_count, v, u)
        hit = ZERO
        for place in range(len(old)):
            hit |= old[place] & live.bits[u, place]
        if hit:
            queue[queued] = u
            queued += 1
    return queued


@inner
def share_topic(live: Live, u: Int, v: Int) -> bool:
    """Say whether two nodes have a topic in common."""
    common = ZERO
    for place in range(live.bits.shape[1]):
        common |= live.bits[u, place] & live.bits[v, place]
    return bool(common != ZERO)


@compiled
def spelled(topics: Bits) -> Ids:
    """Return the topics of a set, ascending."""
    out = np.empty(len(topics) * 64, dtype=np.int32)
    count = 0
    for place in range(len(topics)):
        word = topics[place]
        while word:
            out[count] = topic_at(place, word)
            word = rest_of(word)
            count += 1
    return out[:count]


@compiled
def topics_of(live: Live, v: Int) -> Ids:
    """Return the topics of a node, ascending."""
    return spelled(live.bits[v])
