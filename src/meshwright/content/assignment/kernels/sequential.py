"""One user after the other, each to a broker with room: by chance, by access cost, by weights."""

from __future__ import annotations

from meshwright.content.assignment.kernels.spanning_trees import Array
from meshwright.jit.compiler import inner, kernel


@inner
def cheapest(access: Array, user: int, load: Array, extra: float, room: Array) -> int:
    """Return the broker with room whose link to a user is cheapest, the first of several; −1 if none has."""
    best = -1
    for broker in range(len(room)):
        if load[broker] + extra <= room[broker] and (best < 0 or access[user, broker] < access[user, best]):
            best = broker
    return best


@kernel
def pack(access: Array, extra: Array, room: Array, load: Array, broker_of: Array) -> int:
    """Give each user in turn its cheapest broker with room; return who is stuck, or −1."""
    for user in range(len(extra)):
        broker = cheapest(access, user, load, extra[user], room)
        if broker < 0:
            return user
        broker_of[user] = broker
        load[broker] += extra[user]
    return -1


@kernel
def scatter(chance: Array, extra: Array, room: Array, load: Array, broker_of: Array) -> int:
    """Give each user in turn any broker with room, all as likely; return who is stuck, or −1."""
    for user in range(len(extra)):
        roomy = 0
        for broker in range(len(room)):
            if load[broker] + extra[user] <= room[broker]:
                roomy += 1
        if roomy == 0:
            return user
        ahead = min(int(chance[user] * roomy), roomy - 1)
        for broker in range(len(room)):
            if load[broker] + extra[user] <= room[broker]:
                if ahead == 0:
                    broker_of[user] = broker
                    load[broker] += extra[user]
                    break
                ahead -= 1
    return -1


@kernel
def draw(
    weights: Array,
    chance: Array,
    heaviest: bool,
    access: Array,
    extra: Array,
    room: Array,
    load: Array,
    broker_of: Array,
) -> int:
    """Give each user in turn one of its weighted brokers with room; return who is stuck, or −1.

    Drawn by the weights, or the heaviest (then the one of cheaper access, then the first). A user none of
    whose brokers has room takes the cheapest that has.
    """
    for user in range(len(extra)):
        total = 0.0
        best = -1
        for broker in range(len(room)):
            weight = weights[user, broker]
            if weight <= 0.0 or load[broker] + extra[user] > room[broker]:
                continue
            total += weight
            heavier = best < 0 or weight > weights[user, best]
            level = best >= 0 and weight == weights[user, best]
            if heavier or (level and access[user, broker] < access[user, best]):
                best = broker
        if best < 0:
            best = cheapest(access, user, load, extra[user], room)
            if best < 0:
                return user
        elif not heaviest:
            left = chance[user] * total
            for broker in range(len(room)):
                weight = weights[user, broker]
                if weight <= 0.0 or load[broker] + extra[user] > room[broker]:
                    continue
                best = broker  # the last one, should rounding lead past the end
                left -= weight
                if left < 0.0:
                    break
        broker_of[user] = best
        load[best] += extra[user]
    return -1
