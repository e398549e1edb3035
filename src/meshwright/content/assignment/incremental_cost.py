"""The cost of an assignment that changes: what a move would bring, and what moves have brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.content.assignment.cost import Cost, cost
from meshwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from meshwright.arrays import Ids
    from meshwright.content.assignment.kernels.incremental_cost import Standing
    from meshwright.content.model.demand import Floats
    from meshwright.content.model.workload import Workload


class RunningCost:
    """An assignment whose users move one by one, with its cost at all times.

    A tried move costs microseconds: only channels that lose their last subscriber at a broker, or get their
    first, have other trees than before.
    """

    def __init__(self, workload: Workload, broker_of: ArrayLike) -> None:
        self.workload = workload
        self.standing = standing(cost(workload, broker_of))

    @property
    def broker_of(self) -> Ids:
        """The broker of each user, now: a copy."""
        made: Ids = self.standing.broker_of.astype(np.int32)
        return made

    @property
    def load(self) -> Floats:
        """The load of each broker, now: a copy."""
        made: Floats = self.standing.broker_load.copy()
        return made

    @property
    def total(self) -> float:
        """The cost, now."""
        at = self.standing
        users = np.arange(self.workload.num_users)
        return float((at.load * at.access[users, at.broker_of]).sum() + (at.rate * at.weight).sum())

    def has_room(self, user: int, broker: int) -> bool:
        """Say whether a user may move to a broker, or is there."""
        at = self.standing
        there = at.broker_of[self._user(user)] == broker
        return bool(there or at.broker_load[self._broker(broker)] + at.load[user] <= at.room[broker])

    def change(self, user: int, broker: int) -> float:
        """Return by how much the cost would rise if a user moved to a broker; capacity is not looked at."""
        from meshwright.content.assignment.kernels.incremental_cost import move_change

        return float(move_change(self.standing, self._user(user), self._broker(broker)))

    def changes(self, user: int) -> Floats:
        """Return by how much the cost would rise, for each broker that a user might move to."""
        from meshwright.content.assignment.kernels.incremental_cost import move_changes

        made = np.zeros(self.workload.num_brokers)
        move_changes(self.standing, self._user(user), made)
        return made

    def move(self, user: int, broker: int) -> float:
        """Move a user, and return by how much the cost has risen.

        Raises
        ------
        InputError
            If there is no such user or broker, or no room.
        """
        from meshwright.content.assignment.kernels.incremental_cost import move

        rise = self.change(user, broker)
        if not self.has_room(user, broker):
            names = self.workload.user_names[user].as_py(), self.workload.broker_names[broker].as_py()
            raise InputError(f"broker {names[1]!r} has no room for user {names[0]!r}: choose another")
        move(self.standing, int(user), int(broker))
        return rise

    def cost(self) -> Cost:
        """Work out the cost of where everybody is now, anew."""
        return cost(self.workload, self.broker_of)

    def _user(self, user: int) -> int:
        if not 0 <= user < self.workload.num_users:
            raise InputError(f"no user {user}: there are 0 to {self.workload.num_users - 1}")
        return int(user)

    def _broker(self, broker: int) -> int:
        if not 0 <= broker < self.workload.num_brokers:
            raise InputError(f"no broker {broker}: there are 0 to {self.workload.num_brokers - 1}")
        return int(broker)


def standing(known: Cost) -> Standing:
    """Return the arrays that kernels keep up to date, from an assignment and its cost.

    All numbers of users, brokers and channels are of one type: kernels that call each other are compiled once
    for each.
    """
    from meshwright.content.assignment.kernels.incremental_cost import Standing

    workload, demand = known.workload, known.workload.demand
    brokers = workload.num_brokers
    return Standing(
        workload.core,
        workload.access,
        workload.load,
        workload.room,
        demand.ptr,
        frozen(demand.channels, np.int64),
        demand.sent,
        workload.subscription_ptr,
        frozen(workload.subscription_channels, np.int64),
        demand.own,
        demand.channel_rate,
        np.array(known.broker_of, dtype=np.int64),
        np.array(known.load, dtype=np.float64),
        np.array(known.rate, dtype=np.float64),
        np.array(known.audience, dtype=np.int32),
        np.array(known.weight, dtype=np.float64),
        np.zeros(brokers, dtype=np.int64),
        np.zeros(brokers, dtype=np.int64),
        np.zeros(brokers),
        np.zeros(brokers),
        np.zeros(brokers),
    )
