"""The cost of an assignment that changes: what a move would cost, and the total after each move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from meshwright.arrays import Floats, Ids, frozen
from meshwright.content.cost import Cost, cost
from meshwright.content.kernels import traffic_of
from meshwright.content.workload import Workload
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.content.kernels.assignment_cost import AssignmentState


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
