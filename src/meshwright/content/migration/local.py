"""The transport in one process: links with delays, in virtual time.

Messages of one link arrive in the order they were sent; those of different links overtake each other. A
broker that dies takes with it what it has sent and has not arrived, and what is on its way to it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from meshwright.content.migration.messages import Message
from meshwright.content.migration.terms import Agent
from meshwright.content.migration.world import DELAYING, World, derived


class _Impatient(selectors.DefaultSelector):
    """Waits for nothing, and tells how long it should have."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """Let the time pass at once."""
        self.passed += timeout or 0.0
        return super().select(0 if timeout is not None else None)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A real asyncio loop in virtual time."""

    def __init__(self) -> None:
        self._clock = _Impatient()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the virtual time: zero at first."""
        return self._clock.passed


TICK = 1e-4
"""Messages arrive at multiples of this many seconds, all of one tick by one timer: a timer each is slow."""
DRAWN = 4096


class Links:
    """All links between agents; `seen` hears of every message that is sent."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        delay: tuple[float, float],
        seed: int,
        seen: Callable[[int, int, Message], None],
    ) -> None:
        self._loop, self._seen = loop, seen
        self._delays = _delays(delay, seed)
        self._last: dict[tuple[int, int], int] = {}
        self._arriving: dict[int, list[tuple[int, int, Message]]] = {}
        self._agents: dict[int, Agent] = {}
        self.dead: set[int] = set()
        self.counts: Counter[type] = Counter()
        self.unheard = 0
        """How many have still to hear of a death."""

    def join(self, address: int, agent: Agent) -> None:
        """Add an agent."""
        self._agents[address] = agent

    def port(self, address: int) -> LinkPort:
        """Return an agent's way out."""
        return LinkPort(self, address, self._loop)

    def send(self, sender: int, to: int, message: Message) -> None:
        """Put a message on a link."""
        if sender in self.dead:
            return
        self.counts[type(message)] += 1
        now = self._loop.time()
        link = sender, to
        tick = max(int((now + next(self._delays)) / TICK), round(now / TICK)) + 1
        tick = max(tick, self._last.get(link, 0))
        self._last[link] = tick
        arriving = self._arriving.get(tick)
        if arriving is None:
            arriving = self._arriving[tick] = []
            self._loop.call_at(tick * TICK, self._arrive, tick)
        arriving.append((sender, to, message))
        self._seen(sender, to, message)

    def kill(self, broker: int) -> None:
        """Let a broker die; everybody else hears of it, each after a while."""
        if broker in self.dead:
            return
        self.dead.add(broker)
        for address in self._agents:
            if address not in self.dead:
                self.unheard += 1
                self._loop.call_later(2 * next(self._delays), self._tell, address, broker)

    def _arrive(self, tick: int) -> None:
        dead, agents = self.dead, self._agents
        for sender, to, message in self._arriving.pop(tick):
            if sender not in dead and to not in dead:
                agents[to].handle(sender, message)

    def _tell(self, address: int, broker: int) -> None:
        self.unheard -= 1
        if address not in self.dead:
            self._agents[address].down(broker)


class LinkPort:
    """One agent's way out."""

    def __init__(self, links: Links, address: int, loop: asyncio.AbstractEventLoop) -> None:
        self._links, self._address, self._loop = links, address, loop

    def send(self, to: int, message: Message) -> None:
        """Send a message."""
        self._links.send(self._address, to, message)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back, if alive."""
        self._loop.call_later(seconds, self._call, call)

    def now(self) -> float:
        """Return the loop's time."""
        return self._loop.time()

    def _call(self, call: Callable[[], None]) -> None:
        if self._address not in self._links.dead:
            call()


def _delays(delay: tuple[float, float], seed: int) -> Iterator[float]:
    rng = np.random.Generator(np.random.PCG64(seed))
    while True:
        yield from rng.uniform(*delay, DRAWN).tolist()


LOOK = 0.05
"""So often it is looked whether all is over."""


def run_local(world: World, seed: int, tick: Callable[[float, int], None]) -> Links:
    """Run a world to its end or its time limit, and return the links; `tick` is called now and then."""
    loop = VirtualLoop()
    failure: list[BaseException] = []

    def failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure.append(context.get("exception") or RuntimeError(context["message"]))
        loop.stop()

    loop.set_exception_handler(failed)
    links = Links(loop, world.terms.delay, derived(seed, DELAYING), world.seen)
    try:
        loop.run_until_complete(_watched(world, links, loop, tick))
    except RuntimeError as error:
        raise (failure[0] if failure else error) from error
    finally:
        loop.close()
    return links


async def _watched(
    world: World, links: Links, loop: asyncio.AbstractEventLoop, tick: Callable[[float, int], None]
) -> None:
    world.populate(links)
    due = world.due()

    def next_one() -> None:
        for time, happen in due:
            if time > loop.time():
                loop.call_at(time, step, happen)
                return
            happen()

    def step(happen: Callable[[], None]) -> None:
        happen()
        next_one()

    next_one()
    while not world.over and loop.time() < world.terms.limit:
        await asyncio.sleep(LOOK)
        tick(loop.time(), links.counts.total())
    # Whatever is still on its way may only be what everybody has.
    await asyncio.sleep(4 * world.terms.delay[1] + 2 * world.terms.gather)
    tick(loop.time(), links.counts.total())
