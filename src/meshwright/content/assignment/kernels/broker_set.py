"""Search for the set of brokers that serves one channel best, with everything else as it is.

The brokers of the set are *held*. Each member of the audience is on its cheapest held broker. The cost of a
set is the channel's rate times the weight of the set's spanning tree, as if all messages started inside of
the set, plus what the members' moves change elsewhere. So a set can be priced without moving anybody.

Invariant: `first` and `second` are each member's cheapest and second cheapest held brokers. Opening, leaving
or swapping brokers then takes one step for each member to price, plus at most one tree.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.assignment.kernels import NONE, ZERO, Array
from meshwright.content.assignment.kernels.assignment_cost import AssignmentState
from meshwright.content.assignment.kernels.broker_trees import span, span_with, weights_of_set
from meshwright.jit.compiler import inlined, inner

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
