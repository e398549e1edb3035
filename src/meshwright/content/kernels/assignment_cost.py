"""The cost of an assignment: its totals, what changes move by move, and the best brokers for a channel.

`tally` adds up rates and subscribers in one step for each publication and subscription. `link_traffic` grows
a tree for each set of brokers and for each source outside of it that has a rate.

Invariant of `AssignmentState`: `rate`, `audience` and `weight` are those of `broker_of`, by channel and
broker. A move changes the tree of a channel only if the user is the last subscriber at its old broker or the
first one at its new broker. All other channels keep their trees, so most moves take one step for each of the
user's publications and subscriptions.

`improve_set` searches for the set of brokers that serves one channel best, with everything else as it is. The
brokers of the set are *held*. Each member of the audience is on its cheapest held broker. The cost of a set
is the channel's rate times the weight of the set's spanning tree, as if all messages started inside of the
set, plus what the members' moves change elsewhere. So a set can be priced without moving anybody. Invariant:
`first` and `second` are each member's cheapest and second cheapest held brokers. Opening, leaving or swapping
brokers then takes one step for each member to price, plus at most one tree.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.kernels import NONE, ZERO, Array, Traffic
from meshwright.content.kernels.broker_trees import SpanningTree, span, span_with, weights_of_set
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


SWAPS = 6
"""Number of nearest brokers that are tried instead of a held one."""
AROUND = 12
"""Number of brokers around a change that are looked at again."""


class BrokerSearch(NamedTuple):
    """The state of one channel's search; rows of members have room for the largest audience."""

    near: Array
    """Brokers × brokers: for each broker all brokers by distance, itself first."""
    costs: Array
    """Members × brokers: what moving there changes apart from this channel; infinite without room."""
    held: Array
    """Whether each broker is in the set."""
    best_held: Array
    """The best set so far."""
    due: Array
    """Whether each broker has to be looked at."""
    first: Array
    """Each member's cheapest held broker."""
    second: Array
    """Each member's second cheapest held broker; −1 if there is only one."""
    by_broker: Array
    """Scratch: one number for each broker."""


@inner
def list_held(state: AssignmentState, held: Array, left_out: int) -> int:
    """List the held brokers except for one in the scratch tree's `order` (−1: all), and count them."""
    size: int = ZERO
    for broker in range(len(held)):
        if held[broker] and broker != left_out:
            state.tree.order[size] = broker
            size += 1
    return size


@inner
def weigh_held(state: AssignmentState, held: Array) -> float:
    """Return the weight of the held brokers' tree, and fill `new_weight` with that of it and each broker."""
    size = list_held(state, held, NONE)
    weights_of_set(state.core, state.tree, size, state.new_weight)
    weight: float = state.new_weight[state.tree.order[0]]
    return weight


@inlined
def choose_brokers(search: BrokerSearch, place: int) -> None:
    """Fill in the cheapest and the second cheapest held broker of a member."""
    costs, held = search.costs, search.held
    one = NONE
    two = NONE
    for broker in range(len(held)):
        if held[broker]:
            if one < 0 or costs[place, broker] < costs[place, one]:
                one, two = ZERO + broker, one
            elif two < 0 or costs[place, broker] < costs[place, two]:
                two = ZERO + broker
    search.first[place], search.second[place] = one, two


@inner
def improve_set(
    state: AssignmentState, channel: int, count: int, least: float, search: BrokerSearch
) -> float:
    """Open, leave and swap brokers that are due until nothing saves more than `least`; return the set's cost.

    `count` is the number of members. Each change makes the brokers around it due again.
    """
    rate = state.channel_rate[channel]
    for place in range(count):
        choose_brokers(search, place)
    weight = weigh_held(state, search.held)
    again = True
    while again:
        again = False
        for broker in range(len(search.held)):
            if not search.due[broker]:
                continue
            search.due[broker] = False
            left, joined = NONE, NONE
            if search.held[broker]:
                left, joined = best_swap(state, ZERO + broker, rate, weight, count, least, search)
            else:
                # `new_weight` holds the tree of the set with each other broker: opening needs no new tree.
                change = members_change(search, count, NONE, ZERO + broker)
                if change + rate * (state.new_weight[broker] - weight) < -least:
                    joined = ZERO + broker
            if left >= 0 or joined >= 0:
                swap(search, count, left, joined)
                for one in (left, joined):
                    for place in range(min(AROUND, len(search.held)) if one >= 0 else 0):
                        search.due[search.near[one, place]] = True
                weight = weigh_held(state, search.held)
                again = True
    total: float = rate * weight
    for place in range(count):
        total += search.costs[place, search.first[place]]
    return total


@inner
def best_swap(
    state: AssignmentState,
    broker: int,
    rate: float,
    weight: float,
    count: int,
    least: float,
    search: BrokerSearch,
) -> tuple[int, int]:
    """Return a held broker and the one near it to hold instead, if that saves more than `least`.

    The second is −1 if the broker is better left without a replacement, and both are −1 if nothing pays.
    """
    held, near, tree = search.held, search.near, state.tree
    nearest = float("inf")
    for place in range(1, len(held)):
        if held[near[broker, place]]:
            nearest = state.core[broker, near[broker, place]]
            break
    size = NONE
    best = NONE
    left = NONE
    change = -least
    for place in range(min(SWAPS + 1, len(held))):
        # Position 0 stands for leaving without a replacement.
        other = near[broker, place] if place > 0 else NONE
        if other >= 0 and held[other]:
            continue
        moved = members_change(search, count, broker, other)
        # Putting the broker back costs at most its cheapest link, so without it the tree is lighter by at
        # most that much. If even this would not pay, the tree is not grown.
        grown, saved = weight, nearest
        if other >= 0:
            grown, saved = state.new_weight[other], min(nearest, state.core[broker, other])
        if moved + rate * (grown - saved - weight) >= change:
            continue
        # The tree without the broker is the same for all replacements: grow it once, when first needed.
        if size < 0:
            size = list_held(state, held, broker)
            shrunk = span(state.core, tree.order, size, tree.up, tree.length)
        grown = shrunk
        if other >= 0:
            grown = span_with(state.core, other, tree, size)
        exact = moved + rate * (grown - weight)
        if exact < change:
            left, best, change = broker, other, exact
    return left, best


@inner
def swap(search: BrokerSearch, count: int, left: int, joined: int) -> None:
    """Stop holding one broker and start holding another (−1: none); choose again for members concerned."""
    costs, first, second = search.costs, search.first, search.second
    if left >= 0:
        search.held[left] = False
    if joined >= 0:
        search.held[joined] = True
    for place in range(count):
        gone = left >= 0 and (first[place] == left or second[place] == left)
        nearer = joined >= 0 and (second[place] < 0 or costs[place, joined] < costs[place, second[place]])
        if gone or nearer:
            choose_brokers(search, place)


@inlined
def members_change(search: BrokerSearch, count: int, left: int, joined: int) -> float:
    """Return by how much the members' costs rise if one broker is left and another one opened (−1: none)."""
    costs, first, second = search.costs, search.first, search.second
    change = 0.0
    for place in range(count):
        now = costs[place, first[place]]
        then = now
        if first[place] == left:
            then = costs[place, second[place]] if second[place] >= 0 else float("inf")
        if joined >= 0 and costs[place, joined] < then:
            then = costs[place, joined]
        change += then - now
    return change
