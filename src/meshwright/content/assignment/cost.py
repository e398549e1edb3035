"""What an assignment costs: access links and core links, and where the cost arises (cbps, section II).

Each user's traffic pays for its access link. A message from a broker's user on a channel crosses the core by
the minimum spanning tree of that broker and the brokers with a subscriber of the channel, each link once. The
tree of a source among those brokers is the same for all of them; one from outside adds itself to it. So a
tree is grown once for each distinct set of brokers, and every outside source costs one pass over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import frozen
from meshwright.content.model.workload import TOLERANCE, Workload

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from meshwright.arrays import Ids
    from meshwright.content.model.demand import Floats


class CoreTrees(NamedTuple):
    """The links of the trees by which messages cross the core, one row for each.

    Channels with the same brokers share their trees: `set_of_channel` says which. `source` is the broker that
    a tree starts from, −1 for the one that all brokers of the set share.
    """

    set_of_channel: NDArray[np.int64]
    tree_set: Ids
    source: Ids
    u: Ids
    v: Ids


def link_traffic(cost: Cost) -> Floats:
    """Return the traffic on each core link, both ways together: brokers × brokers, above the diagonal."""
    return _walked(cost, listed=False)[0]


def core_trees(cost: Cost) -> CoreTrees:
    """Return the trees that carry traffic."""
    return _walked(cost, listed=True)[1]


def _walked(cost: Cost, *, listed: bool) -> tuple[Floats, CoreTrees]:
    from meshwright.content.assignment.kernels.spanning_trees import link_traffic as walk

    which, sets = distinct_sets(cost.audience)
    rate = np.zeros(sets.shape)
    np.add.at(rate, which, cost.rate)
    brokers = cost.workload.num_brokers
    order, up = np.zeros(brokers, dtype=np.int64), np.zeros(brokers, dtype=np.int64)
    length = np.zeros(brokers)
    rows = 0
    while True:
        traffic = np.zeros((brokers, brokers))
        set_of, source = np.zeros(rows, dtype=np.int32), np.zeros(rows, dtype=np.int32)
        ends = np.zeros((rows, 2), dtype=np.int32)
        held = frozen(sets, np.uint8)
        needed = walk(cost.workload.core, held, rate, order, up, length, traffic, set_of, source, ends)
        if not listed or needed <= rows:
            return traffic, CoreTrees(which, set_of, source, ends[:, 0], ends[:, 1])
        rows = needed


@dataclass(frozen=True, eq=False)
class Cost:
    """The cost of an assignment, and what it is made of.

    `rate[c, b]` is what the users of broker b send on channel c, `weight[c, b]` the weight of the tree that
    it takes, and `audience[c, b]` the number of subscribers of c there.
    """

    workload: Workload
    broker_of: Ids
    rate: Floats
    audience: Ids
    weight: Floats

    @cached_property
    def access(self) -> float:
        """What access links cost: C₁."""
        return float(self.of_user.sum())

    @cached_property
    def core(self) -> float:
        """What core links cost: C₂."""
        return float(self.of_channel.sum())

    @property
    def total(self) -> float:
        """Both together."""
        return self.access + self.core

    @cached_property
    def of_user(self) -> Floats:
        """What each user's access link costs."""
        load = self.workload.load
        made: Floats = load * self.workload.access[np.arange(len(load)), self.broker_of]
        return made

    @cached_property
    def of_channel(self) -> Floats:
        """What each channel costs in the core."""
        made: Floats = np.einsum("cb,cb->c", self.rate, self.weight)
        return made

    @cached_property
    def of_broker(self) -> Floats:
        """What each broker costs: its users' access links, and the core links that their messages take."""
        users = np.bincount(self.broker_of, weights=self.of_user, minlength=self.workload.num_brokers)
        made: Floats = users + np.einsum("cb,cb->b", self.rate, self.weight)
        return made

    @cached_property
    def load(self) -> Floats:
        """The traffic of each broker's users, in and out."""
        return np.bincount(
            self.broker_of, weights=self.workload.load, minlength=self.workload.num_brokers
        ).astype(np.float64)

    @property
    def max_load(self) -> float:
        """The highest load of a broker over its capacity; 0 where neither is anything."""
        capacity = self.workload.capacity
        shares = np.divide(self.load, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
        return float(np.inf if (self.load[capacity == 0] > 0).any() else shares.max(initial=0.0))

    @property
    def within_capacity(self) -> bool:
        """Whether no broker has more than it can carry."""
        return bool((self.load <= self.workload.capacity * (1 + TOLERANCE)).all())

    @cached_property
    def of_link(self) -> Floats:
        """What each core link costs: brokers × brokers, above the diagonal."""
        return link_traffic(self) * self.workload.core


def cost(workload: Workload, broker_of: ArrayLike) -> Cost:
    """Work out what an assignment of users to brokers costs.

    Parameters
    ----------
    workload
        The users and brokers.
    broker_of
        The id of each user's broker. Capacity is not looked at: see `Cost.within_capacity`.

    Raises
    ------
    InputError
        If that is not one broker for each user.
    """
    from meshwright.content.assignment.kernels.spanning_trees import tally

    chosen = workload.check_assignment(broker_of)
    shape = (workload.num_channels, workload.num_brokers)
    rate, audience = np.zeros(shape), np.zeros(shape, dtype=np.int32)
    demand = workload.demand
    tally(
        chosen,
        demand.ptr,
        demand.channels,
        demand.sent,
        workload.subscription_ptr,
        workload.subscription_channels,
        rate,
        audience,
    )
    which, sets = distinct_sets(audience)
    return Cost(workload, chosen, rate, audience, tree_weights(workload, sets)[which])


def distinct_sets(audience: Ids) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return which set of brokers each channel has subscribers on, and the distinct sets, a row for each."""
    held = audience > 0
    packed = np.packbits(held, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, max(packed.shape[1], 1))))[:, 0]
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)
    return which, np.ascontiguousarray(held[first], dtype=np.uint8)


def tree_weights(workload: Workload, sets: NDArray[np.uint8]) -> Floats:
    """Return for each set and broker the weight of the minimum spanning tree of both together."""
    from meshwright.content.assignment.kernels.spanning_trees import weights_of_sets

    brokers = workload.num_brokers
    weights = np.zeros((len(sets), brokers))
    order, up = np.zeros(brokers, dtype=np.int64), np.zeros(brokers, dtype=np.int64)
    length, reach = np.zeros(brokers), np.zeros(brokers)
    weights_of_sets(workload.core, frozen(sets, np.uint8), order, up, length, reach, weights)
    return weights
