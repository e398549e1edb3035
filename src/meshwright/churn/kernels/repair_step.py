"""The step that repairs: its candidates, and the links that join the fragments.

The shadow set of a change is the neighbours and the backups of the nodes that changed (shadows, Definition 3
and Alg. 7, line 1). The naive policy takes all subscribers of the broken topics instead (shadows, Alg. 3 and
4). The tidy policy adds *partners*: nodes with few links that share many of the topics. The functions that
return candidates sort them, and number them in `live.row`.

The greedy step is `constructLowEdges` of shadows, Alg. 2, by Low-ODA's rule: the links that the engine would
choose, with the overlay as its start, the same candidates, and the broken topics as its filter; ties go to
the smallest pair. But it looks only at candidates that are in a fragment, the *rows*: two nodes in the rest
have nothing to join. Invariant: `label[x, t]` is the fragment of row x in broken topic t, 0 for the rest, and
`off[x]` has the bit of each topic in which the label is not 0. A contribution is then a few words of bits,
and a label per topic in which both ends are cut off. A round costs at most rows × candidates × words; a bound
per row skips most rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import NOTHING, Bits, Ids, Int, Offsets
from meshwright.churn.kernels.damage import BROKEN, MISSING, Damage, lowest_only
from meshwright.churn.kernels.live_arrays import NODES, TOP, LiveArrays, count_bits, link, list_subscribers
from meshwright.dynamic.mutable_overlay import (
    LINKS,
    NONE,
    copy_list,
    draw,
    has_topic,
    list_neighbours,
    lowest_position,
    set_bit,
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


NO_LIMIT = 2**31 - 1

GAIN, LOW, HIGH, ROW, OTHER = 0, 1, 2, 3, 4
"""What `Table.choice` says of a link: the topics joined, its ends, and its ends as row and as candidate."""
BEST, SPARING = 0, 5
"""Where the best link of all begins in it, and the best that spares the maximum degree."""


class Table(NamedTuple):
    """The candidates of a repair, and in which fragments they are."""

    shadows: Ids
    """The candidates, ascending."""
    place: Ids
    """By row: the place of its node among the candidates."""
    row: Ids
    """By candidate: its row, or −1 if it is in no fragment."""
    off: Bits
    """By row: the topics in which it is in a fragment."""
    label: Ids
    """By row and broken topic: the number of the fragment, or 0 for the rest."""
    bound: Ids
    """By row: an upper bound of what a link that belongs to it joins."""
    choice: Offsets
    """The best link, and the best that spares the maximum degree, by the constants above."""


@inner
def number_rows_and_columns(live: LiveArrays, damage: Damage, row: Ids, place: Ids) -> Int:
    """Give numbers to the broken topics and to candidates in a fragment; return how many of the latter."""
    for i in range(len(row)):
        row[i] = NONE
    columns = 0
    for i in range(len(damage.node)):
        if live.column[damage.topic[i]] == NONE:
            live.column[damage.topic[i]] = columns
            columns += 1
        row[live.row[damage.node[i]]] = 0
    # Rows are in the order of the candidates, so that ties go to the smallest pair.
    rows = np.int64(0)
    for i in range(len(row)):
        if row[i] == 0:
            row[i], place[rows] = rows, i
            rows += 1
    return rows


@inner
def fill_table(live: LiveArrays, damage: Damage, table: Table) -> None:
    """Write the records of the damage to the table."""
    for i in range(len(damage.node)):
        mine = np.int64(table.row[live.row[damage.node[i]]])
        set_bit(table.off[mine], np.int64(damage.topic[i]))
        table.label[mine, live.column[damage.topic[i]]] = damage.label[i]


@inner
def forget_columns(live: LiveArrays, damage: Damage) -> None:
    """Make `live.column` blank again."""
    for i in range(len(damage.topic)):
        live.column[damage.topic[i]] = NONE


@helper
def make_table(live: LiveArrays, damage: Damage, shadows: Ids) -> Table:
    """Make the table: a column for each broken topic, a row for each candidate in a fragment."""
    row, place = np.empty(len(shadows), dtype=np.int32), np.empty(len(shadows), dtype=np.int32)
    rows = number_rows_and_columns(live, damage, row, place)
    off = np.zeros((rows, live.bits.shape[1]), dtype=np.uint64)
    label = np.zeros((rows, damage.tally[BROKEN]), dtype=np.int32)
    bound = np.full(rows, live.bits.shape[1] * 64, dtype=np.int32)
    table = Table(shadows, place[:rows], row, off, label, bound, np.zeros(10, dtype=np.int64))
    fill_table(live, damage, table)
    return table


@inner
def contribution(live: LiveArrays, table: Table, x: Int, other: Int) -> Int:
    """Return how many topics a link between row x and a candidate would join."""
    y, count = np.int64(table.row[other]), np.int64(0)
    v = np.int64(table.shadows[other])
    # A candidate without a row is in the rest of all its topics.
    if y == NONE:
        for place in range(table.off.shape[1]):
            count += popcount(table.off[x, place] & live.bits[v, place])
        return count
    u = np.int64(table.shadows[table.place[x]])
    for place in range(table.off.shape[1]):
        mine, yours = table.off[x, place], table.off[y, place]
        # Where exactly one of the two is cut off, the link joins the topic if both have it.
        count += popcount((mine ^ yours) & live.bits[u, place] & live.bits[v, place])
        # Where both are cut off, their labels decide.
        both = mine & yours
        while both:
            column = live.column[lowest_position(place, both)]
            count += np.int64(table.label[x, column] != table.label[y, column])
            both = without_lowest(both)
    return count


@inner
def scan_row(live: LiveArrays, table: Table, x: Int, top: Int, cap: Int) -> None:
    """Compare the links of a row with the best so far, and set the bound of the row.

    A link between two rows belongs to the first of them, so that it is looked at once.
    """
    choice = table.choice
    u = np.int64(table.shadows[table.place[x]])
    most = np.int64(0)
    if live.degree[u] < cap:
        for other in range(len(table.shadows)):
            v, y = np.int64(table.shadows[other]), np.int64(table.row[other])
            if NONE < y <= x or live.degree[v] >= cap:
                continue
            gain = np.int64(contribution(live, table, x, np.int64(other)))
            most = max(most, gain)
            # The sparing link joins at most as many topics as the best one, so this is too few for both.
            if gain == 0 or gain < choice[SPARING + GAIN]:
                continue
            low, high = min(u, v), max(u, v)
            sparing = live.degree[u] < top and live.degree[v] < top
            for at in range(BEST, (SPARING if sparing else BEST) + 1, SPARING):
                if gain < choice[at + GAIN]:
                    continue
                # Ties go to the smallest pair.
                if gain > choice[at + GAIN] or (low, high) < (choice[at + LOW], choice[at + HIGH]):
                    choice[at + GAIN], choice[at + LOW], choice[at + HIGH] = gain, low, high
                    choice[at + ROW], choice[at + OTHER] = x, other
    table.bound[x] = most


@inner
def choose_link(live: LiveArrays, table: Table, k: float, top: Int, cap: Int) -> Int:
    """Find the link that Low-ODA(k) adds next, and return where it begins in `choice`, or −1.

    Contributions only fall, so the bound of a row holds until the row is scanned again.
    """
    choice, first = table.choice, np.int64(0)
    choice[BEST + GAIN], choice[SPARING + GAIN] = 0, 0
    # The row with the largest bound comes first: what it gives rules out most of the others.
    for x in range(1, len(table.place)):
        if table.bound[x] > table.bound[first]:
            first = np.int64(x)
    scan_row(live, table, first, top, cap)
    for x in range(len(table.place)):
        bound = table.bound[x]
        if x == first or bound == 0:
            continue
        # Skip a row that has neither the best link nor a sparing one that the rule would take.
        if bound < choice[BEST + GAIN] and (
            bound < choice[SPARING + GAIN] or bound * k < choice[BEST + GAIN]
        ):
            continue
        scan_row(live, table, np.int64(x), top, cap)
    if choice[BEST + GAIN] == 0:
        return np.int64(NONE)
    # icdcs10, Low-ODA: the sparing link if it joins at least 1/k of what the best one joins.
    spares = choice[SPARING + GAIN] > 0 and choice[SPARING + GAIN] * k >= choice[BEST + GAIN]
    return np.int64(SPARING if spares else BEST)


@inner
def merge(live: LiveArrays, table: Table, x: Int, other: Int) -> Int:
    """Merge the fragments that a link between row x and a candidate joins; return in how many topics."""
    y, count = np.int64(table.row[other]), np.int64(0)
    u, v = np.int64(table.shadows[table.place[x]]), np.int64(table.shadows[other])
    for place in range(table.off.shape[1]):
        mine = table.off[x, place]
        yours = NOTHING if y == NONE else table.off[y, place]
        word = (mine | yours) & live.bits[u, place] & live.bits[v, place]
        while word:
            bit = lowest_only(word)
            column = live.column[lowest_position(place, word)]
            word = without_lowest(word)
            one = table.label[x, column]
            two = np.int32(0) if y == NONE else table.label[y, column]
            if one == two:
                continue
            count += 1
            # The smaller label stays, so the rest keeps its 0.
            keep, gone = min(one, two), max(one, two)
            for r in range(len(table.place)):
                if table.label[r, column] == gone:
                    table.label[r, column] = keep
                    if keep == 0:
                        table.off[r, place] &= ~bit
    return count


@inner
def add_links(
    live: LiveArrays, table: Table, k: float, local: bool, cap: Int, soft: bool, missing: Int, made: Ids
) -> tuple[Int, Int]:
    """Add links until nothing is missing or `made` is full; return how many, and what is still missing."""
    count, shadows = np.int64(0), table.shadows
    top = live.tally[TOP]
    if local:
        top = np.int64(0)
        for i in range(len(shadows)):
            top = max(top, np.int64(live.degree[shadows[i]]))
    while missing > 0 and count < len(made):
        at = choose_link(live, table, k, top, cap)
        if at == NONE:
            if not soft:
                break
            # The cap leaves no link that contributes: drop it. All bounds were for links within the cap.
            cap, soft = np.int64(NO_LIMIT), False
            table.bound[:] = NO_LIMIT
            continue
        low, high = table.choice[at + LOW], table.choice[at + HIGH]
        missing -= merge(live, table, table.choice[at + ROW], table.choice[at + OTHER])
        link(live, low, high)
        top = max(top, np.int64(live.degree[low]), np.int64(live.degree[high]))
        made[count, 0], made[count, 1] = low, high
        count += 1
    return count, missing


@helper
def link_until_repaired(
    live: LiveArrays, damage: Damage, shadows: Ids, k: float, local: bool, cap: Int, soft: bool, most: Int
) -> tuple[Ids, bool]:
    """Link candidates until the damage is repaired; return the links added, and whether it is.

    `shadows` are the candidates, ascending and numbered in `live.row`. The maximum degree in Low-ODA's rule
    is that of the overlay, or with `local` that of the candidates. At most `most` links are added. No node
    gets more than `cap` links, unless the cap is `soft` and there is no other way.
    """
    missing = damage.tally[MISSING]
    made = np.empty((min(most, missing), 2), dtype=np.int32)
    if missing == 0:
        return made[:0], True
    table = make_table(live, damage, shadows)
    count, missing = add_links(live, table, k, local, cap, soft, missing, made)
    forget_columns(live, damage)
    return made[:count], missing == 0
