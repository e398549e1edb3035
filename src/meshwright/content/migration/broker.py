"""A broker: its parts, and which of them sees to which message."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meshwright.content.migration import verbs
from meshwright.content.migration.admission import Admission
from meshwright.content.migration.bargain import Bargain
from meshwright.content.migration.desk import Desk, Guest
from meshwright.content.migration.handover import Handover
from meshwright.content.migration.knowledge import workload_of
from meshwright.content.migration.ring import Diary, Ring
from meshwright.content.migration.routes import Routes
from meshwright.content.migration.settling import Settling
from meshwright.content.migration.verbs import Baton, Message, Row

if TYPE_CHECKING:
    from meshwright.content.demand import Floats
    from meshwright.content.migration.port import Port
    from meshwright.content.migration.terms import Terms


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
            verbs.Publish: lambda _, m: self.settling.publish(m.publication),
            verbs.Received: lambda sender, m: self.settling.received(sender - self.desk.brokers, m.numbers),
            verbs.Carry: lambda _, m: self.custody.carry(m.publication, m.origin, m.branch),
            verbs.Acknowledge: self._acknowledge,
            verbs.Redirect: lambda _, m: self.custody.take(m.user, m.parcel),
            verbs.Bounce: lambda sender, m: self.custody.bounced(
                sender, m.user, m.parcel, m.broker, m.version
            ),
            verbs.Located: self._located,
            verbs.Accept: lambda _, m: self.bargain.answered(m.user, m.broker, agreed=True),
            verbs.Decline: lambda _, m: self.bargain.answered(m.user, m.broker, agreed=False),
            verbs.Replicate: lambda sender, m: self.handover.replicate(sender, m.user, m.version),
            verbs.Replicated: lambda _, m: self.handover.replicated(m.user, m.version),
            verbs.HandOver: lambda _, m: self.handover.handed_over(m.user, m.unsettled),
            verbs.Connect: lambda _, m: self.handover.connect(m.user, m.version),
            verbs.Register: lambda _, m: self.admission.ask(m.row.user),
            verbs.GiveUp: self._give_up,
            verbs.Baton: lambda _, m: self.ring.receive(m),
            verbs.Census: self.ring.hear,
        }

    def start(self) -> None:
        """Begin, if there is nobody to wait for."""
        self._summarize()

    def handle(self, sender: int, message: Message) -> None:
        """Take a message; before all users are known, only what tells of them."""
        if self.desk.ready:
            self._handlers[type(message)](sender, message)
        elif isinstance(message, verbs.Register):
            self._rows[self.desk.me].append(message.row)
            self._summarize()
        elif isinstance(message, verbs.Summarize):
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
            self.desk.to_all(verbs.Summarize(mine))
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
            desk.to_user(row.user, verbs.Registered(0))
        early, self._early = self._early, []
        for sender, message in early:
            self.handle(sender, message)
        if desk.me == 0:
            self.ring.receive(Baton(0, 0, 0, [], 0))

    def _acknowledge(self, _: int, message: verbs.Acknowledge) -> None:
        for publisher, number, user in message.numbers:
            self.settling.acknowledge(publisher, number, user, message.origin)

    def _located(self, _: int, message: verbs.Located) -> None:
        self.custody.located(message.user, message.broker, message.version)
        self.handover.elsewhere(message.user)

    def _give_up(self, sender: int, message: verbs.GiveUp) -> None:
        self.settling.lose(message.user)
        if sender >= self.desk.brokers:
            self.desk.to_all(message)
