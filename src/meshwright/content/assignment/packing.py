"""Random assignment, and greedy packing: each user on its cheapest broker with room (cbps, Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.errors import InputError
from meshwright.formatting import amount

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.content.model.workload import Workload


def random(workload: Workload, *, seed: int = 0) -> Ids:
    """Put each user on a random broker among those with room, all equally likely.

    Raises
    ------
    InputError
        If no broker has room for some user.
    """
    from meshwright.content.assignment.kernels.sequential import scatter

    chance = np.random.Generator(np.random.PCG64(seed)).random(workload.num_users)
    broker_of = np.full(workload.num_users, -1, dtype=np.int32)
    broker_load = np.zeros(workload.num_brokers)
    stuck = scatter(chance, workload.load, workload.room, broker_load, broker_of)
    return require_placed(workload, broker_of, stuck)


def packing(workload: Workload) -> Ids:
    """Put each user in turn on the broker with room whose access link is cheapest.

    The printed algorithm swaps the names of its two sets and never updates the loads; we follow its text.
    Ties go to the first broker.

    Raises
    ------
    InputError
        If no broker has room for some user.
    """
    from meshwright.content.assignment.kernels.sequential import pack

    broker_of = np.full(workload.num_users, -1, dtype=np.int32)
    broker_load = np.zeros(workload.num_brokers)
    stuck = pack(workload.access, workload.load, workload.room, broker_load, broker_of)
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
