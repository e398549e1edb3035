"""Steiner mixing: our reading with a tree for each channel, and the literal Algorithm 3 of cbps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.assignment.kernels.sequential import draw
from meshwright.content.assignment.kernels.steiner import literal_weights, open_brokers, shortest_ways
from meshwright.content.assignment.packing import placed

if TYPE_CHECKING:
    from collections.abc import Callable

    from meshwright.arrays import Ids
    from meshwright.content.model.demand import Floats
    from meshwright.content.model.workload import Workload


def steiner(workload: Workload, *, argmax: bool = False, seed: int = 0) -> Ids:
    """Build each channel's tree of brokers and subscribers, and mix the trees.

    The root of a channel's tree is the broker with the cheapest links to all its subscribers together;
    further brokers are opened while their saving in access costs exceeds the growth of the spanning tree;
    each subscriber is at its cheapest open broker. A user's link to a broker weighs what it carries over all
    channels. Users come in turn: each one's broker is drawn among those with room by these weights. One that
    subscribes to nothing is weighed by where it publishes, at its cheapest open broker of each channel; one
    with no weight at all, or none where there is room, takes the cheapest broker with room.

    Parameters
    ----------
    workload
        The users and brokers.
    argmax
        Take the heaviest link instead of drawing.
    seed
        The same seed gives the same assignment.

    Raises
    ------
    InputError
        If some user finds no room.
    """
    return mixed(workload, channel_tree_weights(workload), argmax=argmax, seed=seed)


def mixed(workload: Workload, weights: Floats, *, argmax: bool, seed: int) -> Ids:
    """Give each user in turn one of its weighted brokers."""
    chance = np.random.Generator(np.random.PCG64(seed)).random(workload.num_users)
    broker_of = np.full(workload.num_users, -1, dtype=np.int32)
    load = np.zeros(workload.num_brokers)
    stuck = draw(
        weights, chance, bool(argmax), workload.access, workload.load, workload.room, load, broker_of
    )
    return placed(workload, broker_of, stuck)


def channel_tree_weights(workload: Workload) -> Floats:
    """Return what the links between users and brokers carry by the channels' trees: users × brokers."""
    ptr, audience = workload.audience
    brokers = workload.num_brokers
    attached = np.zeros(len(audience), dtype=np.int32)
    widest = int(np.diff(ptr).max(initial=0))
    order, up = np.zeros(brokers, dtype=np.int64), np.zeros(brokers, dtype=np.int64)
    open_brokers(
        workload.core,
        workload.access,
        ptr,
        audience,
        workload.demand.channel_rate,
        attached,
        np.zeros(widest),
        np.zeros(brokers),
        np.zeros(brokers, dtype=np.bool_),
        order,
        up,
        np.zeros(brokers),
        np.zeros(brokers),
    )
    weights = np.zeros((workload.num_users, brokers))
    rates = np.repeat(workload.demand.channel_rate, np.diff(ptr))
    known = attached >= 0
    np.add.at(weights, (audience[known], attached[known]), rates[known])
    _weigh_publishers(workload, attached, weights)
    return weights


def _weigh_publishers(workload: Workload, attached: Ids, weights: Floats) -> None:
    """Weigh the links of users who subscribe to nothing by what they send."""
    demand, ptr = workload.demand, workload.audience[0]
    only = np.flatnonzero((np.diff(workload.subscription_ptr) == 0) & (demand.outgoing > 0))
    for user in only.tolist():
        for slot in range(demand.ptr[user], demand.ptr[user + 1]):
            channel = demand.channels[slot]
            opened = np.unique(attached[ptr[channel] : ptr[channel + 1]])
            weights[user, opened[np.argmin(workload.access[user, opened])]] += demand.sent[slot]


def steiner_literal(workload: Workload, *, argmax: bool = False, seed: int = 0) -> Ids:
    """Mix the trees of Algorithm 3, one for each channel and each of its publishers.

    From the publisher on, always the nearest subscriber is connected, by the cheapest way from a broker in
    the tree. Where no way is cheaper than the direct link, all subscribers end up at the publisher's own
    first broker: each tree is a star, and their mixture is about as good as chance. `steiner` is what the
    paper's text describes.

    Raises
    ------
    InputError
        If some user finds no room.
    """
    weights = publisher_tree_weights(workload)
    assert weights is not None
    return mixed(workload, weights, argmax=argmax, seed=seed)


def publisher_tree_weights(workload: Workload, *, late: Callable[[], bool] | None = None) -> Floats | None:
    """Return what the links between users and brokers carry by all trees: users × brokers.

    With many users that takes a while: `late` is asked before each channel, and if it is, that is all (None).
    """
    demand, (ptr, audience) = workload.demand, workload.audience
    users, brokers = workload.num_users, workload.num_brokers
    order = np.argsort(demand.channels, kind="stable")
    sender = np.repeat(np.arange(users, dtype=np.int32), np.diff(demand.ptr))
    counts = np.bincount(demand.channels, minlength=workload.num_channels)
    publisher_ptr = np.concatenate(([0], np.cumsum(counts)))
    far, via = np.zeros((users, brokers)), np.zeros((users, brokers), dtype=np.int32)
    shortest_ways(workload.core, workload.access, far, via)
    widest = int(np.diff(ptr).max(initial=0))
    weights = np.zeros((users, brokers))
    state = (
        workload.access,
        far,
        via,
        ptr,
        audience,
        publisher_ptr,
        sender[order],
        demand.sent[order],
        np.zeros((brokers, widest)),
        np.zeros((brokers, widest), dtype=np.int32),
        np.zeros(brokers, dtype=np.int32),
        np.zeros(brokers),
        np.zeros(brokers),
        np.zeros(brokers),
        np.zeros(brokers, dtype=np.bool_),
        np.zeros(widest),
        np.zeros(widest, dtype=np.int32),
        np.zeros(widest, dtype=np.bool_),
        np.zeros(widest, dtype=np.bool_),
        np.zeros(widest, dtype=np.bool_),
        np.zeros(widest),
        np.full(users, -1, dtype=np.int64),
        np.zeros(len(order), dtype=np.int32),
        weights,
    )
    for channel in range(workload.num_channels):
        if late is not None and late():
            return None
        literal_weights(channel, *state)
    return weights
