"""Fragments: what a topic falls into when links are lost, and redundant links, which split no topic.

**The search** does not walk through the whole topic. Every fragment contains an end of a lost link. So the
search starts at these ends, each of which is a group of its own. It always continues at the group whose nodes
have the fewest links so far, and merges two groups when it finds a link between them. It stops as soon as at
most one group is open, that is, has nodes whose neighbours were not looked at: this group is *the rest*, and
every subscriber that the search did not reach belongs to it.

The cost is about twice the links of the smaller fragments, not those of the topic. Union-find over the groups
and queues threaded through one array per node make each step O(1), apart from the choice of the group: a scan
over all groups, of which there are only as many as ends.

**A link is redundant** if its ends are connected by other links in each topic that both have. Removing one
link can make another one necessary, so `prune` decides one link at a time, on the overlay as it is then.
Afterwards none of the links that it looked at is redundant. The cost per link is one search of fragments for
each topic that both ends have, until one of them finds the ends apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import NOTHING, ONE, SIX, SIXTY_THREE, Ids, Int
from meshwright.dynamic.mutable_overlay import (
    CHUNK,
    FULL,
    NONE,
    MutableOverlay,
    add_link,
    first_chunk_length,
    lowest_position,
    remove_link,
    without_lowest,
)
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import lowest_bit, prefetch

CLOSED = 2**30
"""Added to the size of a group that is a whole fragment, or was merged into another one."""


class Groups(NamedTuple):
    """Working memory of a search: groups of nodes known to be connected."""

    mark: Ids
    """By node: the group that reached it, or −1. All are −1 between searches."""
    queued: Ids
    """By node: the next one in the queue of its group."""
    seen: Ids
    """The nodes reached, in order."""
    parent: Ids
    """By group: the group that it was merged into, or itself."""
    first: Ids
    """By group: the first node of its queue, the nodes whose neighbours are still to be looked at, or −1."""
    last: Ids
    """By group: the last node of its queue."""
    size: Ids
    """By group: the links of its nodes, which is the work to look at all of them, plus `CLOSED` if it is."""
    pair: Ids
    """The two ends of a search between two nodes."""


class Fragments(NamedTuple):
    """The result of a search. `group_of(groups, groups.mark[v])` is the fragment of a node reached."""

    made: Int
    """How many groups there were at first; those that `group_of` maps to themselves are the fragments."""
    seen: Int
    """How many nodes were reached."""
    rest: Int
    """The group that all other subscribers of the topic belong to."""


def allocate_groups(nodes: int, most_ends: int) -> Groups:
    """Return working memory for searches from up to `most_ends` ends."""
    # The search between two nodes needs two groups.
    parent, first, last, size = np.zeros((4, max(2, most_ends)), dtype=np.int32)
    queued, seen = np.zeros((2, nodes), dtype=np.int32)
    mark, pair = np.full(nodes, NONE, dtype=np.int32), np.zeros(2, dtype=np.int32)
    return Groups(mark, queued, seen, parent, first, last, size, pair)


@kernel
def group_of(groups: Groups, group: Int) -> Int:
    """Return the group that a group was merged into."""
    while groups.parent[group] != group:
        # Path halving.
        groups.parent[group] = groups.parent[groups.parent[group]]
        group = groups.parent[group]
    return group


@inner
def enqueue(groups: Groups, group: Int, v: Int | np.uint64) -> None:
    """Put a node at the end of the queue of a group."""
    groups.queued[v] = NONE
    if groups.first[group] == NONE:
        groups.first[group] = v
    else:
        groups.queued[groups.last[group]] = v
    groups.last[group] = v


@inner
def merge_groups(groups: Groups, into: Int, other: Int) -> None:
    """Merge an open group into another one: its queue goes behind the other's."""
    groups.parent[other] = into
    groups.size[into] += groups.size[other]
    groups.size[other] = CLOSED
    if groups.first[into] == NONE:
        groups.first[into] = groups.first[other]
    else:
        groups.queued[groups.last[into]] = groups.first[other]
    groups.last[into] = groups.last[other]


@inlined
def start_groups(net: MutableOverlay, groups: Groups, ends: Ids, count: Int, alone: Int) -> tuple[Int, Int]:
    """Make a group of each distinct end, and return how many there are, and how many of them are open.

    The last `alone` of the ends have no neighbour in the topic: their groups are whole fragments.
    """
    made = still_open = np.int64(0)
    for i in range(count):
        x = ends[i]
        if groups.mark[x] == NONE:
            groups.mark[x] = groups.parent[made] = made
            groups.first[made] = groups.queued[x] = NONE
            groups.size[made] = net.degree[x]
            if i < count - alone:
                groups.first[made] = groups.last[made] = x
                still_open += 1
            else:
                groups.size[made] += CLOSED
            groups.seen[made] = x
            made += 1
    return made, still_open


@inlined
def find_rest(groups: Groups, made: Int) -> Int:
    """Return the group that is open, or if all are closed, the one whose nodes have the most links."""
    rest = np.int64(NONE)
    for group in range(made):
        if groups.parent[group] == group:
            if groups.first[group] != NONE:
                return np.int64(group)
            if rest == NONE or groups.size[group] > groups.size[rest]:
                rest = np.int64(group)
    return rest


@inlined
def smallest_open(groups: Groups, made: Int) -> Int:
    """Return the open group with the fewest links: small fragments are complete before large ones are walked.

    Which one that is cannot be predicted. So size and group are one number, and the least is chosen without
    branches.
    """
    least = np.int64(groups.size[0]) << 32
    for group in range(1, made):
        least = min(least, np.int64(groups.size[group]) << 32 | np.int64(group))
    return least & np.int64(0xFFFFFFFF)


@inlined
def subscribers_in_chunk(net: MutableOverlay, topic: Int, base: np.uint64) -> np.uint64:
    """Return a bit for each entry of a chunk of neighbours that subscribes to a topic.

    Whether a neighbour does cannot be predicted, so we ask for all of them, unused entries included: these
    are old neighbours, or −1.
    """
    hits = NOTHING
    for i in range(FULL):
        at = np.uint64(max(net.entries[base + np.uint64(i)], np.int32(0)))
        hits |= ((net.holders[topic, at >> SIX] >> (at & SIXTY_THREE)) & ONE) << np.uint64(i)
    return hits


@kernel
def find_fragments(
    net: MutableOverlay, groups: Groups, topic: Int, ends: Ids, count: Int, alone: Int
) -> Fragments:
    """Find which of the first `count` of `ends`, subscribers of a topic, its subscribers still connect.

    The caller knows that the last `alone` of these have no neighbour in the topic. `clear_marks` must follow.
    """
    made, still_open = start_groups(net, groups, ends, count, alone)
    seen = made
    while still_open > 1:
        best = smallest_open(groups, made)
        x = np.uint64(groups.first[best])
        groups.first[best] = groups.queued[x]
        # Walk the neighbours of x in place. Unsigned indices spare the check for negative ones.
        chunk, length = net.near_first[x], np.uint64(first_chunk_length(np.int64(net.degree[x])))
        while chunk != NONE:
            base = np.uint64(chunk) * np.uint64(CHUNK)
            chunk = net.entries[base + np.uint64(FULL)]
            hits = subscribers_in_chunk(net, topic, base) & ((ONE << length) - ONE)
            length = np.uint64(FULL)
            while hits:
                y = np.uint64(net.entries[base + lowest_bit(hits)])
                hits = without_lowest(hits)
                if groups.mark[y] == NONE:
                    groups.mark[y] = best
                    groups.size[best] += net.degree[y]
                    groups.seen[seen] = y
                    seen += 1
                    enqueue(groups, best, y)
                    # Its neighbours are looked at soon.
                    prefetch(net.entries, np.int64(net.near_first[y]) * CHUNK)
                else:
                    # A closed group has no link to another one, so y's group, if another, is open.
                    other = group_of(groups, np.int64(groups.mark[y]))
                    if other != best:
                        merge_groups(groups, best, other)
                        still_open -= 1
        # The group has nothing left to look at: it is a whole fragment.
        if groups.first[best] == NONE:
            groups.size[best] += CLOSED
            still_open -= 1
    return Fragments(made, seen, find_rest(groups, made))


@kernel
def clear_marks(groups: Groups, seen: Int) -> None:
    """Make the working memory ready for the next search."""
    for i in range(seen):
        groups.mark[groups.seen[i]] = NONE


@inner
def are_connected(net: MutableOverlay, groups: Groups, topic: Int, u: Int, v: Int) -> bool:
    """Return whether the subscribers of a topic connect two of them."""
    groups.pair[0], groups.pair[1] = u, v
    found = find_fragments(net, groups, topic, groups.pair, np.int64(2), np.int64(0))
    answer = group_of(groups, groups.mark[u]) == group_of(groups, groups.mark[v])
    clear_marks(groups, found.seen)
    return answer


@inner
def remove_if_redundant(net: MutableOverlay, groups: Groups, u: Int, v: Int) -> bool:
    """Remove a link if every topic stays connected without it, and return whether that is so."""
    remove_link(net, u, v)
    for place in range(net.bits.shape[1]):
        common = net.bits[u, place] & net.bits[v, place]
        while common:
            if not are_connected(net, groups, lowest_position(place, common), u, v):
                add_link(net, u, v)
                return False
            common = without_lowest(common)
    return True


@kernel
def prune(net: MutableOverlay, groups: Groups, us: Ids, vs: Ids, most: Int) -> Int:
    """Remove up to `most` redundant links, in the order given, and return how many.

    The ends of the links removed are moved to the front of `us` and `vs`.
    """
    removed = np.int64(0)
    for i in range(len(us)):
        if removed == most:
            break
        u, v = us[i], vs[i]
        if remove_if_redundant(net, groups, np.int64(u), np.int64(v)):
            us[i], vs[i] = us[removed], vs[removed]
            us[removed], vs[removed] = u, v
            removed += 1
    return removed
