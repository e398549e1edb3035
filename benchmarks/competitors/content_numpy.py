"""The content-based algorithms in plain numpy: the competitors of ours.

They are vectorised over brokers, pairs or sources, as their definitions suggest, and not optimised further.
They return the same assignments and costs as ours, or the benchmark fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meshwright.content import Workload

Array = Any


def tables(workload: Workload) -> tuple[Array, Array]:
    """Return two matrices, users × channels: rates that users send, and channels that users want (0 or 1)."""
    demand = workload.demand
    sent = np.zeros((workload.num_users, workload.num_channels))
    taken = np.zeros((workload.num_users, workload.num_channels))
    sent[np.repeat(np.arange(workload.num_users), np.diff(demand.ptr)), demand.channels] = demand.sent
    takers = np.repeat(np.arange(workload.num_users), np.diff(workload.subscription_ptr))
    taken[takers, workload.subscription_channels] = 1.0
    return sent, taken


def tree_weights(core: Array, members: Array, more: Array) -> Array:
    """Return the weight of the minimum spanning tree of `members` and x, for each x in `more` (Prim)."""
    if not len(members):
        return np.zeros(len(more))
    # All trees grow in parallel. Each starts with its x and adds the member nearest to the tree.
    distance = core[more][:, members].copy()
    waiting = np.ones(distance.shape, dtype=bool)
    total = np.zeros(len(more))
    rows = np.arange(len(more))
    for _ in range(len(members)):
        masked = np.where(waiting, distance, np.inf)
        nearest = masked.argmin(axis=1)
        total += masked[rows, nearest]
        waiting[rows, nearest] = False
        distance = np.minimum(distance, core[members[nearest]][:, members])
    return total


def cost(workload: Workload, broker_of: Array, sent: Array, taken: Array) -> float:
    """Return the cost of an assignment."""
    users, brokers = workload.num_users, workload.num_brokers
    access = (workload.load * workload.access[np.arange(users), broker_of]).sum()
    here = np.zeros((users, brokers))
    here[np.arange(users), broker_of] = 1.0
    rate, audience = sent.T @ here, taken.T @ here
    core = 0.0
    for channel in range(workload.num_channels):
        members = np.flatnonzero(audience[channel])
        outside = np.flatnonzero((audience[channel] == 0) & (rate[channel] > 0))
        if len(members):
            inside = tree_weights(workload.core, members[1:], members[:1])[0]
            core += inside * rate[channel, members].sum()
            core += rate[channel, outside] @ tree_weights(workload.core, members, outside)
    return float(access + core)


def packing(workload: Workload) -> Array:
    """Assign each user to the cheapest broker with room."""
    used, broker_of = np.zeros(workload.num_brokers), np.zeros(workload.num_users, dtype=np.int32)
    for user in range(workload.num_users):
        roomy = used + workload.load[user] <= workload.room
        broker_of[user] = np.where(roomy, workload.access[user], np.inf).argmin()
        used[broker_of[user]] += workload.load[user]
    return broker_of


def clustering(workload: Workload, sent: Array, taken: Array) -> Array:
    """Seed each broker with a pair of users, then assign each user to the broker with most of its traffic."""
    users, brokers = workload.num_users, workload.num_brokers
    between = sent @ taken.T
    between += between.T.copy()
    np.fill_diagonal(between, 0.0)
    used, count = np.zeros(brokers), np.zeros(brokers)
    rate, audience = np.zeros((workload.num_channels, brokers)), np.zeros((workload.num_channels, brokers))
    broker_of = np.full(users, -1, dtype=np.int32)

    def put(user: int, broker: int) -> None:
        broker_of[user] = broker
        used[broker] += workload.load[user]
        count[broker] += 1
        rate[:, broker] += sent[user]
        audience[:, broker] += taken[user]

    for broker in range(brokers):
        price = np.where(broker_of < 0, workload.access[:, broker], np.inf)
        best, pair = 0.0, (-1, -1)
        for first in range(0, users, 500):
            rows = slice(first, min(first + 500, users))
            ratio = between[rows, first:] / (price[rows, None] + price[None, first:])
            flat = int(ratio.argmax())
            if ratio.reshape(-1)[flat] > best:
                i, j = divmod(flat, users - first)
                best, pair = float(ratio.reshape(-1)[flat]), (first + i, first + j)
        if best > 0 and workload.load[list(pair)].sum() <= workload.room[broker]:
            put(pair[0], broker)
            put(pair[1], broker)
    for user in np.flatnonzero(broker_of < 0).tolist():
        traffic = sent[user] @ audience + taken[user] @ rate
        worth = traffic / np.maximum(count, 1) / workload.access[user]
        worth[used + workload.load[user] > workload.room] = -1.0
        put(user, int(worth.argmax()))
    return broker_of


def steiner(workload: Workload, seed: int = 0) -> Array:
    """Open brokers for each channel while that pays, weigh the links of users, and draw by weight."""
    core, brokers = workload.core, np.arange(workload.num_brokers)
    weights = np.zeros(workload.access.shape)
    ptr, audience = workload.audience
    for channel in range(workload.num_channels):
        users = audience[ptr[channel] : ptr[channel + 1]]
        if not len(users) or not workload.demand.channel_rate[channel]:
            continue
        access = workload.access[users]
        opened = [int(access.sum(axis=0).argmin())]
        while len(opened) < len(brokers):
            near = access[:, opened].min(axis=1)
            saving = np.maximum(near[:, None] - access, 0.0).sum(axis=0)
            held = np.array(opened)
            closed = np.setdiff1d(brokers, held)
            weight = tree_weights(core, held[1:], held[:1])[0]
            gain = saving[closed] - (tree_weights(core, held, closed) - weight)
            best = int(gain.argmax())
            if gain[best] <= 1e-12 * (saving[closed[best]] + weight):
                break
            opened.append(int(closed[best]))
        held = np.sort(np.array(opened))
        nearest = held[access[:, held].argmin(axis=1)]
        np.add.at(weights, (users, nearest), workload.demand.channel_rate[channel])
    chance = np.random.Generator(np.random.PCG64(seed)).random(workload.num_users)
    used, broker_of = np.zeros(len(brokers)), np.zeros(workload.num_users, dtype=np.int32)
    for user in range(workload.num_users):
        roomy = used + workload.load[user] <= workload.room
        own = np.where(roomy, weights[user], 0.0)
        if own.any():
            chosen = int(np.searchsorted(np.cumsum(own), chance[user] * own.sum(), side="right"))
        else:
            chosen = int(np.where(roomy, workload.access[user], np.inf).argmin())
        broker_of[user] = chosen
        used[chosen] += workload.load[user]
    return broker_of
