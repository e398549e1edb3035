"""Trees of brokers: minimum spanning trees, and one tree for each channel.

A spanning tree of k brokers takes O(k²) steps (Prim). Adding one broker to a finished tree takes O(k), so the
trees from every broker to one set of brokers take O(k² + B·k) instead of O(B·k²).

`open_brokers` is ours, in the spirit of cbps, section IV-B; the paper's own trees are in `mixing`. Start with
the best single broker of a channel, and open further ones while their saving in access cost exceeds the
growth of the spanning tree. A channel with m subscribers that opens k brokers takes
O(m·B + k·(B·k + m) + changes·B) steps, because savings are updated instead of recomputed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.content.kernels import ZERO, Array, Audience
from meshwright.jit.compiler import inlined, inner, kernel


class SpanningTree(NamedTuple):
    """A tree of the brokers `order[:size]`; each array has room for all brokers.

    Invariant after `span`: `up[k] < k`, so walking positions downwards visits children before parents.
    """

    order: Array
    """The brokers, in the order in which they join the tree."""
    up: Array
    """For each position after the first: the position of the broker that it is linked to."""
    length: Array
    """For each position after the first: the cost of that link."""
    reach: Array
    """Scratch of `span_with`: the cheapest link from each position, or from below it, to the newcomer."""


def empty_tree(brokers: int) -> SpanningTree:
    """Return arrays for a tree that may hold any number of brokers up to `brokers`."""
    return SpanningTree(
        order=np.zeros(brokers, dtype=np.int64),
        up=np.zeros(brokers, dtype=np.int64),
        length=np.zeros(brokers),
        reach=np.zeros(brokers),
    )


@kernel
def span(core: Array, order: Array, size: int, up: Array, length: Array) -> float:
    """Return the weight of the minimum spanning tree of the brokers `order[:size]`, by Prim's algorithm.

    Leaves the tree in `order`, `up` and `length`, as `SpanningTree` describes them. `order[0]` stays first.

    Invariant: positions below `joined` are in the tree; for each of the others, `up` and `length` hold its
    cheapest link into the tree. The cost is quadratic in `size`, which is right for a complete graph.
    """
    for place in range(1, size):  # the tree is the first broker alone
        up[place] = 0
        length[place] = core[order[0], order[place]]
    total = 0.0
    for joined in range(1, size):
        nearest = joined
        for place in range(joined + 1, size):
            if length[place] < length[nearest]:
                nearest = place
        # Move the nearest broker to the end of the tree. The one that stood there takes its place, so
        # parents, which are positions inside the tree, stay valid.
        order[joined], order[nearest] = order[nearest], order[joined]
        up[joined], up[nearest] = up[nearest], up[joined]
        length[joined], length[nearest] = length[nearest], length[joined]
        total += length[joined]
        # Only the broker that has just joined can offer the others a cheaper link.
        broker = order[joined]
        for place in range(joined + 1, size):
            cost = core[broker, order[place]]
            if cost < length[place]:
                length[place] = cost
                up[place] = joined
    return total


@inlined
def span_with(core: Array, broker: int, tree: SpanningTree, size: int) -> float:
    """Return the weight of the minimum spanning tree of one more broker and a tree that `span` has left.

    The new tree uses only links of the old one and links to the newcomer. We walk from the leaves to the
    root. `reach[k]` is the cheapest link by which position k, or what hangs below it, reaches the newcomer.
    Of this link and the one to the parent, the cheaper one stays; the parent may use the other.
    """
    for place in range(size):
        tree.reach[place] = core[broker, tree.order[place]]
    total = 0.0
    for place in range(size - 1, 0, -1):
        if tree.reach[place] < tree.length[place]:
            total += tree.reach[place]
            spare = tree.length[place]
        else:
            total += tree.length[place]
            spare = tree.reach[place]
        tree.reach[tree.up[place]] = min(tree.reach[tree.up[place]], spare)
    return total + tree.reach[0] if size > 0 else 0.0


@inner
def weights_of_set(core: Array, tree: SpanningTree, size: int, weights: Array) -> None:
    """Fill in, for every broker, the weight of the minimum spanning tree of it and the set `order[:size]`."""
    inside = span(core, tree.order, size, tree.up, tree.length)
    # −1 marks brokers outside of the set: no tree has a negative weight.
    weights[:] = -1.0
    for place in range(size):
        weights[tree.order[place]] = inside
    for broker in range(len(weights)):
        if weights[broker] < 0.0:
            weights[broker] = span_with(core, broker, tree, size)


@kernel
def weights_of_sets(core: Array, held: Array, tree: SpanningTree, weights: Array) -> None:
    """Fill in the weights of many sets: row r of `held` says which brokers are in set r."""
    for row in range(len(held)):
        size = ZERO
        for broker in range(held.shape[1]):
            if held[row, broker]:
                tree.order[size] = broker
                size += 1
        weights_of_set(core, tree, size, weights[row])


ROUNDING = 1e-12
"""A gain below this fraction of the numbers that it is the difference of counts as rounding error."""


class Opening(NamedTuple):
    """Scratch: the open brokers of one channel, and what opening another one would save."""

    nearest: Array
    """For each subscriber of the channel: its access cost to its open broker."""
    saving: Array
    """For each broker: by how much all access costs fall if it opens."""
    opened: Array
    """Whether each broker is open."""


@kernel
def open_brokers(
    core: Array,
    access: Array,
    audience: Audience,
    channel_rate: Array,
    attached: Array,
    opening: Opening,
    tree: SpanningTree,
) -> None:
    """Attach each subscriber of each channel to a broker of the channel's tree; −1 for channels without rate.

    A subscriber's link carries the channel's whole rate, either in or out, and so does every link of the
    tree. The rate therefore cancels out, and only link costs are compared. Ties go to the first broker.
    """
    brokers = len(core)
    nearest, saving, opened = opening.nearest, opening.saving, opening.opened
    for channel in range(len(channel_rate)):
        begin, end = audience.ptr[channel], audience.ptr[channel + 1]
        for place in range(begin, end):
            attached[place] = -1
        if begin == end or channel_rate[channel] <= 0.0:
            continue
        # The root is the channel's 1-median: the broker with the least access cost for all subscribers.
        # `saving` holds these sums until the root is known.
        for broker in range(brokers):
            saving[broker] = 0.0
            opened[broker] = False
        for place in range(begin, end):
            for broker in range(brokers):
                saving[broker] += access[audience.users[place], broker]
        root = 0
        for broker in range(brokers):
            if saving[broker] < saving[root]:
                root = broker
        for broker in range(brokers):
            saving[broker] = 0.0
        for place in range(begin, end):
            user = audience.users[place]
            attached[place] = root
            nearest[place - begin] = access[user, root]
            for broker in range(brokers):
                saving[broker] += max(0.0, access[user, root] - access[user, broker])
        opened[root] = True
        tree.order[0] = root
        size = ZERO + 1
        weight = 0.0
        # Open the broker with the largest gain, until no broker gains anything.
        while size < brokers:
            best = -1
            gain = 0.0
            for broker in range(brokers):
                if opened[broker]:
                    continue
                growth = span_with(core, broker, tree, size) - weight
                more = saving[broker] - growth
                if more > ROUNDING * (saving[broker] + weight) and (best < 0 or more > gain):
                    best, gain = broker, more
            if best < 0:
                break
            opened[best] = True
            tree.order[size] = best
            size += 1
            weight = span(core, tree.order, size, tree.up, tree.length)
            for place in range(begin, end):
                user = audience.users[place]
                before, after = nearest[place - begin], access[user, best]
                if after < before or (after == before and best < attached[place]):
                    attached[place] = best
                if after < before:
                    nearest[place - begin] = after
                    # Brokers that were cheaper than the old one for this user now save less: only the
                    # part below the new access cost remains.
                    for broker in range(brokers):
                        cost = access[user, broker]
                        if cost < before:
                            saving[broker] -= before - max(cost, after)
