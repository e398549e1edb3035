"""Publications of a broker's users: sent out, acknowledged by every subscriber, and then settled.

A crash loses what the broker held. So a user keeps a publication until it is settled, and publishes it again
if that takes too long; its broker then sends it to the subscribers that have not acknowledged it.
"""

from __future__ import annotations

from collections.abc import Sequence

from meshwright.content.migration.protocol import messages
from meshwright.content.migration.protocol.broker_state import BrokerState, LocalUser
from meshwright.content.migration.protocol.delivery import (
    ACKNOWLEDGEMENT,
    DELIVERY,
    PUBLICATION,
    ChannelTrees,
    Delivery,
)
from meshwright.content.migration.protocol.messages import Envelope, Publication


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
