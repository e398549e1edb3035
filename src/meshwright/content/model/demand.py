"""What users send and receive: the loads that follow from rates and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Floats, Ids, Offsets
    from meshwright.content.model.workload import Workload


class Demand(NamedTuple):
    """The traffic of each user and channel; rates that nobody else wants are left out."""

    ptr: Offsets
    """User i sends in the slots from `ptr[i]` up to, but not including, `ptr[i + 1]`."""
    channels: Ids
    """The channel of each such slot, ascending for each user."""
    sent: Floats
    """The rate of each such slot."""
    own: Floats
    """For each subscription, in the order of `Workload.subscription_channels`: what its user sends there."""
    channel_rate: Floats
    """The rate of each channel, over all users."""
    outgoing: Floats
    """What each user sends, on all channels."""
    incoming: Floats
    """What each user receives, on all channels."""

    @property
    def load(self) -> Floats:
        """What each user puts on its broker, in and out."""
        return self.incoming + self.outgoing


def demand_of(workload: Workload) -> Demand:
    """Compute what each user sends and receives.

    A user's messages count on a channel if somebody else subscribes to it. A subscriber receives what all
    others send on its channels, but not its own messages.
    """
    users, channels = workload.num_users, workload.num_channels
    sender = np.repeat(np.arange(users, dtype=np.int64), np.diff(workload.rate_ptr))
    taker = np.repeat(np.arange(users, dtype=np.int64), np.diff(workload.subscription_ptr))
    # One key for each pair of user and channel; both arrays ascend.
    rate_keys = sender * channels + workload.rate_channels
    wanted_keys = taker * channels + workload.subscription_channels
    # Keep rates on channels with a subscriber other than the sender.
    subscribers = np.bincount(workload.subscription_channels, minlength=channels)
    wanted = subscribers[workload.rate_channels] - _contains(wanted_keys, rate_keys) > 0
    sent_keys, sent = rate_keys[wanted], workload.rates[wanted]
    on = workload.rate_channels[wanted]
    ptr = np.concatenate(([0], np.cumsum(np.bincount(sender[wanted], minlength=users))))
    channel_rate = np.bincount(on, weights=sent, minlength=channels)
    publishers = np.bincount(on, minlength=channels)
    mine = _contains(sent_keys, wanted_keys)
    own = np.zeros(len(wanted_keys))
    own[mine] = sent[np.searchsorted(sent_keys, wanted_keys[mine])]
    # Without other publishers the difference of two sums may not be exactly 0: set it.
    others = publishers[workload.subscription_channels] - mine > 0
    received = np.where(others, channel_rate[workload.subscription_channels] - own, 0.0)
    return Demand(
        ptr=frozen(ptr, np.int64),
        channels=frozen(on, np.int32),
        sent=frozen(sent, np.float64),
        own=frozen(own, np.float64),
        channel_rate=frozen(channel_rate, np.float64),
        outgoing=frozen(np.bincount(sender[wanted], weights=sent, minlength=users), np.float64),
        incoming=frozen(np.bincount(taker, weights=received, minlength=users), np.float64),
    )


def _contains(keys: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each of the asked numbers whether it is among the keys, which ascend."""
    if not len(keys):
        return np.zeros(len(asked), dtype=bool)
    contained: NDArray[np.bool_] = keys[np.minimum(np.searchsorted(keys, asked), len(keys) - 1)] == asked
    return contained
