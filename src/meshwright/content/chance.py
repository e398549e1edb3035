"""Random assignment, against which the others are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.room import placed

if TYPE_CHECKING:
    from meshwright.content.workload import Workload
    from meshwright.interest import Ids


def random(workload: Workload, *, seed: int = 0) -> Ids:
    """Put each user on any broker with room, all as likely.

    Raises
    ------
    InputError
        If some user finds no room.
    """
    from meshwright.content.kernels.sequential import scatter

    chance = np.random.Generator(np.random.PCG64(seed)).random(workload.num_users)
    broker_of = np.full(workload.num_users, -1, dtype=np.int32)
    load = np.zeros(workload.num_brokers)
    stuck = scatter(chance, workload.load, workload.room, load, broker_of)
    return placed(workload, broker_of, stuck)
