"""Steiner mixing: a tree for each channel, then one broker for each user out of those trees (cbps, IV)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.kernels.opening import open_brokers
from meshwright.content.kernels.sequential import draw
from meshwright.content.room import placed

if TYPE_CHECKING:
    from meshwright.content.demand import Floats
    from meshwright.content.workload import Workload
    from meshwright.interest import Ids


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
