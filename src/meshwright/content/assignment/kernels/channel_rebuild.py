"""Rebuild one channel: choose the brokers that serve it from scratch, and move its audience together.

Single moves cannot gather a channel on fewer brokers, because the first user to move pays for a longer tree.
So the set of brokers is searched for on its own (`broker_set`), from today's set and then from perturbed
ones: brokers around a random centre are all opened, or all closed. The audience moves only if the exact cost
falls by more than `least`, and no broker exceeds its room.
"""

from __future__ import annotations

from meshwright.content.assignment.kernels import NO, ZERO, Array
from meshwright.content.assignment.kernels.assignment_cost import AssignmentState
from meshwright.content.assignment.kernels.broker_set import (
    AROUND,
    BrokerSearch,
    choose_brokers,
    improve_set,
    weigh_held,
)
from meshwright.content.assignment.kernels.local_search import Moves, estimate_changes, try_moves
from meshwright.jit.compiler import inner, kernel

NARROWEST, WIDTHS = 2, 6
"""A perturbation opens or closes from `NARROWEST` to `NARROWEST + WIDTHS - 1` brokers around a centre."""


@kernel
def rebuild_channel(
    state: AssignmentState,
    channel: int,
    members: Array,
    centres: Array,
    least: float,
    search: BrokerSearch,
    moves: Moves,
) -> float:
    """Choose a channel's brokers again, and move its audience if that saves; return the saving.

    The search starts from today's brokers, and then, for each of `centres`, from the best set so far with the
    brokers around that centre opened or closed.
    """
    held, estimate = search.held, search.by_broker
    # Price each member on each broker, apart from this channel.
    for place in range(len(members)):
        user = members[place]
        estimate_changes(state, user, NO, channel, estimate)
        for broker in range(len(estimate)):
            full = state.broker_load[broker] + state.load[user] > state.room[broker]
            away = broker != state.broker_of[user]
            search.costs[place, broker] = float("inf") if full and away else estimate[broker]
    for broker in range(len(estimate)):
        held[broker] = state.audience[channel, broker] > 0
        search.due[broker] = True
    before = weigh_held(state, held) * state.channel_rate[channel]
    count = ZERO + len(members)
    best = improve_set(state, channel, count, least, search)
    copy_into(search.best_held, held)
    for number in range(len(centres)):
        # Opening and closing alternate; the width grows with every second perturbation.
        width, opens = NARROWEST + number // 2 % WIDTHS, number % 2 == 0
        perturb(state, members, centres[number], width, opens, search)
        found = improve_set(state, channel, count, least, search)
        if found < best - least:
            best = found
            copy_into(search.best_held, held)
        else:
            copy_into(held, search.best_held)
    if best >= before - least:
        return 0.0
    for place in range(len(members)):
        choose_brokers(search, place)
    return move_members(state, members, search, moves, least)


@inner
def perturb(
    state: AssignmentState, members: Array, centre: int, width: int, opens: bool, search: BrokerSearch
) -> None:
    """Open the brokers around one, or close them except for that one."""
    held, near = search.held, search.near
    for place in range(min(width, len(held))):
        held[near[centre, place]] = opens
    held[centre] = True
    for place in range(min(width + AROUND, len(held))):
        search.due[near[centre, place]] = True
    # A member without room on any held broker stays where it is, so its broker is held as well.
    for place in range(len(members)):
        user = members[place]
        home = state.broker_of[user]
        if held[home]:
            continue
        stuck = True
        for broker in range(len(held)):
            if held[broker] and state.broker_load[broker] + state.load[user] <= state.room[broker]:
                stuck = False
        if stuck:
            held[home] = True


@inner
def copy_into(target: Array, source: Array) -> None:
    """Copy an array element by element: assigning slices would allocate memory."""
    for place in range(len(source)):
        target[place] = source[place]


@inner
def move_members(
    state: AssignmentState, members: Array, search: BrokerSearch, moves: Moves, least: float
) -> float:
    """Move each member to its first choice, or to its second if that is full; return the saving.

    Members without room at either stay at home.
    """
    # Loads without any member: then members take their places one after the other.
    load = search.by_broker
    copy_into(load, state.broker_load)
    for place in range(len(members)):
        load[state.broker_of[members[place]]] -= state.load[members[place]]
    count = ZERO
    for place in range(len(members)):
        user = members[place]
        target = state.broker_of[user]
        # The first choice comes last in the loop, so it wins if both have room.
        for wish in (search.second[place], search.first[place]):
            if wish >= 0 and load[wish] + state.load[user] <= state.room[wish]:
                target = wish
        load[target] += state.load[user]
        if target != state.broker_of[user]:
            moves.users[count], moves.targets[count] = user, target
            count += 1
    return try_moves(state, moves, count, least)
