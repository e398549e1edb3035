"""Steiner mixing: build trees, weigh links by what they carry, and draw each user's broker by the weights.

There are two variants. `steiner_literal` is the paper's Algorithm 3: a tree for each channel and publisher.
`steiner` is our own reading in its spirit (cbps, section IV-B): a tree for each channel. Its results do not
reproduce those of the paper. Both share the second phase, `draw_brokers`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import Floats, Ids
from meshwright.content.assignment.baselines import place_in_turn
from meshwright.content.assignment.kernels import Audience
from meshwright.content.model.workload import Workload

if TYPE_CHECKING:
    from meshwright.content.assignment.kernels.steiner_literal import LiteralMixing, Paths, Publishers


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
    return draw_brokers(workload, channel_tree_weights(workload), argmax=argmax, seed=seed)


def steiner_literal(workload: Workload, *, argmax: bool = False, seed: int = 0) -> Ids:
    """Mix the trees of the paper's Algorithm 3, one for each channel and each of its publishers.

    From the publisher on, the nearest subscriber is always connected next, by its cheapest path from a broker
    in the tree. Where no path is cheaper than the direct link, all subscribers end up on the publisher's
    first broker: every tree is a star, and the mixture is about as good as a random assignment.

    Parameters
    ----------
    workload, argmax, seed
        As for `steiner`.

    Raises
    ------
    InputError
        If no broker has room for some user.
    """
    weights = publisher_tree_weights(workload)
    assert weights is not None
    return draw_brokers(workload, weights, argmax=argmax, seed=seed)


def draw_brokers(workload: Workload, weights: Floats, *, argmax: bool, seed: int) -> Ids:
    """Give each user in turn one of its weighted brokers (cbps, section IV-B, phase 2)."""
    from meshwright.content.assignment.kernels.sequential import draw

    chance = np.random.Generator(np.random.PCG64(seed)).random(workload.num_users)
    return place_in_turn(workload, draw, weights, chance, bool(argmax), workload.access)


def channel_tree_weights(workload: Workload) -> Floats:
    """Return what links between users and brokers carry in the channels' trees: users × brokers."""
    from meshwright.content.assignment.kernels.broker_trees import Opening, empty_tree, open_brokers

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


def publisher_tree_weights(workload: Workload, *, late: Callable[[], bool] | None = None) -> Floats | None:
    """Return what links between users and brokers carry in the trees of all publishers: users × brokers.

    With many users this takes a while. `late` is called before each channel; once it returns True, the
    function gives up and returns None.
    """
    from meshwright.content.assignment.kernels.steiner_literal import Paths, add_literal_weights, find_paths

    users, brokers = workload.num_users, workload.num_brokers
    paths = Paths(cost=np.zeros((users, brokers)), last=np.zeros((users, brokers), dtype=np.int32))
    find_paths(workload.core, workload.access, paths)
    mixing = _literal_mixing(workload, paths)
    weights = np.zeros((users, brokers))
    channels = workload.num_channels
    # Without a time limit one call does it all: each call from Python takes as long as a small channel.
    at_once = channels if late is None else 1
    for first in range(0, channels, max(at_once, 1)):
        if late is not None and late():
            return None
        add_literal_weights(first, first + at_once, mixing, weights)
    return weights


def _publishers(workload: Workload) -> Publishers:
    """Return the publishers of each channel, with what they send."""
    from meshwright.content.assignment.kernels.steiner_literal import Publishers

    demand = workload.demand
    order = np.argsort(demand.channels, kind="stable")
    sender = np.repeat(np.arange(workload.num_users, dtype=np.int32), np.diff(demand.ptr))
    counts = np.bincount(demand.channels, minlength=workload.num_channels)
    ptr = np.concatenate(([0], np.cumsum(counts)))
    return Publishers(ptr=ptr, users=sender[order], rate=demand.sent[order])


def _literal_mixing(workload: Workload, paths: Paths) -> LiteralMixing:
    """Return the input of the kernels, with scratch for channels of the largest audience."""
    from meshwright.content.assignment.kernels.steiner_literal import GrownTree, LiteralMixing, Nearest, Paths

    brokers = workload.num_brokers
    audience = Audience(*workload.audience)
    widest = int(np.diff(audience.ptr).max(initial=0))
    return LiteralMixing(
        access=workload.access,
        paths=paths,
        audience=audience,
        publishers=_publishers(workload),
        near=Paths(cost=np.zeros((brokers, widest)), last=np.zeros((brokers, widest), dtype=np.int32)),
        nearest=Nearest(
            user=np.zeros(brokers, dtype=np.int32), cost=np.zeros(brokers), next_cost=np.zeros(brokers)
        ),
        tree=GrownTree(
            entered=np.zeros(brokers, dtype=np.bool_),
            distance=np.zeros(widest),
            parent=np.zeros(widest, dtype=np.int32),
            attached=np.zeros(widest, dtype=np.bool_),
            leading=np.zeros(widest, dtype=np.bool_),
        ),
        carried=np.zeros(brokers),
        own=np.zeros(widest),
        apart=np.zeros(widest, dtype=np.bool_),
        place_of=np.full(workload.num_users, -1, dtype=np.int64),
        first_of=np.zeros(len(workload.demand.channels), dtype=np.int32),
    )
