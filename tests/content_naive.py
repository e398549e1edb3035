"""Slow, obvious twins of the content-based algorithms, and small workloads that hypothesis draws for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from meshwright.content import Places, Workload

Link = tuple[int, int]


@st.composite
def workloads(
    draw: st.DrawFn,
    most_users: int = 6,
    most_brokers: int = 4,
    most_channels: int = 3,
    capacity: float | None = np.inf,
) -> Workload:
    """Draw a workload with costs or places; silent users, idle channels and equal costs occur."""
    users = draw(st.integers(1, most_users))
    brokers = draw(st.integers(1, most_brokers))
    channels = draw(st.integers(1, most_channels))
    slots = list(product(range(users), range(channels)))
    rates = draw(
        st.lists(st.sampled_from([0.0, 0.25, 1.0, 1.5, 3.0]), min_size=len(slots), max_size=len(slots))
    )
    wanted = [slot for slot in slots if draw(st.booleans())]
    costs: dict[str, Any]
    if draw(st.booleans()):
        place = st.tuples(st.integers(0, 6), st.integers(0, 6))
        points = [
            np.array(draw(st.lists(place, min_size=n, max_size=n)), dtype=float) for n in (users, brokers)
        ]
        costs = {"places": Places(points[0], points[1], draw(st.sampled_from([0.5, 1.0, 2.0])))}
    else:
        length = st.integers(1, 4)
        access = draw(st.lists(length, min_size=users * brokers, max_size=users * brokers))
        costs = {
            "access": np.array(access, dtype=float).reshape(users, brokers),
            "core": metric(draw(st.lists(length, min_size=brokers**2, max_size=brokers**2)), brokers),
        }
    return Workload.build(
        [f"u{number}" for number in range(users)],
        [f"b{number}" for number in range(brokers)],
        [f"c{number}" for number in range(channels)],
        rates=(*np.array(slots).T, rates),
        subscriptions=([user for user, _ in wanted], [channel for _, channel in wanted]),
        capacity=capacity,
        **costs,
    )


def metric(values: Sequence[float], size: int) -> Any:
    """Return the shortest paths through a table of lengths: these keep the triangle inequality."""
    costs = np.array(values, dtype=float).reshape(size, size)
    costs = np.minimum(costs, costs.T)
    np.fill_diagonal(costs, 0.0)
    for way in range(size):
        costs = np.minimum(costs, costs[:, way, None] + costs[None, way, :])
    return costs


def rate(workload: Workload, user: int, channel: int) -> float:
    """Return the rate of a user on a channel."""
    for slot in range(workload.rate_ptr[user], workload.rate_ptr[user + 1]):
        if workload.rate_channels[slot] == channel:
            return float(workload.rates[slot])
    return 0.0


def takes(workload: Workload, user: int, channel: int) -> bool:
    """Return whether a user subscribes to a channel."""
    begin, end = workload.subscription_ptr[user : user + 2]
    return channel in workload.subscription_channels[begin:end]


def sent(workload: Workload, user: int, channel: int) -> float:
    """Return what a user sends on a channel that somebody else wants."""
    others = any(takes(workload, it, channel) for it in range(workload.num_users) if it != user)
    return rate(workload, user, channel) if others else 0.0


def load(workload: Workload, user: int) -> float:
    """Return what a user sends and receives."""
    channels = range(workload.num_channels)
    out = sum(sent(workload, user, channel) for channel in channels)
    return out + sum(
        rate(workload, other, channel)
        for other in range(workload.num_users)
        for channel in channels
        if other != user and takes(workload, user, channel)
    )


def spanning_tree(core: Any, brokers: Iterable[int]) -> list[Link]:
    """Return the links of a minimum spanning tree by Kruskal's algorithm."""
    group = {broker: broker for broker in brokers}
    links = []
    for _, u, v in sorted((core[u, v], u, v) for u, v in combinations(sorted(group), 2)):
        if group[u] != group[v]:
            links.append((u, v))
            old, new = group[u], group[v]
            group = {broker: new if one == old else one for broker, one in group.items()}
    return links


def tree_weight(core: Any, brokers: Iterable[int]) -> float:
    """Return the weight of a minimum spanning tree."""
    return float(sum(core[u, v] for u, v in spanning_tree(core, brokers)))


def subscribers(workload: Workload, channel: int) -> list[int]:
    """Return the subscribers of a channel."""
    return [user for user in range(workload.num_users) if takes(workload, user, channel)]


def costs(workload: Workload, broker_of: Sequence[int]) -> tuple[float, float]:
    """Return access and core costs: each user's messages on each channel take a tree of their own."""
    access = sum(
        load(workload, user) * workload.access[user, broker_of[user]] for user in range(workload.num_users)
    )
    core = 0.0
    for user, channel in product(range(workload.num_users), range(workload.num_channels)):
        amount = sent(workload, user, channel)
        if amount:
            reached = {broker_of[other] for other in subscribers(workload, channel)}
            core += amount * tree_weight(workload.core, {broker_of[user], *reached})
    return float(access), core


def traffic(workload: Workload, i: int, j: int) -> float:
    """Return what two users send to each other."""
    return sum(
        sent(workload, a, channel)
        for a, b in ((i, j), (j, i))
        for channel in range(workload.num_channels)
        if takes(workload, b, channel)
    )


class Room:
    """Brokers that fill up as users are put on them."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.used = [0.0] * workload.num_brokers
        self.broker_of = [-1] * workload.num_users

    def open_to(self, *users: int) -> list[int]:
        """Return the brokers with room for some users together."""
        extra = sum(load(self.workload, user) for user in users)
        limits = self.workload.capacity * (1 + 1e-9)
        return [b for b in range(self.workload.num_brokers) if self.used[b] + extra <= limits[b]]

    def put(self, user: int, broker: int) -> None:
        """Put a user on a broker."""
        self.broker_of[user] = broker
        self.used[broker] += load(self.workload, user)


def packing(workload: Workload) -> list[int]:
    """Put each user on its cheapest broker with room (cbps, Algorithm 1)."""
    room = Room(workload)
    for user in range(workload.num_users):
        room.put(user, min(room.open_to(user), key=lambda b: (workload.access[user, b], b)))
    return room.broker_of


def _ratio(amount: float, cost: float) -> float:
    return amount / cost if cost else (np.inf if amount else 0.0)


def clustering(workload: Workload, *, by_sum: bool = False) -> list[int]:
    """Seed brokers with pairs, then put each user where its mean or summed traffic over its cost is most."""
    room, access = Room(workload), workload.access
    for broker in range(workload.num_brokers):
        free = [user for user in range(workload.num_users) if room.broker_of[user] < 0]
        pairs = [(i, j) for i, j in combinations(free, 2) if traffic(workload, i, j) > 0]
        if pairs:
            price = {pair: access[pair[0], broker] + access[pair[1], broker] for pair in pairs}
            best = min(pairs, key=lambda it: (-_ratio(traffic(workload, *it), price[it]), price[it], it))
            if broker in room.open_to(*best):
                for user in best:
                    room.put(user, broker)
    for user in range(workload.num_users):
        if room.broker_of[user] < 0:
            worth = {}
            for broker in room.open_to(user):
                there = [it for it in range(workload.num_users) if room.broker_of[it] == broker]
                exchanged = sum(traffic(workload, user, it) for it in there)
                share = exchanged if by_sum else exchanged / max(len(there), 1)
                worth[broker] = _ratio(share, access[user, broker])
            room.put(user, min(worth, key=lambda b: (-worth[b], access[user, b], b)))
    return room.broker_of


def tree_weights(workload: Workload) -> Any:
    """Return what links carry in our trees for each channel, for users with subscriptions."""
    weights = np.zeros(workload.access.shape)
    for channel in range(workload.num_channels):
        takers = subscribers(workload, channel)
        whole = sum(sent(workload, user, channel) for user in range(workload.num_users))
        if not takers or not whole:
            continue
        brokers = range(workload.num_brokers)
        opened = [min(brokers, key=lambda b: (sum(workload.access[user, b] for user in takers), b))]
        while True:
            gains = {b: _gain(workload, takers, opened, b) for b in brokers if b not in opened}
            best = min(gains, key=lambda b: (-gains[b], b), default=None)
            if best is None or gains[best] <= 1e-9:
                break
            opened.append(best)
        for user in takers:
            weights[user, min(opened, key=lambda b: (workload.access[user, b], b))] += whole
    return weights


def _gain(workload: Workload, takers: Sequence[int], opened: list[int], broker: int) -> float:
    """Return the saving in access cost minus the growth of the tree if a broker opens."""

    def spent(brokers: list[int]) -> float:
        return float(sum(min(workload.access[user, b] for b in brokers) for user in takers))

    growth = tree_weight(workload.core, [*opened, broker]) - tree_weight(workload.core, opened)
    return spent(opened) - spent([*opened, broker]) - growth


@dataclass
class Mixed:
    """Algorithm 3 of cbps on one channel: the trees of publishers, one after the other."""

    workload: Workload
    channel: int
    broker_of: dict[int, int] = field(default_factory=dict)
    """The broker that each user has on this channel, from its first connection on."""

    def path(self, broker: int, end: tuple[str, int]) -> tuple[float, bool, int]:
        """Return the cheapest path from a broker to a user or broker: its cost, and its last broker."""
        kind, number = end
        core, access, brokers = self.workload.core, self.workload.access, range(self.workload.num_brokers)
        if kind == "broker":
            return core[broker, number], False, number
        return min((core[broker, b] + access[number, b], b != broker, b) for b in brokers)

    def grow(self, publisher: int) -> float:
        """Connect a publisher with all subscribers, and return what the links of its tree cost together."""
        access, brokers = self.workload.access, range(self.workload.num_brokers)
        others = [it for it in subscribers(self.workload, self.channel) if it != publisher]
        # Users that are connected already are substituted by their brokers.
        ends = {("broker", self.broker_of[it]) if it in self.broker_of else ("user", it) for it in others}
        if publisher not in self.broker_of:
            self.broker_of[publisher] = min(
                brokers, key=lambda b: (access[publisher, b] + min(self.path(b, end)[0] for end in ends), b)
            )
        start = self.broker_of[publisher]
        total, tree = float(access[publisher, start]), [start]
        while ends:
            found = {
                end: min((self.path(b, end)[0], tree.index(b), self.path(b, end)[2]) for b in tree)
                for end in ends
            }
            nearest = min(ends, key=lambda end: (found[end][0], end))
            kind, number = nearest
            total += found[nearest][0]
            if kind == "user":
                self.broker_of[number] = found[nearest][2]
            if found[nearest][2] not in tree:
                tree.append(found[nearest][2])
            ends.remove(nearest)
        return total


def publishers(workload: Workload, channel: int) -> list[int]:
    """Return the users that send on a channel something that others want."""
    return [user for user in range(workload.num_users) if sent(workload, user, channel) > 0]


def mixing_weights(workload: Workload, orders: Sequence[Sequence[int]]) -> Any:
    """Return what links carry in the trees of Algorithm 3, given the order of each channel's publishers."""
    weights = np.zeros(workload.access.shape)
    for channel, order in enumerate(orders):
        trees = Mixed(workload, channel)
        for publisher in order:
            trees.grow(publisher)
            for user in {publisher, *subscribers(workload, channel)}:
                weights[user, trees.broker_of[user]] += sent(workload, publisher, channel)
    return weights


def least_tree(workload: Workload, publisher: int, others: Sequence[int]) -> float:
    """Return the cost of the cheapest tree over some users, of all: every user is a leaf on some broker."""
    users = [publisher, *others]
    brokers = range(workload.num_brokers)
    inner = {
        held: tree_weight(workload.core, held)
        for size in range(1, workload.num_brokers + 1)
        for held in combinations(brokers, size)
    }
    return min(
        weight + sum(min(float(workload.access[user, broker]) for broker in held) for user in users)
        for held, weight in inner.items()
    )


def drawn(workload: Workload, weights: Any, chance: Any) -> list[int]:
    """Draw each user's broker among those with room by its weights; without any, take the cheapest."""
    room = Room(workload)
    for user in range(workload.num_users):
        choices = [b for b in room.open_to(user) if weights[user, b] > 0]
        if not choices:
            room.put(user, min(room.open_to(user), key=lambda b: (workload.access[user, b], b)))
            continue
        left = chance[user] * sum(weights[user, b] for b in choices)
        passed = np.cumsum([weights[user, b] for b in choices])
        room.put(user, choices[min(int(np.sum(passed <= left)), len(choices) - 1)])
    return room.broker_of


def tree_core_cost(workload: Workload, broker_of: Sequence[int], links: Sequence[Link]) -> float:
    """Add up messages along one tree: each crosses the links that separate its source from a subscriber."""
    total = 0.0
    for user, channel in product(range(workload.num_users), range(workload.num_channels)):
        amount = sent(workload, user, channel)
        reached = {broker_of[other] for other in subscribers(workload, channel)}
        for cut in links if amount else ():
            side = {broker_of[user]}
            for _ in links:
                side |= {b for u, v in links if (u, v) != cut and {u, v} & side for b in (u, v)}
            if reached - side:
                total += amount * workload.core[cut]
    return total
