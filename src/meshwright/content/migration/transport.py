"""What a transport offers to agents and expects of them, and the transport in one process, in virtual time.

Messages on one link arrive in the order they were sent, and only a crash loses any. When a broker crashes,
every other agent hears of it, after everything from that broker that still arrives.

In one process links have random delays, so messages on different links overtake each other. A crash loses the
messages that are on their way from the broker, and those on their way to it.
"""

from __future__ import annotations

import asyncio
import selectors
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from meshwright.content.migration.messages import Message

if TYPE_CHECKING:
    from meshwright.content.migration.simulation import Simulation


CHECK_INTERVAL = 0.05
"""Seconds between two checks whether a run is over."""


class Agent(Protocol):
    """A user or a broker, as a transport sees it."""

    def handle(self, sender: int, message: Message) -> None:
        """Handle a message."""

    def broker_down(self, broker: int) -> None:
        """Learn that a broker has crashed."""


class Transport(ABC):
    """All links between agents; `on_send` is called with the sender, receiver and message of each send."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_send: Callable[[int, int, Message], None]) -> None:
        self._loop, self._on_send = loop, on_send
        self._start = loop.time()
        self._agents: dict[int, Agent] = {}
        self.dead: set[int] = set()
        """The brokers that have crashed."""
        self.counts: Counter[type] = Counter()
        """How many messages of each type have been sent."""
        self.unnotified = 0
        """How many agents have yet to hear of a crash."""

    def join(self, address: int, agent: Agent) -> None:
        """Add an agent."""
        self._agents[address] = agent

    def time(self) -> float:
        """Return the seconds since the run began."""
        return self._loop.time() - self._start

    def call_later(self, address: int, seconds: float, call: Callable[[], None]) -> None:
        """Call an agent back after some time, unless it is dead by then."""
        self._loop.call_later(seconds, self._call_if_alive, address, call)

    def send(self, sender: int, to: int, message: Message) -> None:
        """Send a message; it is lost if either end is dead."""
        if sender not in self.dead:
            self.counts[type(message)] += 1
            self._transmit(sender, to, message)
            self._on_send(sender, to, message)

    @abstractmethod
    def kill(self, broker: int) -> None:
        """Crash a broker."""

    @abstractmethod
    def _transmit(self, sender: int, to: int, message: Message) -> None:
        """Put a message on its link."""

    def _call_if_alive(self, address: int, call: Callable[[], None]) -> None:
        if address not in self.dead:
            call()


class Connection:
    """One agent's access to the transport."""

    def __init__(self, transport: Transport, address: int) -> None:
        self._transport, self._address = transport, address

    def send(self, to: int, message: Message) -> None:
        """Send a message to an agent; a message to a dead broker is lost."""
        self._transport.send(self._address, to, message)

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back after some time, unless this agent is dead by then."""
        self._transport.call_later(self._address, seconds, call)

    def now(self) -> float:
        """Return the seconds since the run began."""
        return self._transport.time()


TICK = 1e-4
"""Messages arrive at multiples of this many seconds, with one timer for each: one per message is slow."""
BATCH = 4096
"""Delays are drawn in batches of this size."""


class _SkippingSelector(selectors.DefaultSelector):
    """A selector that never waits, and adds up how long it should have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """Skip the wait."""
        self.skipped += timeout or 0.0
        return super().select(0 if timeout is not None else None)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose clock starts at 0 and jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        self._selector_clock = _SkippingSelector()
        super().__init__(self._selector_clock)

    def time(self) -> float:
        """Return the virtual time."""
        return self._selector_clock.skipped


class LocalTransport(Transport):
    """All links, each with delays drawn between two bounds."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        delay: tuple[float, float],
        seed: int,
        on_send: Callable[[int, int, Message], None],
    ) -> None:
        super().__init__(loop, on_send)
        self._delays = _draw_delays(delay, seed)
        self._last_tick: dict[tuple[int, int], int] = {}
        self._arrivals: dict[int, list[tuple[int, int, Message]]] = {}

    def kill(self, broker: int) -> None:
        """Crash a broker; every other agent hears of it after a random delay."""
        if broker in self.dead:
            return
        self.dead.add(broker)
        for address in self._agents:
            if address not in self.dead:
                self.unnotified += 1
                self._loop.call_later(2 * next(self._delays), self._notify, address, broker)

    def _transmit(self, sender: int, to: int, message: Message) -> None:
        now = self._loop.time()
        tick = max(int((now + next(self._delays)) / TICK), round(now / TICK)) + 1
        # A message never overtakes an earlier one on the same link.
        link = sender, to
        tick = max(tick, self._last_tick.get(link, 0))
        self._last_tick[link] = tick
        arrivals = self._arrivals.get(tick)
        if arrivals is None:
            arrivals = self._arrivals[tick] = []
            self._loop.call_at(tick * TICK, self._arrive, tick)
        arrivals.append((sender, to, message))

    def _arrive(self, tick: int) -> None:
        dead, agents = self.dead, self._agents
        for sender, to, message in self._arrivals.pop(tick):
            # A crash loses what is on its way, even what was due in this tick.
            if sender not in dead and to not in dead:
                agents[to].handle(sender, message)

    def _notify(self, address: int, broker: int) -> None:
        self.unnotified -= 1
        if address not in self.dead:
            self._agents[address].broker_down(broker)


def _draw_delays(delay: tuple[float, float], seed: int) -> Iterator[float]:
    rng = np.random.Generator(np.random.PCG64(seed))
    while True:
        yield from rng.uniform(*delay, BATCH).tolist()


def run_local(simulation: Simulation, on_tick: Callable[[float, int], None]) -> LocalTransport:
    """Run a simulation to its end or its time limit, and return the transport.

    `on_tick` is called regularly with the time and the number of messages sent.
    """
    loop = VirtualTimeLoop()
    failure: list[BaseException] = []

    def stop_on_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure.append(context.get("exception") or RuntimeError(context["message"]))
        loop.stop()

    loop.set_exception_handler(stop_on_error)
    transport = LocalTransport(loop, simulation.terms.delay, simulation.delay_seed, simulation.on_send)
    try:
        loop.run_until_complete(_run(simulation, transport, loop, on_tick))
    except RuntimeError as error:
        # Stopped by the handler above, the loop only says that it was stopped.
        raise (failure[0] if failure else error) from error
    finally:
        loop.close()
    return transport


async def _run(
    simulation: Simulation,
    transport: LocalTransport,
    loop: asyncio.AbstractEventLoop,
    on_tick: Callable[[float, int], None],
) -> None:
    simulation.populate(transport)
    events = simulation.events()

    def schedule_next() -> None:
        for time, happen in events:
            if time > loop.time():
                loop.call_at(time, perform, happen)
                return
            happen()

    def perform(happen: Callable[[], None]) -> None:
        happen()
        schedule_next()

    schedule_next()
    while not simulation.over and loop.time() < simulation.terms.limit:
        await asyncio.sleep(CHECK_INTERVAL)
        on_tick(loop.time(), transport.counts.total())
    # Let the last messages arrive: a second copy of a publication must be counted.
    await asyncio.sleep(4 * simulation.terms.delay[1] + 2 * simulation.terms.gather)
    on_tick(loop.time(), transport.counts.total())
