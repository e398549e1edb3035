"""Run a federation of real brokers on loopback, and prove by traffic that it does what was planned.

A storm shows what happens without trees: each link carries all topics that its ends share, and messages
circle.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from meshwright.brokers.certificates import Authority
from meshwright.brokers.processes import Brokers
from meshwright.deploy.folder_store import hold_running, write_federation
from meshwright.deploy.inventory import Inventory, free_endpoints
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees
from meshwright.deploy.observations import LISTENING, Observation, Watch, links_up
from meshwright.deploy.proof.prediction import predict, publications
from meshwright.deploy.proof.traffic import Observers, load_aiomqtt
from meshwright.deploy.proof.verdict import Verdict, judge
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import BOTH, Wiring, dialler_and_listener, folder_of, wire
from meshwright.filters.mqtt import example
from meshwright.progress import Progress

MAX_OUTSTANDING = 2_000
"""Deliveries that may be outstanding while more messages are published."""
STORM_SECONDS = 2.0
"""Duration of a storm; then all brokers are killed."""


@dataclass(frozen=True)
class RunningFederation:
    """A federation whose bridges are all up."""

    brokers: Brokers
    wiring: Wiring
    inventory: Inventory
    settings: BrokerSettings
    seconds: float
    """Time from the start of the first broker until the last bridge was up."""
    authority: Authority | None = None
    """What signs the brokers' certificates, or None without TLS."""

    @property
    def watch(self) -> Watch:
        """What observes the brokers, by their settings now."""
        return self.settings.broker.watch(self.brokers, self.settings)

    @property
    def certificate(self) -> Path | None:
        """The certificate that clients check brokers by, or None without TLS."""
        return None if self.authority is None else self.authority.certificate


@contextmanager
def run_federation(
    trees: NamedTrees,
    folder: Path,
    settings: BrokerSettings | None = None,
    *,
    wiring: Wiring | None = None,
    authority: Authority | None = None,
    progress: Progress | None = None,
) -> Iterator[RunningFederation]:
    """Write the folders, start all brokers on free ports, and wait until every bridge is up.

    All brokers are stopped on exit, even after an error. Pass `wiring` to run bridges other than those of
    the trees, and an `authority` to use TLS.

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
    endpoints = free_endpoints(wiring.order, tls=authority is not None, apart=settings.secret is not None)
    inventory = Inventory(endpoints)
    write_federation(trees, wiring, inventory, settings, folder)
    settings = replace(settings, identity=read_federation(folder).settings.identity)
    if authority is not None:
        for broker in wiring.order:
            authority.issue("127.0.0.1", folder / folder_of(broker) / "certs")
    with hold_running(folder), Brokers(folder, settings.broker.kind, folder_of) as brokers:
        began = time.monotonic()
        watch = settings.broker.watch(brokers, settings)
        earlier = watch.positions(wiring.order)
        for number, broker in enumerate(wiring.order, start=1):
            brokers.start(broker)
            if progress is not None:
                progress(number, number / len(wiring.order), "starting brokers")
        listening = {
            broker: {Observation(LISTENING, what=str(endpoint.port))}
            for broker, endpoint in inventory.endpoints.items()
        }
        watch.wait(listening, earlier)
        watch.wait(links_up(wiring, wiring.bridges), earlier, seconds=60.0)
        seconds = time.monotonic() - began
        yield RunningFederation(brokers, wiring, inventory, settings, seconds, authority)


def publish_everywhere(
    trees: NamedTrees, federation: RunningFederation, *, progress: Progress | None = None
) -> Verdict:
    """Publish from every broker on each of its topics, observe all brokers, and judge."""

    async def publish() -> Verdict:
        async with Observers(federation.settings, certificate=federation.certificate) as observers:
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
        expected = predict(trees.trees[topic], broker, name)
        due += len(expected.due) + len(expected.relays)
        # Wait for deliveries to catch up; without any for two seconds, the missing ones are lost.
        while due - observers.deliveries > MAX_OUTSTANDING and time.monotonic() < observers.latest + 2.0:
            await asyncio.sleep(0.01)
        if progress is not None:
            progress(number, number / len(planned), "publishing")
    await observers.wait_for_deliveries(due)
    return judge(messages, trees.trees)


@dataclass(frozen=True)
class Storm:
    """One published message, and its deliveries."""

    topic: str
    origin: str
    expected: int
    """Deliveries with trees."""
    deliveries: int
    """Deliveries without trees, until the brokers were killed."""

    @property
    def factor(self) -> float:
        """How many times each delivery was made, on average."""
        return self.deliveries / self.expected

    def __str__(self) -> str:
        return (
            f"without trees: one message on {self.topic!r} made {self.deliveries:,} deliveries in 2 s where "
            f"{self.expected:,} are due: {self.factor:,.0f} times as many"
        )


def run_storm(trees: NamedTrees, links: Iterable[tuple[str, str]], folder: Path) -> Storm | None:
    """Publish one message on the topic whose links have the most loops; return None if no topic has one.

    The brokers are killed after two seconds.
    """
    wiring, topic = wire_without_trees(trees, links)
    if topic is None:
        return None
    with run_federation(trees, folder, wiring=wiring) as federation:
        return asyncio.run(_observe_storm(trees, federation, topic))


def wire_without_trees(trees: NamedTrees, links: Iterable[tuple[str, str]]) -> tuple[Wiring, str | None]:
    """Return bridges for all links with all shared topics, and the topic with the most surplus links.

    The topic is None if no topic has more links than a tree.
    """
    order = wire(trees).order
    rank = {broker: place for place, broker in enumerate(order)}
    subscriptions = trees.subscriptions()
    bridges: dict[tuple[str, str], dict[str, str]] = {}
    surplus = {topic: 1 - len(tree.subscribers) for topic, tree in trees.trees.items()}
    for a, b in links:
        shared = sorted(subscriptions.get(a, set()) & subscriptions.get(b, set()))
        bridges[dialler_and_listener(a, b, rank)] = dict.fromkeys(shared, BOTH)
        for topic in shared:
            surplus[topic] += 1
    worst = max(surplus, key=lambda topic: surplus[topic], default=None)
    return Wiring(order, bridges), worst if worst is not None and surplus[worst] > 0 else None


async def _observe_storm(trees: NamedTrees, federation: RunningFederation, topic: str) -> Storm:
    """Publish one message and count deliveries, until the brokers are killed."""
    subscribers = trees.trees[topic].subscribers
    origin = min(subscribers)
    async with Observers() as observers:
        await observers.attach_all({broker: federation.inventory.endpoints[broker] for broker in subscribers})
        try:
            await observers.publish(origin, topic, example(topic))
            await asyncio.sleep(STORM_SECONDS)
        finally:
            # Kill the brokers first: nothing else ends a storm.
            for broker in list(federation.brokers.running):
                federation.brokers.stop(broker, crash=True)
        return Storm(topic, origin, len(subscribers), observers.deliveries)
