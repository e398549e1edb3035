"""Random assignment, and greedy packing: each user to its cheapest broker with room (cbps, Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.errors import InputError
from meshwright.formatting import amount

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.content.model.workload import Workload


def placed(workload: Workload, broker_of: Ids, stuck: int) -> Ids:
    """Return an assignment that a kernel has made, or say who is `stuck` (−1: nobody).

    Raises
    ------
    InputError
        If a user has found no broker with room for its load.
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


def random(workload: Workload, *, seed: int = 0) -> Ids:
    """Put each user on any broker with room, all as likely.

    Raises
    ------
    InputError
        If some user finds no room.
    """
    from meshwright.content.assignment.kernels.sequential import scatter

    chance = np.random.Generator(np.random.PCG64(seed)).random(workload.num_users)
    broker_of = np.full(workload.num_users, -1, dtype=np.int32)
    load = np.zeros(workload.num_brokers)
    stuck = scatter(chance, workload.load, workload.room, load, broker_of)
    return placed(workload, broker_of, stuck)


def packing(workload: Workload) -> Ids:
    """Put users on brokers one by one, each where its access link is cheapest and there is room.

    As printed, the algorithm swaps the names of the two sets and never adds to the load; it is read the way
    its text says. Ties go to the first broker.

    Raises
    ------
    InputError
        If some user finds no room.
    """
    from meshwright.content.assignment.kernels.sequential import pack

    broker_of = np.full(workload.num_users, -1, dtype=np.int32)
    load = np.zeros(workload.num_brokers)
    stuck = pack(workload.access, workload.load, workload.room, load, broker_of)
    return placed(workload, broker_of, stuck)
