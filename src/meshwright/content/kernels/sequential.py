"""Assign users one after the other: at random, by access cost, by weights, or by traffic to a cluster.

Invariant: the load of each broker is that of all users assigned so far, and it stays within `room`. A kernel
returns the first user that finds no room, or −1. `scatter`, `pack` and `draw` take O(users × brokers) steps.

For clustering (cbps, Algorithm 2), a cluster is the set of users on one broker. `best_pair` would look at all
pairs of users; upper bounds on what a user sends to any other one (`send_bound`) rule out most of them.
`join_clusters` takes O(B × (publications + subscriptions)) steps because each cluster keeps its rates and
subscribers by channel.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.kernels import NONE, Array, Traffic
from meshwright.jit.compiler import inlined, inner, kernel


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


ROUNDING = 1e-12
"""A pair is skipped only if its bound is below the best ratio by more than this relative error."""


class Clusters(NamedTuple):
    """The users on each broker, and totals of their traffic that `join` keeps up to date."""

    broker_of: Array
    """The broker of each user; −1 if it has none yet."""
    load: Array
    """The load of each broker's users."""
    members: Array
    """The number of each broker's users."""
    rate: Array
    """Channels × brokers: what the broker's users send on the channel."""
    audience: Array
    """Channels × brokers: how many of the broker's users subscribe to the channel, as floats."""
    exchanged: Array
    """Scratch of `join_clusters`: the traffic between one user and each broker's users, both ways."""


@inlined
def traffic_to(user: int, other: int, traffic: Traffic) -> float:
    """Return what one user sends that the other one wants."""
    total = 0.0
    sent, end = traffic.sent_ptr[user], traffic.sent_ptr[user + 1]
    # Both lists of channels ascend, so one pass over both finds the common ones.
    for slot in range(traffic.wanted_ptr[other], traffic.wanted_ptr[other + 1]):
        while sent < end and traffic.sent_channels[sent] < traffic.wanted_channels[slot]:
            sent += 1
        if sent < end and traffic.sent_channels[sent] == traffic.wanted_channels[slot]:
            total += traffic.sent[sent]
    return total


@inner
def bandwidth_to_cost(bandwidth: float, cost: float) -> float:
    """Return the paper's bandwidth-to-cost ratio; it is infinite for traffic over a free link."""
    if cost > 0.0:
        return bandwidth / cost
    return float("inf") if bandwidth > 0.0 else 0.0


@kernel
def bound_sending(
    traffic: Traffic, set_ptr: Array, set_channels: Array, row: Array, send_bound: Array
) -> None:
    """Fill in the most that each user sends to any one subscription.

    Set s of channels, from `set_ptr[s]` on in `set_channels`, is a subscription that some user has. `row` is
    scratch, one zero for each channel.
    """
    for user in range(len(send_bound)):
        for slot in range(traffic.sent_ptr[user], traffic.sent_ptr[user + 1]):
            row[traffic.sent_channels[slot]] = traffic.sent[slot]
        most = 0.0
        for one in range(len(set_ptr) - 1):
            total = 0.0
            for slot in range(set_ptr[one], set_ptr[one + 1]):
                total += row[set_channels[slot]]
            most = max(most, total)
        send_bound[user] = most
        # Leave the scratch row empty for the next user.
        for slot in range(traffic.sent_ptr[user], traffic.sent_ptr[user + 1]):
            row[traffic.sent_channels[slot]] = 0.0


@kernel
def best_pair(
    broker: int,
    access: Array,
    send_bound: Array,
    users: Array,
    surplus: Array,
    first: int,
    traffic: Traffic,
    pair: Array,
) -> float:
    """Find the pair of users with the largest traffic between them over both access costs to a broker.

    `send_bound[i]` is the most that user i sends to any other one. `surplus[a]` is the bound of `users[a]`
    minus its access cost times a ratio that some pair is known to reach; both arrays are sorted by descending
    surplus. A pair whose surpluses add up to less than 0 cannot reach that ratio. One user of the pair is
    among the `first` ones. Ties go to the cheaper access, then to the smaller ids. Leaves the pair in `pair`
    and returns its ratio; pairs without traffic do not count.
    """
    pair[0] = pair[1] = -1
    best = 0.0
    price = 0.0
    for a in range(len(users)):
        i = users[a]
        # Surpluses descend: if the best partner does not suffice, no later user can be in a pair.
        if surplus[a] + surplus[0] < 0.0:
            break
        for b in range(min(a, first)):
            if surplus[a] + surplus[b] < 0.0:
                break
            j = users[b]
            cost = access[i, broker] + access[j, broker]
            # Skip the pair if even its bound is below the best ratio found so far.
            if send_bound[i] + send_bound[j] < best * cost * (1.0 - ROUNDING):
                continue
            exchanged = traffic_to(i, j, traffic)
            exchanged += traffic_to(j, i, traffic)
            worth = bandwidth_to_cost(exchanged, cost)
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
def join_clusters(
    access: Array, user_load: Array, room: Array, traffic: Traffic, clusters: Clusters, by_sum: bool
) -> int:
    """Assign each free user to the broker with room and the largest mean traffic over access cost.

    The mean is over the users already there. It is ours; the paper takes the sum (and prints argmin for
    argmax), as we do with `by_sum`. Returns the first user that finds no room, or −1.
    """
    brokers = len(room)
    exchanged = clusters.exchanged
    for user in range(len(user_load)):
        if clusters.broker_of[user] >= 0:
            continue
        for broker in range(brokers):
            exchanged[broker] = 0.0
        # What the user sends counts once for each subscriber in the cluster.
        for slot in range(traffic.sent_ptr[user], traffic.sent_ptr[user + 1]):
            channel, own = traffic.sent_channels[slot], traffic.sent[slot]
            for broker in range(brokers):
                exchanged[broker] += own * clusters.audience[channel, broker]
        for slot in range(traffic.wanted_ptr[user], traffic.wanted_ptr[user + 1]):
            channel = traffic.wanted_channels[slot]
            for broker in range(brokers):
                exchanged[broker] += clusters.rate[channel, broker]
        best = NONE
        most = 0.0
        for broker in range(brokers):
            if clusters.load[broker] + user_load[user] > room[broker]:
                continue
            members = clusters.members[broker]
            # A broker without users exchanges nothing.
            share = exchanged[broker] / members if members > 0 and not by_sum else exchanged[broker]
            worth = bandwidth_to_cost(share, access[user, broker])
            if best < 0 or worth > most or (worth == most and access[user, broker] < access[user, best]):
                best, most = broker, worth
        if best < 0:
            return user
        join(user, best, user_load, traffic, clusters)
    return -1


@kernel
def join(user: int, broker: int, user_load: Array, traffic: Traffic, clusters: Clusters) -> None:
    """Put a user on a broker, and add its traffic to that of the users there."""
    clusters.broker_of[user] = broker
    clusters.load[broker] += user_load[user]
    clusters.members[broker] += 1
    for slot in range(traffic.sent_ptr[user], traffic.sent_ptr[user + 1]):
        clusters.rate[traffic.sent_channels[slot], broker] += traffic.sent[slot]
    for slot in range(traffic.wanted_ptr[user], traffic.wanted_ptr[user + 1]):
        clusters.audience[traffic.wanted_channels[slot], broker] += 1.0
