"""Spanning trees of few brokers, and the totals of an assignment by channel and broker."""

from __future__ import annotations

from typing import Any

import numpy as np

from meshwright.jit.compiler import inner, kernel

Array = Any
"""A numpy array; numba works out of what."""
NONE: Any = np.int64(-1)
ZERO: Any = np.int64(0)
NO: Any = np.bool_(False)
"""What kernels hand on to others: for a plain −1, 0 or False these would be compiled once more."""


@kernel
def span(core: Array, order: Array, size: int, up: Array, length: Array) -> float:
    """Return the weight of the minimum spanning tree of the brokers `order[:size]`, by Prim's algorithm.

    They are put in the order in which they join. For each after the first, `up` is the position of the one it
    joins at, and `length` what that link costs.
    """
    for place in range(1, size):
        up[place] = 0
        length[place] = core[order[0], order[place]]
    total = 0.0
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


@inner
def span_with(
    core: Array, broker: int, order: Array, size: int, up: Array, length: Array, reach: Array
) -> float:
    """Return the weight of the minimum spanning tree of one more broker and a tree that `span` has left.

    The tree is looked at from its last broker to its first. Each has a cheapest link towards the newcomer, by
    itself or through what hangs on it; of that link and the one to its parent the cheaper stays, and the
    other is what its parent may use instead.
    """
    for place in range(size):
        reach[place] = core[broker, order[place]]
    total = 0.0
    for place in range(size - 1, 0, -1):
        if reach[place] < length[place]:
            total += reach[place]
            spare = length[place]
        else:
            total += length[place]
            spare = reach[place]
        reach[up[place]] = min(reach[up[place]], spare)
    return total + reach[0] if size > 0 else 0.0


@inner
def weights_of_set(
    core: Array, order: Array, size: int, up: Array, length: Array, reach: Array, weights: Array
) -> None:
    """Fill in, for every broker, the weight of the minimum spanning tree of it and the set `order[:size]`."""
    inside = span(core, order, size, up, length)
    weights[:] = -1.0
    for place in range(size):
        weights[order[place]] = inside
    for broker in range(len(weights)):
        if weights[broker] < 0.0:
            weights[broker] = span_with(core, broker, order, size, up, length, reach)


@kernel
def weights_of_sets(
    core: Array, held: Array, order: Array, up: Array, length: Array, reach: Array, weights: Array
) -> None:
    """Fill in the weights of many sets: a row of `held` says which brokers are in it."""
    for row in range(len(held)):
        size = ZERO
        for broker in range(held.shape[1]):
            if held[row, broker]:
                order[size] = broker
                size += 1
        weights_of_set(core, order, size, up, length, reach, weights[row])


@kernel
def tally(
    broker_of: Array,
    sent_ptr: Array,
    sent_channels: Array,
    sent: Array,
    taken_ptr: Array,
    taken_channels: Array,
    rate: Array,
    count: Array,
) -> None:
    """Add up, for each channel and broker, what its users send and how many of them subscribe."""
    for user in range(len(broker_of)):
        broker = broker_of[user]
        for slot in range(sent_ptr[user], sent_ptr[user + 1]):
            rate[sent_channels[slot], broker] += sent[slot]
        for slot in range(taken_ptr[user], taken_ptr[user + 1]):
            count[taken_channels[slot], broker] += 1


@kernel
def link_traffic(
    core: Array,
    held: Array,
    rate: Array,
    order: Array,
    up: Array,
    length: Array,
    traffic: Array,
    set_of: Array,
    source_of: Array,
    ends: Array,
) -> int:
    """Add up what crosses each core link, u < v, and list the trees' links if there is room for them.

    A link of a tree is its set, its source (−1: every broker of the set) and its two ends. Returns how many
    links the trees have.
    """
    brokers = held.shape[1]
    links = 0
    for row in range(len(held)):
        inside = 0.0
        for broker in range(brokers):
            if held[row, broker]:
                inside += rate[row, broker]
        for source in range(-1, brokers):
            if source >= 0 and (held[row, source] or rate[row, source] <= 0.0):
                continue
            carried = inside if source < 0 else rate[row, source]
            if carried <= 0.0:
                continue
            size = ZERO
            for broker in range(brokers):
                if held[row, broker] or broker == source:
                    order[size] = broker
                    size += 1
            if size > 1:
                span(core, order, size, up, length)
            for place in range(1, size):
                u, v = order[place], order[up[place]]
                if u > v:
                    u, v = v, u
                traffic[u, v] += carried
                if links < len(set_of):
                    set_of[links] = row
                    source_of[links] = source
                    ends[links, 0] = u
                    ends[links, 1] = v
                links += 1
    return links
