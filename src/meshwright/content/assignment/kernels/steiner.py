"""Steiner mixing by channel, and the literal Algorithm 3 with a tree for each channel and publisher."""

from __future__ import annotations

from meshwright.content.assignment.kernels.spanning_trees import NONE, ZERO, Array, span, span_with
from meshwright.jit.compiler import inner, kernel

ROUNDING = 1e-12
"""A gain below this part of what it is the difference of may be none at all."""


@kernel
def open_brokers(
    core: Array,
    access: Array,
    audience_ptr: Array,
    audience: Array,
    channel_rate: Array,
    attached: Array,
    nearest: Array,
    saving: Array,
    opened: Array,
    order: Array,
    up: Array,
    length: Array,
    reach: Array,
) -> None:
    """Attach each subscriber of each channel to a broker of the channel's tree: −1 for channels without rate.

    The first broker is the one with the cheapest links to all subscribers together. Then always the one is
    opened whose saving in access costs exceeds by most what it adds to the spanning tree of the open ones.
    Every subscriber's links carry the channel's whole rate (what others send, and what it sends itself), as
    the tree does, so that the rate cancels out. Savings are kept up to date: opening a broker changes only
    those that its new users would have had elsewhere.
    """
    brokers = len(core)
    for channel in range(len(channel_rate)):
        begin, end = audience_ptr[channel], audience_ptr[channel + 1]
        for place in range(begin, end):
            attached[place] = -1
        if begin == end or channel_rate[channel] <= 0.0:
            continue
        for broker in range(brokers):
            saving[broker] = 0.0
            opened[broker] = False
        for place in range(begin, end):
            for broker in range(brokers):
                saving[broker] += access[audience[place], broker]
        root = 0
        for broker in range(brokers):
            if saving[broker] < saving[root]:
                root = broker
        for broker in range(brokers):
            saving[broker] = 0.0
        for place in range(begin, end):
            user = audience[place]
            attached[place] = root
            nearest[place - begin] = access[user, root]
            for broker in range(brokers):
                saving[broker] += max(0.0, access[user, root] - access[user, broker])
        opened[root] = True
        order[0] = root
        size = ZERO + 1
        weight = 0.0
        while size < brokers:
            best = -1
            gain = 0.0
            for broker in range(brokers):
                if opened[broker]:
                    continue
                growth = span_with(core, broker, order, size, up, length, reach) - weight
                more = saving[broker] - growth
                if more > ROUNDING * (saving[broker] + weight) and (best < 0 or more > gain):
                    best, gain = broker, more
            if best < 0:
                break
            opened[best] = True
            order[size] = best
            size += 1
            weight = span(core, order, size, up, length)
            for place in range(begin, end):
                user = audience[place]
                before, after = nearest[place - begin], access[user, best]
                if after < before or (after == before and best < attached[place]):
                    attached[place] = best
                if after < before:
                    nearest[place - begin] = after
                    for broker in range(brokers):
                        cost = access[user, broker]
                        if cost < before:
                            saving[broker] -= before - max(cost, after)


@kernel
def shortest_ways(core: Array, access: Array, far: Array, via: Array) -> None:
    """Fill in, for each user and broker, the cheapest way between them and the last broker on it.

    The direct link wins ties, then the first broker.
    """
    for user in range(len(access)):
        for broker in range(len(core)):
            far[user, broker] = access[user, broker]
            via[user, broker] = broker
        for last in range(len(core)):
            for broker in range(len(core)):
                way = core[last, broker] + access[user, last]
                if way < far[user, broker]:
                    far[user, broker] = way
                    via[user, broker] = last


@inner
def grow_tree(
    start: int,
    absent: int,
    users: Array,
    ways: Array,
    lasts: Array,
    entered: Array,
    distance: Array,
    parent: Array,
    attached: Array,
    leading: Array,
) -> None:
    """Attach users to brokers in Prim's order, from a first broker on.

    The nearest user comes next, by the broker that its way from the tree leads to; that one then belongs to
    the tree. Users whose broker is in it already change nothing, so they are attached in one go; `leading`
    are the others. The user `absent` is left out.
    """
    for place in range(len(users)):
        distance[place] = ways[start, place]
        parent[place] = lasts[start, place]
        attached[place] = users[place] == absent
        leading[place] = False
    for broker in range(len(entered)):
        entered[broker] = broker == start
    while True:
        first = -1
        for place in range(len(users)):
            new = not attached[place] and not entered[parent[place]]
            if new and (first < 0 or distance[place] < distance[first]):
                first = place
        if first < 0:
            return
        leading[first] = True
        broker, limit = parent[first], distance[first]
        entered[broker] = True
        for place in range(len(users)):
            if attached[place]:
                continue
            nearer = distance[place] < limit or (distance[place] == limit and place <= first)
            if nearer:
                attached[place] = True
            elif ways[broker, place] < distance[place]:
                distance[place] = ways[broker, place]
                parent[place] = lasts[broker, place]


@inner
def find_nearest(users: Array, ways: Array, nearest: Array, near: Array, next_near: Array) -> None:
    """Fill in, for each broker, its nearest user and the ways to that one and to the next one."""
    for broker in range(len(near)):
        nearest[broker] = -1
        near[broker] = next_near[broker] = float("inf")
        for place in range(len(users)):
            way = ways[broker, place]
            if way < near[broker]:
                next_near[broker] = near[broker]
                nearest[broker], near[broker] = users[place], way
            else:
                next_near[broker] = min(next_near[broker], way)


@inner
def first_broker(user: int, access: Array, nearest: Array, near: Array, next_near: Array) -> int:
    """Return the broker by which a publisher's way to its nearest subscriber starts."""
    best = 0
    cost = float("inf")
    for broker in range(len(near)):
        way = next_near[broker] if nearest[broker] == user else near[broker]
        if access[user, broker] + way < cost:
            best, cost = broker, access[user, broker] + way
    return best


@kernel
def literal_weights(
    channel: int,
    access: Array,
    far: Array,
    via: Array,
    audience_ptr: Array,
    audience: Array,
    publisher_ptr: Array,
    publishers: Array,
    published: Array,
    ways: Array,
    lasts: Array,
    nearest: Array,
    near: Array,
    next_near: Array,
    carried: Array,
    entered: Array,
    distance: Array,
    parent: Array,
    attached: Array,
    leading: Array,
    apart: Array,
    mine: Array,
    place_of: Array,
    start_of: Array,
    weights: Array,
) -> None:
    """Add up what the links between users and brokers carry, over the trees of a channel's publishers.

    A tree depends on the publisher only by its first broker, and by leaving it out if it subscribes itself;
    that changes nothing for others if it does not lead the way to a new broker. So publishers share a tree
    for each first broker, but for those who lead in it. Each has somebody to send to.
    """
    brokers = access.shape[1]
    users = audience[audience_ptr[channel] : audience_ptr[channel + 1]]
    if len(users) == 0:
        return
    for broker in range(brokers):
        carried[broker] = 0.0
    for place in range(len(users)):
        for broker in range(brokers):
            ways[broker, place] = far[users[place], broker]
            lasts[broker, place] = via[users[place], broker]
    find_nearest(users, ways, nearest, near, next_near)
    for place in range(len(users)):
        place_of[users[place]] = place
    for slot in range(publisher_ptr[channel], publisher_ptr[channel + 1]):
        start = first_broker(publishers[slot], access, nearest, near, next_near)
        weights[publishers[slot], start] += published[slot]
        start_of[slot] = start
        carried[start] += published[slot]
    for start in range(brokers):
        if carried[start] <= 0.0:
            continue
        grow_tree(start, NONE, users, ways, lasts, entered, distance, parent, attached, leading)
        for place in range(len(users)):
            mine[place] = 0.0
        shared = 0.0
        for slot in range(publisher_ptr[channel], publisher_ptr[channel + 1]):
            if start_of[slot] != start:
                continue
            place = place_of[publishers[slot]]
            if place < 0:
                shared += published[slot]
            elif not leading[place]:
                mine[place] = published[slot]
        subscribing = 0.0
        for place in range(len(users)):
            subscribing += mine[place]
        for place in range(len(users)):
            others = subscribing - mine[place] if subscribing > mine[place] else 0.0
            weights[users[place], parent[place]] += shared + others
        for place in range(len(users)):
            apart[place] = leading[place]
        for slot in range(publisher_ptr[channel], publisher_ptr[channel + 1]):
            user = ZERO + publishers[slot]
            if start_of[slot] != start or place_of[user] < 0 or not apart[place_of[user]]:
                continue
            grow_tree(start, user, users, ways, lasts, entered, distance, parent, attached, leading)
            for place in range(len(users)):
                if users[place] != user:
                    weights[users[place], parent[place]] += published[slot]
    for place in range(len(users)):
        place_of[users[place]] = -1
