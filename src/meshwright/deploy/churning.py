"""Brokers that join, leave and crash while traffic flows: repaired, applied to the running, and counted.

On a topic that no change touches every message must come once, all the time. Where a tree changes, or a
broker of it restarts, messages may be lost or doubled from the moment the change begins until its last bridge
is up: these are counted by themselves.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.churn.events import CRASH, JOIN, LEAVE, Event
from meshwright.deploy.delta import RESTART, delta
from meshwright.deploy.federation import publications, publish_all, running
from meshwright.deploy.inventory import Inventory, Place
from meshwright.deploy.program import free_ports
from meshwright.deploy.traffic import Message, Observers, mqtt
from meshwright.deploy.updating import perform, update_folders
from meshwright.deploy.verdict import Verdict, judge

if TYPE_CHECKING:
    from meshwright.deploy.delta import Delta
    from meshwright.deploy.federation import Progress, Running
    from meshwright.deploy.living import LivingPlan
    from meshwright.deploy.routed import Routed

RATE = 200.0
"""Messages a second, in all, unless told."""
GRACE = 0.1
"""Seconds: what was sent so shortly before a change begins, or after, may still be under way."""


@dataclass
class Window:
    """One change: when it began and ended, what it touched, and what became of messages meanwhile."""

    event: str
    broker: str
    began: float
    touched: set[str]
    restarts: list[str]
    ended: float = float("inf")
    published: int = 0
    missing: int = 0
    duplicate: int = 0
    cut_off: int = 0
    """Clients whose connection broke, but for those of a broker that left or crashed."""

    def holds(self, message: Message) -> bool:
        """Say whether a message falls into it."""
        return message.topic in self.touched and self.began - GRACE <= message.sent <= self.ended + GRACE

    def described(self) -> dict[str, Any]:
        """Return what a JSON answer says of it."""
        return {
            "event": self.event,
            "broker": self.broker,
            "seconds": self.ended - self.began,
            "touched_topics": len(self.touched),
            "restarts": self.restarts,
            "published": self.published,
            "missing": self.missing,
            "duplicate": self.duplicate,
            "cut_off": self.cut_off,
        }


@dataclass(frozen=True)
class Churned:
    """What became of a federation under churn."""

    calm: Verdict
    """Messages outside of every window: none may be missing, duplicate or leaked."""
    windows: Sequence[Window]
    leaked: int
    """Messages that a broker carried that asked for them neither before nor after, windows included."""
    final: Verdict
    """Published everywhere at the end."""
    faults: Sequence[str]
    """What the audit of the live overlay finds at the end."""
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether calm and final traffic is exact, nothing leaked, and no join cut anybody off."""
        joins = [window for window in self.windows if window.event == JOIN]
        return (
            self.calm.passed
            and self.final.passed
            and not self.leaked
            and not self.faults
            and not any(window.cut_off or window.restarts for window in joins)
        )


@dataclass
class _State:
    """What the traffic needs to know of the present."""

    routed: Routed
    version: int = 0
    away: set[str] = field(default_factory=set)
    over: bool = False


def churn_live(
    plan: LivingPlan,
    events: Sequence[Event],
    folder: Path,
    *,
    rate: float = RATE,
    seed: int = 0,
    pause: float = 0.2,
    look: Callable[[Running], None] | None = None,
    progress: Progress | None = None,
) -> Churned:
    """Run a federation, let events happen to it while messages flow, and count.

    `look` is called at the end, while all brokers and their clients are still there.
    """
    with running(plan.routed, folder) as here:
        return asyncio.run(_churn(plan, events, here, rate, seed, pause, look, progress))


async def _churn(
    plan: LivingPlan,
    events: Sequence[Event],
    here: Running,
    rate: float,
    seed: int,
    pause: float,
    look: Callable[[Running], None] | None,
    progress: Progress | None,
) -> Churned:
    began = time.monotonic()
    versions, windows = [plan.routed], []
    state = _State(plan.routed)
    sent: list[tuple[Message, int]] = []
    places = dict(here.inventory.places)
    used = {place.port for place in places.values()}
    async with Observers(residents=True) as observers:
        await observers.attach_all(places, _held(plan.routed))
        chatter = asyncio.create_task(_chatter(observers, state, sent, rate, seed))
        for number, event in enumerate(events):
            window = await _change(plan, event, here, observers, state, places, used)
            windows.append(window)
            versions.append(plan.routed)
            if progress is not None:
                progress(f"{event.event} of {event.node}", number + 1, len(events))
            await asyncio.sleep(pause)
        state.over = True
        await chatter
        await observers.settle(0)
        final = await publish_all(observers, plan.routed)
        here.brokers.check()
        if look is not None:
            await asyncio.to_thread(look, here)
    calm, leaked = _sorted_out(sent, versions, windows)
    return Churned(calm, windows, leaked, final, plan.live.audit(), time.monotonic() - began)


async def _chatter(
    observers: Observers, state: _State, sent: list[tuple[Message, int]], rate: float, seed: int
) -> None:
    """Publish at a steady rate, from brokers that are there, on topics that they hold."""
    chance = np.random.Generator(np.random.PCG64(seed))
    known, choices = -1, publications(state.routed)
    due = time.monotonic()
    while not state.over:
        if known != state.version:
            known, choices = state.version, publications(state.routed)
        broker, topic, name = choices[int(chance.integers(len(choices)))]
        if observers.attached(broker) and broker not in state.away:
            try:
                sent.append((await observers.publish(broker, topic, name), state.version))
            except mqtt().MqttError:
                pass  # the broker was ending: whether it got the message nobody knows
        due = max(due + 1 / rate, time.monotonic() - 0.1)
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def _change(
    plan: LivingPlan,
    event: Event,
    here: Running,
    observers: Observers,
    state: _State,
    places: dict[str, Place],
    used: set[int],
) -> Window:
    """Let one event happen, and apply what follows from it to the running brokers."""
    broker, before = str(event.node), plan.wiring
    began = time.monotonic()
    if event.event == CRASH:
        await asyncio.to_thread(here.brokers.stop, broker, crash=True)
    if event.event in (CRASH, LEAVE):
        state.away.add(broker)
        await observers.detach(broker)
    held = _held(plan.routed).get(broker, set())
    plan.happen([event])
    found = delta(before, plan.wiring)
    if event.event == JOIN:
        # A port that was somebody's: bridges to that one may still dial it.
        port = next(port for port in free_ports(len(used) + 1) if port not in used)
        places[broker] = Place("127.0.0.1", port)
        used.add(port)
    elif event.event in (CRASH, LEAVE):
        del places[broker]
    window = Window(event.event, broker, began, found.touched | held, found.restarts)
    cuts = observers.cuts.copy()
    await _applied(plan, found, here, observers, Inventory(dict(places)))
    state.routed, state.version = plan.routed, state.version + 1
    window.ended = time.monotonic()
    window.cut_off = sum(count for other, count in (observers.cuts - cuts).items() if other != broker)
    return window


async def _applied(
    plan: LivingPlan, found: Delta, here: Running, observers: Observers, inventory: Inventory
) -> None:
    held = _held(plan.routed)
    for wave in found.waves:
        await asyncio.to_thread(perform, wave, found, inventory, here.settings, here.brokers, here.logs)
        for broker in sorted({step.broker for step in wave if step.action == RESTART}):
            await observers.detach(broker)
            await observers.attach(broker, inventory.places[broker], held.get(broker, set()))
    update_folders(plan.routed, plan.wiring, inventory, here.settings, here.brokers.folder)
    for broker in sorted(set(inventory.places) - observers.present):
        await observers.attach(broker, inventory.places[broker], held.get(broker, set()))


def _held(routed: Routed) -> dict[str, set[str]]:
    held: dict[str, set[str]] = {}
    for topic, way in routed.ways.items():
        for broker in way.subscribers:
            held.setdefault(broker, set()).add(topic)
    return held


def _sorted_out(
    sent: Sequence[tuple[Message, int]], versions: Sequence[Routed], windows: Sequence[Window]
) -> tuple[Verdict, int]:
    """Judge calm messages by the ways of their time, and count what became of the others."""
    calm: list[Verdict] = []
    by_version: dict[int, list[Message]] = {}
    leaked = 0
    for message, version in sent:
        around = [number for number, window in enumerate(windows) if window.holds(message)]
        if not around:
            by_version.setdefault(version, []).append(message)
            continue
        first, last = versions[around[0]].ways, versions[around[-1] + 1].ways
        ways = [ways[message.topic] for ways in (first, last) if message.topic in ways]
        due = frozenset.intersection(*(way.subscribers for way in ways)) | {message.origin}
        allowed = frozenset().union(
            *(
                versions[v].ways[message.topic].carriers
                for v in range(around[0], around[-1] + 2)
                if message.topic in versions[v].ways
            )
        )
        window = windows[around[-1]]
        window.published += 1
        window.missing += len(due - set(message.seen))
        window.duplicate += sum(count > 1 for count in message.seen.values())
        leaked += len(set(message.seen) - allowed - {message.origin})
    for version, messages in sorted(by_version.items()):
        calm.append(judge(messages, versions[version].ways))
    joined = Verdict(
        sum(part.published for part in calm),
        sum(part.expected for part in calm),
        tuple(event for part in calm for event in part.missing),
        tuple(event for part in calm for event in part.duplicate),
        tuple(event for part in calm for event in part.leaked),
        {},
    )
    return joined, leaked + len(joined.leaked)
