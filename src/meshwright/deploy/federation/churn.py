"""Brokers that join, leave and crash while traffic flows: repaired, applied to the running, and counted.

On a topic that no change touches every message must come once, all the time. Where a tree changes, or in the
profile `plain` a broker of it restarts, messages may be lost while the waves last that touch the topic: these
are counted by themselves, and no other way may lose any. Nothing may come twice there. In the profile
`durable` a restart is no excuse: where a tree stays, every message comes once; where it changes, what waited
for a link that is gone may come twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from meshwright.brokers.program import free_ports
from meshwright.churn.events import CRASH, JOIN, LEAVE, Event
from meshwright.deploy.config.delta import RELOAD, RESTART, START, STOP, delta
from meshwright.deploy.config.inventory import Inventory, Place, Settings
from meshwright.deploy.federation.churn_verdict import Churned, Window, sorted_out
from meshwright.deploy.federation.run import publications, publish_all, running
from meshwright.deploy.federation.traffic import Message, Observers, mqtt
from meshwright.deploy.federation.update import perform, update_folders

if TYPE_CHECKING:
    from meshwright.deploy.config.delta import Delta
    from meshwright.deploy.config.routed import Routed
    from meshwright.deploy.federation.live_plan import LivingPlan
    from meshwright.deploy.federation.run import Progress, Running

RATE = 200.0
"""Messages a second, in all, unless told."""
DRAINING = 5.0
"""Seconds: what has not come by then is lost."""
CHATTERS = 4
"""So many publish side by side: one that waits for a broker that is ending must not silence the others."""


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
    settings: Settings | None = None,
    *,
    rate: float = RATE,
    seed: int = 0,
    pause: float = 1.0,
    look: Callable[[Running], None] | None = None,
    progress: Progress | None = None,
) -> Churned:
    """Run a federation, let events happen to it while messages flow, and count.

    `look` is called at the end, while all brokers and their clients are still there. Sessions last unless
    the settings say otherwise.
    """
    with running(plan.routed, folder, settings or Settings("durable")) as here:
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
    versions: list[Routed] = [plan.routed]
    windows: list[Window] = []
    state = _State(plan.routed)
    sent: list[tuple[Message, int]] = []
    places = dict(here.inventory.places)
    used = {place.port for place in places.values()}
    async with Observers(here.settings, residents=True, lasting=here.settings.durable) as observers:
        await observers.attach_all(places, _held(plan.routed))
        chatter = asyncio.gather(
            *(_chatter(observers, state, sent, rate / CHATTERS, (seed, each)) for each in range(CHATTERS))
        )
        for number, event in enumerate(events):
            window = await _change(plan, event, here, observers, state, places, used)
            windows.append(window)
            versions.append(plan.routed)
            if progress is not None:
                progress(f"{event.event} of {event.node}", number + 1, len(events))
            await _drained(windows, sent, plan.routed)
            await asyncio.sleep(pause)
        state.over = True
        await chatter
        await observers.settle(0)
        final = await publish_all(observers, plan.routed)
        here.brokers.check()
        if look is not None:
            await asyncio.to_thread(look, here)
    calm, leaked = sorted_out(sent, versions, windows)
    return Churned(calm, windows, leaked, final, plan.live.audit(), time.monotonic() - began)


async def _drained(windows: Sequence[Window], sent: list[tuple[Message, int]], routed: Routed) -> None:
    """Wait until what waited has come, where trees stay: the next change must not find any of it."""
    window, earlier = windows[-1], [window.ended for window in windows[:-1]]
    waited = [
        message
        for message, _ in sent
        if window.holds(message)
        and message.sent > max(earlier, default=0.0)
        and message.topic in routed.ways.keys() - window.changed
    ]
    end = time.monotonic() + DRAINING
    while waited and window.durable and time.monotonic() < end:
        waited = [it for it in waited if not routed.ways[it.topic].subscribers <= it.seen.keys()]
        await asyncio.sleep(0.02)


async def _chatter(
    observers: Observers, state: _State, sent: list[tuple[Message, int]], rate: float, seed: tuple[int, int]
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
            version = state.version
            # From a broker that is ending, nobody knows whether it got the message: that one does not count.
            with suppress(mqtt().MqttError):
                sent.append((await observers.publish(broker, topic, name), version))
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
    old = plan.routed
    plan.happen([event])
    durable = here.settings.durable
    found = delta(before, plan.wiring, version=here.settings.version, durable=durable)
    if event.event == JOIN:
        # A port that was somebody's: bridges to that one may still dial it.
        port = next(port for port in free_ports(len(used) + 1) if port not in used)
        places[broker] = Place("127.0.0.1", port)
        used.add(port)
    elif event.event in (CRASH, LEAVE):
        del places[broker]
    # Where sessions last, who restarts has kept all that it had; who ends has not.
    disturbing = (STOP,) if durable else (RESTART, STOP)
    ending = frozenset(step.broker for step in found.steps if step.action in disturbing)
    changed = _changed(old, plan.routed)
    window = Window(
        event.event,
        broker,
        began,
        changed,
        ending,
        found.restarts,
        sorted({step.broker for step in found.steps if step.action == RELOAD}),
        found.renewed,
        len(found.waves),
        durable=durable,
    )
    # What goes through a broker that is gone is touched from the first moment on, before any wave.
    window.touch(_held(old).get(broker, set()), began, began)
    cuts = observers.cuts.copy()
    await _applied(plan, old, found, here, observers, Inventory(dict(places)), window)
    state.routed, state.version = plan.routed, state.version + 1
    window.ended = time.monotonic()
    window.cut_off = sum(count for other, count in (observers.cuts - cuts).items() if other != broker)
    return window


async def _applied(
    plan: LivingPlan,
    old: Routed,
    found: Delta,
    here: Running,
    observers: Observers,
    inventory: Inventory,
    window: Window,
) -> None:
    """Do one wave after the other, and note which topics each touched, and when."""
    was, held = _held(old), _held(plan.routed)
    for wave in found.waves:
        began = time.monotonic()
        await asyncio.to_thread(perform, wave, found, inventory, here.settings, here.brokers, here.logs)
        anew = sorted({step.broker for step in wave if step.action in (START, RESTART)})
        touched = found.touched_by(wave)
        for broker in anew:
            connect = observers.attach
            if broker in observers.present:
                connect = observers.return_to
                touched |= was.get(broker, set())
            await connect(broker, inventory.places[broker], held.get(broker, set()))
        window.touch(touched, began, time.monotonic())
    update_folders(plan.routed, plan.wiring, inventory, here.settings, here.brokers.folder)


def _changed(old: Routed, new: Routed) -> frozenset[str]:
    """Return the topics whose tree is another: other links, or other brokers."""

    def shape(routed: Routed, topic: str) -> object:
        way = routed.ways.get(topic)
        return way and (frozenset(map(frozenset, way.links)), way.carriers)

    return frozenset(topic for topic in {*old.ways, *new.ways} if shape(old, topic) != shape(new, topic))


def _held(routed: Routed) -> dict[str, set[str]]:
    held: dict[str, set[str]] = {}
    for topic, way in routed.ways.items():
        for broker in way.subscribers:
            held.setdefault(broker, set()).add(topic)
    return held
