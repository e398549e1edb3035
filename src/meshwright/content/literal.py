"""The paper's Algorithm 3 to the letter, for comparison: a tree for each channel and publisher."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.kernels.literal import literal_weights, shortest_ways
from meshwright.content.steiner import mixed

if TYPE_CHECKING:
    from collections.abc import Callable

    from meshwright.content.demand import Floats
    from meshwright.content.workload import Workload
    from meshwright.interest import Ids


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
