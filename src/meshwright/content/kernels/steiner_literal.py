"""One tree for each channel and publisher: the paper's Algorithm 3, to the letter.

From the publisher on, the nearest subscriber is connected next, by its cheapest path from a broker that is in
the tree; it is attached to the last broker on that path, which then belongs to the tree. This is Prim's
algorithm with users replaced by their brokers ("already connected users are substituted by their associated
brokers", cbps, section IV-B).

A tree depends on its publisher in two ways only: by the first broker, and because a publisher that subscribes
itself is left out. So the publishers of a channel with the same first broker share a tree, except for those
whose own connection added a broker to it (`leading`); these get a tree of their own. A tree takes
O(k·m) steps for m subscribers and k brokers in it.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.kernels import NONE, ZERO, Array, Audience
from meshwright.jit.compiler import inner, kernel


class Paths(NamedTuple):
    """The cheapest path between each user and each broker, directly or through one more broker."""

    cost: Array
    """What the path costs."""
    last: Array
    """The broker at the user's end of the path."""


class Publishers(NamedTuple):
    """The publishers of each channel."""

    ptr: Array
    """Channel c has the slots from `ptr[c]` up to, but not including, `ptr[c + 1]`."""
    users: Array
    """The publisher of each slot, ascending for each channel."""
    rate: Array
    """What it sends."""


class Nearest(NamedTuple):
    """The nearest subscriber of one channel, for each broker."""

    user: Array
    """That subscriber."""
    cost: Array
    """The cost of the path to it."""
    next_cost: Array
    """The cost of the path to the second nearest one."""


class GrownTree(NamedTuple):
    """A tree of one channel: `entered` has a slot for each broker, the others one for each subscriber."""

    entered: Array
    """Whether the broker belongs to the tree."""
    distance: Array
    """The cost of the subscriber's cheapest path from the tree."""
    parent: Array
    """The broker that the subscriber is attached to by that path."""
    attached: Array
    """Whether the subscriber is attached for good."""
    leading: Array
    """Whether attaching the subscriber added a broker to the tree."""


class LiteralMixing(NamedTuple):
    """What the trees are made of, and arrays that every channel uses in turn."""

    access: Array
    """Users × brokers: the cost of each access link."""
    paths: Paths
    """The cheapest paths: users × brokers."""
    audience: Audience
    """The subscribers of each channel."""
    publishers: Publishers
    """The publishers of each channel."""
    near: Paths
    """The paths of the channel's subscribers: brokers × subscribers, so that a broker's row is contiguous."""
    nearest: Nearest
    """The nearest subscriber for each broker."""
    tree: GrownTree
    """The tree that is being grown."""
    carried: Array
    """For each broker: the rate of all publishers whose first broker it is."""
    own: Array
    """For each subscriber: its own rate, if it is also a publisher and shares the tree."""
    apart: Array
    """For each subscriber: whether it gets a tree of its own as a publisher."""
    place_of: Array
    """For each user: its position among the channel's subscribers; −1 if it is not among them."""
    first_of: Array
    """For each publisher's slot: its first broker."""


@kernel
def find_paths(core: Array, access: Array, paths: Paths) -> None:
    """Fill in the cheapest paths: users × brokers. Ties go to the direct link, then to the first broker.

    Core costs keep the triangle inequality, so one more broker is enough.
    """
    for user in range(len(access)):
        for broker in range(len(core)):
            paths.cost[user, broker] = access[user, broker]
            paths.last[user, broker] = broker
        for last in range(len(core)):
            for broker in range(len(core)):
                cost = core[last, broker] + access[user, last]
                if cost < paths.cost[user, broker]:
                    paths.cost[user, broker] = cost
                    paths.last[user, broker] = last


@inner
def grow_tree(start: int, absent: int, users: Array, near: Paths, tree: GrownTree) -> None:
    """Grow the tree of the subscribers `users` from a first broker on, without the user `absent`."""
    distance, parent, attached = tree.distance, tree.parent, tree.attached
    for place in range(len(users)):
        distance[place] = near.cost[start, place]
        parent[place] = near.last[start, place]
        attached[place] = users[place] == absent
        tree.leading[place] = False
    for broker in range(len(tree.entered)):
        tree.entered[broker] = broker == start
    while True:
        # Subscribers whose parent is in the tree change nothing when they are attached. So we jump to the
        # nearest one whose parent is new.
        first = -1
        for place in range(len(users)):
            new = not attached[place] and not tree.entered[parent[place]]
            if new and (first < 0 or distance[place] < distance[first]):
                first = place
        if first < 0:
            return
        tree.leading[first] = True
        broker, limit = parent[first], distance[first]
        tree.entered[broker] = True
        for place in range(len(users)):
            if attached[place]:
                continue
            # All that come before `first` in Prim's order are attached by now; the others may find a
            # cheaper path from the new broker.
            nearer = distance[place] < limit or (distance[place] == limit and place <= first)
            if nearer:
                attached[place] = True
            elif near.cost[broker, place] < distance[place]:
                distance[place] = near.cost[broker, place]
                parent[place] = near.last[broker, place]


@inner
def find_nearest(users: Array, near: Paths, nearest: Nearest) -> None:
    """Fill in, for each broker, its nearest subscriber and the costs to it and to the next one."""
    for broker in range(len(nearest.cost)):
        nearest.user[broker] = -1
        nearest.cost[broker] = nearest.next_cost[broker] = float("inf")
        for place in range(len(users)):
            cost = near.cost[broker, place]
            if cost < nearest.cost[broker]:
                nearest.next_cost[broker] = nearest.cost[broker]
                nearest.user[broker], nearest.cost[broker] = users[place], cost
            else:
                nearest.next_cost[broker] = min(nearest.next_cost[broker], cost)


@inner
def first_broker(user: int, access: Array, nearest: Nearest) -> int:
    """Return the broker by which a publisher's path to its nearest subscriber starts.

    A publisher that is itself the nearest subscriber goes to the next one.
    """
    best = 0
    least = float("inf")
    for broker in range(len(nearest.cost)):
        onward = nearest.next_cost[broker] if nearest.user[broker] == user else nearest.cost[broker]
        if access[user, broker] + onward < least:
            best, least = broker, access[user, broker] + onward
    return best


@kernel
def add_literal_weights(first: int, last: int, mixing: LiteralMixing, weights: Array) -> None:
    """Add to `weights` what links between users and brokers carry in the trees of some channels' publishers.

    Channels from `first` up to, but not including, `last`. Every publisher must have somebody to send to.
    """
    for channel in range(first, last):
        add_channel(channel, mixing, weights)


@inner
def add_channel(channel: int, mixing: LiteralMixing, weights: Array) -> None:
    """Add to `weights` what links carry in the trees of one channel's publishers."""
    access, paths, audience, publishers = mixing.access, mixing.paths, mixing.audience, mixing.publishers
    near, tree, own = mixing.near, mixing.tree, mixing.own
    brokers = access.shape[1]
    users = audience.users[audience.ptr[channel] : audience.ptr[channel + 1]]
    if len(users) == 0:
        return
    for broker in range(brokers):
        mixing.carried[broker] = 0.0
    for place in range(len(users)):
        for broker in range(brokers):
            near.cost[broker, place] = paths.cost[users[place], broker]
            near.last[broker, place] = paths.last[users[place], broker]
    find_nearest(users, near, mixing.nearest)
    for place in range(len(users)):
        mixing.place_of[users[place]] = place
    # The publisher's own link: to the first broker of its tree.
    for slot in range(publishers.ptr[channel], publishers.ptr[channel + 1]):
        start = first_broker(publishers.users[slot], access, mixing.nearest)
        weights[publishers.users[slot], start] += publishers.rate[slot]
        mixing.first_of[slot] = start
        mixing.carried[start] += publishers.rate[slot]
    for start in range(brokers):
        if mixing.carried[start] <= 0.0:
            continue
        # The tree that most publishers with this first broker share.
        grow_tree(start, NONE, users, near, tree)
        for place in range(len(users)):
            own[place] = 0.0
        shared = 0.0
        for slot in range(publishers.ptr[channel], publishers.ptr[channel + 1]):
            if mixing.first_of[slot] != start:
                continue
            place = mixing.place_of[publishers.users[slot]]
            if place < 0:
                shared += publishers.rate[slot]
            elif not tree.leading[place]:
                own[place] = publishers.rate[slot]
        subscribing = 0.0
        for place in range(len(users)):
            subscribing += own[place]
        # A subscriber receives what all sharing publishers send, except for its own messages.
        for place in range(len(users)):
            others = subscribing - own[place] if subscribing > own[place] else 0.0
            weights[users[place], tree.parent[place]] += shared + others
        # Publishers that lead get a tree without themselves. Growing it overwrites `leading`: copy that.
        for place in range(len(users)):
            mixing.apart[place] = tree.leading[place]
        for slot in range(publishers.ptr[channel], publishers.ptr[channel + 1]):
            user = ZERO + publishers.users[slot]
            own_place = mixing.place_of[user]
            if mixing.first_of[slot] != start or own_place < 0 or not mixing.apart[own_place]:
                continue
            grow_tree(start, user, users, near, tree)
            for place in range(len(users)):
                if users[place] != user:
                    weights[users[place], tree.parent[place]] += publishers.rate[slot]
    # Leave no positions behind for the next channel.
    for place in range(len(users)):
        mixing.place_of[users[place]] = -1
