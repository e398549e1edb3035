"""Greedy packing: each user to its cheapest broker with room (cbps, Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.room import placed

if TYPE_CHECKING:
    from meshwright.content.workload import Workload
    from meshwright.interest import Ids


def packing(workload: Workload) -> Ids:
    """Put users on brokers one by one, each where its access link is cheapest and there is room.

    As printed, the algorithm swaps the names of the two sets and never adds to the load; it is read the way
    its text says. Ties go to the first broker.

    Raises
    ------
    InputError
        If some user finds no room.
    """
    from meshwright.content.kernels.sequential import pack

    broker_of = np.full(workload.num_users, -1, dtype=np.int32)
    load = np.zeros(workload.num_brokers)
    stuck = pack(workload.access, workload.load, workload.room, load, broker_of)
    return placed(workload, broker_of, stuck)
