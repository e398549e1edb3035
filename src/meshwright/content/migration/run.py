"""Run the migration protocol on a workload; the result has moves, figures, and whether guarantees hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from meshwright.arrays import Ids
from meshwright.content.cost import RunningCost, cost
from meshwright.content.migration.broker_state import CrashAt, Terms
from meshwright.content.migration.messages import stored_name
from meshwright.content.migration.simulation import Simulation, Verdict
from meshwright.content.migration.transport import Transport, run_local
from meshwright.content.workload import Workload
from meshwright.errors import InputError
from meshwright.progress import Progress

EVENTS = ("accepted", "declined", "withdrawn", "redirected", "returned", "kept", "sent again")
"""The events that brokers count, in the order of the figures."""


class Sample(NamedTuple):
    """The progress of a run at one time."""

    time: float
    """Seconds since the start."""
    messages: int
    """The messages sent so far."""
    delivered: int
    """The publications received so far."""


class Step(NamedTuple):
    """A user's move, or its admission after a crash, and the cost after it."""

    time: float
    """Seconds since the start."""
    user: int
    """The user."""
    home: int
    """The broker that it left."""
    foreign: int
    """The broker that it moved to."""
    paid: bool
    """True for a move, False for an admission after a crash."""
    change: float
    """By how much the cost rose; negative for a move."""
    cost: float
    """The cost after it."""


@dataclass(frozen=True, eq=False)
class Migration:
    """A run of the protocol.

    Attributes
    ----------
    workload
        The users and brokers.
    start, broker_of
        The broker of each user before and after the run.
    steps
        The moves and admissions, in order.
    samples
        The progress at regular times.
    verdict
        The check of all deliveries.
    messages
        The number of messages sent, by name.
    events
        How often requests were accepted or declined, messages redirected or sent again, and so on.
    rested
        Whether the run came to its end within the time limit.
    rounds, seconds
        How often the token went round, and when it was last passed on.
    crashed
        The times and ids of crashed brokers.
    stranded
        The users that no broker had room for.
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
        """Whether the run came to its end, every delivery came once, and no accepted move raised the cost."""
        return self.rested and self.verdict.sound and not self.rises

    @property
    def rises(self) -> int:
        """How many accepted moves raised the cost."""
        return sum(step.paid and step.change >= 0 for step in self.steps)

    @property
    def figures(self) -> dict[str, Any]:
        """The figures, for printing and storing."""
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


def migration_of(simulation: Simulation, transport: Transport, samples: list[Sample]) -> Migration:
    """Return the result of a run that has ended."""
    workload = simulation.workload
    stranded = tuple(user.profile.user for user in simulation.users if user.stranded)
    events: Counter[str] = Counter()
    for broker in simulation.brokers:
        events.update(broker.state.events)
    running_cost = RunningCost(workload, simulation.broker_of)
    steps = []
    for time, move in simulation.moves:
        home = int(running_cost.state.broker_of[move.user])
        change = running_cost.move(move.user, move.broker)
        steps.append(Step(time, move.user, home, move.broker, move.paid, change, running_cost.total))
    return Migration(
        workload,
        simulation.broker_of,
        running_cost.broker_of,
        tuple(steps),
        tuple(samples),
        simulation.deliveries.verdict(set(stranded)),
        dict(sorted((stored_name(kind), count) for kind, count in transport.counts.items())),
        {
            **{name: events[name] for name in EVENTS},
            "published again": sum(user.republished for user in simulation.users),
            "duplicates dropped": sum(user.duplicates for user in simulation.users),
        },
        simulation.over,
        int(np.ceil(len(simulation.turns) / workload.num_brokers)),
        simulation.turns[-1] if simulation.turns else 0.0,
        tuple(simulation.crashed),
        stranded,
    )


TRANSPORTS = ("asyncio", "mosquitto")
"""The names of the transports."""


def migrate(
    workload: Workload,
    broker_of: ArrayLike,
    terms: Terms | None = None,
    *,
    transport: str = "asyncio",
    seed: int = 0,
    progress: Progress | None = None,
) -> Migration:
    """Let users move between brokers until no move pays, while publications flow (cbps, section V).

    Brokers and users are agents that know only what messages tell them, and messages take time. Each accepted
    move is priced on the state that it changes, and lowers the cost. If no broker crashes and no user
    declines, no move is left at the end that has room and would lower the cost. Every subscriber that has a
    broker at the end has received each message of its channels exactly once, whatever crashes.

    Parameters
    ----------
    workload
        The users and brokers.
    broker_of
        The initial broker of each user, within all capacities.
    terms
        How agents behave, what they publish, and which brokers crash.
    transport
        `asyncio`: in one process and in virtual time; the same seed gives the same run. `mosquitto`: over a
        real broker that is started for the run, in real time.
    seed
        Seed of delays, answers and publications.
    progress
        Called regularly with the messages sent, the share of the publishing time that has passed, and the
        time and deliveries as text.

    Raises
    ------
    InputError
        If there are no users, the assignment is invalid, a broker exceeds its capacity, or the transport or a
        broker to crash does not exist.
    MissingDependencyError
        If the transport is `mosquitto`, and Mosquitto or its Python client is not installed.
    """
    chosen = terms or Terms()
    start = _check(workload, broker_of, chosen, transport)
    simulation = Simulation(workload, start, chosen, seed)
    samples: list[Sample] = []

    def sample(time: float, messages: int) -> None:
        samples.append(Sample(time, messages, simulation.deliveries.delivered))
        if progress is not None:
            share = min(time / chosen.seconds, 1.0) if chosen.seconds else 1.0
            progress(messages, share, f"{time:.1f} s, {samples[-1].delivered:,} delivered")

    if transport == "asyncio":
        return migration_of(simulation, run_local(simulation, sample), samples)
    from meshwright.content.migration.mqtt_transport import run_mqtt

    return migration_of(simulation, run_mqtt(simulation, sample), samples)


def _check(workload: Workload, broker_of: ArrayLike, terms: Terms, transport: str) -> Ids:
    """Check a call, and return the initial assignment."""
    if transport not in TRANSPORTS:
        raise InputError(f"no transport {transport!r}: choose {' or '.join(TRANSPORTS)}")
    start = workload.check_assignment(broker_of)
    if not workload.num_users:
        raise InputError("the workload has no users: give at least one")
    if not cost(workload, start).within_capacity:
        raise InputError("some broker has more users than it can carry: start from another assignment")
    for crash in terms.crashes:
        if isinstance(crash, CrashAt) and not 0 <= crash.broker < workload.num_brokers:
            raise InputError(f"no broker {crash.broker} to crash: there are 0 to {workload.num_brokers - 1}")
    return start
