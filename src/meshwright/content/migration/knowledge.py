"""What a broker knows of all users: their rows, put together to the workload that moves are priced on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.migration.verbs import Row
from meshwright.content.workload import Workload
from meshwright.interest import frozen

if TYPE_CHECKING:
    from meshwright.content.demand import Floats
    from meshwright.interest import Offsets


def rows_of(workload: Workload) -> list[Row]:
    """Return what each user of a workload knows of itself."""
    made = []
    for user in range(workload.num_users):
        taken = slice(workload.subscription_ptr[user], workload.subscription_ptr[user + 1])
        sent = slice(workload.rate_ptr[user], workload.rate_ptr[user + 1])
        made.append(
            Row(
                user,
                workload.subscription_channels[taken].tolist(),
                workload.rate_channels[sent].tolist(),
                workload.rates[sent].tolist(),
                workload.access[user].tolist(),
            )
        )
    return made


def workload_of(rows: Iterable[Row], core: Floats, capacity: Floats, channels: int) -> Workload:
    """Put rows together to the workload that they tell of; everything is named by number."""
    import pyarrow as pa

    known = sorted(rows)
    return Workload(
        pa.array([str(row.user) for row in known], pa.string()),
        pa.array([str(broker) for broker in range(len(core))], pa.string()),
        pa.array([str(channel) for channel in range(channels)], pa.string()),
        frozen(_offsets([len(row.channels) for row in known]), np.int64),
        frozen(np.concatenate([np.array(row.channels, np.int32) for row in known]), np.int32),
        frozen(np.concatenate([np.array(row.rates, np.float64) for row in known]), np.float64),
        frozen(_offsets([len(row.subscriptions) for row in known]), np.int64),
        frozen(np.concatenate([np.array(row.subscriptions, np.int32) for row in known]), np.int32),
        frozen(capacity, np.float64),
        frozen(np.array([row.access for row in known]).reshape(len(known), len(core)), np.float64),
        frozen(core, np.float64),
    )


def _offsets(sizes: Sequence[int]) -> Offsets:
    return np.concatenate(([0], np.cumsum(np.array(sizes, np.int64))))
