"""What an assignment adds up to, by channel and broker."""

from __future__ import annotations

from meshwright.compiling import kernel
from meshwright.content.kernels.trees import ZERO, Array, span


@kernel
def tally(
    broker_of: Array,
    sent_ptr: Array,
    sent_channels: Array,
    sent: Array,
    taken_ptr: Array,
    taken_channels: Array,
    rate: Array,
    count: Array,
) -> None:
    """Add up, for each channel and broker, what its users send and how many of them subscribe."""
    for user in range(len(broker_of)):
        broker = broker_of[user]
        for slot in range(sent_ptr[user], sent_ptr[user + 1]):
            rate[sent_channels[slot], broker] += sent[slot]
        for slot in range(taken_ptr[user], taken_ptr[user + 1]):
            count[taken_channels[slot], broker] += 1


@kernel
def link_traffic(
    core: Array,
    held: Array,
    rate: Array,
    order: Array,
    up: Array,
    length: Array,
    traffic: Array,
    set_of: Array,
    source_of: Array,
    ends: Array,
) -> int:
    """Add up what crosses each core link, u < v, and list the trees' links if there is room for them.

    A link of a tree is its set, its source (−1: every broker of the set) and its two ends. Returns how many
    links the trees have.
    """
    brokers = held.shape[1]
    links = 0
    for row in range(len(held)):
        inside = 0.0
        for broker in range(brokers):
            if held[row, broker]:
                inside += rate[row, broker]
        for source in range(-1, brokers):
            if source >= 0 and (held[row, source] or rate[row, source] <= 0.0):
                continue
            carried = inside if source < 0 else rate[row, source]
            if carried <= 0.0:
                continue
            size = ZERO
            for broker in range(brokers):
                if held[row, broker] or broker == source:
                    order[size] = broker
                    size += 1
            if size > 1:
                span(core, order, size, up, length)
            for place in range(1, size):
                u, v = order[place], order[up[place]]
                if u > v:
                    u, v = v, u
                traffic[u, v] += carried
                if links < len(set_of):
                    set_of[links] = row
                    source_of[links] = source
                    ends[links, 0] = u
                    ends[links, 1] = v
                links += 1
    return links
