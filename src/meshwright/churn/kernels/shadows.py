"""The candidates of a repair: the nodes among which it may add links.

The shadow set of a change is the neighbours and the backups of the nodes that changed (shadows, Definition 3
and Alg. 7, line 1). The naive policy takes all subscribers of the broken topics instead (shadows, Alg. 3 and
4). The tidy policy adds *partners*: nodes with few links that share many of the topics.

The functions that return candidates sort them, and number them in `live.row`.
"""

from __future__ import annotations

import numpy as np

from meshwright.arrays import Bits, Ids, Int
from meshwright.churn.kernels.damage import Damage
from meshwright.churn.kernels.live_arrays import NODES, LiveArrays, count_bits, list_subscribers
from meshwright.dynamic.mutable_overlay import (
    LINKS,
    NONE,
    copy_list,
    draw,
    has_topic,
    list_neighbours,
    lowest_position,
    without_lowest,
)
from meshwright.jit.compiler import helper, inner
from meshwright.jit.simd import popcount

SAMPLE = 96
"""How many subscribers of a topic are looked at for partners."""
PARTNERS = 64
"""How many partners are chosen."""


@inner
def soft_cap(live: LiveArrays, slack: Int) -> Int:
    """Return how many links are enough for a node: the mean, rounded, plus `slack`."""
    nodes = max(np.int64(1), live.tally[NODES])
    return np.int64((2 * live.tally[LINKS] + nodes // 2) // nodes) + slack


@inner
def list_shadows(live: LiveArrays, v: Int, out: Ids, count: Int) -> Int:
    """Write the neighbours and backups of a node behind the first `count` of `out`; return the new count."""
    count += list_neighbours(live, v, out[count:])
    return count + copy_list(live, live.backup_first, live.backup_count, v, out[count:])


@inner
def sample_subscribers(live: LiveArrays, topics: Bits, cap: Int, out: Ids) -> Int:
    """Write some subscribers of each of some topics with fewer links than `cap`, and return how many."""
    found = np.int64(0)
    for place in range(len(topics)):
        word = topics[place]
        while word:
            topic = lowest_position(place, word)
            word = without_lowest(word)
            length, start = np.int64(live.member_length[topic]), live.member_start[topic]
            # From a random place on, and round again at the end of the list.
            at = np.int64(draw(live, length))
            for _ in range(min(length, np.int64(SAMPLE))):
                u = live.members[start + at]
                at = at + 1 if at + 1 < length else np.int64(0)
                if live.mark[u] == NONE and live.degree[u] < cap and has_topic(live, u, topic):
                    live.mark[u] = 1
                    out[found] = u
                    found += 1
    for i in range(found):
        live.mark[out[i]] = NONE
    return found


@helper
def add_partners(live: LiveArrays, topics: Bits, cap: Int, out: Ids, count: Int) -> Int:
    """Write partners, nodes with the most of some topics, behind the first `count` of `out`.

    They are chosen among a sample of the subscribers with fewer links than `cap`. Returns the new count.
    """
    listed = np.empty(min(np.int64(len(live.degree)), count_bits(topics) * SAMPLE), dtype=np.int32)
    found = sample_subscribers(live, topics, cap, listed)
    score = np.empty(found, dtype=np.int32)
    spread = np.zeros(64 * len(topics) + 1, dtype=np.int32)
    for i in range(found):
        common = np.int64(0)
        for place in range(len(topics)):
            common += popcount(live.bits[listed[i], place] & topics[place])
        score[i] = common
        spread[common] += 1
    # Counting sort: all nodes with a score above `least` are taken, and of those with this score the first.
    least, more = len(spread) - 1, 0
    while least > 0 and more + spread[least] <= PARTNERS:
        more += spread[least]
        least -= 1
    left = PARTNERS - more
    for i in range(found):
        if score[i] > least or (score[i] == least and left > 0):
            left -= int(score[i] == least)
            out[count] = listed[i]
            count += 1
    return count


@inner
def number_rows(live: LiveArrays, shadows: Ids) -> None:
    """Set the numbers of candidates in `live.row`, and clear their marks."""
    for i in range(len(shadows)):
        live.mark[shadows[i]] = NONE
        live.row[shadows[i]] = i


@inner
def forget_rows(live: LiveArrays, shadows: Ids) -> None:
    """Make `live.row` blank again."""
    for i in range(len(shadows)):
        live.row[shadows[i]] = NONE


@inner
def keep_unmarked(live: LiveArrays, some: Ids, count: Int) -> Int:
    """Mark the nodes among the first `count` that have no mark, move them to the front; return how many."""
    kept = np.int64(0)
    for i in range(count):
        v = some[i]
        if live.mark[v] == NONE:
            live.mark[v] = 1
            some[kept] = v
            kept += 1
    return kept


@helper
def gather(live: LiveArrays, some: Ids, count: Int) -> Ids:
    """Return the candidates: the distinct nodes among the first `count` that have no mark."""
    shadows = np.sort(some[: keep_unmarked(live, some, count)])
    number_rows(live, shadows)
    return shadows


@helper
def gather_everybody(live: LiveArrays, damage: Damage) -> Ids:
    """Return the candidates of the naive policy: all subscribers of the broken topics."""
    out = np.empty(len(live.degree), dtype=np.int32)
    count: Int = np.int64(0)
    last = -1
    for i in range(len(damage.topic)):
        if damage.topic[i] != last:
            last = damage.topic[i]
            count = list_subscribers(live, np.int64(last), out, count)
    shadows = np.sort(out[:count])
    number_rows(live, shadows)
    return shadows
