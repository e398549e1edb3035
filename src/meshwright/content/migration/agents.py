"""The two agents: a user, which publishes, receives and moves, and a broker, which serves its users.

A user accepts or declines to move, and finds another broker when its own crashes. A broker consists of parts,
and says which of them handles which message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.arrays import Floats
from meshwright.content.migration import messages
from meshwright.content.migration.broker_state import (
    BrokerState,
    LocalUser,
    Terms,
    TokenObserver,
    workload_of,
)
from meshwright.content.migration.delivery import ChannelTrees, Publications
from meshwright.content.migration.messages import Message, Publication, Token, UserProfile
from meshwright.content.migration.moves import Admission, Handover, MoveRequests, TokenRing
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


class BrokerAgent:
    """One broker. It knows the links and capacities of all brokers, and how many users register at first.

    It starts in two phases. First its users register, and it sends their profiles to all brokers in one
    summary. With the summaries of all brokers, it knows every user and begins to serve its own.
    """

    def __init__(
        self,
        me: int,
        expected: int,
        core: Floats,
        capacity: Floats,
        channels: int,
        connection: Connection,
        terms: Terms,
        observer: TokenObserver,
    ) -> None:
        self.state = BrokerState(me, len(core), connection, terms)
        self.trees = ChannelTrees(self.state)
        self.publications = Publications(self.state, self.trees)
        self.delivery = self.publications.delivery
        self.requests = MoveRequests(self.state)
        self.handover = Handover(self.state, self.publications)
        self.admission = Admission(self.state, self.publications)
        self.ring = TokenRing(self.state, self.requests, self.handover, self.admission, observer)
        self._expected, self._core, self._capacity, self._channels = expected, core, capacity, channels
        self._profiles: dict[int, list[UserProfile]] = {me: []}
        """The users of each broker whose summary has arrived."""
        self._early: list[tuple[int, Message]] = []
        """Messages that have arrived before all users were known."""
        self._handlers: dict[type, Callable[[int, Any], None]] = {
            messages.Publish: lambda _, m: self.publications.publish(m.publication),
            messages.Received: self._received,
            messages.Carry: lambda _, m: self.delivery.carry(m.publication, m.origin, m.branch),
            messages.Acknowledge: self._acknowledge,
            messages.Redirect: lambda _, m: self.delivery.deliver(m.user, m.envelope),
            messages.Bounce: lambda sender, m: self.delivery.take_back(sender, *m),
            messages.Located: self._located,
            messages.Accept: lambda _, m: self.requests.answer(m.user, m.broker, accepted=True),
            messages.Decline: lambda _, m: self.requests.answer(m.user, m.broker, accepted=False),
            messages.Replicate: lambda sender, m: self.handover.replicate(sender, m.user, m.version),
            messages.Replicated: lambda _, m: self.handover.replicated(m.user, m.version),
            messages.HandOver: lambda _, m: self.handover.take_over(m.user, m.unsettled),
            messages.Connect: lambda _, m: self.handover.connect(m.user, m.version),
            messages.Register: lambda _, m: self.admission.request(m.profile.user),
            messages.GiveUp: self._give_up,
            messages.Token: lambda _, m: self.ring.receive(m),
            messages.TokenReport: self.ring.collect,
        }

    def start(self) -> None:
        """Send the summary at once if no user is to register."""
        self._summarize()

    def handle(self, sender: int, message: Message) -> None:
        """Handle a message; before all users are known, only registers and summaries."""
        if self.state.initialized:
            self._handlers[type(message)](sender, message)
        elif isinstance(message, messages.Register):
            self._profiles[self.state.me].append(message.profile)
            self._summarize()
        elif isinstance(message, messages.Summarize):
            self._profiles[sender] = [UserProfile(*profile) for profile in message.profiles]
            self._begin()
        else:
            self._early.append((sender, message))

    def broker_down(self, broker: int) -> None:
        """Continue without a broker that has crashed."""
        self.state.alive.discard(broker)
        self.trees.forget_all()
        self.requests.broker_down(broker)
        # These users are logged on the dead broker: log them here again.
        for user in self.handover.broker_down(broker):
            self.admission.request(user)
        self.ring.broker_down()

    def _summarize(self) -> None:
        """Send the summary once all expected users have registered."""
        mine = self._profiles[self.state.me]
        if len(mine) == self._expected:
            self.state.send_to_brokers(messages.Summarize(mine))
            self._begin()

    def _begin(self) -> None:
        """Once all users are known, serve those here; the first broker issues the token."""
        state = self.state
        if len(self._profiles) < state.num_brokers or len(self._profiles[state.me]) < self._expected:
            return
        profiles = [profile for summary in self._profiles.values() for profile in summary]
        broker_of = {
            profile.user: broker for broker, summary in self._profiles.items() for profile in summary
        }
        state.initialize(workload_of(profiles, self._core, self._capacity, self._channels), broker_of)
        for profile in self._profiles[state.me]:
            state.users[profile.user] = LocalUser(connected=True)
            state.send_to_user(profile.user, messages.Registered(0))
        early, self._early = self._early, []
        for sender, message in early:
            self.handle(sender, message)
        if state.me == 0:
            self.ring.receive(Token(0, 0, 0, [], 0))

    def _received(self, sender: int, message: messages.Received) -> None:
        self.publications.receive(sender - self.state.num_brokers, message.publications)

    def _acknowledge(self, _: int, message: messages.Acknowledge) -> None:
        for publisher, number, user in message.receipts:
            self.publications.acknowledge(publisher, number, user, message.origin)

    def _located(self, _: int, message: messages.Located) -> None:
        self.delivery.learn_location(message.user, message.broker, message.version)
        self.handover.user_located(message.user)

    def _give_up(self, sender: int, message: messages.GiveUp) -> None:
        self.publications.strand(message.user)
        if sender >= self.state.num_brokers:
            self.state.send_to_brokers(message)
