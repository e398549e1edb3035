"""The totals of an assignment: rates and subscribers by channel and broker, and traffic by core link.

`tally` takes one step for each publication and subscription. `link_traffic` grows a tree for each set of
brokers and for each source outside of it that has a rate.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.assignment.kernels.layout import ZERO, Array, Traffic
from meshwright.content.assignment.kernels.spanning_trees import SpanningTree, span
from meshwright.jit.compiler import kernel


class TreeLinks(NamedTuple):
    """The links of all trees, one row for each link."""

    tree_set: Array
    """The set of brokers that the tree connects."""
    source: Array
    """The broker outside of the set that the tree starts from; −1 for the tree that the whole set shares."""
    ends: Array
    """The two brokers of the link, the smaller one first."""


@kernel
def tally(broker_of: Array, traffic: Traffic, rate: Array, count: Array) -> None:
    """Add up, for each channel and broker, what its users send and how many of them subscribe."""
    for user in range(len(broker_of)):
        broker = broker_of[user]
        for slot in range(traffic.sent_ptr[user], traffic.sent_ptr[user + 1]):
            rate[traffic.sent_channels[slot], broker] += traffic.sent[slot]
        for slot in range(traffic.wanted_ptr[user], traffic.wanted_ptr[user + 1]):
            count[traffic.wanted_channels[slot], broker] += 1


@kernel
def link_traffic(
    core: Array, held: Array, rate: Array, tree: SpanningTree, crossing: Array, links: TreeLinks
) -> int:
    """Add up what crosses each core link, u < v, and list the trees' links as far as `links` has room.

    Row r of `held` says which brokers are in set r; `rate[r, b]` is what broker b sends to it. Returns the
    number of links of all trees.
    """
    brokers = held.shape[1]
    count = 0
    for row in range(len(held)):
        # All sources inside of the set share one tree, so their rates add up.
        inside = 0.0
        for broker in range(brokers):
            if held[row, broker]:
                inside += rate[row, broker]
        # Source −1 is that shared tree.
        for source in range(-1, brokers):
            if source >= 0 and (held[row, source] or rate[row, source] <= 0.0):
                continue
            carried = inside if source < 0 else rate[row, source]
            if carried <= 0.0:
                continue
            size = ZERO
            for broker in range(brokers):
                if held[row, broker] or broker == source:
                    tree.order[size] = broker
                    size += 1
            if size > 1:
                span(core, tree.order, size, tree.up, tree.length)
            for place in range(1, size):
                u, v = tree.order[place], tree.order[tree.up[place]]
                if u > v:
                    u, v = v, u
                crossing[u, v] += carried
                if count < len(links.tree_set):
                    links.tree_set[count] = row
                    links.source[count] = source
                    links.ends[count, 0] = u
                    links.ends[count, 1] = v
                count += 1
    return count
