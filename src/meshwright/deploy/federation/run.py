"""A federation of real brokers on loopback, and the proof by traffic that it is what was planned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.brokers.processes import Brokers
from meshwright.brokers.program import free_ports
from meshwright.deploy.config.folders import write_federation
from meshwright.deploy.config.inventory import Inventory, Place, Settings
from meshwright.deploy.config.wiring import folder_of, wire
from meshwright.deploy.federation.logs import Logs, arrivals
from meshwright.deploy.federation.traffic import Observers, mqtt
from meshwright.deploy.federation.verdict import judge
from meshwright.filters.mqtt import example

if TYPE_CHECKING:
    from typing import TypeAlias

    from meshwright.deploy.config.routed import Routed
    from meshwright.deploy.config.wiring import Wiring
    from meshwright.deploy.federation.verdict import Verdict

    Progress: TypeAlias = Callable[[str, int, int], None]

AT_ONCE = 2_000
"""Deliveries that may be under way while more is published."""


@dataclass(frozen=True)
class Running:
    """A federation whose bridges are all up."""

    brokers: Brokers
    logs: Logs
    wiring: Wiring
    inventory: Inventory
    settings: Settings
    seconds: float
    """How long it took until the last bridge was up."""


@contextmanager
def running(
    routed: Routed,
    folder: Path,
    settings: Settings | None = None,
    *,
    wiring: Wiring | None = None,
    progress: Progress | None = None,
) -> Iterator[Running]:
    """Write the folders, start all brokers on free ports, and wait until every bridge is up.

    All are ended on leaving, whatever happens. `wiring` may be another than the trees', to see what comes of
    it.

    Raises
    ------
    MissingDependencyError
        If mosquitto or the MQTT client is not installed.
    InputError
        If a broker ends by itself, or a bridge does not come up.
    """
    mqtt()
    chosen = settings or Settings()
    wired = wiring or wire(routed)
    ports = free_ports(len(wired.order))
    places = {broker: Place("127.0.0.1", port) for broker, port in zip(wired.order, ports, strict=True)}
    inventory = Inventory(places)
    with Brokers(folder, folder_of) as brokers:
        write_federation(routed, wired, inventory, chosen, folder)
        began = time.monotonic()
        logs = Logs(brokers)
        for number, broker in enumerate(wired.order):
            brokers.start(broker)
            if progress is not None:
                progress("starting brokers", number + 1, len(wired.order))
        listening = {
            broker: {f"Opening ipv4 listen socket on port {places[broker].port}."} for broker in places
        }
        logs.wait(listening, {})
        logs.wait(arrivals(wired, wired.bridges, chosen.qos), {}, seconds=60.0)
        yield Running(brokers, logs, wired, inventory, chosen, time.monotonic() - began)


def publish_everywhere(routed: Routed, here: Running, *, progress: Progress | None = None) -> Verdict:
    """Publish from every broker on every topic that it holds, observe all brokers, and judge."""
    return asyncio.run(_publish_everywhere(routed, here, progress))


async def _publish_everywhere(routed: Routed, here: Running, progress: Progress | None) -> Verdict:
    async with Observers(here.settings) as observers:
        await observers.attach_all(here.inventory.places)
        found = await publish_all(observers, routed, progress=progress)
        here.brokers.check()
        return found


async def publish_all(observers: Observers, routed: Routed, *, progress: Progress | None = None) -> Verdict:
    """Publish from every broker on every topic that it holds, through clients that are there, and judge."""
    plans, before = publications(routed), observers.deliveries
    due, messages = before, []
    for number, (broker, topic, name) in enumerate(plans):
        messages.append(await observers.publish(broker, topic, name))
        due += len(routed.ways[topic].carriers | {broker})
        while due - observers.deliveries > AT_ONCE and time.monotonic() < observers.latest + 2.0:
            await asyncio.sleep(0.01)
        if progress is not None:
            progress("publishing", number + 1, len(plans))
    await observers.settle(due)
    return judge(messages, routed.ways)


def publications(routed: Routed) -> list[tuple[str, str, str]]:
    """Return broker, planned topic and name of every message: from each broker, on each topic it holds.

    Messages of one topic follow each other, so that brokers take turns.
    """
    return [
        (broker, topic, example(name))
        for topic, way in routed.ways.items()
        for name in way.merged or (topic,)
        for broker in sorted(way.subscribers | set(way.publishers))
    ]
