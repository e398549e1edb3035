"""Keeping degrees low: redundant links are taken away, and a few nodes linked anew where that helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.churn.kernels.changes import gather
from meshwright.churn.kernels.damage import find_damage
from meshwright.churn.kernels.repair import add_partners, cap_of, mend
from meshwright.churn.kernels.state import TOP, link, rest_of, topic_at, unlink
from meshwright.dynamic.fragments import connected
from meshwright.dynamic.link_lists import list_neighbours, list_out
from meshwright.dynamic.net import NONE, draw
from meshwright.jit.compiler import compiled, inner

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets
    from meshwright.churn.kernels.state import Live
    from meshwright.dynamic.fragments import Groups
    from meshwright.dynamic.net import Int

TOLERANCE = 2
"""By how much the sum of the squares of degrees may grow where links do not get fewer."""

MOVED, MOST, COUNT = 0, 1, 2
"""The fields of `Log.tally`: links taken away or moved, how many there may be, entries."""


class Log(NamedTuple):
    """Links made (1) and lost (0), in order: a link may come and go several times."""

    change: Ids
    """Lower end, upper end, whether it was made."""
    tally: Offsets


@inner
def is_redundant(live: Live, groups: Groups, u: Int, v: Int, pair: Ids) -> bool:
    """Say whether every topic of both ends is connected without a link, which is taken away and put back."""
    unlink(live, u, v)
    pair[0], pair[1] = u, v
    needed = False
    for place in range(live.bits.shape[1]):
        word = live.bits[u, place] & live.bits[v, place]
        while word and not needed:
            needed = not connected(live, groups, topic_at(place, word), pair)
            word = rest_of(word)
        if needed:
            break
    link(live, u, v)
    return not needed


@compiled
def prune(live: Live, groups: Groups, v: Int, log: Log, work: Ids) -> None:
    """Take away the redundant links of a node, those with the busiest neighbours first."""
    pair, count = np.empty(2, dtype=np.int32), list_neighbours(live, v, work)
    for turn in range(count):
        busiest = turn
        for i in range(turn + 1, count):
            if live.degree[work[i]] > live.degree[work[busiest]]:
                busiest = i
        work[turn], work[busiest] = work[busiest], work[turn]
        if log.tally[MOVED] == log.tally[MOST]:
            return
        u = np.int64(work[turn])
        if is_redundant(live, groups, v, u, pair):
            unlink(live, v, u)
            note(log, v, u, np.int64(0))
            log.tally[MOVED] += 1


@inner
def note(log: Log, u: Int, v: Int, made: Int) -> None:
    """Write a link that was made or lost."""
    count = log.tally[COUNT]
    log.change[count, 0], log.change[count, 1], log.change[count, 2] = min(u, v), max(u, v), made
    log.tally[COUNT] += 1


@inner
def burden(live: Live, nodes: Ids) -> Int:
    """Return the sum of the squares of some nodes' degrees."""
    total = np.int64(0)
    for v in nodes:
        total += np.int64(live.degree[v]) * np.int64(live.degree[v])
    return total


@compiled
def remake(live: Live, groups: Groups, x: Int, lose: Int, k: float, slack: Int, log: Log, work: Ids) -> bool:
    """Take links of x away and join what that breaks anew; keep it if it is better, else undo it.

    Better is fewer links, or as many with degrees about as even: moves that gain nothing lead to others that
    do. Nobody gets more links than a cap, and x gets fewer than it had if it had the most.
    """
    cap = cap_of(live, slack)
    if live.degree[x] >= live.tally[TOP]:
        cap = min(cap, live.tally[TOP] - 1)
    all_of_them = list_neighbours(live, x, work)
    count = min(np.int64(all_of_them), np.int64(lose))
    for i in range(count):
        other = i + draw(live, all_of_them - i)
        work[i], work[other] = work[other], work[i]
    if count == 0:
        return False
    words = live.bits.shape[1]
    ends = np.empty(count + 1, dtype=np.int32)
    lost = np.zeros((count + 1, words), dtype=np.uint64)
    gone, ends[0] = work[:count].copy(), x
    for i in range(count):
        u = np.int64(gone[i])
        ends[i + 1] = u
        unlink(live, x, u)
        for place in range(words):
            lost[i + 1, place] = live.bits[u, place] & live.bits[x, place]
            lost[0, place] |= lost[i + 1, place]
    work[count] = x
    behind = list_out(live, live.backup_first, live.backup_count, x, work[count + 1 :]) + count + 1
    shadows = gather(live, work, add_partners(live, lost[0], cap, work, behind))
    before = burden(live, shadows) + count * (2 * np.int64(live.degree[x]) + count)
    for u in gone:
        before += 2 * np.int64(live.degree[u]) + 1  # as it was when they had their links
    damage = find_damage(live, groups, ends, lost, False)
    made, whole = mend(live, damage, shadows, k, True, cap, False, count)
    better = whole and (len(made) < count or burden(live, shadows) <= before + TOLERANCE)
    kept = 0
    for i in range(len(made)):
        for j in range(count):
            kept += int(min(x, gone[j]) == made[i, 0] and max(x, gone[j]) == made[i, 1])
    better = better and log.tally[MOVED] + count - kept <= log.tally[MOST]
    for v in shadows:
        live.row[v] = NONE
    if better:
        for i in range(count):
            note(log, x, np.int64(gone[i]), np.int64(0))
        for i in range(len(made)):
            note(log, np.int64(made[i, 0]), np.int64(made[i, 1]), np.int64(1))
        log.tally[MOVED] += count - kept
        return True
    for i in range(len(made)):
        unlink(live, np.int64(made[i, 0]), np.int64(made[i, 1]))
    for i in range(count):
        link(live, x, np.int64(gone[i]))
    return False


@compiled
def tidy(
    live: Live,
    groups: Groups,
    touched: Ids,
    steps: Int,
    most: Int,
    lose: Int,
    k: float,
    slack: Int,
    work: Ids,
) -> Log:
    """Prune the links of touched nodes, then try to link some nodes anew: the busiest, touched ones, others.

    No more than `most` links are taken away or moved.
    """
    log = Log(np.empty((2 * lose * steps + most, 3), dtype=np.int32), np.zeros(3, dtype=np.int64))
    log.tally[MOST] = most
    for v in touched:
        prune(live, groups, np.int64(v), log, work)
    slots = len(live.degree)
    for step in range(steps):
        if log.tally[MOVED] == most:
            break
        x = np.int64(draw(live, np.int64(slots)))
        if step == 0:
            # The busiest of all, from a random place on.
            for _ in range(slots):
                if live.degree[x] == live.tally[TOP]:
                    break
                x = x + 1 if x + 1 < slots else np.int64(0)
        elif step % 4 == 1 and len(touched):
            x = np.int64(touched[draw(live, np.int64(len(touched)))])
        remake(live, groups, x, lose, k, slack, log, work)
    return Log(log.change[: log.tally[COUNT]], log.tally)
