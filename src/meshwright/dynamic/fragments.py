"""Into which fragments the loss of links splits a topic, found without walking the whole of it.

The search starts from the ends of the lost links and always goes on with the smallest group found so far; it
stops when one group is left open. What it never reached belongs to that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.dynamic.link_lists import CHUNK, FULL, filled
from meshwright.dynamic.net import NONE, has_topic
from meshwright.jit.compiler import inner, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.dynamic.net import Int, Links


class Groups(NamedTuple):
    """Working memory of a search: groups of nodes known to be connected."""

    mark: Ids
    """By node: the group it was found by, or −1."""
    queued: Ids
    """By node: the next in its group's queue."""
    seen: Ids
    """The nodes found, in order."""
    parent: Ids
    """By group: the one it was merged into, or itself."""
    first: Ids
    last: Ids
    """By group: its queue of nodes that are not yet looked through."""
    size: Ids
    """By group: how many links its nodes have, which is what looking through them takes."""


@kernel
def group_of(groups: Groups, group: Int) -> Int:
    """Return what a group has been merged into."""
    while groups.parent[group] != group:
        groups.parent[group] = groups.parent[groups.parent[group]]
        group = groups.parent[group]
    return group


@inner
def push(groups: Groups, group: Int, v: Int) -> None:
    """Put a node at the end of a group's queue."""
    groups.queued[v] = NONE
    if groups.first[group] == NONE:
        groups.first[group] = v
    else:
        groups.queued[groups.last[group]] = v
    groups.last[group] = v


@inner
def merge(groups: Groups, into: Int, other: Int) -> None:
    """Merge a group that is open into the one being looked through."""
    groups.parent[other] = into
    groups.size[into] += groups.size[other]
    if groups.first[into] == NONE:
        groups.first[into] = groups.first[other]
    else:
        groups.queued[groups.last[into]] = groups.first[other]
    groups.last[into] = groups.last[other]


@kernel
def search(net: Links, groups: Groups, topic: Int, ends: Ids, count: Int) -> tuple[Int, Int, Int]:
    """Find which of `ends`, subscribers of the topic, are still connected by its subscribers.

    Returns how many groups were made, how many nodes were seen, and the group that holds whatever was not.
    Groups are final once `group_of` has been asked. `forget` must follow.
    """
    made = seen = 0
    for i in range(count):
        x = ends[i]
        if groups.mark[x] == NONE:
            groups.mark[x] = groups.parent[made] = made
            groups.first[made] = NONE
            groups.size[made] = net.degree[x]
            push(groups, made, x)
            groups.seen[seen] = x
            made += 1
            seen += 1
    still_open = made
    while still_open > 1:
        best = NONE
        for group in range(made):
            is_open = groups.parent[group] == group and groups.first[group] != NONE
            if is_open and (best == NONE or groups.size[group] < groups.size[best]):
                best = group
        x = groups.first[best]
        groups.first[best] = groups.queued[x]
        chunk, held = net.near_first[x], np.uint64(filled(np.int64(net.degree[x])))
        while chunk != NONE:
            base = np.uint64(chunk) * np.uint64(CHUNK)
            chunk = net.entries[base + np.uint64(FULL)]
            for i in range(base, base + held):
                y = np.int64(net.entries[i])
                if has_topic(net, y, topic):
                    if groups.mark[y] == NONE:
                        groups.mark[y] = best
                        groups.size[best] += net.degree[y]
                        groups.seen[seen] = y
                        seen += 1
                        push(groups, best, y)
                    else:
                        other = group_of(groups, groups.mark[y])
                        if other != best:
                            merge(groups, best, other)
                            still_open -= 1
            held = np.uint64(FULL)
        if groups.first[best] == NONE:
            still_open -= 1
    rest = NONE
    for group in range(made):
        if groups.parent[group] == group:
            if groups.first[group] != NONE:
                rest = group
                break
            if rest == NONE or groups.size[group] > groups.size[rest]:
                rest = group
    return made, seen, rest


@kernel
def forget(groups: Groups, seen: Int) -> None:
    """Make the working memory ready for the next search."""
    for i in range(seen):
        groups.mark[groups.seen[i]] = NONE


@inner
def connected(net: Links, groups: Groups, topic: Int, ends: Ids) -> bool:
    """Say whether two subscribers of a topic are connected by its subscribers."""
    _, seen, _ = search(net, groups, topic, ends, 2)
    answer = group_of(groups, groups.mark[ends[0]]) == group_of(groups, groups.mark[ends[1]])
    forget(groups, seen)
    return answer
