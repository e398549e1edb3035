"""Local search by single users: move each one to a better broker, and displace another one if that is full.

Trying a move exactly may grow trees, so brokers are ranked by an estimate first, and only the best few are
tried. An estimate takes one step for each of the user's publications and subscriptions and each broker, plus
one tree for each channel whose last subscriber at the broker the user is. Invariant: no kernel here leaves a
broker above its room, and every accepted change lowers the cost by more than `least`.

`rebuild_channel` goes further for one channel: it chooses the brokers that serve it from scratch, and moves
its audience together. Single moves cannot gather a channel on fewer brokers, because the first user to move
pays for a longer tree. So the set of brokers is searched for on its own (`improve_set`), from today's set and
then from perturbed ones: brokers around a random centre are all opened, or all closed. The audience moves
only if the exact cost falls by more than `least`, and no broker exceeds its room.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.kernels import NO, NONE, ZERO, Array
from meshwright.content.kernels.assignment_cost import (
    AROUND,
    AssignmentState,
    BrokerSearch,
    choose_brokers,
    core_change,
    improve_set,
    move,
    move_change,
    weigh_changed_set,
    weigh_held,
)
from meshwright.jit.compiler import inlined, inner, kernel

TRIES = 3
"""Number of brokers, best estimate first, that are tried exactly for each user."""


class Moves(NamedTuple):
    """Scratch: several moves that are made or undone together, one slot for each."""

    users: Array
    """The users that move."""
    targets: Array
    """The broker that each one moves to."""
    homes: Array
    """The broker that each one came from, to undo the moves."""


@inlined
def estimate_joining(state: AssignmentState, channel: int, home: int, target: int) -> float:
    """Estimate by how much a channel's core cost rises if a broker joins its set.

    As if all messages of the channel started inside of its set. `home` must be in the set.
    """
    if state.audience[channel, target] > 0:
        return 0.0
    added: float = state.channel_rate[channel] * (state.weight[channel, target] - state.weight[channel, home])
    return added


@inner
def estimate_changes(state: AssignmentState, user: int, hopeful: bool, skipped: int, estimate: Array) -> None:
    """Estimate by how much the cost rises for each broker that a user may move to.

    Exact except for channels whose set of brokers would change. There, leaving is priced as if nobody joined,
    and joining as if all messages started inside of the set, or, if `hopeful`, as if it were free. The
    channel `skipped` does not count (−1: all count).
    """
    traffic = state.traffic
    home = state.broker_of[user]
    for target in range(len(estimate)):
        estimate[target] = state.load[user] * (state.access[user, target] - state.access[user, home])
    for slot in range(traffic.sent_ptr[user], traffic.sent_ptr[user + 1]):
        channel, own = traffic.sent_channels[slot], traffic.sent[slot]
        if channel == skipped:
            continue
        here = state.weight[channel, home]
        for target in range(len(estimate)):
            estimate[target] += own * (state.weight[channel, target] - here)
    for slot in range(traffic.wanted_ptr[user], traffic.wanted_ptr[user + 1]):
        channel = traffic.wanted_channels[slot]
        if channel == skipped or state.channel_rate[channel] <= 0.0:
            continue
        # The saving from leaving is the same for every target, so its tree is grown once.
        left = 0.0
        if state.audience[channel, home] == 1:
            weigh_changed_set(state, channel, home, NONE)
            left = core_change(state, channel)
        for target in range(len(estimate)):
            estimate[target] += left
            if not hopeful:
                estimate[target] += estimate_joining(state, channel, home, target)
    estimate[home] = 0.0


@inner
def estimate_displacement(state: AssignmentState, user: int, target: int) -> float:
    """Estimate one change, without what the user sends and without what its leaving saves."""
    traffic = state.traffic
    home = state.broker_of[user]
    change: float = state.load[user] * (state.access[user, target] - state.access[user, home])
    for slot in range(traffic.wanted_ptr[user], traffic.wanted_ptr[user + 1]):
        change += estimate_joining(state, traffic.wanted_channels[slot], home, target)
    return change


@inner
def try_moves(state: AssignmentState, moves: Moves, count: int, least: float) -> float:
    """Make the first `count` moves if together they save more than `least`; return the saving.

    Otherwise undo them and return 0. All brokers must have room at the end; on the way, as in a swap, they
    may exceed it.
    """
    change = 0.0
    for number in range(count):
        moves.homes[number] = state.broker_of[moves.users[number]]
        change += move_change(state, moves.users[number], moves.targets[number])
        move(state, moves.users[number], moves.targets[number])
    fits = True
    for number in range(count):
        for broker in (moves.targets[number], moves.homes[number]):
            fits = fits and state.broker_load[broker] <= state.room[broker]
    if fits and change < -least:
        return -change
    for number in range(count - 1, -1, -1):
        move(state, moves.users[number], moves.homes[number])
    return 0.0


@kernel
def sweep_users(
    state: AssignmentState,
    first: int,
    last: int,
    hopeful: bool,
    least: float,
    estimate: Array,
    moves: Moves,
) -> float:
    """Move each user from `first` up to `last` to the broker that saves most, if any does; return the saving.

    The brokers with the best estimates are tried; if `hopeful`, all that would pay if trees did not grow. If
    the one with the best estimate is full, a user there may have to leave.
    """
    saved = 0.0
    brokers = len(estimate)
    for user in range(first, last):
        home, load = state.broker_of[user], state.load[user]
        estimate_changes(state, user, hopeful, NONE, estimate)
        # Remember the most attractive broker among the full ones.
        blocked = NONE
        for target in range(brokers):
            full = target != home and state.broker_load[target] + load > state.room[target]
            if full and estimate[target] < (estimate[blocked] if blocked >= 0 else -least):
                blocked = target
        wish = estimate[blocked] if blocked >= 0 else 0.0
        # Try brokers with room exactly, in the order of their estimates.
        best = NONE
        change = -least
        tries = brokers if hopeful else TRIES
        while tries > 0:
            tries -= 1
            candidate = NONE
            for target in range(brokers):
                if target == home or state.broker_load[target] + load > state.room[target]:
                    continue
                if candidate < 0 or estimate[target] < estimate[candidate]:
                    candidate = target
            if candidate < 0 or estimate[candidate] >= -least:
                break
            exact = move_change(state, user, candidate)
            # An infinite estimate keeps the broker from being tried twice.
            estimate[candidate] = float("inf")
            if exact < change:
                best, change = candidate, exact
        # A full broker is worth the effort only if it promises more than the best one with room gives.
        gained = 0.0
        if blocked >= 0 and wish < change:
            gained = displace(state, user, blocked, wish, least, moves)
        if gained == 0.0 and best >= 0:
            move(state, user, best)
            gained = -change
        saved += gained
    return saved


@inner
def displace(
    state: AssignmentState, user: int, target: int, wish: float, least: float, moves: Moves
) -> float:
    """Move a user to a full broker, and one of the users there to where it loses least; return the saving.

    The displaced user may go to the broker that the user leaves: then both swap. `wish` is the estimated
    change of the user's own move; the displaced user must lose less than that.
    """
    home = state.broker_of[user]
    displaced = NONE
    refuge = NONE
    change = -wish
    for other in range(len(state.broker_of)):
        load = state.load[other]
        if (
            state.broker_of[other] != target
            or state.broker_load[target] + state.load[user] - load > state.room[target]
        ):
            continue
        here = state.access[other, target]
        for broker in range(len(state.room)):
            # One more broker hardly ever makes a tree lighter, so the change in access cost, which is cheap
            # to compute, rules out most brokers.
            if load * (state.access[other, broker] - here) >= change or broker == target:
                continue
            freed = state.load[user] if broker == home else 0.0
            if state.broker_load[broker] - freed + load > state.room[broker]:
                continue
            loss = estimate_displacement(state, other, broker)
            if loss < change:
                displaced, refuge, change = ZERO + other, ZERO + broker, loss
    if displaced < 0:
        return 0.0
    moves.users[0], moves.targets[0] = user, target
    moves.users[1], moves.targets[1] = displaced, refuge
    return try_moves(state, moves, ZERO + 2, least)


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
