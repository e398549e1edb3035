"""Clustering: pairs with much traffic between them, and each user where its partners are."""

from __future__ import annotations

from meshwright.content.assignment.kernels.spanning_trees import NONE, Array
from meshwright.jit.compiler import inner, kernel


@inner
def traffic_to(
    user: int, other: int, sent_ptr: Array, sent_channels: Array, sent: Array, taken_ptr: Array, taken: Array
) -> float:
    """Return what one user sends that the other wants."""
    total = 0.0
    mine, end = sent_ptr[user], sent_ptr[user + 1]
    for slot in range(taken_ptr[other], taken_ptr[other + 1]):
        while mine < end and sent_channels[mine] < taken[slot]:
            mine += 1
        if mine < end and sent_channels[mine] == taken[slot]:
            total += sent[mine]
    return total


@inner
def ratio(traffic: float, cost: float) -> float:
    """Return traffic over cost; some traffic for nothing is worth more than anything."""
    if cost > 0.0:
        return traffic / cost
    return float("inf") if traffic > 0.0 else 0.0


@kernel
def promises(
    sent_ptr: Array,
    sent_channels: Array,
    sent: Array,
    set_ptr: Array,
    set_channels: Array,
    row: Array,
    promise: Array,
) -> None:
    """Fill in what each user sends at most to any of the sets of channels that somebody wants."""
    for user in range(len(promise)):
        for slot in range(sent_ptr[user], sent_ptr[user + 1]):
            row[sent_channels[slot]] = sent[slot]
        most = 0.0
        for one in range(len(set_ptr) - 1):
            total = 0.0
            for slot in range(set_ptr[one], set_ptr[one + 1]):
                total += row[set_channels[slot]]
            most = max(most, total)
        promise[user] = most
        for slot in range(sent_ptr[user], sent_ptr[user + 1]):
            row[sent_channels[slot]] = 0.0


@kernel
def best_pair(
    broker: int,
    access: Array,
    promise: Array,
    users: Array,
    surplus: Array,
    first: int,
    sent_ptr: Array,
    sent_channels: Array,
    sent: Array,
    taken_ptr: Array,
    taken: Array,
    pair: Array,
) -> float:
    """Find the pair of users with the largest traffic between them, over both access costs to a broker.

    `promise[i]` is what user i sends to any one other at most; `surplus` that less a ratio that is known to
    be reached times its cost, in descending order, as `users` are. Two surpluses below 0 together cannot
    reach it. One of both is among the `first` of them. Equal pairs go by cheaper access, then by smaller
    numbers. Returns the ratio; pairs without traffic do not count.
    """
    pair[0] = pair[1] = -1
    best = 0.0
    price = 0.0
    for a in range(len(users)):
        i = users[a]
        if surplus[a] + surplus[0] < 0.0:
            break
        for b in range(min(a, first)):
            if surplus[a] + surplus[b] < 0.0:
                break
            j = users[b]
            cost = access[i, broker] + access[j, broker]
            if promise[i] + promise[j] < best * cost * (1.0 - 1e-12):
                continue
            traffic = traffic_to(i, j, sent_ptr, sent_channels, sent, taken_ptr, taken)
            traffic += traffic_to(j, i, sent_ptr, sent_channels, sent, taken_ptr, taken)
            worth = ratio(traffic, cost)
            low, high = min(i, j), max(i, j)
            better = worth > best
            if not better and worth == best and worth > 0.0:
                earlier = low < pair[0] or (low == pair[0] and high < pair[1])
                better = cost < price or (cost == price and earlier)
            if better:
                best, price = worth, cost
                pair[0], pair[1] = low, high
    return best


@kernel
def gather(
    access: Array,
    extra: Array,
    room: Array,
    sent_ptr: Array,
    sent_channels: Array,
    sent: Array,
    taken_ptr: Array,
    taken: Array,
    load: Array,
    members: Array,
    rate: Array,
    audience: Array,
    traffic: Array,
    broker_of: Array,
) -> int:
    """Give each user without a broker, in turn, the one whose users it has most traffic with for its cost.

    That is the mean over those users; return who is stuck, or −1.
    """
    brokers = len(room)
    for user in range(len(extra)):
        if broker_of[user] >= 0:
            continue
        for broker in range(brokers):
            traffic[broker] = 0.0
        for slot in range(sent_ptr[user], sent_ptr[user + 1]):
            channel, own = sent_channels[slot], sent[slot]
            for broker in range(brokers):
                traffic[broker] += own * audience[channel, broker]
        for slot in range(taken_ptr[user], taken_ptr[user + 1]):
            channel = taken[slot]
            for broker in range(brokers):
                traffic[broker] += rate[channel, broker]
        best = NONE
        most = 0.0
        for broker in range(brokers):
            if load[broker] + extra[user] > room[broker]:
                continue
            mean = traffic[broker] / members[broker] if members[broker] > 0 else 0.0
            worth = ratio(mean, access[user, broker])
            if best < 0 or worth > most or (worth == most and access[user, broker] < access[user, best]):
                best, most = broker, worth
        if best < 0:
            return user
        join(
            user, best, extra, sent_ptr, sent_channels, sent, taken_ptr, taken, load, members, rate, audience,
            broker_of,
        )  # fmt: skip
    return -1


@kernel
def join(
    user: int,
    broker: int,
    extra: Array,
    sent_ptr: Array,
    sent_channels: Array,
    sent: Array,
    taken_ptr: Array,
    taken: Array,
    load: Array,
    members: Array,
    rate: Array,
    audience: Array,
    broker_of: Array,
) -> None:
    """Put a user on a broker, and its traffic to that of the users there."""
    broker_of[user] = broker
    load[broker] += extra[user]
    members[broker] += 1
    for slot in range(sent_ptr[user], sent_ptr[user + 1]):
        rate[sent_channels[slot], broker] += sent[slot]
    for slot in range(taken_ptr[user], taken_ptr[user + 1]):
        audience[taken[slot], broker] += 1.0
