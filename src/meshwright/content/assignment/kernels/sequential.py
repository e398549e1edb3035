"""Assign users one after the other, each to a broker with room: at random, by access cost, or by weights.

Invariant: `broker_load` is the load of all users assigned so far, and it stays within `room`. Each kernel
takes O(users × brokers) steps and returns the first user that finds no room, or −1.
"""

from __future__ import annotations

from meshwright.content.assignment.kernels.layout import Array
from meshwright.jit.compiler import inner, kernel


@inner
def cheapest(access: Array, user: int, broker_load: Array, load: float, room: Array) -> int:
    """Return the broker with room that is cheapest for a user, the first one of equals; −1 if none has."""
    best = -1
    for broker in range(len(room)):
        fits = broker_load[broker] + load <= room[broker]
        if fits and (best < 0 or access[user, broker] < access[user, best]):
            best = broker
    return best


@kernel
def pack(access: Array, user_load: Array, room: Array, broker_load: Array, broker_of: Array) -> int:
    """Assign each user to its cheapest broker with room (cbps, Algorithm 1)."""
    for user in range(len(user_load)):
        broker = cheapest(access, user, broker_load, user_load[user], room)
        if broker < 0:
            return user
        broker_of[user] = broker
        # The printed algorithm never updates the load; its text says that it counts.
        broker_load[broker] += user_load[user]
    return -1


@kernel
def scatter(chance: Array, user_load: Array, room: Array, broker_load: Array, broker_of: Array) -> int:
    """Assign each user to a random broker with room; `chance[i]`, from 0 to 1, decides for user i."""
    for user in range(len(user_load)):
        # Count the brokers with room first, so that each of them is equally likely.
        roomy = 0
        for broker in range(len(room)):
            if broker_load[broker] + user_load[user] <= room[broker]:
                roomy += 1
        if roomy == 0:
            return user
        ahead = min(int(chance[user] * roomy), roomy - 1)
        for broker in range(len(room)):
            if broker_load[broker] + user_load[user] <= room[broker]:
                if ahead == 0:
                    broker_of[user] = broker
                    broker_load[broker] += user_load[user]
                    break
                ahead -= 1
    return -1


@kernel
def draw(
    weights: Array,
    chance: Array,
    heaviest: bool,
    access: Array,
    user_load: Array,
    room: Array,
    broker_load: Array,
    broker_of: Array,
) -> int:
    """Draw a broker with room for each user, with probabilities proportional to its weights (cbps, IV-B).

    With `heaviest`, take the heaviest broker instead; ties go to the cheaper access, then to the first. A
    user without a weighted broker that has room takes the cheapest broker that has.
    """
    for user in range(len(user_load)):
        # One pass finds both the sum that normalises the weights and the heaviest broker.
        total = 0.0
        best = -1
        for broker in range(len(room)):
            weight = weights[user, broker]
            if weight <= 0.0 or broker_load[broker] + user_load[user] > room[broker]:
                continue
            total += weight
            heavier = best < 0 or weight > weights[user, best]
            level = best >= 0 and weight == weights[user, best]
            if heavier or (level and access[user, broker] < access[user, best]):
                best = broker
        if best < 0:
            best = cheapest(access, user, broker_load, user_load[user], room)
            if best < 0:
                return user
        elif not heaviest:
            left = chance[user] * total
            for broker in range(len(room)):
                weight = weights[user, broker]
                if weight <= 0.0 or broker_load[broker] + user_load[user] > room[broker]:
                    continue
                # Rounding may leave a remainder after the last broker: then the last one stays.
                best = broker
                left -= weight
                if left < 0.0:
                    break
        broker_of[user] = best
        broker_load[best] += user_load[user]
    return -1
