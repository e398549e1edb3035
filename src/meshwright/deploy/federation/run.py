"""Run a federation of real brokers on loopback, and prove by traffic that it does what was planned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.brokers.processes import Brokers
from meshwright.brokers.program import free_ports
from meshwright.deploy.config.folders import write_federation
from meshwright.deploy.config.inventory import Endpoint, Inventory
from meshwright.deploy.config.settings import BrokerSettings
from meshwright.deploy.config.wiring import folder_of, wire
from meshwright.deploy.federation.logs import Logs, bridge_up_lines
from meshwright.deploy.federation.traffic import Observers, load_aiomqtt
from meshwright.deploy.federation.verdict import judge
from meshwright.filters.mqtt import example

if TYPE_CHECKING:
    from meshwright.deploy.config.named_trees import NamedTrees
    from meshwright.deploy.config.wiring import Wiring
    from meshwright.deploy.federation.verdict import Verdict
    from meshwright.progress import Progress

MAX_OUTSTANDING = 2_000
"""Deliveries that may be outstanding while more messages are published."""


@dataclass(frozen=True)
class RunningFederation:
    """A federation whose bridges are all up."""

    brokers: Brokers
    logs: Logs
    wiring: Wiring
    inventory: Inventory
    settings: BrokerSettings
    seconds: float
    """Time from the start of the first broker until the last bridge was up."""


@contextmanager
def run_federation(
    trees: NamedTrees,
    folder: Path,
    settings: BrokerSettings | None = None,
    *,
    wiring: Wiring | None = None,
    progress: Progress | None = None,
) -> Iterator[RunningFederation]:
    """Write the folders, start all brokers on free ports, and wait until every bridge is up.

    All brokers are stopped on exit, even after an error. Pass `wiring` to run bridges other than those of
    the trees.

    Raises
    ------
    MissingDependencyError
        If mosquitto or the MQTT client is not installed.
    InputError
        If a broker stops by itself, or a bridge does not come up.
    """
    load_aiomqtt()
    settings = settings or BrokerSettings()
    wiring = wiring or wire(trees)
    ports = free_ports(len(wiring.order))
    inventory = Inventory(
        {broker: Endpoint("127.0.0.1", port) for broker, port in zip(wiring.order, ports, strict=True)}
    )
    with Brokers(folder, folder_of) as brokers:
        write_federation(trees, wiring, inventory, settings, folder)
        began = time.monotonic()
        logs = Logs(brokers)
        for number, broker in enumerate(wiring.order, start=1):
            brokers.start(broker)
            if progress is not None:
                progress(number, number / len(wiring.order), "starting brokers")
        listening = {
            broker: {f"Opening ipv4 listen socket on port {endpoint.port}."}
            for broker, endpoint in inventory.endpoints.items()
        }
        logs.wait(listening, {})
        logs.wait(bridge_up_lines(wiring, wiring.bridges, settings.qos), {}, seconds=60.0)
        yield RunningFederation(brokers, logs, wiring, inventory, settings, time.monotonic() - began)


def publish_everywhere(
    trees: NamedTrees, federation: RunningFederation, *, progress: Progress | None = None
) -> Verdict:
    """Publish from every broker on each of its topics, observe all brokers, and judge."""

    async def publish() -> Verdict:
        async with Observers(federation.settings) as observers:
            await observers.attach_all(federation.inventory.endpoints)
            verdict = await publish_all(observers, trees, progress=progress)
            federation.brokers.check()
            return verdict

    return asyncio.run(publish())


async def publish_all(
    observers: Observers, trees: NamedTrees, *, progress: Progress | None = None
) -> Verdict:
    """Publish from every broker on each of its topics through observers that are attached, and judge."""
    planned = publications(trees)
    due, messages = observers.deliveries, []
    for number, (broker, topic, name) in enumerate(planned, start=1):
        messages.append(await observers.publish(broker, topic, name))
        due += len(trees.trees[topic].carriers | {broker})
        # Wait for deliveries to catch up; without any for two seconds, the missing ones are lost.
        while due - observers.deliveries > MAX_OUTSTANDING and time.monotonic() < observers.latest + 2.0:
            await asyncio.sleep(0.01)
        if progress is not None:
            progress(number, number / len(planned), "publishing")
    await observers.wait_for_deliveries(due)
    return judge(messages, trees.trees)


def publications(trees: NamedTrees) -> list[tuple[str, str, str]]:
    """Return the messages to publish: one from each broker on each of its topics.

    Each is the broker, the planned topic, and the name under which to publish. They are ordered by topic, so
    that consecutive messages come from different brokers.
    """
    return [
        (broker, topic, example(name))
        for topic, tree in trees.trees.items()
        for name in tree.merged or (topic,)
        for broker in sorted(tree.subscribers | set(tree.publishers))
    ]
