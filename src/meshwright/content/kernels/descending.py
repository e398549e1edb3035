"""Local search: single moves, and others making way where there is no room."""

from __future__ import annotations

from meshwright.compiling import inner, kernel
from meshwright.content.kernels.guessing import attempt, guess_change, guess_changes
from meshwright.content.kernels.standing import Standing, move, move_change
from meshwright.content.kernels.trees import NONE, ZERO, Array

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
