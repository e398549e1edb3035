"""Delivery: brings publications and acknowledgements to users and publishers, wherever they have moved.

A publication goes down a tree of brokers, which the publisher's broker computes from what it knows.

Without a crash, nothing is lost and nothing is delivered twice, because exactly one broker holds an envelope
at a time. That broker

- gives it to the user, if the user is connected here;
- keeps it, if the user is on its way here;
- redirects it to the foreign broker, if the user left within the TTL (cbps, section V: redirect);
- otherwise returns it to its origin, with the user's latest known broker.

The origin sends it to that broker, or keeps it until it hears of the user again.

A publication is settled when every subscriber has acknowledged it. A crash loses what the broker held. So a
user keeps a publication until it is settled, and publishes it again if that takes too long; its broker then
sends it to the subscribers that have not acknowledged it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from meshwright.arrays import Floats
from meshwright.content.migration import messages
from meshwright.content.migration.broker_state import BrokerState, LocalUser
from meshwright.content.migration.messages import Branch, Envelope, Publication


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
    from meshwright.content.kernels.broker_trees import span

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

    def welcome(self, user: int, version: int) -> None:
        """Serve a user that has come here by a move, and tell all brokers."""
        state = self._state
        state.departed.pop(user, None)
        self.learn_location(user, state.me, version)
        state.send_to_brokers(messages.Located(user, state.me, version))
        self.deliver_waiting(user)

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


class Publications:
    """Sends out publications, collects acknowledgements, and reports to publishers what is settled."""

    def __init__(self, state: BrokerState, trees: ChannelTrees) -> None:
        self._state, self._trees = state, trees
        self.delivery = Delivery(state, trees, self._open)
        self._receipts: dict[int, list[tuple[int, int, int]]] = {}
        """Acknowledgements to send, for each broker: publisher, number and receiver."""
        self._to_report: set[int] = set()
        """Publishers that have settled publications to hear of."""
        self._batch_scheduled = False

    def publish(self, publication: Publication) -> None:
        """Handle a publication of a user: the first time, or again."""
        state = self._state
        publisher, number, channel, _ = publication
        local = state.users.get(publisher)
        if local is None or not local.connected:
            self._redirect_or_return(publication)
            return
        if number in local.unsettled:
            self._send_again(publication, local.unsettled[number][1])
            return
        missing = set(state.subscribers[channel])
        missing.discard(publisher)
        if state.stranded:
            missing -= state.stranded
        if not missing:
            self.settle(publisher, local, number)
            return
        local.unsettled[number] = channel, missing
        tree, without_broker = self._trees.tree(channel)
        for user in without_broker:
            if user != publisher:
                self.delivery.keep(user, Envelope(DELIVERY, publication, state.me))
        self.delivery.carry(publication, state.me, tree)

    def receive(self, user: int, publications: Sequence[Sequence[int]]) -> None:
        """Pass on a user's acknowledgements to the brokers of the publishers."""
        state = self._state
        for publisher, number in publications:
            broker = state.broker_of(publisher)
            if broker == state.me:
                self.acknowledge(publisher, number, user, state.me)
            else:
                self._receipts.setdefault(broker, []).append((publisher, number, user))
        self._schedule_batch()

    def acknowledge(self, publisher: int, number: int, user: int, origin: int) -> None:
        """Note that a user has received a publication; it is settled when nobody is missing."""
        local = self._state.users.get(publisher)
        if local is None or not local.handover_complete:
            self.delivery.deliver(publisher, Envelope(ACKNOWLEDGEMENT, (number, user), origin))
            return
        unsettled = local.unsettled.get(number)
        if unsettled is not None:
            unsettled[1].discard(user)
            if not unsettled[1]:
                del local.unsettled[number]
                self.settle(publisher, local, number)

    def strand(self, user: int) -> None:
        """Stop waiting for a user that no broker has room for."""
        self._state.stranded.add(user)
        self._trees.forget_user(user)
        self.delivery.kept.pop(user, None)
        for publisher, local in self._state.users.items():
            for number in [number for number, (_, missing) in local.unsettled.items() if user in missing]:
                self.acknowledge(publisher, number, user, self._state.me)

    def settle(self, publisher: int, local: LocalUser, number: int) -> None:
        """Note that a publication is settled; its publisher hears of it with the next batch."""
        local.settled.append(number)
        self._to_report.add(publisher)
        self._schedule_batch()

    def report_settled(self, user: int, local: LocalUser) -> None:
        """Report to a publisher what is settled."""
        if local.settled:
            self._state.send_to_user(user, messages.Settled(local.settled))
            local.settled = []

    def _open(self, user: int, envelope: Envelope) -> None:
        """Handle an envelope for the broker of a publisher, which is this one."""
        if envelope.kind == PUBLICATION:
            self.publish(Publication(*envelope.content))
        else:
            self.acknowledge(user, envelope.content[0], envelope.content[1], envelope.origin)

    def _redirect_or_return(self, publication: Publication) -> None:
        """Handle a publication that its publisher sent here before it knew that it would move."""
        state, publisher = self._state, publication.publisher
        foreign = state.forwards_to(publisher)
        if foreign is not None:
            state.events["redirected"] += 1
            envelope = Envelope(PUBLICATION, publication, state.me)
            state.connection.send(foreign, messages.Redirect(publisher, envelope))
        elif publisher in state.users:
            self.delivery.deliver(publisher, Envelope(PUBLICATION, publication, state.me))
        else:
            state.events["returned"] += 1
            state.send_to_user(publisher, messages.Returned(publication))

    def _send_again(self, publication: Publication, missing: set[int]) -> None:
        """Send a publication to users that have not acknowledged it, unless it is kept for them here."""
        state, delivery = self._state, self.delivery
        key = publication[:2]
        for user in sorted(missing):
            delivery.retry_kept(user)
            kept = delivery.kept.get(user, ())
            if not any(each.kind == DELIVERY and tuple(each.content[:2]) == key for each in kept):
                state.events["sent again"] += 1
                delivery.deliver(user, Envelope(DELIVERY, publication, state.me))

    def _schedule_batch(self) -> None:
        if not self._batch_scheduled:
            self._batch_scheduled = True
            self._state.connection.call_later(self._state.terms.gather, self._send_batch)

    def _send_batch(self) -> None:
        """Send all acknowledgements and reports collected since the last batch."""
        state = self._state
        self._batch_scheduled = False
        receipts, self._receipts = self._receipts, {}
        for broker, numbers in receipts.items():
            # If the broker is dead, the publisher publishes again, and users acknowledge again.
            if broker in state.alive:
                state.connection.send(broker, messages.Acknowledge(state.me, numbers))
        to_report, self._to_report = self._to_report, set()
        for publisher in sorted(to_report):
            local = state.users.get(publisher)
            if local is not None:
                self.report_settled(publisher, local)
