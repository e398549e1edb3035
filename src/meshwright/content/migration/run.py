"""Run the migration protocol on a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.content.assignment.cost import cost
from meshwright.content.migration.result import Migration, Sample, migration_of
from meshwright.content.migration.simulation import Simulation
from meshwright.content.migration.terms import CrashAt, Terms
from meshwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from meshwright.arrays import Ids
    from meshwright.content.model.workload import Workload
    from meshwright.progress import Progress

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
        from meshwright.content.migration.transports.local import run_local

        return migration_of(simulation, run_local(simulation, sample), samples)
    from meshwright.content.migration.transports.mqtt import run_mqtt

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
