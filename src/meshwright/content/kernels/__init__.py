"""The compiled loops of the assignment algorithms, and the array layouts that they share.

This file compiles nothing, so code outside of the kernels may import it without loading a compiler.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meshwright.content.workload import Workload

Array = Any
"""A numpy array; the compiler infers its type."""
NONE: Any = np.int64(-1)
ZERO: Any = np.int64(0)
NO: Any = np.bool_(False)
"""Typed constants for arguments of kernels: a literal −1, 0 or False would compile the callee once more."""


class Traffic(NamedTuple):
    """What each user sends and wants; rates that nobody else wants are left out, as in `Demand`."""

    sent_ptr: Array
    """User i sends in the slots from `sent_ptr[i]` up to, but not including, `sent_ptr[i + 1]`."""
    sent_channels: Array
    """The channel of each such slot, ascending for each user."""
    sent: Array
    """The rate of each such slot."""
    wanted_ptr: Array
    """User i subscribes in the slots from `wanted_ptr[i]` up to, but not including, `wanted_ptr[i + 1]`."""
    wanted_channels: Array
    """The channel of each such slot, ascending for each user."""


class Audience(NamedTuple):
    """The subscribers of each channel."""

    ptr: Array
    """Channel c has the slots from `ptr[c]` up to, but not including, `ptr[c + 1]`."""
    users: Array
    """The subscriber of each slot, ascending for each channel."""


def traffic_of(workload: Workload) -> Traffic:
    """Return the traffic of a workload; channels are 32-bit ids."""
    demand = workload.demand
    return Traffic(
        sent_ptr=demand.ptr,
        sent_channels=demand.channels,
        sent=demand.sent,
        wanted_ptr=workload.subscription_ptr,
        wanted_channels=workload.subscription_channels,
    )
