"""What a move would bring, nearly: cheap enough to look at every broker for every user."""

from __future__ import annotations

from meshwright.compiling import inner
from meshwright.content.kernels.standing import Standing, fresh_change, move, move_change, rewire
from meshwright.content.kernels.trees import NONE, Array


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
