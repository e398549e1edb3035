"""A broker: its parts, and which of them handles which message."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meshwright.content.migration.protocol import messages
from meshwright.content.migration.protocol.broker_state import BrokerState, LocalUser, workload_of
from meshwright.content.migration.protocol.delivery import ChannelTrees
from meshwright.content.migration.protocol.messages import Message, Token, UserProfile
from meshwright.content.migration.protocol.moves import Admission, Handover, MoveRequests
from meshwright.content.migration.protocol.publications import Publications
from meshwright.content.migration.protocol.token_ring import TokenObserver, TokenRing
from meshwright.content.migration.terms import Terms
from meshwright.content.migration.transport import Connection

if TYPE_CHECKING:
    from meshwright.arrays import Floats


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
