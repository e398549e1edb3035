"""A run without its transport: agents, publications, crashes, its end, and a check of all deliveries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from heapq import merge
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids
from meshwright.content.migration.agents import BrokerAgent, UserAgent
from meshwright.content.migration.broker_state import Crash, CrashAt, Terms, TokenObserver, profiles_of
from meshwright.content.migration.messages import Message, Move, Replicate
from meshwright.content.migration.transport import Connection, Transport
from meshwright.content.workload import Workload


class Schedule(NamedTuple):
    """What is published when, in order of time."""

    time: NDArray[np.float64]
    """The time of each publication."""
    user: Ids
    """The user that publishes it."""
    channel: Ids
    """The channel."""


class Verdict(NamedTuple):
    """The counts of a check of all deliveries."""

    expected: int
    """Pairs of a publication and a user that must receive it."""
    delivered: int
    """Deliveries that were expected."""
    missing: int
    """Expected pairs that were not delivered."""
    twice: int
    """Pairs that were delivered more than once."""
    unexpected: int
    """Pairs that were delivered although the user does not subscribe, or published it itself."""

    @property
    def sound(self) -> bool:
        """Whether every user has received exactly what it should, once."""
        return not (self.missing or self.twice or self.unexpected)


def draw_schedule(workload: Workload, terms: Terms, seed: int) -> Schedule:
    """Draw publications in proportion to the users' rates, at uniform times; none if all rates are 0."""
    rng = np.random.Generator(np.random.PCG64(seed))
    total = float(workload.rates.sum())
    count = terms.publications if total > 0 else 0
    bounds = np.cumsum(workload.rates)
    slot = np.searchsorted(bounds, rng.random(count) * total, side="right") if count else np.zeros(0, int)
    # A rounding error may lead past the last slot, or to one without a rate at the end.
    slot = np.minimum(slot, np.flatnonzero(workload.rates)[-1]) if count else slot
    user = np.searchsorted(workload.rate_ptr, slot, side="right") - 1
    time = np.sort(rng.random(count) * terms.seconds)
    return Schedule(time, user.astype(np.int32), workload.rate_channels[slot])


class DeliveryCheck:
    """Records what users receive, and compares it with the schedule."""

    def __init__(self, workload: Workload, schedule: Schedule) -> None:
        self._workload, self._schedule = workload, schedule
        self._publications_of: dict[int, list[int]] = {}
        """The positions of each user's publications in the schedule: the n-th has number n."""
        for index, user in enumerate(schedule.user.tolist()):
            self._publications_of.setdefault(user, []).append(index)
        self._received: list[int] = []
        """One entry for each delivery: the publication's position times the number of users, plus user."""

    def record(self, user: int, publisher: int, number: int) -> None:
        """Record that a user has received a publication."""
        self._received.append(self._publications_of[publisher][number] * self._workload.num_users + user)

    @property
    def delivered(self) -> int:
        """How many publications users have received so far."""
        return len(self._received)

    def verdict(self, stranded: set[int]) -> Verdict:
        """Compare with what each user must receive: all publications on its channels except its own.

        Stranded users need not receive anything. What they have published may be received, at most once.
        """
        users, schedule = self._workload.num_users, self._schedule
        ptr, subscribers = self._workload.audience
        # One row for each pair of a publication and a subscriber of its channel.
        sizes = np.diff(ptr)[schedule.channel]
        index = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        receiver = subscribers[ptr[schedule.channel[index]] + place].astype(np.int64)
        wanted = (receiver != schedule.user[index]) & ~np.isin(receiver, list(stranded))
        allowed = (index * users + receiver)[wanted]
        expected = allowed[~np.isin(schedule.user[index][wanted], list(stranded))]
        received, times = np.unique(np.array(self._received, dtype=np.int64), return_counts=True)
        counted = ~np.isin(received % users, list(stranded))
        received, times = received[counted], times[counted]
        return Verdict(
            len(expected),
            int(times[np.isin(received, expected)].sum()),
            len(np.setdiff1d(expected, received)),
            int((times > 1).sum()),
            len(np.setdiff1d(received, allowed)),
        )


DECLINES, PUBLICATIONS, DELAYS = 1, 2, 3
"""What is random; each has its own seed."""


class Simulation(TokenObserver):
    """All agents of a run, with what an observer outside the protocol sees. A transport drives it."""

    def __init__(self, workload: Workload, broker_of: Ids, terms: Terms, seed: int) -> None:
        self.workload, self.broker_of, self.terms = workload, broker_of, terms
        self.delay_seed = _derive_seed(seed, DELAYS)
        self.schedule = draw_schedule(workload, terms, _derive_seed(seed, PUBLICATIONS))
        self.deliveries = DeliveryCheck(workload, self.schedule)
        self._declines = np.random.Generator(np.random.PCG64(_derive_seed(seed, DECLINES)))
        self.brokers: list[BrokerAgent] = []
        self.users: list[UserAgent] = []
        self.moves: list[tuple[float, Move]] = []
        """The move log, with the time of each entry."""
        self.turns: list[float] = []
        """When a broker received the token."""
        self.stopped_at: float | None = None
        """When the token stopped, unless it has started again."""
        self.crashed: list[tuple[float, int]] = []
        """The brokers that crashed, with times."""
        self._replicates = 0
        self._all_events_done = False
        self._now: Callable[[], float] = lambda: 0.0

    def populate(self, transport: Transport) -> None:
        """Create all agents and start them."""
        self._transport = transport
        self._now = transport.time
        workload = self.workload
        expected = np.bincount(self.broker_of, minlength=workload.num_brokers).tolist()
        network = workload.core, workload.capacity, workload.num_channels
        for broker, users in enumerate(expected):
            connection = Connection(transport, broker)
            self.brokers.append(BrokerAgent(broker, users, *network, connection, self.terms, self))
            transport.join(broker, self.brokers[-1])
        for profile, broker in zip(profiles_of(workload), self.broker_of.tolist(), strict=True):
            address = len(expected) + profile.user
            connection, record = Connection(transport, address), self.deliveries.record
            self.users.append(UserAgent(profile, broker, connection, self.terms, self._accepts, record))
            transport.join(address, self.users[-1])
        for broker_agent in self.brokers:
            broker_agent.start()
        for user_agent in self.users:
            user_agent.start()

    def events(self) -> Iterator[tuple[float, Callable[[], None]]]:
        """Yield publications and timed crashes in order of time: when each is due, and what to call."""
        crashes = sorted(crash for crash in self.terms.crashes if isinstance(crash, CrashAt))
        schedule = zip(*(column.tolist() for column in self.schedule), strict=True)
        publications = (
            (time, partial(self.users[user].publish, channel)) for time, user, channel in schedule
        )
        kills = ((crash.seconds, partial(self._kill, crash.broker)) for crash in crashes)
        # Of two events at the same time, the crash comes first.
        yield from merge(kills, publications, key=itemgetter(0))
        self._all_events_done = True

    def on_send(self, sender: int, to: int, message: Message) -> None:
        """Crash a broker if this message is a replicate that a crash waits for."""
        if type(message) is Replicate:
            self._replicates += 1
            for crash in self.terms.crashes:
                if isinstance(crash, Crash) and crash.replicate == self._replicates:
                    self._kill(sender if crash.side == "home" else to)

    @property
    def over(self) -> bool:
        """Whether nothing is left to do: no move pays, every user has a broker, all is settled."""
        return (
            self._all_events_done
            and self.stopped_at is not None
            and not self._transport.unnotified
            and all(user.stranded or (user.broker is not None and not user.outbox) for user in self.users)
        )

    # What the token ring reports.

    def move_logged(self, move: Move) -> None:
        """Record a move."""
        self.moves.append((self._now(), move))

    def token_received(self) -> None:
        """Record the time."""
        self.turns.append(self._now())
        self.stopped_at = None

    def token_replaced(self, moves: int) -> None:
        """Drop the moves that were lost with the token."""
        del self.moves[moves:]

    def token_stopped(self) -> None:
        """Record the time."""
        self.stopped_at = self._now()

    def _accepts(self) -> bool:
        return bool(self._declines.random() >= self.terms.decline)

    def _kill(self, broker: int) -> None:
        """Crash a broker, except the last one, and only after all brokers know all users."""
        dead = self._transport.dead
        initialized = all(agent.state.initialized for agent in self.brokers)
        if initialized and broker not in dead and len(dead) < len(self.brokers) - 1:
            self.crashed.append((self._now(), broker))
            self._transport.kill(broker)


def _derive_seed(seed: int, purpose: int) -> int:
    """Return a seed of its own for each purpose."""
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1)[0])
