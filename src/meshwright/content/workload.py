"""Workload: who publishes and wants what, which brokers there are, and what links between them cost.

Users, brokers and channels are dense integers in the order of their names, so the order of the input does not
matter. A `Workload` never changes. `Demand` has the loads that follow from its rates and subscriptions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from meshwright.arrays import Floats, Ids, Offsets, frozen
from meshwright.arrow import from_numpy, to_numpy
from meshwright.content import parts
from meshwright.content.parts import Places
from meshwright.errors import InputError


class Demand(NamedTuple):
    """The traffic of each user and channel; rates that nobody else wants are left out."""

    ptr: Offsets
    """User i sends in the slots from `ptr[i]` up to, but not including, `ptr[i + 1]`."""
    channels: Ids
    """The channel of each such slot, ascending for each user."""
    sent: Floats
    """The rate of each such slot."""
    own: Floats
    """For each subscription, in the order of `Workload.subscription_channels`: what its user sends there."""
    channel_rate: Floats
    """The rate of each channel, over all users."""
    outgoing: Floats
    """What each user sends, on all channels."""
    incoming: Floats
    """What each user receives, on all channels."""

    @property
    def load(self) -> Floats:
        """What each user puts on its broker, in and out."""
        return self.incoming + self.outgoing


def demand_of(workload: Workload) -> Demand:
    """Compute what each user sends and receives.

    A user's messages count on a channel if somebody else subscribes to it. A subscriber receives what all
    others send on its channels, but not its own messages.
    """
    users, channels = workload.num_users, workload.num_channels
    sender = np.repeat(np.arange(users, dtype=np.int64), np.diff(workload.rate_ptr))
    taker = np.repeat(np.arange(users, dtype=np.int64), np.diff(workload.subscription_ptr))
    # One key for each pair of user and channel; both arrays ascend.
    rate_keys = sender * channels + workload.rate_channels
    wanted_keys = taker * channels + workload.subscription_channels
    # Keep rates on channels with a subscriber other than the sender.
    subscribers = np.bincount(workload.subscription_channels, minlength=channels)
    wanted = subscribers[workload.rate_channels] - _contains(wanted_keys, rate_keys) > 0
    sent_keys, sent = rate_keys[wanted], workload.rates[wanted]
    on = workload.rate_channels[wanted]
    ptr = np.concatenate(([0], np.cumsum(np.bincount(sender[wanted], minlength=users))))
    channel_rate = np.bincount(on, weights=sent, minlength=channels)
    publishers = np.bincount(on, minlength=channels)
    mine = _contains(sent_keys, wanted_keys)
    own = np.zeros(len(wanted_keys))
    own[mine] = sent[np.searchsorted(sent_keys, wanted_keys[mine])]
    # Without other publishers the difference of two sums may not be exactly 0: set it.
    others = publishers[workload.subscription_channels] - mine > 0
    received = np.where(others, channel_rate[workload.subscription_channels] - own, 0.0)
    return Demand(
        ptr=frozen(ptr, np.int64),
        channels=frozen(on, np.int32),
        sent=frozen(sent, np.float64),
        own=frozen(own, np.float64),
        channel_rate=frozen(channel_rate, np.float64),
        outgoing=frozen(np.bincount(sender[wanted], weights=sent, minlength=users), np.float64),
        incoming=frozen(np.bincount(taker, weights=received, minlength=users), np.float64),
    )


def _contains(keys: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each of the asked numbers whether it is among the keys, which ascend."""
    if not len(keys):
        return np.zeros(len(asked), dtype=bool)
    contained: NDArray[np.bool_] = keys[np.minimum(np.searchsorted(keys, asked), len(keys) - 1)] == asked
    return contained


CAPACITY_OVER_DEMAND = 2.0
"""Default capacity of all brokers together, divided by the load of all users (cbps, section VI)."""
TOLERANCE = 1e-9
"""A load may exceed a capacity by this relative error: loads are rounded sums."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Users with rates and subscriptions, brokers with capacities, and the costs of links (cbps, section II).

    Make one with `build`, which checks everything.
    """

    user_names: pa.Array
    broker_names: pa.Array
    channel_names: pa.Array
    rate_ptr: Offsets
    """User i publishes in the slots from `rate_ptr[i]` up to, but not including, `rate_ptr[i + 1]`."""
    rate_channels: Ids
    """The channel of each such slot, ascending for each user."""
    rates: Floats
    """The rate of each such slot."""
    subscription_ptr: Offsets
    """User i subscribes in the slots from `subscription_ptr[i]` up to `subscription_ptr[i + 1]`."""
    subscription_channels: Ids
    """The channel of each such slot, ascending for each user."""
    capacity: Floats
    """The load that each broker can carry."""
    access: Floats
    """Users × brokers: the cost of a unit of traffic on each access link."""
    core: Floats
    """Brokers × brokers: the cost of a unit of traffic on each core link."""
    places: Places | None = None
    """Where users and brokers are, if links cost distances."""
    described: Mapping[str, Any] = field(default_factory=dict)
    """How the workload was made."""

    @classmethod
    def build(
        cls,
        users: Sequence[str],
        brokers: Sequence[str],
        channels: Sequence[str],
        *,
        rates: tuple[ArrayLike, ArrayLike, ArrayLike],
        subscriptions: tuple[ArrayLike, ArrayLike],
        access: ArrayLike | None = None,
        core: ArrayLike | None = None,
        places: Places | None = None,
        capacity: ArrayLike | None = None,
        described: Mapping[str, Any] | None = None,
    ) -> Workload:
        """Check everything, and bring it into the order of the names.

        Parameters
        ----------
        users, brokers, channels
            Their names, in any order, each once.
        rates
            Three columns: user and channel, as positions in the names, and the rate; each pair once.
        subscriptions
            Two columns: user and channel. Repeated pairs count once; a user may have no subscription.
        access, core
            Costs of links: users × brokers, and brokers × brokers. Core costs are the same both ways, zero
            from a broker to itself, and keep the triangle inequality.
        places
            Where users and brokers are, instead of costs: then links cost distances.
        capacity
            The load that each broker can carry. By default all brokers share twice the demand equally.
        described
            How the workload was made, for later readers.

        Raises
        ------
        InputError
            For blank or repeated names, no brokers, rates that are negative or not finite, pairs out of range
            or with two rates, and invalid costs or capacities.
        """
        names = [
            parts.names(given, what)
            for given, what in ((users, "user"), (brokers, "broker"), (channels, "channel"))
        ]
        if not len(names[1]):
            raise InputError("there are no brokers: give at least one")
        orders = [to_numpy(pc.sort_indices(column)).astype(np.int64) for column in names]
        ranks = [_inverse(order) for order in orders]
        shape = (len(names[0]), len(names[2]))
        rate_ptr, rate_channels, values = parts.rates(rates, ranks[0], ranks[2], names[0], names[2])
        wanted_ptr, wanted = parts.subscriptions(subscriptions, ranks[0], ranks[2], shape)
        by_user, by_broker = orders[0], orders[1]
        if places is not None:
            if access is not None or core is not None:
                raise InputError("both places and costs are given: leave out one of them")
            places = places.validate(names[0], names[1]).take(by_user, by_broker)
            access, core = places.access(), places.core()
        elif access is None or core is None:
            raise InputError("links have no costs: give access and core, or places")
        else:
            access = parts.access(access, names[0], names[1])[np.ix_(by_user, by_broker)]
            core = parts.core(core, names[1])[np.ix_(by_broker, by_broker)]
        named = [column.take(from_numpy(order)) for column, order in zip(names, orders, strict=True)]
        carried = None if capacity is None else parts.capacity(capacity, names[1])[by_broker]
        workload = cls(
            user_names=named[0],
            broker_names=named[1],
            channel_names=named[2],
            rate_ptr=frozen(rate_ptr, np.int64),
            rate_channels=frozen(rate_channels, np.int32),
            rates=frozen(values, np.float64),
            subscription_ptr=frozen(wanted_ptr, np.int64),
            subscription_channels=frozen(wanted, np.int32),
            capacity=frozen(np.zeros(len(by_broker)) if carried is None else carried, np.float64),
            access=frozen(access, np.float64),
            core=frozen(core, np.float64),
            places=places,
            described=dict(described or {}),
        )
        return workload if carried is not None else workload.with_capacity(CAPACITY_OVER_DEMAND)

    def with_capacity(self, over_demand: float) -> Workload:
        """Return the same workload with equal capacities: together `over_demand` times all users' load."""
        if not over_demand > 0:
            raise InputError(f"a capacity of {over_demand} times the demand: give more than zero")
        share = over_demand * float(self.load.sum()) / self.num_brokers
        return replace(self, capacity=frozen(np.full(self.num_brokers, share), np.float64))

    def __repr__(self) -> str:
        return f"Workload({self.num_users} users, {self.num_brokers} brokers, {self.num_channels} channels)"

    @property
    def num_users(self) -> int:
        """The number of users."""
        return len(self.user_names)

    @property
    def num_brokers(self) -> int:
        """The number of brokers."""
        return len(self.broker_names)

    @property
    def num_channels(self) -> int:
        """The number of channels."""
        return len(self.channel_names)

    @cached_property
    def demand(self) -> Demand:
        """What each user sends and receives."""
        return demand_of(self)

    @cached_property
    def load(self) -> Floats:
        """What each user puts on its broker, in and out."""
        return frozen(self.demand.load, np.float64)

    @cached_property
    def audience(self) -> tuple[Offsets, Ids]:
        """The subscribers of each channel: where each channel's begin, and the users, ascending."""
        order = np.argsort(self.subscription_channels, kind="stable")
        taker = np.repeat(np.arange(self.num_users, dtype=np.int32), np.diff(self.subscription_ptr))
        counts = np.bincount(self.subscription_channels, minlength=self.num_channels)
        ptr = np.concatenate(([0], np.cumsum(counts)))
        return frozen(ptr, np.int64), frozen(taker[order], np.int32)

    @cached_property
    def room(self) -> Floats:
        """The load that each broker takes: its capacity, plus a tolerance for rounding."""
        return frozen(self.capacity * (1 + TOLERANCE), np.float64)

    @property
    def cost_ratio(self) -> float | None:
        """The mean access cost divided by the mean core cost between different brokers (r in the paper)."""
        brokers = self.num_brokers
        between = float(self.core.sum()) / (brokers * (brokers - 1)) if brokers > 1 else 0.0
        return float(self.access.mean()) / between if between and self.num_users else None

    def check_assignment(self, broker_of: ArrayLike) -> Ids:
        """Return an assignment as broker ids, one for each user. Capacities are not checked.

        Raises
        ------
        InputError
            If the number of entries is not the number of users, or one of them is not a broker's id.
        """
        given = np.asarray(broker_of)
        if given.shape != (self.num_users,):
            raise InputError(f"{given.size} brokers for {self.num_users} users: give one for each user")
        whole = given.size == 0 or np.issubdtype(given.dtype, np.integer)
        bad = (given < 0) | (given >= self.num_brokers) if whole else np.ones(self.num_users, dtype=bool)
        message = f"users {{}} are on no broker from 0 to {self.num_brokers - 1}: give ids"
        parts.refuse(bad, message, self.user_names)
        return frozen(given, np.int32)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that costs depend on; equal workloads have equal digests."""
        digest = hashlib.sha256(b"meshwright content workload 1")
        for names in (self.user_names, self.broker_names, self.channel_names):
            for name in names.to_pylist():
                digest.update(f"{len(name.encode())} {name}".encode())
        columns: list[NDArray[Any]] = [self.rate_ptr, self.rate_channels, self.rates, self.subscription_ptr]
        columns += [self.subscription_channels, self.capacity, self.access, self.core]
        for column in columns:
            digest.update(column.astype(column.dtype.newbyteorder("<"), copy=False).tobytes())
        return digest.hexdigest()


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each number in a permutation."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank
