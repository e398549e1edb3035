"""A broker: its parts, and which of them handles which message."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meshwright.content.migration import messages
from meshwright.content.migration.baton import Diary, Ring
from meshwright.content.migration.delivery import Settling
from meshwright.content.migration.handover import Admission, Bargain, Handover
from meshwright.content.migration.knowledge import Routes, workload_of
from meshwright.content.migration.messages import Baton, Message, Row
from meshwright.content.migration.terms import Port, Terms

if TYPE_CHECKING:
    from meshwright.arrays import Floats


from meshwright.content.migration.broker_state import Desk, Guest


class BrokerAgent:
    """One broker. It knows all brokers' links and capacities, and how many users will register first."""

    def __init__(
        self,
        me: int,
        expected: int,
        core: Floats,
        capacity: Floats,
        channels: int,
        port: Port,
        terms: Terms,
        diary: Diary,
    ) -> None:
        self.desk = Desk(me, len(core), port, terms)
        self.routes = Routes(self.desk)
        self.settling = Settling(self.desk, self.routes)
        self.custody = self.settling.custody
        self.bargain = Bargain(self.desk)
        self.handover = Handover(self.desk, self.settling)
        self.admission = Admission(self.desk, self.settling)
        self.ring = Ring(self.desk, self.bargain, self.handover, self.admission, diary)
        self._expected, self._core, self._capacity, self._channels = expected, core, capacity, channels
        self._rows: dict[int, list[Row]] = {me: []}
        self._early: list[tuple[int, Message]] = []
        """What has come before all users were known."""
        self._handlers: dict[type, Callable[[int, Any], None]] = {
            messages.Publish: lambda _, m: self.settling.publish(m.publication),
            messages.Received: lambda sender, m: self.settling.received(
                sender - self.desk.brokers, m.numbers
            ),
            messages.Carry: lambda _, m: self.custody.carry(m.publication, m.origin, m.branch),
            messages.Acknowledge: self._acknowledge,
            messages.Redirect: lambda _, m: self.custody.take(m.user, m.parcel),
            messages.Bounce: lambda sender, m: self.custody.bounced(
                sender, m.user, m.parcel, m.broker, m.version
            ),
            messages.Located: self._located,
            messages.Accept: lambda _, m: self.bargain.answered(m.user, m.broker, agreed=True),
            messages.Decline: lambda _, m: self.bargain.answered(m.user, m.broker, agreed=False),
            messages.Replicate: lambda sender, m: self.handover.replicate(sender, m.user, m.version),
            messages.Replicated: lambda _, m: self.handover.replicated(m.user, m.version),
            messages.HandOver: lambda _, m: self.handover.handed_over(m.user, m.unsettled),
            messages.Connect: lambda _, m: self.handover.connect(m.user, m.version),
            messages.Register: lambda _, m: self.admission.ask(m.row.user),
            messages.GiveUp: self._give_up,
            messages.Baton: lambda _, m: self.ring.receive(m),
            messages.Census: self.ring.hear,
        }

    def start(self) -> None:
        """Begin, if there is nobody to wait for."""
        self._summarize()

    def handle(self, sender: int, message: Message) -> None:
        """Take a message; before all users are known, only what tells of them."""
        if self.desk.ready:
            self._handlers[type(message)](sender, message)
        elif isinstance(message, messages.Register):
            self._rows[self.desk.me].append(message.row)
            self._summarize()
        elif isinstance(message, messages.Summarize):
            self._rows[sender] = [Row(*row) for row in message.rows]
            self._begin()
        else:
            self._early.append((sender, message))

    def down(self, broker: int) -> None:
        """Go on without a broker that has died."""
        desk = self.desk
        desk.alive.discard(broker)
        self.routes.forget()
        self.bargain.forget(broker)
        for user in self.handover.down(broker):
            self.admission.ask(user)
        self.ring.down()

    def _summarize(self) -> None:
        mine = self._rows[self.desk.me]
        if len(mine) == self._expected:
            self.desk.to_all(messages.Summarize(mine))
            self._begin()

    def _begin(self) -> None:
        """With the users of all brokers known, serve those here; the first broker starts the baton."""
        desk = self.desk
        if len(self._rows) < desk.brokers or len(self._rows[desk.me]) < self._expected:
            return
        rows = [row for known in self._rows.values() for row in known]
        places = {row.user: broker for broker, known in self._rows.items() for row in known}
        desk.learn(workload_of(rows, self._core, self._capacity, self._channels), places)
        for row in self._rows[desk.me]:
            desk.guests[row.user] = Guest(connected=True)
            desk.to_user(row.user, messages.Registered(0))
        early, self._early = self._early, []
        for sender, message in early:
            self.handle(sender, message)
        if desk.me == 0:
            self.ring.receive(Baton(0, 0, 0, [], 0))

    def _acknowledge(self, _: int, message: messages.Acknowledge) -> None:
        for publisher, number, user in message.numbers:
            self.settling.acknowledge(publisher, number, user, message.origin)

    def _located(self, _: int, message: messages.Located) -> None:
        self.custody.located(message.user, message.broker, message.version)
        self.handover.elsewhere(message.user)

    def _give_up(self, sender: int, message: messages.GiveUp) -> None:
        self.settling.lose(message.user)
        if sender >= self.desk.brokers:
            self.desk.to_all(message)
