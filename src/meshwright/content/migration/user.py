"""A user: publishes, receives, accepts or declines to move, and looks for a new broker when its own dies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.content.migration import messages
from meshwright.content.migration.messages import Message, Publication, Row
from meshwright.content.migration.terms import Port, Terms

PRUNED_AT = 32
"""A publisher's numbers are gone through when there are so many: then those that are settled go."""


class Seen:
    """The numbers received from each publisher; those below its first unsettled one need not be kept."""

    def __init__(self) -> None:
        self._below: dict[int, int] = {}
        self._numbers: dict[int, set[int]] = {}

    def add(self, publisher: int, number: int, below: int) -> bool:
        """Take note of a publication, and say whether it is new.

        All of its publisher's with numbers below `below` are settled: this user has those that are for it.

        >>> seen = Seen()
        >>> seen.add(7, 0, 0), seen.add(7, 3, 2), seen.add(7, 3, 2), seen.add(7, 1, 0)
        (True, True, False, False)
        """
        first = max(self._below.get(publisher, 0), below)
        self._below[publisher] = first
        numbers = self._numbers.setdefault(publisher, set())
        if number < first or number in numbers:
            return False
        numbers.add(number)
        if len(numbers) >= PRUNED_AT:
            self._numbers[publisher] = {kept for kept in numbers if kept >= first}
        return True


ACKNOWLEDGED_AT = 16
"""So many received messages are acknowledged at once, without waiting for more."""


class UserAgent:
    """One user. `policy` says whether it moves when asked to; `received` hears of each new message."""

    def __init__(
        self,
        row: Row,
        broker: int,
        port: Port,
        terms: Terms,
        policy: Callable[[], bool],
        received: Callable[[int, int, int], None],
    ) -> None:
        self.row, self.port, self.terms = row, port, terms
        self.policy, self.received = policy, received
        self.broker: int | None = None
        self.asked: int | None = broker
        """The broker that it waits for an answer from."""
        self.stranded = False
        self.outbox: dict[int, list[Any]] = {}
        """What is not known to be settled: number → channel and when it was last sent, lowest first."""
        self.published = 0
        self.duplicates = 0
        self.again = 0
        self._seen = Seen()
        self._dead: set[int] = set()
        self._refused: set[int] = set()
        self._unacknowledged: list[tuple[int, int]] = []
        self._gathering = self._impatient = False
        self._handlers: dict[type, Callable[[int, Any], None]] = {
            messages.Deliver: self._deliver,
            messages.Settled: self._settled,
            messages.RequestToMove: self._request,
            messages.ConnectTo: self._connect_to,
            messages.Registered: self._registered,
            messages.Refused: self._refuse,
            messages.Returned: self._returned,
        }

    def start(self) -> None:
        """Register at the first broker."""
        assert self.asked is not None
        self.port.send(self.asked, messages.Register(self.row))

    def handle(self, sender: int, message: Message) -> None:
        """Take a message."""
        self._handlers[type(message)](sender, message)

    def publish(self, channel: int) -> None:
        """Publish a message on a channel; it is kept until it is settled."""
        number = self.published
        self.published += 1
        self.outbox[number] = [channel, None]
        self._send(number)
        self._be_patient()

    def down(self, broker: int) -> None:
        """Look for another broker if this was ours, or the one that we have asked."""
        self._dead.add(broker)
        if broker in (self.broker, self.asked):
            if broker == self.broker:
                self._refused.clear()
            self._look_further()
        elif self.stranded:
            self._give_up()

    def _send(self, number: int) -> None:
        if self.broker is None:
            return
        kept = self.outbox[number]
        self.again += kept[1] is not None
        kept[1] = self.port.now()
        below = next(iter(self.outbox))
        self.port.send(self.broker, messages.Publish(Publication(self.row.user, number, kept[0], below)))

    def _be_patient(self) -> None:
        if not self._impatient:
            self._impatient = True
            self.port.later(self.terms.patience, self._look_at_outbox)

    def _look_at_outbox(self) -> None:
        self._impatient = False
        waited = self.port.now() - self.terms.patience
        for number, (_, sent) in self.outbox.items():
            if sent is None or sent <= waited:
                self._send(number)
        if self.outbox and not self.stranded:
            self._be_patient()

    def _deliver(self, _: int, message: messages.Deliver) -> None:
        publisher, number, _channel, below = message.publication
        if self._seen.add(publisher, number, below):
            self.received(self.row.user, publisher, number)
        else:
            self.duplicates += 1  # acknowledged all the same: the first acknowledgement may be lost
        self._unacknowledged.append((publisher, number))
        if len(self._unacknowledged) >= ACKNOWLEDGED_AT:
            self._acknowledge()
        elif not self._gathering:
            self._gathering = True
            self.port.later(self.terms.gather, self._gathered)

    def _gathered(self) -> None:
        self._gathering = False
        self._acknowledge()

    def _acknowledge(self) -> None:
        if self.broker is not None and self._unacknowledged:
            self.port.send(self.broker, messages.Received(self._unacknowledged))
            self._unacknowledged = []

    def _settled(self, _: int, message: messages.Settled) -> None:
        for number in message.numbers:
            self.outbox.pop(number, None)

    def _returned(self, _: int, message: messages.Returned) -> None:
        number = message.publication.number
        if number in self.outbox:
            self.outbox[number][1] = None  # nobody has it yet
            self._send(number)

    def _request(self, sender: int, message: messages.RequestToMove) -> None:
        answer = messages.Accept if self.policy() else messages.Decline
        self.port.send(sender, answer(self.row.user, message.broker))

    def _connect_to(self, _: int, message: messages.ConnectTo) -> None:
        self.broker = message.broker
        if message.broker in self._dead:
            self._refused.clear()
            self._look_further()
            return
        self.port.send(message.broker, messages.Connect(self.row.user, message.version))
        self._acknowledge()

    def _look_further(self) -> None:
        """Ask the nearest broker that is alive and has not refused; give up if there is none."""
        self.broker = self.asked = None
        unfit = self._dead | self._refused
        access = self.row.access
        left = [broker for broker in range(len(access)) if broker not in unfit]
        if left:
            self.asked = min(left, key=lambda broker: (access[broker], broker))
            self.port.send(self.asked, messages.Register(self.row))
            return
        self.stranded = True
        self._give_up()

    def _give_up(self) -> None:
        access = self.row.access
        alive = [broker for broker in range(len(access)) if broker not in self._dead]
        if alive:
            self.port.send(alive[0], messages.GiveUp(self.row.user))

    def _refuse(self, sender: int, _: messages.Refused) -> None:
        if sender not in (self.broker, self.asked):
            return
        self._refused.add(sender)
        self._look_further()

    def _registered(self, sender: int, _: messages.Registered) -> None:
        """Be at home, and publish again whatever is not settled: who kept track of it may be dead."""
        if sender == self.broker:
            return  # where it was to move to is dead, and nothing has been lost
        self.broker, self.asked = sender, None
        self._refused.clear()
        for number in self.outbox:
            self._send(number)
        self._acknowledge()
