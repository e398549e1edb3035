"""When a user finds room nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.errors import InputError
from meshwright.spelling import amount

if TYPE_CHECKING:
    from meshwright.content.workload import Workload
    from meshwright.interest import Ids


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
