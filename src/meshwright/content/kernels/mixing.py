"""The trees of Steiner mixing: cbps, Algorithm 3, as section IV-B means it.

A tree connects a publisher with the subscribers of a channel. The nearest subscriber is always connected
next, by its cheapest path from a broker in the tree, and attached to the last broker on that path, which then
belongs to the tree: Prim's algorithm over shortest paths. "Already connected users are substituted by their
associated brokers in the following execution", so on one channel a user has one broker, whatever the
publisher.

The first tree of a channel therefore attaches all its subscribers. A later publisher that subscribes is
attached, too; any other one takes its cheapest path to a broker of a subscriber. No later tree moves anybody,
so of the order of publishers only the first one matters.

A tree of m subscribers over k of B brokers takes O(m·(B + c + k)) steps, where c counts the times that a
broker comes nearer to the tree: about B·log k in all.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.kernels import ZERO, Array, Audience
from meshwright.jit.compiler import inner, kernel


class Publishers(NamedTuple):
    """The publishers of each channel."""

    ptr: Array
    """Channel c has the slots from `ptr[c]` up to, but not including, `ptr[c + 1]`."""
    users: Array
    """The publisher of each slot, ascending for each channel."""
    rate: Array
    """What it sends."""
    first: Array
    """For each channel: the slot of the publisher whose tree grows first."""


class GrownTree(NamedTuple):
    """The tree of one channel."""

    apart: Array
    """For each broker: the cheapest core link from a broker in the tree."""
    entered: Array
    """For each broker: whether it is in the tree."""
    nearer: Array
    """Scratch: the brokers that the latest one in the tree brought nearer."""
    cost: Array
    """For each subscriber: what its cheapest path from the tree costs."""
    broker: Array
    """For each subscriber: the last broker on that path."""
    attached: Array
    """For each subscriber: whether it is attached to that broker for good."""
    wanted: Array
    """For each user: the last channel seen that it subscribes to."""


@kernel
def add_mixing_weights(
    core: Array, access: Array, audience: Audience, publishers: Publishers, tree: GrownTree, weights: Array
) -> None:
    """Add to `weights` what links between users and brokers carry in all trees.

    The link of a subscriber carries the channel's whole rate: in what others publish, and out what it
    publishes itself. The link of a publisher that does not subscribe carries its own rate.
    """
    for channel in range(len(audience.ptr) - 1):
        users = audience.users[audience.ptr[channel] : audience.ptr[channel + 1]]
        begin, end = publishers.ptr[channel], publishers.ptr[channel + 1]
        if len(users) == 0 or begin == end:
            continue
        publisher = ZERO + publishers.users[publishers.first[channel]]
        start = first_broker(core, access, users, publisher, tree)
        grow_tree(core, access, users, publisher, start, tree)
        whole = 0.0
        for slot in range(begin, end):
            whole += publishers.rate[slot]
        for place in range(len(users)):
            weights[users[place], tree.broker[place]] += whole
            tree.wanted[users[place]] = channel
        weigh_mere_publishers(core, access, users, publishers, channel, start, tree, weights)


@inner
def first_broker(core: Array, access: Array, users: Array, publisher: int, tree: GrownTree) -> int:
    """Return the broker by which the publisher's cheapest path to another subscriber starts."""
    brokers = len(core)
    nearest = tree.apart
    for broker in range(brokers):
        nearest[broker] = float("inf")
    for place in range(len(users)):
        if users[place] != publisher:
            for broker in range(brokers):
                nearest[broker] = min(nearest[broker], access[users[place], broker])
    best = 0
    least = float("inf")
    for broker in range(brokers):
        onward = float("inf")
        for last in range(brokers):
            onward = min(onward, core[broker, last] + nearest[last])
        if access[publisher, broker] + onward < least:
            best, least = broker, access[publisher, broker] + onward
    return best


@inner
def grow_tree(core: Array, access: Array, users: Array, publisher: int, start: int, tree: GrownTree) -> None:
    """Attach the subscribers of a channel to brokers, from a publisher on that is on the broker `start`.

    Core costs keep the triangle inequality, so a path needs at most one broker outside of the tree. Ties go
    to the path found first: from the broker that entered first, directly, then by the first broker.
    """
    apart, entered, nearer = tree.apart, tree.entered, tree.nearer
    cost, parent, attached = tree.cost, tree.broker, tree.attached
    for broker in range(len(core)):
        apart[broker] = core[start, broker]
        entered[broker] = broker == start
    for place in range(len(users)):
        user = users[place]
        cost[place], parent[place] = access[user, start], start
        attached[place] = user == publisher
        if not attached[place]:
            for broker in range(len(core)):
                if apart[broker] + access[user, broker] < cost[place]:
                    cost[place], parent[place] = apart[broker] + access[user, broker], broker
    while True:
        # Subscribers whose broker is in the tree change nothing when they are attached. So we jump to the
        # nearest one whose broker is new.
        first = -1
        for place in range(len(users)):
            new = not attached[place] and not entered[parent[place]]
            if new and (first < 0 or cost[place] < cost[first]):
                first = place
        if first < 0:
            return
        entering, limit = parent[first], cost[first]
        entered[entering] = True
        # Only brokers that come nearer to the tree can offer cheaper paths.
        nearer[0] = entering
        count = ZERO + 1
        apart[entering] = 0.0
        for broker in range(len(core)):
            if core[entering, broker] < apart[broker]:
                apart[broker] = core[entering, broker]
                nearer[count] = broker
                count += 1
        for place in range(len(users)):
            if attached[place]:
                continue
            # All that come before `first` in Prim's order are attached by now.
            if cost[place] < limit or (cost[place] == limit and place <= first):
                attached[place] = True
                continue
            for number in range(count):
                broker = nearer[number]
                path = apart[broker] + access[users[place], broker]
                if path < cost[place]:
                    cost[place], parent[place] = path, broker


@inner
def weigh_mere_publishers(
    core: Array,
    access: Array,
    users: Array,
    publishers: Publishers,
    channel: int,
    start: int,
    tree: GrownTree,
    weights: Array,
) -> None:
    """Attach the publishers that do not subscribe to a channel: to their paths to a subscriber's broker."""
    brokers = len(core)
    # From here on the tree is only the brokers of subscribers, which stand for them.
    for broker in range(brokers):
        tree.entered[broker] = False
        tree.apart[broker] = float("inf")
    for place in range(len(users)):
        end = tree.broker[place]
        if not tree.entered[end]:
            tree.entered[end] = True
            for broker in range(brokers):
                tree.apart[broker] = min(tree.apart[broker], core[broker, end])
    for slot in range(publishers.ptr[channel], publishers.ptr[channel + 1]):
        user = publishers.users[slot]
        if tree.wanted[user] == channel:
            continue
        best = start
        if slot != publishers.first[channel]:
            best = 0
            for broker in range(1, brokers):
                if access[user, broker] + tree.apart[broker] < access[user, best] + tree.apart[best]:
                    best = broker
        weights[user, best] += publishers.rate[slot]
