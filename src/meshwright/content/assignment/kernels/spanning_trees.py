"""Minimum spanning trees of a few brokers, and of the same brokers with one more.

A tree of k brokers takes O(k²) steps (Prim). Adding one broker to a finished tree takes O(k), so the trees
from every broker to one set of brokers take O(k² + B·k) instead of O(B·k²).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.content.assignment.kernels.layout import ZERO, Array
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
    """
    for place in range(1, size):
        up[place] = 0
        length[place] = core[order[0], order[place]]
    total = 0.0
    # Positions below `joined` are in the tree. For the others, `up` and `length` hold their cheapest link
    # into it.
    for joined in range(1, size):
        nearest = joined
        for place in range(joined + 1, size):
            if length[place] < length[nearest]:
                nearest = place
        order[joined], order[nearest] = order[nearest], order[joined]
        up[joined], up[nearest] = up[nearest], up[joined]
        length[joined], length[nearest] = length[nearest], length[joined]
        total += length[joined]
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
