"""What an assignment costs: access links and core links, where the cost arises, and what a move changes.

Each user's traffic pays for its access link. A message that a broker's user sends on a channel crosses the
core by the minimum spanning tree of that broker and all brokers with a subscriber of the channel, each link
once (cbps, section II). All sources among these brokers share one tree; a source outside of them adds itself
to it. So one tree is grown for each distinct set of brokers, and each outside source costs one pass over it.

In the paper's acyclic variation, all brokers are connected by one tree that every message takes
(`broker_tree`). `RunningCost` is an assignment that changes: what a move would cost, and the total after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meshwright.arrays import Floats, Ids, frozen
from meshwright.content.kernels import traffic_of
from meshwright.content.workload import TOLERANCE, Workload
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.content.kernels.assignment_cost import AssignmentState


Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cost:
    """The cost of an assignment, and what it consists of."""

    workload: Workload
    broker_of: Ids
    """The broker of each user."""
    rate: Floats
    """Channels × brokers: what the broker's users send on the channel."""
    audience: Ids
    """Channels × brokers: how many of the broker's users subscribe to the channel."""
    weight: Floats
    """Channels × brokers: the weight of the tree that messages from the broker take on the channel."""

    @cached_property
    def access(self) -> float:
        """The cost of all access links: C₁."""
        return float(self.of_user.sum())

    @cached_property
    def core(self) -> float:
        """The cost of all core links: C₂."""
        return float(self.of_channel.sum())

    @property
    def total(self) -> float:
        """The cost of all links."""
        return self.access + self.core

    @cached_property
    def of_user(self) -> Floats:
        """The cost of each user's access link."""
        load = self.workload.load
        costs: Floats = load * self.workload.access[np.arange(len(load)), self.broker_of]
        return costs

    @cached_property
    def of_channel(self) -> Floats:
        """The core cost of each channel."""
        costs: Floats = np.einsum("cb,cb->c", self.rate, self.weight)
        return costs

    @cached_property
    def of_broker(self) -> Floats:
        """The cost of each broker: its users' access links, and the core links that their messages take."""
        users = np.bincount(self.broker_of, weights=self.of_user, minlength=self.workload.num_brokers)
        costs: Floats = users + np.einsum("cb,cb->b", self.rate, self.weight)
        return costs

    @cached_property
    def of_link(self) -> Floats:
        """The cost of each core link: brokers × brokers, above the diagonal."""
        return link_traffic(self) * self.workload.core

    @cached_property
    def load(self) -> Floats:
        """The traffic of each broker's users, in and out."""
        return np.bincount(
            self.broker_of, weights=self.workload.load, minlength=self.workload.num_brokers
        ).astype(np.float64)

    @property
    def max_load(self) -> float:
        """The largest load of a broker as a fraction of its capacity.

        A broker without capacity counts as 0 if it has no load, otherwise as infinite.
        """
        capacity = self.workload.capacity
        shares = np.divide(self.load, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
        return float(np.inf if (self.load[capacity == 0] > 0).any() else shares.max(initial=0.0))

    @property
    def within_capacity(self) -> bool:
        """Whether every broker can carry its load."""
        return bool((self.load <= self.workload.capacity * (1 + TOLERANCE)).all())


def cost(workload: Workload, broker_of: ArrayLike) -> Cost:
    """Compute what an assignment of users to brokers costs.

    Parameters
    ----------
    workload
        The users and brokers.
    broker_of
        The id of each user's broker. Capacities are not checked: see `Cost.within_capacity`.

    Raises
    ------
    InputError
        If that is not one broker for each user.
    """
    from meshwright.content.kernels.assignment_cost import tally

    chosen = workload.check_assignment(broker_of)
    shape = (workload.num_channels, workload.num_brokers)
    rate, audience = np.zeros(shape), np.zeros(shape, dtype=np.int32)
    tally(chosen, traffic_of(workload), rate, audience)
    set_of_channel, sets = distinct_sets(audience)
    weight = tree_weights(workload, sets)[set_of_channel]
    return Cost(workload, broker_of=chosen, rate=rate, audience=audience, weight=weight)


def distinct_sets(audience: Ids) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the number of each channel's set of brokers with subscribers, and the distinct sets as rows."""
    held = audience > 0
    packed = np.packbits(held, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, max(packed.shape[1], 1))))[:, 0]
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)
    return which, np.ascontiguousarray(held[first], dtype=np.uint8)


def tree_weights(workload: Workload, sets: NDArray[np.uint8]) -> Floats:
    """Return, for each set and broker, the weight of the minimum spanning tree of both together."""
    from meshwright.content.kernels.broker_trees import empty_tree, weights_of_sets

    weights = np.zeros((len(sets), workload.num_brokers))
    weights_of_sets(workload.core, frozen(sets, np.uint8), empty_tree(workload.num_brokers), weights)
    return weights


class CoreTrees(NamedTuple):
    """The trees by which messages cross the core; all fields but the first have a row for each link."""

    set_of_channel: NDArray[np.int64]
    """The set of brokers of each channel; channels with the same brokers share their trees."""
    tree_set: Ids
    """The set of brokers that the link's tree connects."""
    source: Ids
    """The broker that the tree starts from; −1 for the tree that all brokers of the set share."""
    u: Ids
    """The smaller end of the link."""
    v: Ids
    """The larger end of the link."""


def link_traffic(cost: Cost) -> Floats:
    """Return the traffic on each core link, both ways together: brokers × brokers, above the diagonal."""
    return _walk_trees(cost, listed=0)[1]


def core_trees(cost: Cost) -> CoreTrees:
    """Return the trees that carry traffic."""
    # The first walk only counts the links, the second one lists them.
    links, _, _ = _walk_trees(cost, listed=0)
    return _walk_trees(cost, listed=links)[2]


def _walk_trees(cost: Cost, *, listed: int) -> tuple[int, Floats, CoreTrees]:
    """Return the number of links of all trees, the traffic on core links, and the first `listed` links."""
    from meshwright.content.kernels.assignment_cost import TreeLinks
    from meshwright.content.kernels.assignment_cost import link_traffic as add_traffic
    from meshwright.content.kernels.broker_trees import empty_tree

    set_of_channel, sets = distinct_sets(cost.audience)
    rate = np.zeros(sets.shape)
    np.add.at(rate, set_of_channel, cost.rate)
    brokers = cost.workload.num_brokers
    traffic = np.zeros((brokers, brokers))
    links = TreeLinks(
        tree_set=np.zeros(listed, dtype=np.int32),
        source=np.zeros(listed, dtype=np.int32),
        ends=np.zeros((listed, 2), dtype=np.int32),
    )
    held = frozen(sets, np.uint8)
    count = add_traffic(cost.workload.core, held, rate, empty_tree(brokers), traffic, links)
    trees = CoreTrees(set_of_channel, links.tree_set, links.source, links.ends[:, 0], links.ends[:, 1])
    return count, traffic, trees


@dataclass(frozen=True, eq=False)
class BrokerTree:
    """A tree of all brokers with the traffic on its links."""

    u: Numbers
    """The smaller end of each link."""
    v: Numbers
    """The larger end of each link."""
    traffic: Floats
    """The traffic on each link, both ways together."""
    core: float
    """The cost of the traffic on all links. Access links cost the same as without the tree."""


def broker_tree(known: Cost) -> BrokerTree:
    """Connect the brokers of an assignment by one tree: the minimum spanning tree or the cheapest star.

    A message takes the tree from its broker to all brokers with a subscriber and crosses each link on the way
    once. Brokers without a subscriber may have to forward it. Finding the cheapest tree is a hard problem; we
    take the cheapest one, for this traffic, of the minimum spanning tree and all stars.
    """
    core = known.workload.core
    order, up = _minimum_spanning_tree(core)
    traffic = tree_traffic(known, order, up)
    best = float((traffic * core[order[1:], order[up[1:]]]).sum())
    leaf_traffic = _leaf_traffic(known)
    stars = core @ leaf_traffic
    centre = int(np.argmin(stars))
    if stars[centre] < best:
        others = np.delete(np.arange(len(core), dtype=np.int64), centre)
        order = np.concatenate((np.array([centre], dtype=np.int64), others))
        up = np.zeros(len(order), dtype=np.int64)
        traffic, best = leaf_traffic[others], float(stars[centre])
    child, parent = order[1:], order[up[1:]]
    return BrokerTree(np.minimum(child, parent), np.maximum(child, parent), traffic, best)


def tree_traffic(known: Cost, order: Numbers, up: Numbers) -> Floats:
    """Return the traffic on the links of any tree in which `order[up[k]]` is the parent of `order[k]`.

    Parents come before their children in `order`. A link carries what is sent below it on channels with
    subscribers above it, and the other way round.
    """
    sent = np.ascontiguousarray(known.rate.T[order])
    wanted = np.ascontiguousarray(known.audience.T[order]).astype(np.int64)
    all_sent, all_wanted = sent.sum(axis=0), wanted.sum(axis=0)
    traffic = np.zeros(len(order) - 1)
    # From the leaves up: each row collects what is sent and wanted at or below its broker.
    for place in range(len(order) - 1, 0, -1):
        traffic[place - 1] = _crossing(sent[place], wanted[place], all_sent, all_wanted)
        sent[up[place]] += sent[place]
        wanted[up[place]] += wanted[place]
    return traffic


def _leaf_traffic(known: Cost) -> Floats:
    """Return, for each broker, the traffic on its only link if it is a leaf."""
    all_sent, all_wanted = known.rate.sum(axis=1), known.audience.sum(axis=1, dtype=np.int64)
    crossing = [
        _crossing(sent, wanted, all_sent, all_wanted)
        for sent, wanted in zip(known.rate.T, known.audience.T, strict=True)
    ]
    return np.array(crossing)


def _crossing(sent: Floats, wanted: Numbers, all_sent: Floats, all_wanted: Numbers) -> float:
    """Return the traffic between one side of a link, by what it sends and wants by channel, and the other."""
    outward = sent[all_wanted > wanted].sum()
    inward = np.maximum(all_sent - sent, 0.0)[wanted > 0].sum()
    return float(outward + inward)


def _minimum_spanning_tree(core: Floats) -> tuple[Numbers, Numbers]:
    """Return all brokers in the order in which they join the tree, and the position of each one's parent."""
    from meshwright.content.kernels.broker_trees import span

    order, up = np.arange(len(core), dtype=np.int64), np.zeros(len(core), dtype=np.int64)
    span(core, order, len(core), up, np.zeros(len(core)))
    return order, up


class RunningCost:
    """An assignment whose users move one by one, with its cost after each move.

    Trying a move takes microseconds: trees change only in channels that lose their last subscriber at one
    broker or gain their first one at another.
    """

    def __init__(self, workload: Workload, broker_of: ArrayLike) -> None:
        self.workload = workload
        self.state = assignment_state(cost(workload, broker_of))

    @property
    def broker_of(self) -> Ids:
        """The current broker of each user, as a copy."""
        brokers: Ids = self.state.broker_of.astype(np.int32)
        return brokers

    @property
    def load(self) -> Floats:
        """The current load of each broker, as a copy."""
        loads: Floats = self.state.broker_load.copy()
        return loads

    @property
    def total(self) -> float:
        """The current cost."""
        state = self.state
        users = np.arange(self.workload.num_users)
        access = state.load * state.access[users, state.broker_of]
        return float(access.sum() + (state.rate * state.weight).sum())

    def has_room(self, user: int, broker: int) -> bool:
        """Return whether a user is on a broker or fits there."""
        state = self.state
        there = state.broker_of[self._user(user)] == broker
        fits = state.broker_load[self._broker(broker)] + state.load[user] <= state.room[broker]
        return bool(there or fits)

    def change(self, user: int, broker: int) -> float:
        """Return by how much the cost would rise if a user moved to a broker; capacities are ignored."""
        from meshwright.content.kernels.assignment_cost import move_change

        return float(move_change(self.state, self._user(user), self._broker(broker)))

    def changes(self, user: int) -> Floats:
        """Return by how much the cost would rise, for each broker that a user could move to."""
        from meshwright.content.kernels.assignment_cost import move_changes

        rises = np.zeros(self.workload.num_brokers)
        move_changes(self.state, self._user(user), rises)
        return rises

    def move(self, user: int, broker: int) -> float:
        """Move a user to a broker, and return by how much the cost has risen.

        Raises
        ------
        InputError
            If there is no such user or broker, or the broker has no room.
        """
        from meshwright.content.kernels.assignment_cost import move

        rise = self.change(user, broker)
        if not self.has_room(user, broker):
            names = self.workload.user_names[user].as_py(), self.workload.broker_names[broker].as_py()
            raise InputError(f"broker {names[1]!r} has no room for user {names[0]!r}: choose another broker")
        move(self.state, int(user), int(broker))
        return rise

    def cost(self) -> Cost:
        """Return the cost of the current assignment, computed from scratch."""
        return cost(self.workload, self.broker_of)

    def _user(self, user: int) -> int:
        return _within(user, self.workload.num_users, "user")

    def _broker(self, broker: int) -> int:
        return _within(broker, self.workload.num_brokers, "broker")


def _within(given: int, count: int, what: str) -> int:
    if not 0 <= given < count:
        raise InputError(f"no {what} {given}: there are 0 to {count - 1}")
    return int(given)


def assignment_state(known: Cost) -> AssignmentState:
    """Return the arrays that kernels keep up to date, for an assignment with a known cost.

    All ids of users, brokers and channels are 64-bit, so that kernels that call each other are compiled for
    one type only.
    """
    from meshwright.content.kernels.assignment_cost import AssignmentState
    from meshwright.content.kernels.broker_trees import empty_tree

    workload, demand = known.workload, known.workload.demand
    traffic = traffic_of(workload)
    return AssignmentState(
        core=workload.core,
        access=workload.access,
        load=workload.load,
        room=workload.room,
        traffic=traffic._replace(
            sent_channels=frozen(traffic.sent_channels, np.int64),
            wanted_channels=frozen(traffic.wanted_channels, np.int64),
        ),
        own=demand.own,
        channel_rate=demand.channel_rate,
        broker_of=np.array(known.broker_of, dtype=np.int64),
        broker_load=np.array(known.load, dtype=np.float64),
        rate=np.array(known.rate, dtype=np.float64),
        audience=np.array(known.audience, dtype=np.int32),
        weight=np.array(known.weight, dtype=np.float64),
        tree=empty_tree(workload.num_brokers),
        new_weight=np.zeros(workload.num_brokers),
    )
