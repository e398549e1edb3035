"""Clustering: users with much traffic between them to the same broker (cbps, Algorithm 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import frozen
from meshwright.content.assignment.kernels.clustering import best_pair, gather, join, promises
from meshwright.content.assignment.packing import placed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets
    from meshwright.content.model.demand import Floats
    from meshwright.content.model.workload import Workload

FORERUNNERS = 32
"""Of so many users all pairs are tried first, so that few of the others are worth looking at."""
MOST_LOOKS = 200_000_000
"""Beyond so many looks at a channel of a subscription, promises are estimated from above."""
SLACK = 1e-9
"""How much rounding may make of a pair that is as good as the best, relatively to what users send."""


class _Traffic(NamedTuple):
    """Who sends and wants what, as kernels take it."""

    sent_ptr: Offsets
    sent_channels: Ids
    sent: Floats
    taken_ptr: Offsets
    taken: Ids


def clustering(workload: Workload) -> Ids:
    """Seed each broker with a pair of users, then put each user where most of its traffic is for its cost.

    Brokers are seeded in turn, each with the free pair of the largest traffic between both over the sum of
    both access costs, if it fits; a broker for which nobody is left starts empty. Then users come in turn:
    each to the broker with room and the largest mean traffic to those already there, over its access cost.
    (The paper prints argmin for argmax; with the sum of traffic for its mean, the largest brokers attract
    everybody.) Ties go to the cheaper access, then to the first broker.

    Raises
    ------
    InputError
        If some user finds no room.
    """
    demand = workload.demand
    traffic = _Traffic(
        demand.ptr, demand.channels, demand.sent, workload.subscription_ptr, workload.subscription_channels
    )
    shape = (workload.num_channels, workload.num_brokers)
    broker_of = np.full(workload.num_users, -1, dtype=np.int32)
    load, members = np.zeros(workload.num_brokers), np.zeros(workload.num_brokers, dtype=np.int64)
    rate, audience = np.zeros(shape), np.zeros(shape)
    promise = _promises(workload, traffic)
    for broker in range(workload.num_brokers):
        pair = _seeds(workload, traffic, broker, promise, np.flatnonzero(broker_of < 0))
        if pair is None:
            break  # no traffic between those who are left: nor for any later broker
        if workload.load[list(pair)].sum() <= workload.room[broker]:
            for user in pair:
                join(user, broker, workload.load, *traffic, load, members, rate, audience, broker_of)
    stuck = gather(
        workload.access,
        workload.load,
        workload.room,
        *traffic,
        load,
        members,
        rate,
        audience,
        np.zeros(workload.num_brokers),
        broker_of,
    )
    return placed(workload, broker_of, stuck)


def _seeds(
    workload: Workload, traffic: _Traffic, broker: int, promise: Floats, free: NDArray[np.int64]
) -> tuple[int, int] | None:
    """Return the free pair with the largest traffic for its cost; None if no two exchange anything."""
    if len(free) < 2:
        return None
    cost, hope = workload.access[free, broker], promise[free]
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(hope > 0, hope / cost, 0.0)
    pair = np.full(2, -1, dtype=np.int64)

    def look(users: NDArray[np.int64], surplus: Floats, first: int) -> float:
        order = np.argsort(-surplus, kind="stable")
        chosen, spare = frozen(users[order], np.int64), frozen(surplus[order], np.float64)
        found: float = best_pair(broker, workload.access, promise, chosen, spare, first, *traffic, pair)
        return found

    few = min(FORERUNNERS, len(free))
    ahead = np.argpartition(-score, few - 1)[:few]
    reached = look(free[ahead], hope[ahead], few)
    width = 1
    while reached == 0.0 and width < len(free):  # little traffic in all: look at everybody's, from the top
        reached = look(free, hope, width)
        width *= 8
    if reached == 0.0:
        return None
    surplus = np.where(cost == 0, hope, -np.inf) if np.isinf(reached) else hope - reached * cost
    surplus = surplus + SLACK * float(hope.max())
    worth = np.flatnonzero(surplus + surplus.max() >= 0)
    look(free[worth], surplus[worth], len(worth))
    return int(pair[0]), int(pair[1])


def _promises(workload: Workload, traffic: _Traffic) -> Floats:
    """Return at least what each user sends at most to any other."""
    rows = np.split(workload.subscription_channels, workload.subscription_ptr[1:-1])
    sets = [np.frombuffer(row, dtype=np.int32) for row in dict.fromkeys(row.tobytes() for row in rows)]
    sizes = np.array([len(one) for one in sets], dtype=np.int64)
    promise = np.zeros(workload.num_users)
    if workload.num_users * int(sizes.sum()) <= MOST_LOOKS:
        ptr = frozen(np.concatenate(([0], np.cumsum(sizes))), np.int64)
        held = frozen(np.concatenate([*sets, np.zeros(0, dtype=np.int32)]), np.int32)
        row = np.zeros(workload.num_channels)
        promises(traffic.sent_ptr, traffic.sent_channels, traffic.sent, ptr, held, row, promise)
        return promise
    highest = np.zeros(workload.num_users)
    sender = np.repeat(np.arange(workload.num_users), np.diff(traffic.sent_ptr))
    np.maximum.at(highest, sender, traffic.sent)
    return np.minimum(workload.demand.outgoing, highest * int(sizes.max(initial=0)))
