"""Where all users are, and what that comes to by channel and broker: kept up to date move by move."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.content.assignment.kernels.spanning_trees import NONE, ZERO, Array, weights_of_set
from meshwright.jit.compiler import inner, kernel


class Standing(NamedTuple):
    """A workload's arrays, those that moves change, and room to work in."""

    core: Array
    access: Array
    load: Array
    room: Array
    sent_ptr: Array
    sent_channels: Array
    sent: Array
    taken_ptr: Array
    taken_channels: Array
    own: Array
    channel_rate: Array
    broker_of: Array
    broker_load: Array
    rate: Array
    audience: Array
    weight: Array
    order: Array
    up: Array
    length: Array
    reach: Array
    fresh: Array


@inner
def rewire(at: Standing, channel: int, left: int, joined: int) -> None:
    """Leave in `fresh` the weights of a channel's trees after one broker has left its set and one joined."""
    size = ZERO
    for broker in range(len(at.fresh)):
        if broker == joined or (at.audience[channel, broker] > 0 and broker != left):
            at.order[size] = broker
            size += 1
    weights_of_set(at.core, at.order, size, at.up, at.length, at.reach, at.fresh)


@inner
def fresh_change(at: Standing, channel: int) -> float:
    """Return what a channel costs more by the trees of `fresh` than by its own."""
    change = 0.0
    for broker in range(len(at.fresh)):
        change += at.rate[channel, broker] * (at.fresh[broker] - at.weight[channel, broker])
    return change


@kernel
def move_change(at: Standing, user: int, target: int) -> float:
    """Return by how much the cost rises if a user moves to another broker.

    Only channels that lose their last subscriber at its broker, or get their first at the other, have other
    trees than before; in all others its own messages merely start elsewhere.
    """
    home = at.broker_of[user]
    if home == target:
        return 0.0
    change: float = at.load[user] * (at.access[user, target] - at.access[user, home])
    for slot in range(at.sent_ptr[user], at.sent_ptr[user + 1]):
        channel = at.sent_channels[slot]
        change += at.sent[slot] * (at.weight[channel, target] - at.weight[channel, home])
    for slot in range(at.taken_ptr[user], at.taken_ptr[user + 1]):
        channel = at.taken_channels[slot]
        left = home if at.audience[channel, home] == 1 else NONE
        joined = target if at.audience[channel, target] == 0 else NONE
        if (left >= 0 or joined >= 0) and at.channel_rate[channel] > 0.0:
            rewire(at, channel, left, joined)
            before = at.weight[channel, target] - at.weight[channel, home]
            after = at.fresh[target] - at.fresh[home]
            change += fresh_change(at, channel) + at.own[slot] * (after - before)
    return change


@kernel
def move(at: Standing, user: int, target: int) -> None:
    """Move a user to another broker; there must be room."""
    home = at.broker_of[user]
    if home == target:
        return
    for slot in range(at.sent_ptr[user], at.sent_ptr[user + 1]):
        channel = at.sent_channels[slot]
        at.rate[channel, home] -= at.sent[slot]
        at.rate[channel, target] += at.sent[slot]
    for slot in range(at.taken_ptr[user], at.taken_ptr[user + 1]):
        channel = at.taken_channels[slot]
        left = home if at.audience[channel, home] == 1 else NONE
        joined = target if at.audience[channel, target] == 0 else NONE
        if left >= 0 or joined >= 0:
            rewire(at, channel, left, joined)
            for broker in range(len(at.fresh)):
                at.weight[channel, broker] = at.fresh[broker]
        at.audience[channel, home] -= 1
        at.audience[channel, target] += 1
    at.broker_load[home] -= at.load[user]
    at.broker_load[target] += at.load[user]
    at.broker_of[user] = target


@kernel
def move_changes(at: Standing, user: int, changes: Array) -> None:
    """Fill in by how much the cost rises for each broker that a user may move to."""
    for target in range(len(changes)):
        changes[target] = move_change(at, user, target)
