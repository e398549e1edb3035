"""User profiles: what registers and summaries say about users, from a workload and back to one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.content.migration.protocol.messages import UserProfile
from meshwright.content.model.workload import Workload

if TYPE_CHECKING:
    from meshwright.arrays import Floats, Offsets


def profiles_of(workload: Workload) -> list[UserProfile]:
    """Return the profile of each user of a workload."""
    profiles = []
    for user in range(workload.num_users):
        subscribed = slice(workload.subscription_ptr[user], workload.subscription_ptr[user + 1])
        published = slice(workload.rate_ptr[user], workload.rate_ptr[user + 1])
        profiles.append(
            UserProfile(
                user,
                workload.subscription_channels[subscribed].tolist(),
                workload.rate_channels[published].tolist(),
                workload.rates[published].tolist(),
                workload.access[user].tolist(),
            )
        )
    return profiles


def workload_of(profiles: Iterable[UserProfile], core: Floats, capacity: Floats, channels: int) -> Workload:
    """Return the workload of all users, built from their profiles; ids serve as names.

    This is a broker's own copy, made from messages alone. Its costs equal those of the original workload.
    """
    import pyarrow as pa

    known = sorted(profiles)
    return Workload(
        pa.array([str(profile.user) for profile in known], pa.string()),
        pa.array([str(broker) for broker in range(len(core))], pa.string()),
        pa.array([str(channel) for channel in range(channels)], pa.string()),
        frozen(_offsets([len(profile.channels) for profile in known]), np.int64),
        frozen(np.concatenate([np.array(profile.channels, np.int32) for profile in known]), np.int32),
        frozen(np.concatenate([np.array(profile.rates, np.float64) for profile in known]), np.float64),
        frozen(_offsets([len(profile.subscriptions) for profile in known]), np.int64),
        frozen(np.concatenate([np.array(profile.subscriptions, np.int32) for profile in known]), np.int32),
        frozen(capacity, np.float64),
        frozen(np.array([profile.access for profile in known]).reshape(len(known), len(core)), np.float64),
        frozen(core, np.float64),
    )


def _offsets(sizes: Sequence[int]) -> Offsets:
    return np.concatenate(([0], np.cumsum(np.array(sizes, np.int64))))
