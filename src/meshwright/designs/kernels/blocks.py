"""The blocks of every topic's sub-overlay, as links are added, and the links that no block needs.

In the sub-overlay of a topic's subscribers, a *block* is a largest set of them that no single other
subscriber separates; the two ends of a link are always in a common block. A topic survives any single failure
when all its subscribers are in one block.

**Adding links**, on top of the engine's components. The blocks of a component form a tree (the block-cut
tree), stored upwards: each subscriber but the root is *below* one block, and each block is below one
subscriber, its *top*. So two subscribers share a block when both are below it, or when one is below it and
the other is its top. A link between two components is a new block, and hangs the smaller component below the
other. A link within a component merges all blocks on the tree path between its ends. Blocks merge as in
union-find with path halving; components merge in the engine's state. Cost of a link: the size of the smaller
component, or the length of the tree path.

**Removing links** that no topic needs to stay 2-connected. The sub-overlays of all topics form one graph over
slots, the *product*: a slot is a position in `topic_nodes`. A topic that is 2-connected stays so without the
link between its slots a and b exactly when two disjoint paths are left between a and b (Menger). A
breadth-first search finds one path; the kernel then looks for a cut along it: a slot of the path that
everything before it must pass. Links are tried from the last to the first. Each try costs O(links of the
topic) for each common topic of its ends, usually far less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, Int, Offsets
from meshwright.greedy.kernels.components import merge
from meshwright.greedy.kernels.state import State
from meshwright.jit.compiler import inlined, inner, kernel

NONE = np.int64(-1)


class Blocks(NamedTuple):
    """What the resilient design adds to the engine's `State`; slots and components are those of `State`.

    A block is named by the component that disappeared when the block began as a link.
    """

    slot: Ids
    """By entry of `node_topics`: the slot of the same subscription."""
    label: Ids
    """By slot: the component. A copy of `State.node_label`, which is by entry: rows are counted slot by slot,
    and through the entries each label would be a random access."""
    above: Ids
    """By slot: a block that is part of the one it is below; −1 for the root of a component."""
    top: Ids
    """By block: the slot that it is below."""
    joined: Ids
    """By block: itself, or a block that it has become part of."""
    passed: Offsets
    """By slot: the last search for a common ancestor that came by."""
    stamp: Offsets
    """One number: how many such searches there were."""
    missing: Ids
    """By slot: how many links to other subscribers it still needs: two at first, or one if there is only one
    other."""
    wanting: Offsets
    """By topic: the sum of `missing`."""
    merges: Offsets
    """By topic: 2 · (components − 1) + blocks − 1. Every link between two blocks lowers it; 0 is the end."""
    earlier: Ids
    """By link: the link before it in the chain of its smaller end, or −1."""
    latest: Ids
    """By node u: the last link of its chain, which holds the links (u, v), u < v; or −1."""


@inlined
def block_above(blocks: Blocks, slot: Int) -> Int:
    """Return the block that a slot is below, or −1."""
    block = blocks.above[slot]
    if block >= 0 and blocks.joined[block] != block:
        # Halve the path, and remember the answer with the slot.
        while blocks.joined[block] != block:
            blocks.joined[block] = blocks.joined[blocks.joined[block]]
            block = blocks.joined[block]
        blocks.above[slot] = block
    return np.int64(block)


@inlined
def share_block(blocks: Blocks, i: Int, j: Int) -> bool:
    """Return whether two slots of a component are in one block."""
    mine, yours = block_above(blocks, i), block_above(blocks, j)
    if mine >= 0 and (mine == yours or blocks.top[mine] == j):
        return True
    return bool(yours >= 0 and blocks.top[yours] == i)


@inner
def reroot(blocks: Blocks, slot: Int) -> None:
    """Make a slot the root of its component: reverse the tree path from it to the old root."""
    below: Int = NONE
    while True:
        block = block_above(blocks, slot)
        blocks.above[slot] = below
        if block < 0:
            return
        upper = np.int64(blocks.top[block])
        blocks.top[block] = slot
        slot, below = upper, block


@inlined
def connect(state: State, blocks: Blocks, topic: Int, i: Int, j: Int) -> None:
    """Link two components: hang the smaller one below the other by a new block, and merge them."""
    # The same choice as in `merge`: of two components of one size, that of i keeps its label.
    if state.size[blocks.label[i]] < state.size[blocks.label[j]]:
        i, j = j, i
    a, b = blocks.label[i], blocks.label[j]
    reroot(blocks, j)
    blocks.above[j], blocks.top[b] = b, i
    member = b
    while True:
        blocks.label[member] = a
        member = state.following[member]
        if member == b:
            break
    merge(state, np.int64(state.entry[i]), np.int64(state.entry[j]))
    blocks.merges[topic] -= 1


@inner
def common_ancestor(blocks: Blocks, i: Int, j: Int) -> Int:
    """Return the lowest slot that is above two slots, or is one of them.

    Climbs from both in turn, so it costs no more than twice the length of the path between them.
    """
    blocks.stamp[0] += 1
    stamp = blocks.stamp[0]
    blocks.passed[i] = blocks.passed[j] = stamp
    while True:
        block = block_above(blocks, i)
        if block >= 0:
            i = np.int64(blocks.top[block])
            if blocks.passed[i] == stamp:
                return i
            blocks.passed[i] = stamp
        i, j = j, i


@inner
def climb(blocks: Blocks, topic: Int, slot: Int, goal: Int) -> Int:
    """Merge all blocks between a slot and one above it, and return the block; −1 if it is the same slot."""
    block: Int = NONE
    while slot != goal:
        upper = block_above(blocks, slot)
        if block >= 0:
            blocks.joined[block] = upper
            blocks.merges[topic] -= 1
        block, slot = upper, np.int64(blocks.top[upper])
    return block


@inner
def close_cycle(blocks: Blocks, topic: Int, i: Int, j: Int) -> None:
    """Link two slots of a component that share no block: the blocks on the path between them become one."""
    goal = common_ancestor(blocks, i, j)
    a, b = climb(blocks, topic, i, goal), climb(blocks, topic, j, goal)
    if a >= 0 and b >= 0 and a != b:
        blocks.joined[a] = b
        blocks.merges[topic] -= 1


@inlined
def link(state: State, blocks: Blocks, u: Int, v: Int) -> int:
    """Add the link (u, v) to every topic of both, and return in how many it merged two components."""
    i, j, count = state.node_ptr[u], state.node_ptr[v], 0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second:
            topic, mine, yours = np.int64(first), np.int64(blocks.slot[i]), np.int64(blocks.slot[j])
            if blocks.label[mine] != blocks.label[yours]:
                connect(state, blocks, topic, mine, yours)
                count += 1
            elif not share_block(blocks, mine, yours):
                close_cycle(blocks, topic, mine, yours)
            for end in (mine, yours):
                if blocks.missing[end] > 0:
                    blocks.missing[end] -= 1
                    blocks.wanting[topic] -= 1
        i += int(first <= second)
        j += int(second <= first)
    state.degree[u] += 1
    state.degree[v] += 1
    return count


class Product(NamedTuple):
    """The graph over slots, as links are removed."""

    node_ptr: Offsets
    """By node: where its entries in `node_topics` begin; one more at the end."""
    node_topics: Ids
    """The topics of each node, ascending."""
    slot: Ids
    """By entry of `node_topics`: the slot of the same subscription."""
    u: Ids
    """By link: the smaller end."""
    v: Ids
    """By link: the larger end."""
    kept: NDArray[np.bool_]
    """By link: whether it still exists."""
    degree: Ids
    """By slot: how many neighbours are left."""
    ptr: Offsets
    """By slot: where its neighbours begin in `slots` and `links`; one more at the end."""
    slots: Ids
    """The neighbours of slot 0, then of slot 1, and so on, removed ones included."""
    links: Ids
    """The link that leads to each of them."""
    mine: Ids
    """Working memory, for one link: the slots of u in the topics of both ends."""
    yours: Ids
    """Working memory, for one link: the slots of v in the same topics."""


class Search(NamedTuple):
    """Working memory of searches, by slot."""

    seen: Offsets
    """The last search that reached it."""
    before: Ids
    """The slot that it was reached from."""
    place: Ids
    """Its place on the path between the ends, or −1."""
    path: Ids
    """By place on the path: the slot."""
    queue: Ids
    """The slots reached, in order."""


@inner
def common_slots(product: Product, link: Int) -> int:
    """Write the slots of a link's ends in each topic of both, and return how many topics there are."""
    topics, u, v = product.node_topics, product.u[link], product.v[link]
    i, j, count = product.node_ptr[u], product.node_ptr[v], 0
    while i < product.node_ptr[u + 1] and j < product.node_ptr[v + 1]:
        first, second = topics[i], topics[j]
        if first == second:
            product.mine[count], product.yours[count] = product.slot[i], product.slot[j]
            count += 1
        i += int(first <= second)
        j += int(second <= first)
    return count


@inner
def change_degrees(product: Product, link: Int, change: Int) -> None:
    """Add to the degrees of a link's ends in each topic of both."""
    for k in range(common_slots(product, link)):
        product.degree[product.mine[k]] += change
        product.degree[product.yours[k]] += change


@kernel
def count_neighbours(product: Product) -> None:
    """Count the neighbours of every slot."""
    for link in range(len(product.u)):
        change_degrees(product, np.int64(link), np.int64(1))


@kernel
def fill_neighbours(product: Product) -> None:
    """List the neighbours of every slot: entry s + 1 of `ptr` moves from the begin of slot s to its end."""
    for link in range(len(product.u)):
        for k in range(common_slots(product, np.int64(link))):
            a, b = product.mine[k], product.yours[k]
            for here, there in ((a, b), (b, a)):
                at = product.ptr[here + 1]
                product.slots[at], product.links[at] = there, link
                product.ptr[here + 1] = at + 1


@inner
def find_path(product: Product, search: Search, a: Int, b: Int, barred: Int, stamp: Int) -> int:
    """Find a shortest path from a to b without the barred link, and return its length, or −1."""
    seen, before, queue = search.seen, search.before, search.queue
    queue[0], seen[a], taken, reached = a, stamp, 0, 1
    while taken < reached and seen[b] != stamp:
        here = queue[taken]
        taken += 1
        for i in range(product.ptr[here], product.ptr[here + 1]):
            there, by = product.slots[i], product.links[i]
            if seen[there] != stamp and by != barred and product.kept[by]:
                seen[there], before[there] = stamp, here
                queue[reached] = there
                reached += 1
    if seen[b] != stamp:
        return -1
    # Walk back twice: for the length, then to number the places.
    length, here = 0, b
    while here != a:
        length += 1
        here = before[here]
    here = b
    for place in range(length, -1, -1):
        search.path[place], search.place[here] = here, place
        here = before[here]
    return length


@inner
def furthest_place(product: Product, search: Search, start: Int, barred: Int, stamp: Int, goal: Int) -> int:
    """Search from a slot of the path, off the path, and return the furthest place of the path that is met.

    Slots that a search with the same stamp has seen are skipped. Ends early at the goal.
    """
    queue, furthest = search.queue, 0
    queue[0], taken, reached = start, 0, 1
    while taken < reached and furthest < goal:
        here = queue[taken]
        taken += 1
        for i in range(product.ptr[here], product.ptr[here + 1]):
            there, by = product.slots[i], product.links[i]
            if by != barred and product.kept[by]:
                # A slot of the path is met but not entered.
                if search.place[there] >= 0:
                    furthest = max(furthest, search.place[there])
                elif search.seen[there] != stamp:
                    search.seen[there] = stamp
                    queue[reached] = there
                    reached += 1
    return furthest


@inner
def have_two_paths(product: Product, search: Search, a: Int, b: Int, barred: Int, stamp: Int) -> bool:
    """Return whether a and b are connected without the barred link, and no third slot separates them.

    Uses `stamp` and `stamp + 1`, which must be new.
    """
    length = np.int64(find_path(product, search, a, b, barred, stamp))
    # Go along the path. `furthest` is the furthest place that the slots before `at`, and what hangs off them,
    # lead to. If that is `at` itself, the slot there separates a from b.
    furthest = at = 0
    while furthest < length:
        start = np.int64(search.path[at])
        furthest = max(furthest, furthest_place(product, search, start, barred, stamp + 1, length))
        at += 1
        if furthest == at:
            break
    # Only the places that were set are cleared. Without a path, `length` is −1 and there are none.
    for place in range(length + 1):
        search.place[search.path[place]] = -1
    return furthest == length


@kernel
def drop_spare_links(product: Product, search: Search, needed: Ids) -> None:
    """Remove, from the last link to the first, each one that no topic needs.

    `needed` says by slot how many neighbours it must keep.
    """
    stamp = np.int64(1)
    for i in range(len(product.u) - 1, -1, -1):
        link, is_needed = np.int64(i), False
        count = common_slots(product, link)
        # Most links end here: one end has no neighbour to spare, so no search is necessary.
        for k in range(count):
            for end in (product.mine[k], product.yours[k]):
                is_needed |= product.degree[end] <= needed[end]
        for k in range(count):
            if is_needed:
                break
            a, b = np.int64(product.mine[k]), np.int64(product.yours[k])
            is_needed = not have_two_paths(product, search, a, b, link, stamp)
            stamp += 2
        if not is_needed:
            product.kept[link] = False
            change_degrees(product, link, np.int64(-1))
