"""A spanning tree of links for each topic: it tells which topics a lost link splits, and where.

Each subscriber of a topic but the root has a *parent*, a neighbour in the topic. A lost link that is not in
the tree of a topic splits nothing there, and costs nothing. A link that is in the tree *cuts off* its lower
end and all nodes below that. A search goes down from there until it finds a link that leads out, and hangs
all it cut off there. It finds one soon where topics have many links. If there is none, the nodes are a
fragment, which is small on average: as many nodes as the tree is deep.

Invariant between steps: the tree of every topic is complete, and each node is linked with its parent. After
a ruin each fragment is a tree of its own. When links come back or are added, these trees are joined again.

Trees get deeper with time, so they are planted again every now and then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import ONE, SIX, SIXTY_THREE, Ids, Int, Offsets
from meshwright.dynamic.fragments import Groups, clear_marks
from meshwright.dynamic.mutable_overlay import CHUNK, FULL, NONE, first_chunk_length, has_topic
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import popcount

if TYPE_CHECKING:
    from meshwright.search.fragment_records import Net

SEEN = 0
"""The mark of a node that a search has found."""


class TopicTrees(NamedTuple):
    """The trees, and the links of them that a step has cut."""

    parent: Ids
    """By slot: the parent of the node in the tree of the topic, or −1."""
    root: Ids
    """By topic: the root of its tree; after a ruin that of its rest."""
    before: Ids
    """By topic and word of `Net.holders`: how many subscribers come before those of the word."""
    first_cut: Ids
    """By touched topic: its last cut."""
    next_cut: Ids
    """By cut: the one before it in the same topic, or −1."""
    topic: Ids
    """By cut: the topic."""
    lower: Ids
    """By cut: the lower end."""
    upper: Ids
    """By cut: the upper end."""
    end: Ids
    """By cut: the place of the lower end among the ends of the lost links."""
    tally: Offsets
    """The number of cuts."""


@inlined
def slot_of(net: Net, trees: TopicTrees, topic: Int, v: Int) -> Int:
    """Return the place of a subscriber among those of its topic, in `Net.topic_nodes`."""
    at = np.uint64(v)
    lower = net.holders[topic, at >> SIX] & ((ONE << (at & SIXTY_THREE)) - ONE)
    before = np.int64(trees.before[topic, at >> SIX]) + np.int64(popcount(lower))
    return np.int64(net.topic_ptr[topic]) + before


@kernel
def count_before(net: Net, trees: TopicTrees) -> None:
    """Fill in how many subscribers come before each word."""
    for topic in range(len(net.holders)):
        count = np.int64(0)
        for word in range(net.holders.shape[1]):
            trees.before[topic, word] = count
            count += np.int64(popcount(net.holders[topic, word]))


@kernel
def plant_trees(net: Net, trees: TopicTrees, groups: Groups) -> None:
    """Make the tree of every topic from its links: flat ones, from the subscriber with the most links on."""
    for topic in range(len(net.topic_ptr) - 1):
        begin, end = net.topic_ptr[topic], net.topic_ptr[topic + 1]
        if begin == end:
            continue
        root = np.int64(net.topic_nodes[begin])
        for slot in range(begin, end):
            v = np.int64(net.topic_nodes[slot])
            trees.parent[slot] = NONE
            groups.mark[v] = SEEN
            if net.degree[v] > net.degree[root]:
                root = v
        trees.root[topic] = root
        # Breadth first, so that trees are flat.
        groups.mark[root] = NONE
        queue, first, last = groups.seen, np.int64(0), np.int64(1)
        queue[0] = root
        while first < last:
            x = np.int64(queue[first])
            first += 1
            chunk, length = net.near_first[x], first_chunk_length(np.int64(net.degree[x]))
            while chunk != NONE:
                base = np.int64(chunk) * CHUNK
                chunk = net.entries[base + FULL]
                for i in range(base, base + length):
                    y = np.int64(net.entries[i])
                    if groups.mark[y] == SEEN:
                        trees.parent[slot_of(net, trees, topic, y)] = x
                        groups.mark[y] = NONE
                        queue[last] = y
                        last += 1
                length = np.int64(FULL)
        for slot in range(begin, end):
            groups.mark[net.topic_nodes[slot]] = NONE


@inner
def cut(net: Net, trees: TopicTrees, topic: Int, lost: Ids, number: Int) -> bool:
    """Cut a lost link out of the tree of a topic of both its ends, and return whether it was in it.

    The cut goes to the front of the chain of the topic, which must be −1 for an empty chain.
    """
    for end in range(2 * number, 2 * number + 2):
        slot = slot_of(net, trees, topic, np.int64(lost[end]))
        if trees.parent[slot] == lost[end ^ 1]:
            made = trees.tally[0]
            trees.tally[0] += 1
            trees.topic[made], trees.end[made] = topic, end
            trees.lower[made], trees.upper[made] = lost[end], lost[end ^ 1]
            trees.next_cut[made] = trees.first_cut[topic]
            trees.first_cut[topic] = made
            trees.parent[slot] = NONE
            return True
    return False


@inner
def root_of(net: Net, trees: TopicTrees, topic: Int, v: Int) -> Int:
    """Return the root of the tree that a node is in."""
    parent = np.int64(trees.parent[slot_of(net, trees, topic, v)])
    while parent != NONE:
        v = parent
        parent = np.int64(trees.parent[slot_of(net, trees, topic, v)])
    return v


@inner
def hang(net: Net, trees: TopicTrees, topic: Int, v: Int, parent: Int) -> None:
    """Hang the whole tree of a node below a node of another tree; links from v to its old root turn round."""
    while v != NONE:
        slot = slot_of(net, trees, topic, v)
        above = np.int64(trees.parent[slot])
        trees.parent[slot] = parent
        parent, v = v, above


@inner
def join_trees(net: Net, trees: TopicTrees, topic: Int, u: Int, v: Int) -> None:
    """Make one tree of the trees of two nodes that are linked, unless they are the same."""
    one, other = root_of(net, trees, topic, u), root_of(net, trees, topic, v)
    if one != other:
        # The root of the topic keeps the nodes below it: it has been chosen for a flat tree.
        if one != trees.root[topic]:
            hang(net, trees, topic, u, v)
        else:
            hang(net, trees, topic, v, u)


@inner
def find_fragment(net: Net, trees: TopicTrees, groups: Groups, topic: Int, top: Int) -> Int:
    """Return the size of a root's tree if no link leaves it; otherwise attach it there and return 0.

    A breadth-first search of the tree. Invariant: the nodes in `groups.seen` are marked, and are in the tree
    of `top`. If no link leaves the tree, they stay marked until `clear_marks`. Cost: the links of the nodes
    found, and for each that is not in the tree, the way to its root.
    """
    groups.mark[top] = SEEN
    groups.seen[0] = top
    first, seen = np.int64(0), np.int64(1)
    while first < seen:
        x = np.int64(groups.seen[first])
        first += 1
        chunk, length = net.near_first[x], first_chunk_length(np.int64(net.degree[x]))
        while chunk != NONE:
            base = np.int64(chunk) * CHUNK
            chunk = net.entries[base + FULL]
            for i in range(base, base + length):
                y = np.int64(net.entries[i])
                if groups.mark[y] != NONE or not has_topic(net, y, topic):
                    continue
                # Only links to children lead on: each node of the tree is then found once, from its parent.
                if trees.parent[slot_of(net, trees, topic, y)] == x:
                    groups.mark[y] = SEEN
                    groups.seen[seen] = y
                    seen += 1
                elif root_of(net, trees, topic, y) != top:
                    # The root test comes last: it climbs, and most links lead to nodes found already.
                    hang(net, trees, topic, x, y)
                    clear_marks(groups, seen)
                    return np.int64(0)
            length = np.int64(FULL)
    return seen


@inner
def restore_cuts(net: Net, trees: TopicTrees) -> None:
    """Join all trees again after the lost links are back."""
    for made in range(trees.tally[0]):
        topic, lower, upper = np.int64(trees.topic[made]), np.int64(trees.lower[made]), trees.upper[made]
        slot = slot_of(net, trees, topic, lower)
        only = trees.first_cut[topic] == made and trees.next_cut[made] == NONE
        if not only:
            join_trees(net, trees, topic, lower, np.int64(upper))
        elif trees.parent[slot] == NONE and trees.root[topic] != lower:
            # With a single cut there are two trees at most, and the upper end is in the other one.
            trees.parent[slot] = upper
        elif trees.parent[slot] == NONE:
            hang(net, trees, topic, np.int64(upper), lower)
