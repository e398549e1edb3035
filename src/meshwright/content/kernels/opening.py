"""Steiner mixing: the tree of each channel, with brokers opened as long as that pays."""

from __future__ import annotations

from meshwright.compiling import kernel
from meshwright.content.kernels.trees import ZERO, Array, span, span_with

ROUNDING = 1e-12
"""A gain below this part of what it is the difference of may be none at all."""


@kernel
def open_brokers(
    core: Array,
    access: Array,
    audience_ptr: Array,
    audience: Array,
    channel_rate: Array,
    attached: Array,
    nearest: Array,
    saving: Array,
    opened: Array,
    order: Array,
    up: Array,
    length: Array,
    reach: Array,
) -> None:
    """Attach each subscriber of each channel to a broker of the channel's tree: −1 for channels without rate.

    The first broker is the one with the cheapest links to all subscribers together. Then always the one is
    opened whose saving in access costs exceeds by most what it adds to the spanning tree of the open ones.
    Every subscriber's links carry the channel's whole rate (what others send, and what it sends itself), as
    the tree does, so that the rate cancels out. Savings are kept up to date: opening a broker changes only
    those that its new users would have had elsewhere.
    """
    brokers = len(core)
    for channel in range(len(channel_rate)):
        begin, end = audience_ptr[channel], audience_ptr[channel + 1]
        for place in range(begin, end):
            attached[place] = -1
        if begin == end or channel_rate[channel] <= 0.0:
            continue
        for broker in range(brokers):
            saving[broker] = 0.0
            opened[broker] = False
        for place in range(begin, end):
            for broker in range(brokers):
                saving[broker] += access[audience[place], broker]
        root = 0
        for broker in range(brokers):
            if saving[broker] < saving[root]:
                root = broker
        for broker in range(brokers):
            saving[broker] = 0.0
        for place in range(begin, end):
            user = audience[place]
            attached[place] = root
            nearest[place - begin] = access[user, root]
            for broker in range(brokers):
                saving[broker] += max(0.0, access[user, root] - access[user, broker])
        opened[root] = True
        order[0] = root
        size = ZERO + 1
        weight = 0.0
        while size < brokers:
            best = -1
            gain = 0.0
            for broker in range(brokers):
                if opened[broker]:
                    continue
                growth = span_with(core, broker, order, size, up, length, reach) - weight
                more = saving[broker] - growth
                if more > ROUNDING * (saving[broker] + weight) and (best < 0 or more > gain):
                    best, gain = broker, more
            if best < 0:
                break
            opened[best] = True
            order[size] = best
            size += 1
            weight = span(core, order, size, up, length)
            for place in range(begin, end):
                user = audience[place]
                before, after = nearest[place - begin], access[user, best]
                if after < before or (after == before and best < attached[place]):
                    attached[place] = best
                if after < before:
                    nearest[place - begin] = after
                    for broker in range(brokers):
                        cost = access[user, broker]
                        if cost < before:
                            saving[broker] -= before - max(cost, after)
