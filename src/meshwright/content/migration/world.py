"""A whole run: the agents, the publications, the failures, and when it ends. Transports only drive it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from meshwright.content.migration import messages
from meshwright.content.migration.baton import Diary
from meshwright.content.migration.broker import BrokerAgent
from meshwright.content.migration.knowledge import rows_of
from meshwright.content.migration.messages import Entry, Message
from meshwright.content.migration.terms import Crash, CrashAt, Terms
from meshwright.content.migration.user import UserAgent

if TYPE_CHECKING:
    from collections import Counter

    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.content.migration.terms import Agent, Port
    from meshwright.content.model.workload import Workload


class Flow(NamedTuple):
    """Publications in the order of their times."""

    time: NDArray[np.float64]
    user: Ids
    channel: Ids


class Verdict(NamedTuple):
    """What a check of all deliveries has found."""

    expected: int
    delivered: int
    missing: int
    twice: int
    unexpected: int

    @property
    def sound(self) -> bool:
        """Whether everybody has received everything that is for it, once."""
        return not (self.missing or self.twice or self.unexpected)


def draw_flow(workload: Workload, terms: Terms, seed: int) -> Flow:
    """Draw publications by the users' rates, at random times; none if nobody publishes."""
    rng = np.random.Generator(np.random.PCG64(seed))
    total = float(workload.rates.sum())
    count = terms.publications if total > 0 else 0
    bounds = np.cumsum(workload.rates)
    slot = np.searchsorted(bounds, rng.random(count) * total, side="right") if count else np.zeros(0, int)
    slot = np.minimum(slot, np.flatnonzero(workload.rates)[-1]) if count else slot
    user = np.searchsorted(workload.rate_ptr, slot, side="right") - 1
    time = np.sort(rng.random(count) * terms.seconds)
    return Flow(time, user.astype(np.int32), workload.rate_channels[slot])


class Onlooker:
    """Counts what users are given, apart from the protocol; the n-th publication of a user has number n."""

    def __init__(self, workload: Workload, flow: Flow) -> None:
        self._workload, self._flow = workload, flow
        self._of: dict[int, list[int]] = {}
        for index, user in enumerate(flow.user.tolist()):
            self._of.setdefault(user, []).append(index)
        self._got: list[int] = []

    def received(self, user: int, publisher: int, number: int) -> None:
        """Hear that a user has been given a message."""
        self._got.append(self._of[publisher][number] * self._workload.num_users + user)

    @property
    def delivered(self) -> int:
        """How many messages users have been given."""
        return len(self._got)

    def verdict(self, left_out: set[int]) -> Verdict:
        """Compare with what each user should have: all on its channels but its own.

        Nothing is expected of or for those left out, though what they have published may arrive, once.
        """
        users = self._workload.num_users
        ptr, audience = self._workload.audience
        sizes = np.diff(ptr)[self._flow.channel]
        index = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        taker = audience[ptr[self._flow.channel[index]] + place].astype(np.int64)
        wanted = (taker != self._flow.user[index]) & ~np.isin(taker, list(left_out))
        allowed = (index * users + taker)[wanted]
        expected = allowed[~np.isin(self._flow.user[index][wanted], list(left_out))]
        got, times = np.unique(np.array(self._got, dtype=np.int64), return_counts=True)
        counted = ~np.isin(got % users, list(left_out))
        got, times = got[counted], times[counted]
        return Verdict(
            len(expected),
            int(times[np.isin(got, expected)].sum()),
            len(np.setdiff1d(expected, got)),
            int((times > 1).sum()),
            len(np.setdiff1d(got, allowed)),
        )


DECLINING, FLOWING, DELAYING = 1, 2, 3
"""What is drawn at random, each by a seed of its own."""


class Transport(Protocol):
    """What a world needs of its transport."""

    dead: set[int]
    counts: Counter[type]
    unheard: int

    def port(self, address: int) -> Port:
        """Return an agent's way out."""

    def join(self, address: int, agent: Agent) -> None:
        """Add an agent."""

    def kill(self, broker: int) -> None:
        """Let a broker die."""


def derived(seed: int, purpose: int) -> int:
    """Return a seed for one purpose."""
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1)[0])


class World(Diary):
    """Everything but the transport."""

    def __init__(self, workload: Workload, broker_of: Ids, terms: Terms, seed: int) -> None:
        self.workload, self.broker_of, self.terms = workload, broker_of, terms
        self.flow = draw_flow(workload, terms, derived(seed, FLOWING))
        self.onlooker = Onlooker(workload, self.flow)
        self._chance = np.random.Generator(np.random.PCG64(derived(seed, DECLINING)))
        self.brokers: list[BrokerAgent] = []
        self.users: list[UserAgent] = []
        self.lines: list[tuple[float, Entry]] = []
        self.turns: list[float] = []
        self.rested_at: float | None = None
        self.crashed: list[tuple[float, int]] = []
        self._replicates = 0
        self._all_due = False
        self._now: Callable[[], float] = lambda: 0.0

    def populate(self, transport: Transport) -> None:
        """Make all agents, and let them begin."""
        self._transport = transport
        self._now = transport.port(0).now
        expected = np.bincount(self.broker_of, minlength=self.workload.num_brokers).tolist()
        for broker, users in enumerate(expected):
            known = self.workload.core, self.workload.capacity, self.workload.num_channels
            port = transport.port(broker)
            self.brokers.append(BrokerAgent(broker, users, *known, port, self.terms, self))
            transport.join(broker, self.brokers[-1])
        for row, broker in zip(rows_of(self.workload), self.broker_of.tolist(), strict=True):
            address = len(expected) + row.user
            port, received = transport.port(address), self.onlooker.received
            self.users.append(UserAgent(row, broker, port, self.terms, self._agrees, received))
            transport.join(address, self.users[-1])
        for broker_agent in self.brokers:
            broker_agent.start()
        for user_agent in self.users:
            user_agent.start()

    def due(self) -> Iterator[tuple[float, Callable[[], None]]]:
        """Give what is to happen when: publications and crashes, in order of time."""
        crashes = sorted(crash for crash in self.terms.crashes if isinstance(crash, CrashAt))
        times = self.flow.time.tolist()
        for time, user, channel in zip(
            times, self.flow.user.tolist(), self.flow.channel.tolist(), strict=True
        ):
            while crashes and crashes[0].seconds <= time:
                yield crashes[0].seconds, self._killing(crashes.pop(0).broker)
            yield time, self._publishing(user, channel)
        for crash in crashes:
            yield crash.seconds, self._killing(crash.broker)
        self._all_due = True

    def seen(self, sender: int, to: int, message: Message) -> None:
        """Watch a message go by; a broker may have to die because of it."""
        if type(message) is messages.Replicate:
            self._replicates += 1
            for crash in self.terms.crashes:
                if isinstance(crash, Crash) and crash.replicate == self._replicates:
                    self._kill(sender if crash.side == "home" else to)

    @property
    def ready(self) -> bool:
        """Whether every broker knows all users."""
        return all(broker.desk.ready for broker in self.brokers)

    @property
    def over(self) -> bool:
        """Whether nothing is left to do: all published and settled, nobody without a broker, no move pays."""
        return (
            self._all_due
            and self.rested_at is not None
            and not self._transport.unheard
            and all(user.stranded or (user.broker is not None and not user.outbox) for user in self.users)
        )

    # What the ring tells.

    def written(self, entry: Entry) -> None:
        """Keep a line."""
        self.lines.append((self._now(), entry))

    def turned(self, turn: int) -> None:
        """Count the baton's turns."""
        self.turns.append(self._now())
        self.rested_at = None

    def restored(self, lines: int) -> None:
        """Forget lines that were lost with whoever wrote them."""
        del self.lines[lines:]

    def rested(self, turn: int) -> None:
        """Note the time."""
        self.rested_at = self._now()

    def _agrees(self) -> bool:
        return bool(self._chance.random() >= self.terms.decline)

    def _publishing(self, user: int, channel: int) -> Callable[[], None]:
        return lambda: self.users[user].publish(channel)

    def _killing(self, broker: int) -> Callable[[], None]:
        return lambda: self._kill(broker)

    def _kill(self, broker: int) -> None:
        """Let a broker die, but never the last, nor any before everybody is known to all."""
        dead = self._transport.dead
        if self.ready and broker not in dead and len(dead) < len(self.brokers) - 1:
            self.crashed.append((self._now(), broker))
            self._transport.kill(broker)
