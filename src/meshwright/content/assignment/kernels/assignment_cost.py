"""The cost of an assignment: its totals from scratch, and what changes move by move.

`tally` adds up rates and subscribers in one step for each publication and subscription. `link_traffic` grows
a tree for each set of brokers and for each source outside of it that has a rate.

Invariant of `AssignmentState`: `rate`, `audience` and `weight` are those of `broker_of`, by channel and
broker. A move changes the tree of a channel only if the user is the last subscriber at its old broker or the
first one at its new broker. All other channels keep their trees, so most moves take one step for each of the
user's publications and subscriptions.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.assignment.kernels import NONE, ZERO, Array, Traffic
from meshwright.content.assignment.kernels.broker_trees import SpanningTree, span, weights_of_set
from meshwright.jit.compiler import inlined, inner, kernel


class AssignmentState(NamedTuple):
    """A workload, an assignment of its users, the totals that moves keep up to date, and scratch."""

    core: Array
    """Brokers × brokers: the cost of each core link."""
    access: Array
    """Users × brokers: the cost of each access link."""
    load: Array
    """The load of each user."""
    room: Array
    """The load that each broker takes at most."""
    traffic: Traffic
    """What each user sends and wants; channels are 64-bit."""
    own: Array
    """For each subscription slot: what its user itself sends on that channel."""
    channel_rate: Array
    """The rate of each channel, over all users."""
    broker_of: Array
    """The broker of each user."""
    broker_load: Array
    """The load of each broker."""
    rate: Array
    """Channels × brokers: what the broker's users send on the channel."""
    audience: Array
    """Channels × brokers: how many of the broker's users subscribe to the channel."""
    weight: Array
    """Channels × brokers: the weight of the spanning tree of the broker and the channel's audience."""
    tree: SpanningTree
    """Scratch: a tree under construction."""
    new_weight: Array
    """Scratch: one channel's row of `weight`, as it would be for another set of brokers."""


@inner
def weigh_changed_set(state: AssignmentState, channel: int, left: int, joined: int) -> None:
    """Fill `new_weight` for a channel after one broker has left its set and another has joined (−1: none)."""
    size = ZERO
    for broker in range(len(state.new_weight)):
        if broker == joined or (state.audience[channel, broker] > 0 and broker != left):
            state.tree.order[size] = broker
            size += 1
    weights_of_set(state.core, state.tree, size, state.new_weight)


@inlined
def core_change(state: AssignmentState, channel: int) -> float:
    """Return by how much a channel's core cost rises with `new_weight` instead of its own trees."""
    change = 0.0
    for broker in range(len(state.new_weight)):
        change += state.rate[channel, broker] * (state.new_weight[broker] - state.weight[channel, broker])
    return change


@kernel
def move_change(state: AssignmentState, user: int, target: int) -> float:
    """Return by how much the cost rises if a user moves to another broker."""
    home = state.broker_of[user]
    if home == target:
        return 0.0
    traffic = state.traffic
    change: float = state.load[user] * (state.access[user, target] - state.access[user, home])
    # The user's own messages start at the target. This uses today's trees.
    for slot in range(traffic.sent_ptr[user], traffic.sent_ptr[user + 1]):
        channel = traffic.sent_channels[slot]
        change += traffic.sent[slot] * (state.weight[channel, target] - state.weight[channel, home])
    for slot in range(traffic.wanted_ptr[user], traffic.wanted_ptr[user + 1]):
        channel = traffic.wanted_channels[slot]
        left = home if state.audience[channel, home] == 1 else NONE
        joined = target if state.audience[channel, target] == 0 else NONE
        if (left >= 0 or joined >= 0) and state.channel_rate[channel] > 0.0:
            weigh_changed_set(state, channel, left, joined)
            # `core_change` still counts the user's messages at home. Where it also publishes on this channel,
            # we replace what the loop above added by the difference in the new trees.
            before = state.weight[channel, target] - state.weight[channel, home]
            after = state.new_weight[target] - state.new_weight[home]
            change += core_change(state, channel) + state.own[slot] * (after - before)
    return change


@kernel
def move(state: AssignmentState, user: int, target: int) -> None:
    """Move a user to another broker, without looking at its room."""
    home = state.broker_of[user]
    if home == target:
        return
    traffic = state.traffic
    for slot in range(traffic.sent_ptr[user], traffic.sent_ptr[user + 1]):
        channel = traffic.sent_channels[slot]
        state.rate[channel, home] -= traffic.sent[slot]
        state.rate[channel, target] += traffic.sent[slot]
    for slot in range(traffic.wanted_ptr[user], traffic.wanted_ptr[user + 1]):
        channel = traffic.wanted_channels[slot]
        # The set is weighed before `audience` changes: `weigh_changed_set` reads the old counts.
        left = home if state.audience[channel, home] == 1 else NONE
        joined = target if state.audience[channel, target] == 0 else NONE
        if left >= 0 or joined >= 0:
            weigh_changed_set(state, channel, left, joined)
            for broker in range(len(state.new_weight)):
                state.weight[channel, broker] = state.new_weight[broker]
        state.audience[channel, home] -= 1
        state.audience[channel, target] += 1
    state.broker_load[home] -= state.load[user]
    state.broker_load[target] += state.load[user]
    state.broker_of[user] = target


@kernel
def move_changes(state: AssignmentState, user: int, changes: Array) -> None:
    """Fill in by how much the cost rises for each broker that a user may move to."""
    for target in range(len(changes)):
        changes[target] = move_change(state, user, target)


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
