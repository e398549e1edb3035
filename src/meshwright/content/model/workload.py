"""Workload: who publishes and wants what, which brokers there are, and what links between them cost.

Inside, users, brokers and channels are dense integers in the order of their names, so that the order in which
they are handed over does not matter. A `Workload` never changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrays import frozen
from meshwright.content.model import checks
from meshwright.content.model.demand import Demand, demand_of
from meshwright.content.model.places import Places
from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from meshwright.arrays import Ids, Offsets
    from meshwright.content.model.demand import Floats

CAPACITY_OVER_DEMAND = 2.0
"""What brokers can carry together over what all users ask for, where nothing is said (cbps, section VI)."""
TOLERANCE = 1e-9
"""By so much, relatively, a load may be above a capacity: loads are sums, and rounded."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Users with rates and subscriptions, brokers with capacities, and the costs of links (cbps, section II).

    User `i` publishes at `rates[rate_ptr[i]:rate_ptr[i + 1]]` on the channels of the same slots, and
    subscribes to `subscription_channels[subscription_ptr[i]:subscription_ptr[i + 1]]`, both ascending. A link
    between user `i` and broker `b` costs `access[i, b]` for each unit of traffic, one between brokers
    `core[b, c]`. Made by `build`, which says what it refuses.
    """

    user_names: pa.Array
    broker_names: pa.Array
    channel_names: pa.Array
    rate_ptr: Offsets
    rate_channels: Ids
    rates: Floats
    subscription_ptr: Offsets
    subscription_channels: Ids
    capacity: Floats
    access: Floats
    core: Floats
    places: Places | None = None
    described: Mapping[str, Any] = field(default_factory=dict)

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
        """Check everything, and put it in the order of the names.

        Parameters
        ----------
        users, brokers, channels
            Their names, in any order, each once.
        rates
            Three columns: user and channel, as positions in the names, and the rate; each pair once.
        subscriptions
            Two columns: user and channel. Repeated pairs count once; a user may have none.
        access, core
            Costs of links: users × brokers, and brokers × brokers. The latter are the same both ways, zero
            from a broker to itself, and keep the triangle inequality.
        places
            Where users and brokers are, instead: then links cost distances.
        capacity
            How much traffic of its users each broker carries; equal shares of twice the demand if not told.
        described
            How it was made, for whoever reads it later.

        Raises
        ------
        InputError
            For names given twice or blank, no broker, rates that are negative or not finite, pairs out of
            range or with two rates, and costs or capacities that cannot be.
        """
        names = [
            checks.names(given, what)
            for given, what in ((users, "user"), (brokers, "broker"), (channels, "channel"))
        ]
        if not len(names[1]):
            raise InputError("there is no broker: give at least one")
        orders = [pc.sort_indices(column).to_numpy().astype(np.int64) for column in names]
        ranks = [_inverse(order) for order in orders]
        shape = (len(names[0]), len(names[2]))
        rate_ptr, rate_channels, values = checks.rates(rates, ranks[0], ranks[2], names[0], names[2])
        taken_ptr, taken = checks.subscriptions(subscriptions, ranks[0], ranks[2], shape)
        by_user, by_broker = orders[0], orders[1]
        if places is not None:
            if access is not None or core is not None:
                raise InputError("places and matrices of costs are given: leave out one of them")
            places = places.checked(names[0], names[1]).taken(by_user, by_broker)
            access, core = places.access(), places.core()
        elif access is None or core is None:
            raise InputError("no costs of links: give access and core, or places")
        else:
            access = checks.access(access, names[0], names[1])[np.ix_(by_user, by_broker)]
            core = checks.core(core, names[1])[np.ix_(by_broker, by_broker)]
        named = [column.take(pa.array(order)) for column, order in zip(names, orders, strict=True)]
        carried = None if capacity is None else checks.capacity(capacity, names[1])[by_broker]
        made = cls(
            named[0],
            named[1],
            named[2],
            frozen(rate_ptr, np.int64),
            frozen(rate_channels, np.int32),
            frozen(values, np.float64),
            frozen(taken_ptr, np.int64),
            frozen(taken, np.int32),
            frozen(np.zeros(len(by_broker)) if carried is None else carried, np.float64),
            frozen(access, np.float64),
            frozen(core, np.float64),
            places,
            dict(described or {}),
        )
        return made if carried is not None else made.with_capacity(CAPACITY_OVER_DEMAND)

    def with_capacity(self, over_demand: float) -> Workload:
        """Return the same with equal capacities: together so many times what all users ask for."""
        from dataclasses import replace

        if not over_demand > 0:
            raise InputError(f"a capacity of {over_demand} times the demand: give more than zero")
        share = over_demand * float(self.load.sum()) / self.num_brokers
        return replace(self, capacity=frozen(np.full(self.num_brokers, share), np.float64))

    def __repr__(self) -> str:
        return f"Workload({self.num_users} users, {self.num_brokers} brokers, {self.num_channels} channels)"

    @property
    def num_users(self) -> int:
        """How many users there are."""
        return len(self.user_names)

    @property
    def num_brokers(self) -> int:
        """How many brokers there are."""
        return len(self.broker_names)

    @property
    def num_channels(self) -> int:
        """How many channels there are."""
        return len(self.channel_names)

    @cached_property
    def demand(self) -> Demand:
        """What users send and receive."""
        return demand_of(self)

    @cached_property
    def load(self) -> Floats:
        """What each user puts on its broker: in and out."""
        return frozen(self.demand.load, np.float64)

    @cached_property
    def audience(self) -> tuple[Offsets, Ids]:
        """The subscribers of each channel: where each one's begin, and the users, ascending."""
        order = np.argsort(self.subscription_channels, kind="stable")
        taker = np.repeat(np.arange(self.num_users, dtype=np.int32), np.diff(self.subscription_ptr))
        counts = np.bincount(self.subscription_channels, minlength=self.num_channels)
        ptr = np.concatenate(([0], np.cumsum(counts)))
        return frozen(ptr, np.int64), frozen(taker[order], np.int32)

    @cached_property
    def room(self) -> Floats:
        """The load that each broker takes: its capacity, and a little for rounding."""
        return frozen(self.capacity * (1 + TOLERANCE), np.float64)

    @property
    def cost_ratio(self) -> float | None:
        """The mean access cost over the mean core cost between different brokers: r in the paper."""
        brokers = self.num_brokers
        between = float(self.core.sum()) / (brokers * (brokers - 1)) if brokers > 1 else 0.0
        return float(self.access.mean()) / between if between and self.num_users else None

    def check_assignment(self, broker_of: ArrayLike) -> Ids:
        """Return an assignment as ids of brokers, one for each user, or refuse it; capacity is not looked at.

        Raises
        ------
        InputError
            If it has not one broker for each user, or one that is not there.
        """
        given = np.asarray(broker_of)
        if given.shape != (self.num_users,):
            raise InputError(f"{given.size} brokers for {self.num_users} users: give each user one")
        whole = given.size == 0 or (np.issubdtype(given.dtype, np.integer) or given.dtype == np.int32)
        bad = (
            np.flatnonzero((given < 0) | (given >= self.num_brokers)) if whole else np.arange(self.num_users)
        )
        if len(bad):
            named = [self.user_names[int(user)].as_py() for user in bad[:6]]
            raise InputError(
                f"users {first_five(named)} are on no broker from 0 to {self.num_brokers - 1}: give ids"
            )
        return frozen(given, np.int32)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that decides costs; equal for equal workloads, however made."""
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
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank
