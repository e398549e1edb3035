"""Local search: single moves with estimates of their gain, and others making way where there is no room."""

from __future__ import annotations

from meshwright.content.assignment.kernels.incremental_cost import (
    Standing,
    fresh_change,
    move,
    move_change,
    rewire,
)
from meshwright.content.assignment.kernels.spanning_trees import NONE, ZERO, Array
from meshwright.jit.compiler import inner, kernel


@inner
def opening(at: Standing, channel: int, home: int, target: int) -> float:
    """Guess what a channel costs more with one more broker: all its messages take that one's longer tree.

    `home` has subscribers of the channel.
    """
    if at.audience[channel, target] > 0:
        return 0.0
    added: float = at.channel_rate[channel] * (at.weight[channel, target] - at.weight[channel, home])
    return added


@inner
def guess_changes(at: Standing, user: int, hopeful: bool, but: int, guess: Array) -> None:
    """Guess by how much the cost rises for each broker that a user may move to, but for one channel.

    Exact but for channels whose set of brokers would change: there the trees' growth or decline is taken as
    if all messages started within the set, or, if `hopeful`, growth as nothing.
    The channel `but` is left out (−1: none).
    """
    home = at.broker_of[user]
    for target in range(len(guess)):
        guess[target] = at.load[user] * (at.access[user, target] - at.access[user, home])
    for slot in range(at.sent_ptr[user], at.sent_ptr[user + 1]):
        channel, own = at.sent_channels[slot], at.sent[slot]
        if channel == but:
            continue
        here = at.weight[channel, home]
        for target in range(len(guess)):
            guess[target] += own * (at.weight[channel, target] - here)
    for slot in range(at.taken_ptr[user], at.taken_ptr[user + 1]):
        channel = at.taken_channels[slot]
        if channel == but or at.channel_rate[channel] <= 0.0:
            continue
        left = 0.0
        if at.audience[channel, home] == 1:
            rewire(at, channel, home, NONE)
            left = fresh_change(at, channel)
        for target in range(len(guess)):
            guess[target] += left
            if not hopeful:
                guess[target] += opening(at, channel, home, target)
    guess[home] = 0.0


@inner
def guess_change(at: Standing, user: int, target: int) -> float:
    """Guess one change only, without what the user sends and without what its leaving saves."""
    home = at.broker_of[user]
    change: float = at.load[user] * (at.access[user, target] - at.access[user, home])
    for slot in range(at.taken_ptr[user], at.taken_ptr[user + 1]):
        change += opening(at, at.taken_channels[slot], home, target)
    return change


@inner
def attempt(at: Standing, users: Array, targets: Array, homes: Array, count: int, least: float) -> float:
    """Move several users at once if that saves more than `least`; return what it saves, 0 if it is undone.

    Room must be there for all of them at the end: on the way it may be short, as in a swap.
    """
    change = 0.0
    for number in range(count):
        homes[number] = at.broker_of[users[number]]
        change += move_change(at, users[number], targets[number])
        move(at, users[number], targets[number])
    fits = True
    for number in range(count):
        for broker in (targets[number], homes[number]):
            fits = fits and at.broker_load[broker] <= at.room[broker]
    if fits and change < -least:
        return -change
    for number in range(count - 1, -1, -1):
        move(at, users[number], homes[number])
    return 0.0


TRIES = 3
"""Of the brokers that look best for a user, so many are tried."""


@kernel
def sweep_users(
    at: Standing,
    first: int,
    last: int,
    hopeful: bool,
    least: float,
    guess: Array,
    users: Array,
    targets: Array,
    homes: Array,
) -> float:
    """Move each of some users in turn to the broker that saves most, if any does; return what that saves.

    The brokers that look best are tried; or, if `hopeful`, all that would pay if trees did not grow. If the
    one that looks best has no room, a user there may have to make way.
    """
    saved = 0.0
    brokers = len(guess)
    for user in range(first, last):
        home, load = at.broker_of[user], at.load[user]
        guess_changes(at, user, hopeful, NONE, guess)
        blocked = NONE
        best = NONE
        change = -least
        tries = brokers if hopeful else TRIES
        for target in range(brokers):
            full = target != home and at.broker_load[target] + load > at.room[target]
            if full and guess[target] < (guess[blocked] if blocked >= 0 else -least):
                blocked = target
        wish = guess[blocked] if blocked >= 0 else 0.0
        while tries > 0:
            tries -= 1
            next_one = NONE
            for target in range(brokers):
                if target == home or at.broker_load[target] + load > at.room[target]:
                    continue
                if next_one < 0 or guess[target] < guess[next_one]:
                    next_one = target
            if next_one < 0 or guess[next_one] >= -least:
                break
            found = move_change(at, user, next_one)
            guess[next_one] = float("inf")
            if found < change:
                best, change = next_one, found
        gained = 0.0
        if blocked >= 0 and wish < change:
            gained = displace(at, user, blocked, wish, least, users, targets, homes)
        if gained == 0.0 and best >= 0:
            move(at, user, best)
            gained = -change
        saved += gained
    return saved


@inner
def displace(
    at: Standing,
    user: int,
    target: int,
    wish: float,
    least: float,
    users: Array,
    targets: Array,
    homes: Array,
) -> float:
    """Let a user take the place of one at its full target, who goes where it loses least; return the saving.

    That may be the place that the user leaves: then both swap.
    """
    home = at.broker_of[user]
    best = NONE
    refuge = NONE
    change = -wish
    for other in range(len(at.broker_of)):
        load = at.load[other]
        if at.broker_of[other] != target or at.broker_load[target] + at.load[user] - load > at.room[target]:
            continue
        here = at.access[other, target]
        for broker in range(len(at.room)):
            # What links to other brokers cost more is cheap to tell; trees grow besides, if at all.
            if load * (at.access[other, broker] - here) >= change or broker == target:
                continue
            left = at.load[user] if broker == home else 0.0
            if at.broker_load[broker] - left + load > at.room[broker]:
                continue
            found = guess_change(at, other, broker)
            if found < change:
                best, refuge, change = ZERO + other, ZERO + broker, found
    if best < 0:
        return 0.0
    users[0], targets[0] = user, target
    users[1], targets[1] = best, refuge
    return attempt(at, users, targets, homes, ZERO + 2, least)
