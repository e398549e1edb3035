"""Delivery: brings publications and acknowledgements to users and publishers, wherever they have moved.

A publication goes down a tree of brokers, which the publisher's broker computes from what it knows.

Without a crash, nothing is lost and nothing is delivered twice, because exactly one broker holds an envelope
at a time. That broker

- gives it to the user, if the user is connected here;
- keeps it, if the user is on its way here;
- redirects it to the foreign broker, if the user left within the TTL (cbps, section V: redirect);
- otherwise returns it to its origin, with the user's latest known broker.

The origin sends it to that broker, or keeps it until it hears of the user again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.migration.protocol import messages
from meshwright.content.migration.protocol.broker_state import BrokerState
from meshwright.content.migration.protocol.messages import Branch, Envelope, Publication

if TYPE_CHECKING:
    from meshwright.arrays import Floats


class ChannelTrees:
    """For each channel, the tree from this broker to all brokers that have a subscriber.

    Trees are computed when they are needed, and kept until a subscriber moves or a broker crashes.
    """

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._trees: dict[int, tuple[Branch, list[int]]] = {}

    def tree(self, channel: int) -> tuple[Branch, list[int]]:
        """Return the tree of a channel, and the subscribers whose broker is dead."""
        known = self._trees.get(channel)
        if known is None:
            known = self._trees[channel] = self._compute(channel)
        return known

    def forget_user(self, user: int) -> None:
        """Drop the trees of the channels that a user subscribes to: its broker has changed."""
        workload = self._state.workload
        for slot in range(workload.subscription_ptr[user], workload.subscription_ptr[user + 1]):
            self._trees.pop(int(workload.subscription_channels[slot]), None)

    def forget_all(self) -> None:
        """Drop all trees: a broker has crashed."""
        self._trees.clear()

    def _compute(self, channel: int) -> tuple[Branch, list[int]]:
        state = self._state
        users_on: dict[int, list[int]] = {state.me: []}
        without_broker = []
        for user in state.subscribers[channel]:
            if user not in state.stranded:
                broker = state.broker_of(user)
                if broker in state.alive:
                    users_on.setdefault(broker, []).append(user)
                else:
                    without_broker.append(user)
        return spanning_tree(state.workload.core, state.me, users_on), without_broker


def spanning_tree(core: Floats, root: int, users_on: dict[int, list[int]]) -> Branch:
    """Return the minimum spanning tree of some brokers, rooted at one of them.

    `users_on` holds, for each broker of the tree, the users that the message is for.
    """
    from meshwright.content.assignment.kernels.spanning_trees import span

    order = np.array([root, *sorted(broker for broker in users_on if broker != root)], dtype=np.int32)
    size = len(order)
    parent, length = np.zeros(size, dtype=np.int32), np.zeros(size)
    span(core, order, size, parent, length)
    # Prim's algorithm starts at the root, so following the parents always leads there.
    children: list[list[Branch]] = [[] for _ in range(size)]
    branches = [
        Branch(broker, users_on[broker], children[place]) for place, broker in enumerate(order.tolist())
    ]
    for place in range(1, size):
        children[parent[place]].append(branches[place])
    return branches[0]


DELIVERY, ACKNOWLEDGEMENT, PUBLICATION = "delivery", "acknowledgement", "publication"
"""The kinds of envelope: the first is for a subscriber, the others for the broker of a publisher."""


class Delivery:
    """One broker's part in delivery; `open_here` handles envelopes for the broker of a publisher, if here."""

    def __init__(
        self, state: BrokerState, trees: ChannelTrees, open_here: Callable[[int, Envelope], None]
    ) -> None:
        self._state, self._trees, self._open_here = state, trees, open_here
        self.kept: dict[int, list[Envelope]] = {}
        """Envelopes whose origin is this broker, for users that it does not know where to find."""

    def carry(self, publication: Publication, origin: int, branch: Branch) -> None:
        """Give a publication to the users here that it is for, and forward it down the tree."""
        users, send = self._state.users, self._state.connection.send
        first_user_address = self._state.num_brokers
        for user in branch.users:
            if user != publication.publisher:
                local = users.get(user)
                if local is not None and local.connected:
                    send(first_user_address + user, messages.Deliver(publication))
                else:
                    self.deliver(user, Envelope(DELIVERY, publication, origin))
        for below in branch.branches:
            if below.broker in self._state.alive:
                send(below.broker, messages.Carry(publication, origin, below))
            else:
                self._route_around(publication, origin, below)

    def deliver(self, user: int, envelope: Envelope) -> None:
        """Bring an envelope to a user, or one step closer."""
        local = self._state.users.get(user)
        if local is None:
            self._redirect_or_return(user, envelope)
        elif not local.connected or (local.home is not None and envelope.kind == ACKNOWLEDGEMENT):
            # The publication that it acknowledges may not have been handed over yet.
            local.waiting.append(envelope)
        elif envelope.kind == DELIVERY:
            self._state.send_to_user(user, messages.Deliver(Publication(*envelope.content)))
        else:
            self._open_here(user, envelope)

    def deliver_waiting(self, user: int) -> None:
        """Deliver what has waited for a user that has arrived."""
        local = self._state.users.get(user)
        if local is not None:
            waiting, local.waiting = local.waiting, []
            for envelope in waiting:
                self.deliver(user, envelope)

    def stop_expecting(self, user: int) -> None:
        """Remove a user that is not served here; what has waited for it goes where it is."""
        local = self._state.users.pop(user, None)
        for envelope in local.waiting if local is not None else ():
            self.deliver(user, envelope)

    def take_back(self, sender: int, user: int, envelope: Envelope, broker: int, version: int) -> None:
        """Take back an envelope that `sender` could not deliver, with the user's broker as it knows it."""
        self.learn_location(user, broker, version)
        if self._state.broker_of(user) == sender:
            # The user has left that broker, and we do not know where to.
            self.keep(user, envelope)
        else:
            self._send_own(user, envelope)

    def learn_location(self, user: int, broker: int, version: int) -> None:
        """Learn where a user is, and send it what was kept for it."""
        state = self._state
        if version <= state.directory[user][1]:
            return
        state.directory[user] = broker, version
        self._trees.forget_user(user)
        if broker in state.alive:
            for envelope in self.kept.pop(user, ()):
                self.deliver(user, envelope)

    def keep(self, user: int, envelope: Envelope) -> None:
        """Keep an envelope until we learn where the user is."""
        self._state.events["kept"] += 1
        self.kept.setdefault(user, []).append(envelope)

    def retry_kept(self, user: int) -> None:
        """Try again to send what is kept for a user, if its latest known broker is alive."""
        if self._state.broker_of(user) in self._state.alive:
            for envelope in self.kept.pop(user, ()):
                self._send_own(user, envelope)

    def _redirect_or_return(self, user: int, envelope: Envelope) -> None:
        state = self._state
        foreign = state.forwards_to(user)
        if foreign is not None:
            state.events["redirected"] += 1
            state.connection.send(foreign, messages.Redirect(user, envelope))
        elif envelope.origin == state.me:
            self._send_own(user, envelope)
        elif envelope.origin in state.alive:
            state.events["returned"] += 1
            state.connection.send(envelope.origin, messages.Bounce(user, envelope, *state.directory[user]))

    def _send_own(self, user: int, envelope: Envelope) -> None:
        """Send an envelope whose origin is this broker to the user's latest known broker, or keep it."""
        state = self._state
        if user in state.stranded:
            return
        broker = state.broker_of(user)
        if user in state.users:
            self.deliver(user, envelope)
        elif broker in state.alive and broker != state.me:
            state.connection.send(broker, messages.Redirect(user, envelope))
        else:
            self.keep(user, envelope)

    def _route_around(self, publication: Publication, origin: int, branch: Branch) -> None:
        """Carry a publication past a dead broker; its former users must be found one by one."""
        for user in branch.users:
            if user != publication.publisher:
                self._redirect_or_return(user, Envelope(DELIVERY, publication, origin))
        self.carry(publication, origin, Branch(self._state.me, (), branch.branches))
