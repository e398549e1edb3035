"""What one broker knows: the terms of the migration, the workload, the move log, its users, and all others'.

The move log says who belongs to which broker, as an append-only list that all brokers share. Only the broker
that holds the token appends, and its log is then complete. So every move is priced on exactly the state that
it changes, although many moves are under way, and no broker promises more than its capacity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from meshwright.arrays import Floats, Offsets, frozen
from meshwright.content.cost import RunningCost
from meshwright.content.migration.messages import Envelope, Message, Move, UserProfile
from meshwright.content.migration.transport import Connection
from meshwright.content.workload import Workload
from meshwright.errors import InputError


class Crash(NamedTuple):
    """A broker crashes as the n-th replicate is sent: the user's home broker, or the foreign one."""

    replicate: int
    side: str = "foreign"


class CrashAt(NamedTuple):
    """A broker crashes at a given time."""

    seconds: float
    broker: int


@dataclass(frozen=True)
class Terms:
    """The parameters of a migration; times are in seconds.

    Attributes
    ----------
    publications, seconds
        The number of publications, and the time over which they are spread.
    decline
        The probability that a user declines a request to move.
    ttl
        How long a home broker forwards what arrives for a user that has moved away. After that, it returns
        such messages to their origin, with the user's new broker.
    requests
        How many requests to move a broker has open at a time.
    delay
        The smallest and the largest delay of a message on a link (asyncio transport).
    pause
        How long a broker holds the token when it has no move to log.
    patience
        After this time, a user publishes again what is not settled.
    gather
        How long acknowledgements are collected before they are sent together.
    crashes
        Which brokers crash, and when.
    limit
        The run stops after this time, even if moves are left.
    """

    publications: int = 1000
    seconds: float = 5.0
    decline: float = 0.0
    ttl: float = 0.5
    requests: int = 4
    delay: tuple[float, float] = (0.0005, 0.01)
    pause: float = 0.005
    patience: float = 2.0
    gather: float = 0.03
    crashes: tuple[Crash | CrashAt, ...] = field(default=())
    limit: float = 600.0

    def __post_init__(self) -> None:
        """Check that every value is in its range."""
        if not 0 <= self.decline <= 1:
            raise InputError(f"users decline with probability {self.decline}: give 0 to 1")
        if self.publications < 0:
            raise InputError(f"{self.publications} publications: give 0 or more")
        if self.requests < 1:
            raise InputError(f"{self.requests} requests at a time: give 1 or more")
        shortest, longest = self.delay
        if not 0 <= shortest <= longest:
            raise InputError(
                f"delays from {shortest} to {longest} seconds: give two numbers in ascending order, 0 or more"
            )
        for name in ("seconds", "ttl", "gather"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} of {getattr(self, name)} seconds: give 0 or more")
        for name in ("pause", "patience", "limit"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} of {getattr(self, name)} seconds: give more than 0")
        for crash in self.crashes:
            if isinstance(crash, Crash) and crash.side not in ("home", "foreign"):
                raise InputError(f"a crash on side {crash.side!r} of a replicate: choose home or foreign")


def profiles_of(workload: Workload) -> list[UserProfile]:
    """Return the profile of each user of a workload."""
    profiles = []
    for user in range(workload.num_users):
        subscribed = slice(workload.subscription_ptr[user], workload.subscription_ptr[user + 1])
        published = slice(workload.rate_ptr[user], workload.rate_ptr[user + 1])
        profiles.append(
            UserProfile(
                user,
                workload.subscription_channels[subscribed].tolist(),
                workload.rate_channels[published].tolist(),
                workload.rates[published].tolist(),
                workload.access[user].tolist(),
            )
        )
    return profiles


def workload_of(profiles: Iterable[UserProfile], core: Floats, capacity: Floats, channels: int) -> Workload:
    """Return the workload of all users, built from their profiles; ids serve as names.

    This is a broker's own copy, made from messages alone. Its costs equal those of the original workload.
    """
    known = sorted(profiles)
    return Workload(
        pa.array([str(profile.user) for profile in known], pa.string()),
        pa.array([str(broker) for broker in range(len(core))], pa.string()),
        pa.array([str(channel) for channel in range(channels)], pa.string()),
        frozen(_offsets([len(profile.channels) for profile in known]), np.int64),
        frozen(np.concatenate([np.array(profile.channels, np.int32) for profile in known]), np.int32),
        frozen(np.concatenate([np.array(profile.rates, np.float64) for profile in known]), np.float64),
        frozen(_offsets([len(profile.subscriptions) for profile in known]), np.int64),
        frozen(np.concatenate([np.array(profile.subscriptions, np.int32) for profile in known]), np.int32),
        frozen(capacity, np.float64),
        frozen(np.array([profile.access for profile in known]).reshape(len(known), len(core)), np.float64),
        frozen(core, np.float64),
    )


def _offsets(sizes: Sequence[int]) -> Offsets:
    return np.concatenate(([0], np.cumsum(np.array(sizes, np.int64))))


GENERATION = 1_000_000_000
"""A move's version is its number in the log, from 1, plus this for each token that was lost before."""
MIN_SAVING = 1e-9
"""A move pays if it saves more than this share of the initial cost: less may be a rounding error."""


class MoveLog:
    """One broker's copy of the log, with the cost after its last move."""

    def __init__(self, workload: Workload, broker_of: ArrayLike) -> None:
        self.moves: list[Move] = []
        self.running_cost = RunningCost(workload, broker_of)
        self.min_saving = MIN_SAVING * self.running_cost.total

    def broker_of(self, user: int) -> int:
        """Return the broker that a user belongs to."""
        return int(self.running_cost.state.broker_of[user])

    def extend(self, start: int, moves: Sequence[Move]) -> None:
        """Append the moves that this copy lacks; the first of those given has position `start`."""
        for move in moves[len(self.moves) - start :]:
            self._append(Move(*move))

    def append(self, user: int, broker: int, generation: int, *, paid: bool) -> Move:
        """Append and return a move to a broker that has room."""
        move = Move(generation * GENERATION + len(self.moves) + 1, user, broker, paid)
        self._append(move)
        return move

    def holds(self, version: int) -> bool:
        """Return whether the move with this version is in this copy."""
        number = version % GENERATION
        return 0 < number <= len(self.moves) and self.moves[number - 1].version == version

    def _append(self, move: Move) -> None:
        self.running_cost.move(move.user, move.broker)
        self.moves.append(move)


class TokenObserver:
    """Callbacks for an observer outside the protocol; by default, they do nothing."""

    def move_logged(self, move: Move) -> None:
        """Note that a move was appended to the log."""

    def token_received(self) -> None:
        """Note that a broker has received the token."""

    def token_replaced(self, moves: int) -> None:
        """Note that a lost token was replaced, with a log of this many moves."""

    def token_stopped(self) -> None:
        """Note that no move pays any more."""


@dataclass
class LocalUser:
    """A user that this broker serves, or expects."""

    home: int | None = None
    """The home broker that it comes from; None once that broker has handed it over."""
    connected: bool = False
    """Whether it has connected to this broker."""
    version: int = 0
    """The version of the move by which it came."""
    unsettled: dict[int, tuple[int, set[int]]] = field(default_factory=dict)
    """Its unsettled publications: number → channel, and the users that have not acknowledged it."""
    settled: list[int] = field(default_factory=list)
    """The numbers of settled publications that have not been reported to it."""
    waiting: list[Envelope] = field(default_factory=list)
    """What has arrived for it before it did."""

    @property
    def handover_complete(self) -> bool:
        """Whether it is connected and its home broker has handed over its publications."""
        return self.connected and self.home is None


@dataclass
class DepartedUser:
    """A user that has moved to a foreign broker."""

    foreign: int
    """The foreign broker."""
    forward_until: float
    """The time until which messages are forwarded to it: the departure plus the TTL."""


class BrokerState:
    """The shared state of one broker, and its connection to the other agents."""

    def __init__(self, me: int, num_brokers: int, connection: Connection, terms: Terms) -> None:
        self.me, self.num_brokers, self.connection, self.terms = me, num_brokers, connection, terms
        self.alive = set(range(num_brokers))
        self.users: dict[int, LocalUser] = {}
        self.departed: dict[int, DepartedUser] = {}
        self.directory: dict[int, tuple[int, int]] = {}
        """The latest known broker of each user, and the version of the move that brought it there."""
        self.stranded: set[int] = set()
        """Users that no broker has room for."""
        self.events: Counter[str] = Counter()
        self.subscribers: list[list[int]] = []
        """The subscribers of each channel."""
        self._known: tuple[Workload, MoveLog] | None = None

    def initialize(self, workload: Workload, broker_of: dict[int, int]) -> None:
        """Take the workload and the initial assignment, once all brokers have sent their summaries."""
        ptr, users = workload.audience
        self.subscribers = [users[ptr[c] : ptr[c + 1]].tolist() for c in range(workload.num_channels)]
        self.directory = {user: (broker, 0) for user, broker in broker_of.items()}
        start = np.array([broker_of[user] for user in range(workload.num_users)], dtype=np.int32)
        self._known = workload, MoveLog(workload, start)

    @property
    def initialized(self) -> bool:
        """Whether the broker knows all users."""
        return self._known is not None

    @property
    def workload(self) -> Workload:
        """All users."""
        assert self._known is not None
        return self._known[0]

    @property
    def log(self) -> MoveLog:
        """The broker's copy of the move log."""
        assert self._known is not None
        return self._known[1]

    @property
    def dead(self) -> list[int]:
        """The brokers known to be dead."""
        return [broker for broker in range(self.num_brokers) if broker not in self.alive]

    def broker_of(self, user: int) -> int:
        """Return the latest known broker of a user; the log may be ahead of it while a user moves."""
        return self.directory[user][0]

    def forwards_to(self, user: int) -> int | None:
        """Return the foreign broker that messages for a user are redirected to, within the TTL."""
        departed = self.departed.get(user)
        if departed is None or departed.foreign not in self.alive:
            return None
        return departed.foreign if self.connection.now() < departed.forward_until else None

    def send_to_user(self, user: int, message: Message) -> None:
        """Send a message to a user."""
        self.connection.send(self.num_brokers + user, message)

    def send_to_brokers(self, message: Message) -> None:
        """Send a message to all other brokers that are alive."""
        for broker in sorted(self.alive):
            if broker != self.me:
                self.connection.send(broker, message)
