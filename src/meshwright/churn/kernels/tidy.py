"""The tidy policy, after a repair: remove redundant links, then relink a few nodes so that degrees stay low.

Shadow repair only adds links, so degrees creep up over many changes. `tidy` prunes the links of the nodes
that the repair touched. Then it tries to relink some nodes: it removes links of a node, repairs the damage by
the greedy step, and keeps the result if there are fewer links, or as many with degrees about as even.

The work is bounded: `Budget.steps` tries, and at most `Budget.moves` links removed or moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Bits, Ids, Int, Offsets
from meshwright.churn.kernels.damage import find_damage
from meshwright.churn.kernels.live_arrays import TOP, LiveArrays, RepairRule, count_degree, link, unlink
from meshwright.churn.kernels.repair_step import add_partners, gather, link_until_repaired, soft_cap
from meshwright.dynamic.fragments import Groups, prune
from meshwright.dynamic.mutable_overlay import NONE, copy_list, draw, list_neighbours
from meshwright.jit.compiler import compiled, helper, inner

TOLERANCE = 2
"""How much the sum of the squared degrees may grow if there are not fewer links."""

MOVED, COUNT = 0, 1
"""The counters in `Log.tally`: links removed or moved, and entries."""


class Budget(NamedTuple):
    """How much tidying one change allows."""

    steps: int
    """How many nodes to try to relink."""
    moves: int
    """How many links to remove or move, at most."""
    lose: int
    """How many links a try removes from a node, at most."""


class Log(NamedTuple):
    """The links added and removed, in order; a link may come and go several times."""

    change: Ids
    """By entry: the lower end, the upper end, 1 if the link was added and 0 if it was removed."""
    tally: Offsets
    """Counters, by the constants above."""


@inner
def write_log(log: Log, u: Int, v: Int, made: Int) -> None:
    """Write that a link was added or removed."""
    count = log.tally[COUNT]
    log.change[count, 0], log.change[count, 1], log.change[count, 2] = min(u, v), max(u, v), made
    log.tally[COUNT] += 1


@inner
def prune_node(live: LiveArrays, groups: Groups, v: Int, most: Int, log: Log, work: Ids) -> None:
    """Remove up to `most` redundant links of a node, those to the neighbours with the most links first."""
    count = list_neighbours(live, v, work)
    near, here = work[:count], work[count : 2 * count]
    here[:] = v
    for turn in range(count):
        busiest = turn
        for i in range(turn + 1, count):
            if live.degree[near[i]] > live.degree[near[busiest]]:
                busiest = i
        near[turn], near[busiest] = near[busiest], near[turn]
    # No neighbour of v loses another link by this, so the order stays right while links go.
    removed = prune(live, groups, here, near, most)
    count_degree(live, v, -removed)
    for i in range(removed):
        u = np.int64(near[i])
        count_degree(live, u, np.int64(-1))
        write_log(log, v, u, np.int64(0))
    log.tally[MOVED] += removed


@inner
def squared_degrees(live: LiveArrays, nodes: Ids) -> Int:
    """Return the sum of the squared degrees of some nodes."""
    total = np.int64(0)
    for v in nodes:
        total += np.int64(live.degree[v]) * np.int64(live.degree[v])
    return total


@inner
def shuffle_neighbours(live: LiveArrays, x: Int, most: Int, work: Ids) -> Int:
    """Write up to `most` random neighbours of a node to the front of `work`, and return how many."""
    near = list_neighbours(live, x, work)
    count = min(np.int64(near), np.int64(most))
    # Fisher and Yates, as far as needed.
    for i in range(count):
        other = i + draw(live, near - i)
        work[i], work[other] = work[other], work[i]
    return count


@inner
def unlink_from(live: LiveArrays, x: Int, gone: Ids, ends: Ids, lost: Bits) -> None:
    """Remove the links between x and some neighbours, and write the ends and topics of this loss.

    The ends are x, in all topics that it shares with these neighbours, and each of these in its own.
    """
    ends[0] = x
    for i in range(len(gone)):
        u = np.int64(gone[i])
        ends[i + 1] = u
        unlink(live, x, u)
        for place in range(lost.shape[1]):
            lost[i + 1, place] = live.bits[u, place] & live.bits[x, place]
            lost[0, place] |= lost[i + 1, place]


@inner
def count_returned(made: Ids, x: Int, gone: Ids) -> Int:
    """Return how many of the links between x and `gone` are among the links added."""
    count = np.int64(0)
    for i in range(len(made)):
        for j in range(len(gone)):
            count += int(min(x, gone[j]) == made[i, 0] and max(x, gone[j]) == made[i, 1])
    return count


@helper
def relink(
    live: LiveArrays, groups: Groups, x: Int, budget: Budget, rule: RepairRule, log: Log, work: Ids
) -> None:
    """Remove links of x and join what that breaks again; undo it if it is not better.

    Better is fewer links, or as many with degrees about as even: moves without a gain lead to others that
    gain. No node gets more links than the soft cap, and x gets fewer than it had if it had the most.
    """
    cap = soft_cap(live, rule.slack)
    if live.degree[x] >= live.tally[TOP]:
        cap = min(cap, live.tally[TOP] - 1)
    count = shuffle_neighbours(live, x, np.int64(budget.lose), work)
    if count == 0:
        return
    gone, ends = work[:count].copy(), np.empty(count + 1, dtype=np.int32)
    lost = np.zeros((count + 1, live.bits.shape[1]), dtype=np.uint64)
    unlink_from(live, x, gone, ends, lost)
    # The candidates: x, the neighbours lost, the backups of x, and partners.
    work[count] = x
    behind = copy_list(live, live.backup_first, live.backup_count, x, work[count + 1 :]) + count + 1
    shadows = gather(live, work, add_partners(live, lost[0], cap, work, behind))
    # The squared degrees as they were with the links: (d + c)² = d² + c·(2d + c), and (d + 1)² = d² + 2d + 1.
    before = squared_degrees(live, shadows) + count * (2 * np.int64(live.degree[x]) + count)
    for u in gone:
        before += 2 * np.int64(live.degree[u]) + 1
    damage = find_damage(live, groups, ends, lost, False)
    made, whole = link_until_repaired(live, damage, shadows, rule.k, True, cap, False, count)
    better = whole and (len(made) < count or squared_degrees(live, shadows) <= before + TOLERANCE)
    moved = count - count_returned(made, x, gone)
    for v in shadows:
        live.row[v] = NONE
    if better and log.tally[MOVED] + moved <= budget.moves:
        for i in range(count):
            write_log(log, x, np.int64(gone[i]), np.int64(0))
        for i in range(len(made)):
            write_log(log, np.int64(made[i, 0]), np.int64(made[i, 1]), np.int64(1))
        log.tally[MOVED] += moved
        return
    for i in range(len(made)):
        unlink(live, np.int64(made[i, 0]), np.int64(made[i, 1]))
    for i in range(count):
        link(live, x, np.int64(gone[i]))


@inner
def choose_node(live: LiveArrays, touched: Ids, step: Int) -> Int:
    """Choose the node to relink: first one with the most links, then every fourth time a touched one."""
    slots = len(live.degree)
    x = np.int64(draw(live, np.int64(slots)))
    if step == 0:
        # From a random slot on, the first one of maximum degree.
        for _ in range(slots):
            if live.degree[x] == live.tally[TOP]:
                break
            x = x + 1 if x + 1 < slots else np.int64(0)
    elif step % 4 == 1 and len(touched):
        x = np.int64(touched[draw(live, np.int64(len(touched)))])
    return x


@compiled
def tidy(live: LiveArrays, groups: Groups, touched: Ids, budget: Budget, rule: RepairRule, work: Ids) -> Log:
    """Prune the links of touched nodes, then try to relink some nodes."""
    entries = 2 * budget.lose * budget.steps + budget.moves
    log = Log(np.empty((entries, 3), dtype=np.int32), np.zeros(2, dtype=np.int64))
    for v in touched:
        prune_node(live, groups, np.int64(v), budget.moves - log.tally[MOVED], log, work)
    for step in range(budget.steps):
        if log.tally[MOVED] == budget.moves:
            break
        relink(live, groups, choose_node(live, touched, np.int64(step)), budget, rule, log, work)
    return Log(log.change[: log.tally[COUNT]], log.tally)
