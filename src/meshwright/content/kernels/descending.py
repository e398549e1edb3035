"""Local search: single moves, others making way where there is no room, moves of a channel's audience."""

from __future__ import annotations

from meshwright.compiling import kernel
from meshwright.content.kernels.guessing import attempt, guess_change, guess_changes, opening
from meshwright.content.kernels.standing import Standing, fresh_change, move, move_change, rewire
from meshwright.content.kernels.trees import NO, NONE, ZERO, Array

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
        guess_changes(at, user, hopeful, guess)
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


@kernel
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


@kernel
def sweep_channels(
    at: Standing,
    audience_ptr: Array,
    audience: Array,
    first: int,
    last: int,
    least: float,
    guess: Array,
    gain: Array,
    users: Array,
    targets: Array,
    homes: Array,
) -> float:
    """Move audiences of some channels together where single moves cannot; return what that saves.

    Three kinds: those who profit gather at a broker that the channel does not use yet; those at one broker go
    to the best of the channel's others; those at one broker go together to one that it does not use yet.
    """
    saved = 0.0
    for channel in range(first, last):
        if at.channel_rate[channel] <= 0.0:
            continue
        members = audience[audience_ptr[channel] : audience_ptr[channel + 1]]
        if len(members) > 1:
            saved += open_one(at, channel, members, least, guess, gain, users, targets, homes)
            for broker in range(len(guess)):
                if at.audience[channel, broker] > 1:
                    saved += leave_one(
                        at, channel, members, broker, least, guess, gain, users, targets, homes
                    )
    return saved


@kernel
def open_one(
    at: Standing,
    channel: int,
    members: Array,
    least: float,
    guess: Array,
    gain: Array,
    users: Array,
    targets: Array,
    homes: Array,
) -> float:
    """Gather those of a channel's audience who profit at the new broker that looks best for them together."""
    brokers = len(guess)
    for broker in range(brokers):
        gain[broker] = 0.0
    for place in range(len(members)):
        home = at.broker_of[members[place]]
        guess_changes(at, members[place], NO, guess)
        for broker in range(brokers):
            if at.audience[channel, broker] == 0:
                gain[broker] += min(0.0, guess[broker] - opening(at, channel, home, broker))
    home = at.broker_of[members[0]]
    best = NONE
    for broker in range(brokers):
        if at.audience[channel, broker] == 0:
            gain[broker] += opening(at, channel, home, broker)
            if gain[broker] < -least and (best < 0 or gain[broker] < gain[best]):
                best = broker
    if best < 0:
        return 0.0
    count = ZERO
    load = at.broker_load[best]
    for place in range(len(members)):
        user = members[place]
        change = guess_change(at, user, best) - opening(at, channel, at.broker_of[user], best)
        if change < 0.0 and load + at.load[user] <= at.room[best]:
            users[count], targets[count] = user, best
            load += at.load[user]
            count += 1
    return attempt(at, users, targets, homes, count, least)


@kernel
def leave_one(
    at: Standing,
    channel: int,
    members: Array,
    broker: int,
    least: float,
    guess: Array,
    gain: Array,
    users: Array,
    targets: Array,
    homes: Array,
) -> float:
    """Let a channel's audience at one broker leave it: each to the best other one, or all to a new one."""
    brokers = len(guess)
    count = ZERO
    load = 0.0
    apart = 0.0
    for target in range(brokers):
        gain[target] = 0.0
    for place in range(len(members)):
        user = members[place]
        if at.broker_of[user] != broker:
            continue
        guess_changes(at, user, NO, guess)
        best = NONE
        for target in range(brokers):
            if target == broker:
                continue
            if at.audience[channel, target] == 0:
                gain[target] += guess[target] - opening(at, channel, broker, target)
                continue
            roomy = at.broker_load[target] + at.load[user] <= at.room[target]
            if roomy and (best < 0 or guess[target] < guess[best]):
                best = target
        users[count], targets[count] = user, best
        apart += guess[best] if best >= 0 else float("inf")
        load += at.load[user]
        count += 1
    rewire(at, channel, broker, NONE)
    if apart + fresh_change(at, channel) < -least:
        saved = attempt(at, users, targets, homes, count, least)
        if saved > 0.0:
            return saved
    together = NONE
    for target in range(brokers):
        free = at.audience[channel, target] == 0 and at.broker_load[target] + load <= at.room[target]
        if free and (together < 0 or gain[target] < gain[together]):
            together = target
    if together < 0:
        return 0.0
    rewire(at, channel, broker, together)
    if gain[together] + fresh_change(at, channel) >= -least:
        return 0.0
    for number in range(count):
        targets[number] = together
    return attempt(at, users, targets, homes, count, least)
