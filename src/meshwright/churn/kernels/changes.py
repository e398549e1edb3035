"""Each kind of change from beginning to end: change the state, find and repair the damage, repair backups.

`join` also takes new topics of a node that is there, `leave` takes several nodes at once. Before a change and
after it, every topic is connected, backups hold what `backups` says, and all working memory is blank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Bits, Ids, Int
from meshwright.churn.kernels.backups import (
    FEW,
    back_up_rare_topics,
    build,
    patch,
    release_backups,
    release_primaries,
    release_strangers,
    repair_backups,
)
from meshwright.churn.kernels.damage import FRAGMENTS, Damage, find_damage, isolate
from meshwright.churn.kernels.live_arrays import (
    NODES,
    LiveArrays,
    RepairRule,
    add_topic,
    bits_of,
    has_room,
    list_bits,
    remove_topics,
    unlink,
)
from meshwright.churn.kernels.repair_step import (
    NO_LIMIT,
    PARTNERS,
    add_partners,
    forget_rows,
    gather,
    gather_everybody,
    keep_unmarked,
    link_until_repaired,
    list_shadows,
    soft_cap,
)
from meshwright.dynamic.fragments import Groups
from meshwright.dynamic.mutable_overlay import NONE, list_neighbours
from meshwright.jit.compiler import helper, inner
from meshwright.jit.primitives import nanoseconds

NOT_DONE = -1
"""`Change.done` if nothing was changed, because the list of a topic is full."""


class Step(NamedTuple):
    """The greedy step of a change: what the paper plots about it."""

    candidates: Int
    """How many nodes it could link: for shadow repair the size of the shadow set."""
    nanoseconds: Int
    """How long it took, without the search for damage, candidates and backups."""


class Change(NamedTuple):
    """What a change did."""

    made: Ids
    """The links added, one pair of slots per row."""
    lost: Ids
    """The links removed, one pair of slots per row."""
    fragments: Int
    """How many fragments there were to join, over all topics."""
    queue: Ids
    """The nodes whose backups need a repair."""
    done: Int
    """How many of the queue are done; the rest needs more chunks. `NOT_DONE` if nothing was changed."""
    topics: Ids
    """The topics that nodes gave up."""
    step: Step
    """What the greedy step looked at, and its time."""


class Losses(NamedTuple):
    """The links of nodes that leave, and the neighbours that stay."""

    ends: Ids
    """The neighbours that stay, once for each link removed."""
    topics: Bits
    """By end: the topics that it has in common with the neighbour it lost."""
    links: Ids
    """The links removed, one pair of slots per row."""


@helper
def repair(live: LiveArrays, damage: Damage, shadows: Ids, rule: RepairRule) -> tuple[Ids, Step]:
    """Repair the damage, and return the links added."""
    if rule.everybody:
        forget_rows(live, shadows)
        shadows = gather_everybody(live, damage)
    cap = soft_cap(live, rule.slack) if rule.spares else np.int64(NO_LIMIT)
    began = nanoseconds()
    most = NO_LIMIT if rule.repairs else 0
    made, _ = link_until_repaired(live, damage, shadows, rule.k, rule.local, cap, rule.spares, most)
    step = Step(np.int64(len(shadows)), np.int64(nanoseconds() - began))
    forget_rows(live, shadows)
    return made, step


@inner
def drop_shared(live: LiveArrays, v: Int, topics: Bits, work: Ids) -> None:
    """Drop the topics that a neighbour of v has: v is not cut off in these."""
    for i in range(list_neighbours(live, v, work)):
        for place in range(len(topics)):
            topics[place] &= ~live.bits[work[i], place]


@helper
def join(live: LiveArrays, v: Int, topics: Ids, fresh: bool, rule: RepairRule, work: Ids) -> Change:
    """Subscribe a node to topics that it did not have; if it is `fresh`, it is new.

    Only the node itself can be cut off, so it is linked to its backups (shadows, Alg. 9 and 10).
    """
    no_links, nobody = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32)
    if not has_room(live, topics):
        return Change(no_links, no_links, 0, nobody, NOT_DONE, nobody, Step(np.int64(0), np.int64(0)))
    new = bits_of(topics, live.bits.shape[1])
    for i in range(len(topics)):
        add_topic(live, v, np.int64(topics[i]))
    if fresh:
        live.tally[NODES] += 1
    if rule.coverage > 0:
        if fresh:
            build(live, v, rule, work)
        else:
            level, short = np.empty(max(FEW, rule.coverage), dtype=np.uint64), np.empty_like(new)
            patch(live, v, new, rule.coverage, rule, level, short, work)
        if rule.newcomers:
            back_up_rare_topics(live, v, new, rule.coverage)
    off = new.copy()
    drop_shared(live, v, off, work)
    damage = isolate(live, v, off)
    count = list_shadows(live, v, work, np.int64(0))
    work[count] = v
    count += 1
    if rule.spares:
        count = add_partners(live, off, soft_cap(live, rule.slack), work, count)
    made, step = repair(live, damage, gather(live, work, count), rule)
    return Change(made, no_links, damage.tally[FRAGMENTS], nobody, 0, nobody, step)


@inner
def unlink_nodes(live: LiveArrays, gone: Ids, losses: Losses, work: Ids) -> tuple[Int, Int]:
    """Remove all links of marked nodes; return how many ends and how many links were written."""
    ends = links = np.int64(0)
    for v in gone:
        for i in range(list_neighbours(live, np.int64(v), work)):
            u = work[i]
            losses.links[links, 0], losses.links[links, 1] = min(u, v), max(u, v)
            links += 1
            # Of a link between two nodes that leave, no end stays.
            if live.mark[u] == NONE:
                losses.ends[ends] = u
                for place in range(live.bits.shape[1]):
                    losses.topics[ends, place] = live.bits[u, place] & live.bits[v, place]
                ends += 1
            unlink(live, np.int64(u), np.int64(v))
    return ends, links


@helper
def leave(live: LiveArrays, groups: Groups, gone: Ids, rule: RepairRule, work: Ids) -> Change:
    """Remove nodes, all at once, and repair what that breaks (shadows, Alg. 7 and 8)."""
    words, degrees, backups, primaries = live.bits.shape[1], 0, 0, 0
    held = np.zeros(words, dtype=np.uint64)
    for v in gone:
        live.mark[v] = 1
        degrees += live.degree[v]
        backups += live.backup_count[v]
        primaries += live.primary_count[v]
        for place in range(words):
            held[place] |= live.bits[v, place]
    # Alg. 7, line 1: the candidates are the neighbours and backups.
    around = np.empty(degrees + backups + PARTNERS, dtype=np.int32)
    count: Int = np.int64(0)
    for v in gone:
        count = list_shadows(live, np.int64(v), around, count)
    if rule.spares:
        count = add_partners(live, held, soft_cap(live, rule.slack), around, count)
    shadows = gather(live, around, count)
    losses = Losses(
        np.empty(degrees, dtype=np.int32),
        np.empty((degrees, words), dtype=np.uint64),
        np.empty((degrees, 2), dtype=np.int32),
    )
    ends, links = unlink_nodes(live, gone, losses, work)
    queue = np.empty(primaries, dtype=np.int32)
    queued: Int = np.int64(0)
    for v in gone:
        release_backups(live, np.int64(v), work)
        queued = release_primaries(live, np.int64(v), queue, queued, work)
    # All marks go first: compacting a list of subscribers needs blank ones.
    for v in gone:
        live.mark[v] = NONE
    for v in gone:
        remove_topics(live, np.int64(v), live.bits[v].copy())
        live.tally[NODES] -= 1
    damage = find_damage(live, groups, losses.ends[:ends], losses.topics[:ends], rule.everybody)
    made, step = repair(live, damage, shadows, rule)
    # Alg. 8. Each node that left may have covered a topic once.
    waiting = queue[: keep_distinct(live, queue[:queued])]
    done = repair_backups(live, waiting, np.int64(0), held, np.int64(len(gone)), rule, work)
    return Change(made, losses.links[:links], damage.tally[FRAGMENTS], waiting, done, list_bits(held), step)


@inner
def keep_distinct(live: LiveArrays, nodes: Ids) -> Int:
    """Move the first entry of each node to the front, in order, and return how many there are."""
    kept = keep_unmarked(live, nodes, np.int64(len(nodes)))
    for i in range(kept):
        live.mark[nodes[i]] = NONE
    return kept


@helper
def unsubscribe(live: LiveArrays, groups: Groups, v: Int, topics: Ids, rule: RepairRule, work: Ids) -> Change:
    """Unsubscribe a node that stays from topics, and join again those of its neighbours that it connected."""
    old = bits_of(topics, live.bits.shape[1])
    losses = live.degree[v]
    ends, lost = np.empty(losses, dtype=np.int32), np.empty((losses, len(old)), dtype=np.uint64)
    list_neighbours(live, v, ends)
    for i in range(losses):
        for place in range(len(old)):
            lost[i, place] = live.bits[ends[i], place] & old[place]
    count = list_shadows(live, v, work, np.int64(0))
    remove_topics(live, v, old)
    if rule.spares:
        count = add_partners(live, old, soft_cap(live, rule.slack), work, count)
    shadows = gather(live, work, count)
    damage = find_damage(live, groups, ends, lost, rule.everybody)
    made, step = repair(live, damage, shadows, rule)
    queue = np.empty(live.primary_count[v], dtype=np.int32)
    queue = queue[: release_strangers(live, v, old, queue, work)]
    done = repair_backups(live, queue, np.int64(0), old, np.int64(1), rule, work)
    no_links = np.empty((0, 2), dtype=np.int32)
    return Change(made, no_links, damage.tally[FRAGMENTS], queue, done, topics, step)
