"""Running the protocol on a workload."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from meshwright.content.cost import cost
from meshwright.content.migration.result import Migration, Sample, concluded
from meshwright.content.migration.terms import CrashAt, Terms
from meshwright.content.migration.world import World
from meshwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from meshwright.content.workload import Workload

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
    from meshwright.content.migration.mosquitto import run_mosquitto

    return concluded(world, run_mosquitto(world, tick), samples)
