"""What users send and receive: the loads that follow from rates and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets
    from meshwright.content.model.workload import Workload

    Floats = NDArray[np.float64]


class Demand(NamedTuple):
    """The traffic of each user and channel; rates that nobody else wants are left out.

    User `i` sends `sent[ptr[i]:ptr[i + 1]]` on `channels[ptr[i]:ptr[i + 1]]`.
    """

    ptr: Offsets
    channels: Ids
    sent: Floats
    own: Floats
    """For each subscription, in the order of `Workload.subscription_channels`: what its user sends there."""
    channel_rate: Floats
    """The rate of each channel, over all users."""
    outgoing: Floats
    incoming: Floats

    @property
    def load(self) -> Floats:
        """What each user puts on its broker: in and out."""
        return self.incoming + self.outgoing


def demand_of(workload: Workload) -> Demand:
    """Work out who sends and receives how much.

    A user's message counts on a channel if somebody else subscribes to that; a subscriber receives what all
    others send on its channels, and not its own.
    """
    users, channels = workload.num_users, workload.num_channels
    sender = np.repeat(np.arange(users, dtype=np.int64), np.diff(workload.rate_ptr))
    taker = np.repeat(np.arange(users, dtype=np.int64), np.diff(workload.subscription_ptr))
    sent_keys = sender * channels + workload.rate_channels
    taken_keys = taker * channels + workload.subscription_channels
    subscribers = np.bincount(workload.subscription_channels, minlength=channels)
    wanted = subscribers[workload.rate_channels] - _holds(taken_keys, sent_keys) > 0
    kept_keys, sent = sent_keys[wanted], workload.rates[wanted]
    on = workload.rate_channels[wanted]
    ptr = np.concatenate(([0], np.cumsum(np.bincount(sender[wanted], minlength=users))))
    channel_rate = np.bincount(on, weights=sent, minlength=channels)
    publishers = np.bincount(on, minlength=channels)
    mine = _holds(kept_keys, taken_keys)
    own = np.zeros(len(taken_keys))
    own[mine] = sent[np.searchsorted(kept_keys, taken_keys[mine])]
    others = publishers[workload.subscription_channels] - mine > 0  # else a difference of sums, not quite 0
    received = np.where(others, channel_rate[workload.subscription_channels] - own, 0.0)
    return Demand(
        frozen(ptr, np.int64),
        frozen(on, np.int32),
        frozen(sent, np.float64),
        frozen(own, np.float64),
        frozen(channel_rate, np.float64),
        frozen(np.bincount(sender[wanted], weights=sent, minlength=users), np.float64),
        frozen(np.bincount(taker, weights=received, minlength=users), np.float64),
    )


def _holds(keys: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which of the asked are among the keys, which are in ascending order."""
    if not len(keys):
        return np.zeros(len(asked), dtype=bool)
    found: NDArray[np.bool_] = keys[np.minimum(np.searchsorted(keys, asked), len(keys) - 1)] == asked
    return found
