"""Run the protocol on a workload, and report what it came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meshwright.content.assignment.cost import cost
from meshwright.content.assignment.incremental_cost import RunningCost
from meshwright.content.migration.terms import CrashAt, Terms
from meshwright.content.migration.world import Verdict, World
from meshwright.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike

    from meshwright.arrays import Ids
    from meshwright.content.migration.world import Transport
    from meshwright.content.model.workload import Workload


class Sample(NamedTuple):
    """How far a run was at a time."""

    time: float
    messages: int
    delivered: int


class Step(NamedTuple):
    """A user's move, or its being let in after a crash, and the cost after it."""

    time: float
    user: int
    home: int
    foreign: int
    paid: bool
    change: float
    cost: float


@dataclass(frozen=True, eq=False)
class Migration:
    """A run of the protocol.

    `steps` are the lines of the ledger; `verdict` is what the onlooker has counted; `messages` those sent, by
    verb.
    """

    workload: Workload
    start: Ids
    broker_of: Ids
    steps: tuple[Step, ...]
    samples: tuple[Sample, ...]
    verdict: Verdict
    messages: dict[str, int]
    events: dict[str, int]
    rested: bool
    rounds: int
    seconds: float
    crashed: tuple[tuple[float, int], ...]
    stranded: tuple[int, ...]

    @property
    def sound(self) -> bool:
        """Whether it came to rest, nothing was lost or doubled, and no accepted move raised the cost."""
        return self.rested and self.verdict.sound and not self.rises

    @property
    def rises(self) -> int:
        """How many accepted moves raised the cost."""
        return sum(step.paid and step.change >= 0 for step in self.steps)

    @property
    def figures(self) -> dict[str, Any]:
        """The figures to print and keep."""
        before, after = cost(self.workload, self.start), cost(self.workload, self.broker_of)
        return {
            "users": self.workload.num_users,
            "brokers": self.workload.num_brokers,
            "cost_before": before.total,
            "cost": after.total,
            "access_cost": after.access,
            "core_cost": after.core,
            "max_load": after.max_load,
            "rested": self.rested,
            "rounds": self.rounds,
            "time": self.seconds,
            "moves": sum(step.paid for step in self.steps),
            "let_in": sum(not step.paid for step in self.steps),
            "rises": self.rises,
            **self.verdict._asdict(),
            "crashes": len(self.crashed),
            "stranded": len(self.stranded),
            **{name.replace(" ", "_"): count for name, count in self.events.items()},
            "messages": sum(self.messages.values()),
            "by_verb": self.messages,
        }

    def table(self) -> pa.Table:
        """Return the steps as a table, with the names of users and brokers."""
        import pyarrow as pa

        users, brokers = self.workload.user_names, self.workload.broker_names
        return pa.table(
            {
                "time": pa.array([step.time for step in self.steps], pa.float64()),
                "user": users.take(pa.array([step.user for step in self.steps], pa.int64())),
                "home": brokers.take(pa.array([step.home for step in self.steps], pa.int64())),
                "foreign": brokers.take(pa.array([step.foreign for step in self.steps], pa.int64())),
                "paid": pa.array([step.paid for step in self.steps], pa.bool_()),
                "change": pa.array([step.change for step in self.steps], pa.float64()),
                "cost": pa.array([step.cost for step in self.steps], pa.float64()),
            }
        )


def concluded(world: World, transport: Transport, samples: list[Sample]) -> Migration:
    """Sum up a run that has ended."""
    workload = world.workload
    stranded = tuple(user.row.user for user in world.users if user.stranded)
    events: Counter[str] = Counter()
    for broker in world.brokers:
        events.update(broker.desk.counts)
    running = RunningCost(workload, world.broker_of)
    steps = []
    for time, entry in world.lines:
        home = int(running.state.broker_of[entry.user])
        change = running.move(entry.user, entry.broker)
        steps.append(Step(time, entry.user, home, entry.broker, entry.paid, change, running.total))
    names = sorted((verb.__name__, count) for verb, count in transport.counts.items())
    told = ("accepted", "declined", "withdrawn", "redirected", "returned", "kept", "sent again")
    return Migration(
        workload,
        world.broker_of,
        running.broker_of,
        tuple(steps),
        tuple(samples),
        world.onlooker.verdict(set(stranded)),
        {_spelled(name): count for name, count in names},
        {
            **{name: events[name] for name in told},
            "published again": sum(user.again for user in world.users),
            "duplicates dropped": sum(user.duplicates for user in world.users),
        },
        world.over,
        int(np.ceil(len(world.turns) / workload.num_brokers)),
        world.turns[-1] if world.turns else 0.0,
        tuple(world.crashed),
        stranded,
    )


def _spelled(name: str) -> str:
    """Spell a verb as the paper does.

    >>> _spelled("RequestToMove")
    'request_to_move'
    """
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


TRANSPORTS = ("asyncio", "mosquitto")
"""How messages may travel."""


def migrate(
    workload: Workload,
    broker_of: ArrayLike,
    terms: Terms | None = None,
    *,
    transport: str = "asyncio",
    seed: int = 0,
    progress: Callable[[float, int, int], None] | None = None,
) -> Migration:
    """Let users move from broker to broker until no move pays, while publications flow (cbps, section V).

    Brokers and users are agents that only know what they are told, by messages that take their time. Each
    accepted move is priced on the state that it changes and lowers the cost; if no broker crashes and nobody
    declines, none is left that would, and has room. Every subscriber that is on a broker in the end has each
    message of its channels once, whatever crashes.

    Parameters
    ----------
    workload
        The users and brokers.
    broker_of
        Where users are at first; within all capacities.
    terms
        How agents behave, what flows and what goes wrong.
    transport
        `asyncio`: in one process and in virtual time, the same for the same seed. `mosquitto`: over a real
        broker that is started for it, in real time.
    seed
        Decides delays, answers and publications.
    progress
        Called now and then with the time, the messages sent and the messages delivered.

    Raises
    ------
    InputError
        If there is no user, the assignment is none, a broker has more than it can carry, or there is no such
        transport or broker to crash.
    """
    if transport not in TRANSPORTS:
        raise InputError(f"no transport {transport!r}: choose {' or '.join(TRANSPORTS)}")
    chosen = workload.check_assignment(broker_of)
    if not workload.num_users:
        raise InputError("there is no user to move: give at least one")
    if not cost(workload, chosen).within_capacity:
        raise InputError("some broker has more users than it can carry: start from another assignment")
    terms = terms or Terms()
    for crash in terms.crashes:
        if isinstance(crash, CrashAt) and not 0 <= crash.broker < workload.num_brokers:
            raise InputError(f"no broker {crash.broker} to crash: there are 0 to {workload.num_brokers - 1}")
    world = World(workload, chosen, terms, seed)
    samples: list[Sample] = []

    def tick(time: float, messages: int) -> None:
        samples.append(Sample(time, messages, world.onlooker.delivered))
        if progress is not None:
            progress(*samples[-1])

    if transport == "asyncio":
        from meshwright.content.migration.local import run_local

        links = run_local(world, seed, tick)
        return concluded(world, links, samples)
    from meshwright.content.migration.mqtt import run_mosquitto

    return concluded(world, run_mosquitto(world, tick), samples)
