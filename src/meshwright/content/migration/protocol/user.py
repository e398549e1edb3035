"""A user: publishes, receives, accepts or declines to move, and finds a new broker when its own crashes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.content.migration.protocol import messages
from meshwright.content.migration.protocol.messages import Message, Publication, UserProfile
from meshwright.content.migration.terms import Terms
from meshwright.content.migration.transport import Connection

PRUNE_SIZE = 32
"""When this many numbers of a publisher are stored, those of settled publications are dropped."""
MAX_UNACKNOWLEDGED = 16
"""This many received publications are acknowledged at once, without waiting for more."""


class ReceivedNumbers:
    """The numbers received from each publisher, except those of settled publications."""

    def __init__(self) -> None:
        self._first_unsettled: dict[int, int] = {}
        self._numbers: dict[int, set[int]] = {}

    def add(self, publisher: int, number: int, first_unsettled: int) -> bool:
        """Note a publication, and return whether it is new.

        All of the publisher's lower numbers than `first_unsettled` are settled, so this user has received
        those that are for it.

        >>> received = ReceivedNumbers()
        >>> received.add(7, 0, 0), received.add(7, 3, 2), received.add(7, 3, 2), received.add(7, 1, 0)
        (True, True, False, False)
        """
        first = max(self._first_unsettled.get(publisher, 0), first_unsettled)
        self._first_unsettled[publisher] = first
        numbers = self._numbers.setdefault(publisher, set())
        if number < first or number in numbers:
            return False
        numbers.add(number)
        if len(numbers) >= PRUNE_SIZE:
            self._numbers[publisher] = {kept for kept in numbers if kept >= first}
        return True


@dataclass
class Unsettled:
    """A publication that is not known to be settled."""

    channel: int
    sent: float | None = None
    """When it was last sent; None if no broker has it."""


class UserAgent:
    """One user.

    `policy` is the user's local policy: it returns whether to accept a request to move. `on_received` is
    called with the user, publisher and number of each new publication.
    """

    def __init__(
        self,
        profile: UserProfile,
        broker: int,
        connection: Connection,
        terms: Terms,
        policy: Callable[[], bool],
        on_received: Callable[[int, int, int], None],
    ) -> None:
        self.profile, self.connection, self.terms = profile, connection, terms
        self.policy, self.on_received = policy, on_received
        self.broker: int | None = None
        self.registering_at: int | None = broker
        """The broker that it has asked to serve it, and that has not answered."""
        self.stranded = False
        """Whether all brokers alive have refused it."""
        self.outbox: dict[int, Unsettled] = {}
        """The publications that are not known to be settled, by number, lowest first."""
        self.published = 0
        self.duplicates = 0
        self.republished = 0
        self._received = ReceivedNumbers()
        self._dead: set[int] = set()
        self._refused_by: set[int] = set()
        self._unacknowledged: list[tuple[int, int]] = []
        self._acknowledgement_scheduled = self._resend_scheduled = False
        self._handlers: dict[type, Callable[[int, Any], None]] = {
            messages.Deliver: self._deliver,
            messages.Settled: self._settled,
            messages.RequestToMove: self._request_to_move,
            messages.ConnectTo: self._connect_to,
            messages.Registered: self._registered,
            messages.Refused: self._refused,
            messages.Returned: self._returned,
        }

    def start(self) -> None:
        """Register at the first broker."""
        assert self.registering_at is not None
        self.connection.send(self.registering_at, messages.Register(self.profile))

    def handle(self, sender: int, message: Message) -> None:
        """Handle a message."""
        self._handlers[type(message)](sender, message)

    def publish(self, channel: int) -> None:
        """Publish on a channel; the publication stays in the outbox until it is settled."""
        number = self.published
        self.published += 1
        self.outbox[number] = Unsettled(channel)
        self._send(number)
        self._schedule_resend()

    def broker_down(self, broker: int) -> None:
        """Look for another broker if this was ours, or the one that we have asked."""
        self._dead.add(broker)
        if broker in (self.broker, self.registering_at):
            if broker == self.broker:
                self._refused_by.clear()
            self._register_elsewhere()
        elif self.stranded:
            # The broker that knew it may have crashed before it passed it on.
            self._give_up()

    # Publishing.

    def _send(self, number: int) -> None:
        if self.broker is None:
            return
        unsettled = self.outbox[number]
        self.republished += unsettled.sent is not None
        unsettled.sent = self.connection.now()
        first_unsettled = next(iter(self.outbox))
        publication = Publication(self.profile.user, number, unsettled.channel, first_unsettled)
        self.connection.send(self.broker, messages.Publish(publication))

    def _schedule_resend(self) -> None:
        if not self._resend_scheduled:
            self._resend_scheduled = True
            self.connection.call_later(self.terms.patience, self._resend_overdue)

    def _resend_overdue(self) -> None:
        """Publish again what has not been settled in time."""
        self._resend_scheduled = False
        latest = self.connection.now() - self.terms.patience
        for number, unsettled in self.outbox.items():
            if unsettled.sent is None or unsettled.sent <= latest:
                self._send(number)
        if self.outbox and not self.stranded:
            self._schedule_resend()

    def _settled(self, _: int, message: messages.Settled) -> None:
        for number in message.numbers:
            self.outbox.pop(number, None)

    def _returned(self, _: int, message: messages.Returned) -> None:
        number = message.publication.number
        if number in self.outbox:
            self.outbox[number].sent = None
            self._send(number)

    # Receiving.

    def _deliver(self, _: int, message: messages.Deliver) -> None:
        publisher, number, _channel, first_unsettled = message.publication
        if self._received.add(publisher, number, first_unsettled):
            self.on_received(self.profile.user, publisher, number)
        else:
            self.duplicates += 1
        # A duplicate is acknowledged too: the first acknowledgement may be lost.
        self._unacknowledged.append((publisher, number))
        if len(self._unacknowledged) >= MAX_UNACKNOWLEDGED:
            self._acknowledge()
        elif not self._acknowledgement_scheduled:
            self._acknowledgement_scheduled = True
            self.connection.call_later(self.terms.gather, self._acknowledge_scheduled)

    def _acknowledge_scheduled(self) -> None:
        self._acknowledgement_scheduled = False
        self._acknowledge()

    def _acknowledge(self) -> None:
        if self.broker is not None and self._unacknowledged:
            self.connection.send(self.broker, messages.Received(self._unacknowledged))
            self._unacknowledged = []

    # Moving.

    def _request_to_move(self, sender: int, message: messages.RequestToMove) -> None:
        answer = messages.Accept if self.policy() else messages.Decline
        self.connection.send(sender, answer(self.profile.user, message.broker))

    def _connect_to(self, _: int, message: messages.ConnectTo) -> None:
        """Connect to the foreign broker."""
        self.broker = message.broker
        if message.broker in self._dead:
            self._refused_by.clear()
            self._register_elsewhere()
            return
        self.connection.send(message.broker, messages.Connect(self.profile.user, message.version))
        self._acknowledge()

    def _register_elsewhere(self) -> None:
        """Register at the nearest broker alive that has not refused; give up if all have."""
        self.broker = self.registering_at = None
        access = self.profile.access
        excluded = self._dead | self._refused_by
        candidates = [broker for broker in range(len(access)) if broker not in excluded]
        if candidates:
            self.registering_at = min(candidates, key=lambda broker: (access[broker], broker))
            self.connection.send(self.registering_at, messages.Register(self.profile))
            return
        self.stranded = True
        self._give_up()

    def _give_up(self) -> None:
        """Tell the first broker alive that this user is stranded."""
        alive = [broker for broker in range(len(self.profile.access)) if broker not in self._dead]
        if alive:
            self.connection.send(alive[0], messages.GiveUp(self.profile.user))

    def _refused(self, sender: int, _: messages.Refused) -> None:
        if sender not in (self.broker, self.registering_at):
            return
        self._refused_by.add(sender)
        self._register_elsewhere()

    def _registered(self, sender: int, _: messages.Registered) -> None:
        """Belong to a new broker, and publish again all that is not settled: only the old broker knew."""
        if sender == self.broker:
            # The foreign broker crashed before the user left: it stays, and nothing is lost.
            return
        self.broker, self.registering_at = sender, None
        self._refused_by.clear()
        for number in self.outbox:
            self._send(number)
        self._acknowledge()
