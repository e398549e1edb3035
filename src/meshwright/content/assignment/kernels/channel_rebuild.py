"""One channel anew: which brokers its audience is on is searched for with everything else as it is.

For that search a channel costs its rate times the spanning tree of its brokers, as if all its messages
started among them, and what its members' moves change elsewhere. That takes no moves to work out; only what
is found in the end is tried.
"""

from __future__ import annotations

from meshwright.content.assignment.kernels.incremental_cost import Standing
from meshwright.content.assignment.kernels.local_search import attempt, guess_changes
from meshwright.content.assignment.kernels.spanning_trees import (
    NO,
    NONE,
    ZERO,
    Array,
    span,
    span_with,
    weights_of_set,
)
from meshwright.jit.compiler import inner, kernel

SWAPS = 6
"""A broker is left for one of so many near it."""
AROUND = 12
"""Where something has changed, so many brokers around are looked at again."""
NARROWEST, WIDTHS = 2, 6
"""A disturbance opens or closes 2 to 7 brokers around one."""


@kernel
def remake(
    at: Standing,
    channel: int,
    members: Array,
    centres: Array,
    near: Array,
    least: float,
    costs: Array,
    held: Array,
    kept: Array,
    due: Array,
    first: Array,
    second: Array,
    guess: Array,
    users: Array,
    targets: Array,
    homes: Array,
) -> float:
    """Choose a channel's brokers anew, and move its audience if that saves; return what it saves.

    From those of today on, and then, for each of `centres`, from the best so far with the brokers around that
    one opened or closed. `near` has the brokers in order of distance from each.
    """
    for place in range(len(members)):
        user = members[place]
        guess_changes(at, user, NO, channel, guess)
        for broker in range(len(guess)):
            full = at.broker_load[broker] + at.load[user] > at.room[broker]
            away = broker != at.broker_of[user]
            costs[place, broker] = float("inf") if full and away else guess[broker]
    for broker in range(len(guess)):
        held[broker] = at.audience[channel, broker] > 0
        due[broker] = True
    before = grow(at, held) * at.channel_rate[channel]
    count = ZERO + len(members)
    best = settle(at, channel, count, least, near, costs, held, due, first, second)
    copy(held, kept)
    for number in range(len(centres)):
        disturb(
            at, members, centres[number], NARROWEST + number // 2 % WIDTHS, number % 2 == 0, near, held, due
        )
        found = settle(at, channel, count, least, near, costs, held, due, first, second)
        if found < best - least:
            best = found
            copy(held, kept)
        else:
            copy(kept, held)
    if best >= before - least:
        return 0.0
    for place in range(len(members)):
        choose(costs, place, held, first, second)
    return carry_out(at, members, first, second, guess, users, targets, homes, least)


@inner
def disturb(
    at: Standing, members: Array, centre: int, width: int, opens: bool, near: Array, held: Array, due: Array
) -> None:
    """Open the brokers around one, or close them and leave that one."""
    for place in range(min(width, len(held))):
        held[near[centre, place]] = opens
    held[centre] = True
    for place in range(min(width + AROUND, len(held))):
        due[near[centre, place]] = True
    for place in range(len(members)):
        user = members[place]
        home = at.broker_of[user]
        stuck = not held[home]
        for broker in range(len(held)):
            stuck = stuck and not (held[broker] and at.broker_load[broker] + at.load[user] <= at.room[broker])
        if stuck:
            held[home] = True


@inner
def copy(source: Array, copied: Array) -> None:
    """Copy an array; by slices that would take memory on the way."""
    for place in range(len(source)):
        copied[place] = source[place]


@inner
def listed(at: Standing, held: Array, but: int) -> int:
    """List the held brokers but one in `order`, and count them."""
    size: int = ZERO
    for broker in range(len(held)):
        if held[broker] and broker != but:
            at.order[size] = broker
            size += 1
    return size


@inner
def choose(costs: Array, place: int, held: Array, first: Array, second: Array) -> None:
    """Fill in the cheapest and the second cheapest held broker for a member."""
    one = NONE
    two = NONE
    for broker in range(len(held)):
        if held[broker]:
            if one < 0 or costs[place, broker] < costs[place, one]:
                one, two = ZERO + broker, one
            elif two < 0 or costs[place, broker] < costs[place, two]:
                two = ZERO + broker
    first[place], second[place] = one, two


@inner
def settle(
    at: Standing,
    channel: int,
    count: int,
    least: float,
    near: Array,
    costs: Array,
    held: Array,
    due: Array,
    first: Array,
    second: Array,
) -> float:
    """Open, leave and swap brokers, those that are `due`, until nothing pays; return what the channel costs.

    Each such change makes the brokers around due again.
    """
    rate = at.channel_rate[channel]
    for place in range(count):
        choose(costs, place, held, first, second)
    weight = grow(at, held)
    again = True
    while again:
        again = False
        for broker in range(len(held)):
            if not due[broker]:
                continue
            due[broker] = False
            left, joined = NONE, NONE
            if held[broker]:
                left, joined = best_swap(
                    at, ZERO + broker, rate, weight, count, least, near, costs, held, first, second
                )
            else:
                change = swap_change(costs, count, NONE, ZERO + broker, first, second)
                if change + rate * (at.fresh[broker] - weight) < -least:
                    joined = ZERO + broker
            if left >= 0 or joined >= 0:
                exchange(costs, count, left, joined, held, first, second)
                for one in (left, joined):
                    for place in range(min(AROUND, len(held)) if one >= 0 else 0):
                        due[near[one, place]] = True
                weight = grow(at, held)
                again = True
    total: float = rate * weight
    for place in range(count):
        total += costs[place, first[place]]
    return total


@inner
def grow(at: Standing, held: Array) -> float:
    """Return the weight of the held brokers' tree; leave in `fresh` what it is with each other broker."""
    size = listed(at, held, NONE)
    weights_of_set(at.core, at.order, size, at.up, at.length, at.reach, at.fresh)
    weight: float = at.fresh[at.order[0]]
    return weight


@inner
def best_swap(
    at: Standing,
    broker: int,
    rate: float,
    weight: float,
    count: int,
    least: float,
    near: Array,
    costs: Array,
    held: Array,
    first: Array,
    second: Array,
) -> tuple[int, int]:
    """Return a broker and the one near it to hold instead, if that pays; −1 for none, both if nothing pays.

    A tree is at most the nearest link lighter without a broker: where that would not pay, it is not grown.
    """
    nearest = float("inf")
    for place in range(1, len(held)):
        if held[near[broker, place]]:
            nearest = at.core[broker, near[broker, place]]
            break
    size = NONE
    best = NONE
    left = NONE
    change = -least
    for place in range(min(SWAPS + 1, len(held))):
        other = near[broker, place] if place > 0 else NONE
        if other >= 0 and held[other]:
            continue
        own = swap_change(costs, count, broker, other, first, second)
        grown, saved = weight, nearest
        if other >= 0:
            grown, saved = at.fresh[other], min(nearest, at.core[broker, other])
        if own + rate * (grown - saved - weight) >= change:
            continue
        if size < 0:
            size = listed(at, held, broker)
            shrunk = span(at.core, at.order, size, at.up, at.length)
        grown = shrunk
        if other >= 0:
            grown = span_with(at.core, other, at.order, size, at.up, at.length, at.reach)
        found = own + rate * (grown - weight)
        if found < change:
            left, best, change = broker, other, found
    return left, best


@inner
def exchange(
    costs: Array, count: int, left: int, joined: int, held: Array, first: Array, second: Array
) -> None:
    """Hold one broker no longer and another from now on; look anew for those whom that concerns."""
    if left >= 0:
        held[left] = False
    if joined >= 0:
        held[joined] = True
    for place in range(count):
        gone = left >= 0 and (first[place] == left or second[place] == left)
        nearer = joined >= 0 and (second[place] < 0 or costs[place, joined] < costs[place, second[place]])
        if gone or nearer:
            choose(costs, place, held, first, second)


@inner
def swap_change(costs: Array, count: int, left: int, joined: int, first: Array, second: Array) -> float:
    """Return what members' own costs rise by if one broker is left and one opened (either may be none)."""
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


@inner
def carry_out(
    at: Standing,
    members: Array,
    first: Array,
    second: Array,
    load: Array,
    users: Array,
    targets: Array,
    homes: Array,
    least: float,
) -> float:
    """Move each member to its first choice, or to its second if there is no room; return what that saves."""
    copy(at.broker_load, load)
    for place in range(len(members)):
        load[at.broker_of[members[place]]] -= at.load[members[place]]
    count = ZERO
    for place in range(len(members)):
        user = members[place]
        target = at.broker_of[user]
        for wish in (second[place], first[place]):
            if wish >= 0 and load[wish] + at.load[user] <= at.room[wish]:
                target = wish
        load[target] += at.load[user]
        if target != at.broker_of[user]:
            users[count], targets[count] = user, target
            count += 1
    return attempt(at, users, targets, homes, count, least)
