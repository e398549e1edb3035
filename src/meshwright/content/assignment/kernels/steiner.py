"""One tree of brokers for each channel: our reading of Steiner mixing, in the spirit of cbps, section IV-B.

The paper grows a tree for each channel and publisher (`steiner_literal`). Here all publishers of a channel
share one tree: start with the best single broker, and open further ones while their saving in access cost
exceeds the growth of the spanning tree. A channel with m subscribers that opens k brokers takes
O(m·B + k·(B·k + m) + changes·B) steps, because savings are updated instead of recomputed.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.assignment.kernels.layout import ZERO, Array, Audience
from meshwright.content.assignment.kernels.spanning_trees import SpanningTree, span, span_with
from meshwright.jit.compiler import kernel

ROUNDING = 1e-12
"""A gain below this fraction of the numbers that it is the difference of counts as rounding error."""


class Opening(NamedTuple):
    """Scratch: the open brokers of one channel, and what opening another one would save."""

    nearest: Array
    """For each subscriber of the channel: its access cost to its open broker."""
    saving: Array
    """For each broker: by how much all access costs fall if it opens."""
    opened: Array
    """Whether each broker is open."""


@kernel
def open_brokers(
    core: Array,
    access: Array,
    audience: Audience,
    channel_rate: Array,
    attached: Array,
    opening: Opening,
    tree: SpanningTree,
) -> None:
    """Attach each subscriber of each channel to a broker of the channel's tree; −1 for channels without rate.

    A subscriber's link carries the channel's whole rate, either in or out, and so does every link of the
    tree. The rate therefore cancels out, and only link costs are compared. Ties go to the first broker.
    """
    brokers = len(core)
    nearest, saving, opened = opening.nearest, opening.saving, opening.opened
    for channel in range(len(channel_rate)):
        begin, end = audience.ptr[channel], audience.ptr[channel + 1]
        for place in range(begin, end):
            attached[place] = -1
        if begin == end or channel_rate[channel] <= 0.0:
            continue
        # The root is the channel's 1-median: the broker with the least access cost for all subscribers.
        # `saving` holds these sums until the root is known.
        for broker in range(brokers):
            saving[broker] = 0.0
            opened[broker] = False
        for place in range(begin, end):
            for broker in range(brokers):
                saving[broker] += access[audience.users[place], broker]
        root = 0
        for broker in range(brokers):
            if saving[broker] < saving[root]:
                root = broker
        for broker in range(brokers):
            saving[broker] = 0.0
        for place in range(begin, end):
            user = audience.users[place]
            attached[place] = root
            nearest[place - begin] = access[user, root]
            for broker in range(brokers):
                saving[broker] += max(0.0, access[user, root] - access[user, broker])
        opened[root] = True
        tree.order[0] = root
        size = ZERO + 1
        weight = 0.0
        # Open the broker with the largest gain, until no broker gains anything.
        while size < brokers:
            best = -1
            gain = 0.0
            for broker in range(brokers):
                if opened[broker]:
                    continue
                growth = span_with(core, broker, tree, size) - weight
                more = saving[broker] - growth
                if more > ROUNDING * (saving[broker] + weight) and (best < 0 or more > gain):
                    best, gain = broker, more
            if best < 0:
                break
            opened[best] = True
            tree.order[size] = best
            size += 1
            weight = span(core, tree.order, size, tree.up, tree.length)
            for place in range(begin, end):
                user = audience.users[place]
                before, after = nearest[place - begin], access[user, best]
                if after < before or (after == before and best < attached[place]):
                    attached[place] = best
                if after < before:
                    nearest[place - begin] = after
                    # Brokers that were cheaper than the old one for this user now save less: only the
                    # part below the new access cost remains.
                    for broker in range(brokers):
                        cost = access[user, broker]
                        if cost < before:
                            saving[broker] -= before - max(cost, after)
