"""Assign users one after the other: at random, packing, clustering (cbps, Alg. 1, 2), and Steiner mixing.

Steiner mixing builds trees, weighs links by what they carry, and draws each user's broker by the weights.
There are two variants. `mixing` is the paper's Algorithm 3: a tree for each channel and publisher. `steiner`
is ours, and costs less: a tree for each channel, whose brokers open where they save most. Both share the
second phase, `draw_brokers`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Floats, Ids, frozen
from meshwright.content.kernels import Audience, Traffic, traffic_of
from meshwright.content.workload import Workload
from meshwright.errors import InputError
from meshwright.formatting import amount


def random(workload: Workload, *, seed: int = 0) -> Ids:
    """Put each user on a random broker among those with room, all equally likely.

    Raises
    ------
    InputError
        If no broker has room for some user.
    """
    from meshwright.content.kernels.sequential import scatter

    chance = np.random.Generator(np.random.PCG64(seed)).random(workload.num_users)
    return place_in_turn(workload, scatter, chance)


def packing(workload: Workload) -> Ids:
    """Put each user in turn on the broker with room whose access link is cheapest.

    The printed algorithm swaps the names of its two sets and never updates the loads; we follow its text.
    Ties go to the first broker.

    Raises
    ------
    InputError
        If no broker has room for some user.
    """
    from meshwright.content.kernels.sequential import pack

    return place_in_turn(workload, pack, workload.access)


def place_in_turn(workload: Workload, kernel: Callable[..., int], *choices: object) -> Ids:
    """Place users one after the other by a kernel of `sequential`; `choices` are its first arguments."""
    broker_of = np.full(workload.num_users, -1, dtype=np.int32)
    stuck = kernel(*choices, workload.load, workload.room, np.zeros(workload.num_brokers), broker_of)
    return require_placed(workload, broker_of, stuck)


def require_placed(workload: Workload, broker_of: Ids, stuck: int) -> Ids:
    """Return the assignment that a kernel has made, unless a user is `stuck` (−1: nobody is).

    Raises
    ------
    InputError
        If no broker has room for that user; the error says how much room is left.
    """
    if stuck < 0:
        return broker_of
    load = np.zeros(workload.num_brokers)
    done = broker_of >= 0
    np.add.at(load, broker_of[done], workload.load[done])
    left = np.maximum(workload.capacity - load, 0.0)
    most = int(np.argmax(left))
    raise InputError(
        f"no broker has room for user {workload.user_names[stuck].as_py()!r}, whose load is "
        f"{amount(float(workload.load[stuck]))}: at most {amount(float(left[most]))} is left, at broker "
        f"{workload.broker_names[most].as_py()!r}; raise capacities, or add brokers"
    )


FORERUNNERS = 32
"""Number of users whose pairs are tried first; the best of these pairs rules out most other users."""
MOST_LOOKS = 200_000_000
"""If exact send bounds would look up more rates than this, cheaper and looser bounds are used."""
SLACK = 1e-9
"""Rounding error, as a fraction of the largest send bound, below which two pairs count as equally good."""


def clustering(workload: Workload, *, by_sum: bool = False) -> Ids:
    """Seed each broker with a pair of users, then put each user where most of its traffic is for its cost.

    Brokers are seeded in turn. Each gets the free pair of users with the largest traffic between them over
    the sum of both access costs, if that pair fits; once no two free users exchange anything, the remaining
    brokers start empty. Then each user in turn goes to the broker with room that has the largest *mean*
    traffic to the users already there, over its access cost. Ties go to the cheaper access, then to the first
    broker.

    The mean is ours. The paper takes the *sum* of the traffic, as `by_sum` does; then the largest brokers
    attract everybody. It also prints argmin where its text asks for the maximum.

    Parameters
    ----------
    workload
        The users and brokers.
    by_sum
        Rank brokers by the sum of the traffic, as the paper does, instead of its mean.

    Raises
    ------
    InputError
        If no broker has room for some user.
    """
    from meshwright.content.kernels.sequential import Clusters, join, join_clusters

    traffic = traffic_of(workload)
    shape = (workload.num_channels, workload.num_brokers)
    clusters = Clusters(
        broker_of=np.full(workload.num_users, -1, dtype=np.int32),
        load=np.zeros(workload.num_brokers),
        members=np.zeros(workload.num_brokers, dtype=np.int64),
        rate=np.zeros(shape),
        audience=np.zeros(shape),
        exchanged=np.zeros(workload.num_brokers),
    )
    send_bound = _send_bounds(workload, traffic)
    for broker in range(workload.num_brokers):
        free = np.flatnonzero(clusters.broker_of < 0)
        pair = _best_free_pair(workload, traffic, broker, send_bound, free)
        # Without traffic between free users there is no pair for any later broker either.
        if pair is None:
            break
        if workload.load[list(pair)].sum() <= workload.room[broker]:
            for user in pair:
                join(user, broker, workload.load, traffic, clusters)
    stuck = join_clusters(workload.access, workload.load, workload.room, traffic, clusters, bool(by_sum))
    return require_placed(workload, clusters.broker_of, stuck)


def _best_free_pair(
    workload: Workload, traffic: Traffic, broker: int, send_bound: Floats, free: NDArray[np.int64]
) -> tuple[int, int] | None:
    """Return the free pair with the largest traffic for its cost; None if no two users exchange anything."""
    from meshwright.content.kernels.sequential import best_pair

    if len(free) < 2:
        return None
    cost, bound = workload.access[free, broker], send_bound[free]
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(bound > 0, bound / cost, 0.0)
    pair = np.full(2, -1, dtype=np.int64)

    def best_ratio(users: NDArray[np.int64], surplus: Floats, first: int) -> float:
        order = np.argsort(-surplus, kind="stable")
        chosen, spare = frozen(users[order], np.int64), frozen(surplus[order], np.float64)
        ratio: float = best_pair(broker, workload.access, send_bound, chosen, spare, first, traffic, pair)
        return ratio

    # First a good pair among a few promising users: a ratio that the best pair reaches at least.
    few = min(FORERUNNERS, len(free))
    ahead = np.argpartition(-score, few - 1)[:few]
    reached = best_ratio(free[ahead], bound[ahead], few)
    # If none of these exchange anything, look at all users, pairing ever more of the best ones with the rest.
    width = 1
    while reached == 0.0 and width < len(free):
        reached = best_ratio(free, bound, width)
        width *= 8
    if reached == 0.0:
        return None
    # Then the best pair of all. Users whose surplus does not suffice even with the best partner drop out.
    surplus = np.where(cost == 0, bound, -np.inf) if np.isinf(reached) else bound - reached * cost
    surplus = surplus + SLACK * float(bound.max())
    worth = np.flatnonzero(surplus + surplus.max() >= 0)
    best_ratio(free[worth], surplus[worth], len(worth))
    return int(pair[0]), int(pair[1])


def _send_bounds(workload: Workload, traffic: Traffic) -> Floats:
    """Return, for each user, an upper bound on what it sends to any one other user."""
    from meshwright.content.kernels.sequential import bound_sending

    rows = np.split(workload.subscription_channels, workload.subscription_ptr[1:-1])
    sets = [np.frombuffer(row, dtype=np.int32) for row in dict.fromkeys(row.tobytes() for row in rows)]
    sizes = np.array([len(one) for one in sets], dtype=np.int64)
    send_bound = np.zeros(workload.num_users)
    if workload.num_users * int(sizes.sum()) <= MOST_LOOKS:
        ptr = frozen(np.concatenate(([0], np.cumsum(sizes))), np.int64)
        channels = frozen(np.concatenate([*sets, np.zeros(0, dtype=np.int32)]), np.int32)
        bound_sending(traffic, ptr, channels, np.zeros(workload.num_channels), send_bound)
        return send_bound
    # Nobody receives more than all of it, or than the highest rate on each of its channels.
    highest = np.zeros(workload.num_users)
    sender = np.repeat(np.arange(workload.num_users), np.diff(traffic.sent_ptr))
    np.maximum.at(highest, sender, traffic.sent)
    return np.minimum(workload.demand.outgoing, highest * int(sizes.max(initial=0)))


def steiner(workload: Workload, *, argmax: bool = False, seed: int = 0) -> Ids:
    """Build one tree of brokers and subscribers for each channel, and mix the trees. This reading is ours.

    The root of a channel's tree is the broker with the least access cost for all its subscribers. Further
    brokers open while their saving in access cost exceeds the growth of the spanning tree. Each subscriber is
    on its cheapest open broker. A link between a user and a broker weighs what it carries over all channels.

    Then users come in turn, and each one's broker is drawn among those with room by these weights. A user
    without subscriptions is weighed by what it publishes, on its cheapest open broker of each channel. A user
    without any weight on a broker with room takes the cheapest broker with room.

    Parameters
    ----------
    workload
        The users and brokers.
    argmax
        Take the broker with the heaviest link instead of drawing one.
    seed
        The same seed gives the same assignment.

    Raises
    ------
    InputError
        If no broker has room for some user.
    """
    chance = np.random.Generator(np.random.PCG64(seed)).random(workload.num_users)
    return draw_brokers(workload, channel_tree_weights(workload), argmax=argmax, chance=chance)


def mixing(workload: Workload, *, argmax: bool = False, shuffled: bool = True, seed: int = 0) -> Ids:
    """Mix the trees of the paper: one for each channel and publisher, in which a user keeps its broker.

    This is Algorithm 3 as section IV-B means it. From the publisher on, the nearest subscriber is always
    connected next, by its cheapest path from a broker in the tree. On one channel a user has one broker,
    which the trees of all publishers share. The paper states no order of publishers; ours is random on every
    channel.

    Parameters
    ----------
    workload, argmax
        As for `steiner`.
    shuffled
        Whether the order of publishers is random; otherwise they come by index. Then one user starts most
        trees, and its broker fills up.
    seed
        The same seed gives the same order of publishers, and the same assignment.

    Raises
    ------
    InputError
        If no broker has room for some user.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    weights = mixing_weights(workload, rng.random(workload.num_channels) * shuffled)
    return draw_brokers(workload, weights, argmax=argmax, chance=rng.random(workload.num_users))


def draw_brokers(workload: Workload, weights: Floats, *, argmax: bool, chance: Floats) -> Ids:
    """Give each user in turn one of its weighted brokers (cbps, section IV-B, phase 2)."""
    from meshwright.content.kernels.sequential import draw

    return place_in_turn(workload, draw, weights, chance, bool(argmax), workload.access)


def channel_tree_weights(workload: Workload) -> Floats:
    """Return what links between users and brokers carry in the channels' trees: users × brokers."""
    from meshwright.content.kernels.broker_trees import Opening, empty_tree, open_brokers

    ptr, subscribers = workload.audience
    brokers = workload.num_brokers
    attached = np.zeros(len(subscribers), dtype=np.int32)
    open_brokers(
        workload.core,
        workload.access,
        Audience(ptr, subscribers),
        workload.demand.channel_rate,
        attached,
        Opening(
            nearest=np.zeros(int(np.diff(ptr).max(initial=0))),
            saving=np.zeros(brokers),
            opened=np.zeros(brokers, dtype=np.bool_),
        ),
        empty_tree(brokers),
    )
    weights = np.zeros((workload.num_users, brokers))
    rates = np.repeat(workload.demand.channel_rate, np.diff(ptr))
    known = attached >= 0
    np.add.at(weights, (subscribers[known], attached[known]), rates[known])
    _weigh_mere_publishers(workload, attached, weights)
    return weights


def _weigh_mere_publishers(workload: Workload, attached: Ids, weights: Floats) -> None:
    """Weigh the links of users without subscriptions by what they send."""
    demand, ptr = workload.demand, workload.audience[0]
    only = np.flatnonzero((np.diff(workload.subscription_ptr) == 0) & (demand.outgoing > 0))
    for user in only.tolist():
        for slot in range(demand.ptr[user], demand.ptr[user + 1]):
            channel = demand.channels[slot]
            opened = np.unique(attached[ptr[channel] : ptr[channel + 1]])
            weights[user, opened[np.argmin(workload.access[user, opened])]] += demand.sent[slot]


def mixing_weights(workload: Workload, order: Floats) -> Floats:
    """Return what links between users and brokers carry in the trees of all publishers: users × brokers.

    `order` has a number from 0 to 1 for each channel: how far down its list of publishers the first tree is.
    """
    from meshwright.content.kernels.mixing import GrownTree, Publishers, add_mixing_weights

    demand, brokers = workload.demand, workload.num_brokers
    audience = Audience(*workload.audience)
    by_channel = np.argsort(demand.channels, kind="stable")
    sender = np.repeat(np.arange(workload.num_users, dtype=np.int32), np.diff(demand.ptr))
    counts = np.bincount(demand.channels, minlength=workload.num_channels)
    ptr = np.concatenate(([0], np.cumsum(counts)))
    publishers = Publishers(
        ptr=ptr,
        users=sender[by_channel],
        rate=demand.sent[by_channel],
        first=ptr[:-1] + (order * counts).astype(np.int64),
    )
    widest = int(np.diff(audience.ptr).max(initial=0))
    tree = GrownTree(
        apart=np.zeros(brokers),
        entered=np.zeros(brokers, dtype=np.bool_),
        nearer=np.zeros(brokers + 1, dtype=np.int64),
        cost=np.zeros(widest),
        broker=np.zeros(widest, dtype=np.int64),
        attached=np.zeros(widest, dtype=np.bool_),
        wanted=np.full(workload.num_users, -1, dtype=np.int64),
    )
    weights = np.zeros((workload.num_users, brokers))
    add_mixing_weights(workload.core, workload.access, audience, publishers, tree, weights)
    return weights
