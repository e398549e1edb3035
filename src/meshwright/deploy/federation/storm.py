"""A message storm: what happens without trees, when each link carries all topics that its ends share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.deploy.config.wiring import BOTH, Wiring, dialler_and_listener, wire
from meshwright.deploy.federation.run import run_federation
from meshwright.deploy.federation.traffic import Observers
from meshwright.filters.mqtt import example

if TYPE_CHECKING:
    from meshwright.deploy.config.named_trees import NamedTrees
    from meshwright.deploy.federation.run import RunningFederation

SECONDS = 2.0
"""Duration of a storm; then all brokers are killed."""


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


def storm(trees: NamedTrees, links: Iterable[tuple[str, str]], folder: Path) -> Storm | None:
    """Publish one message on the topic whose links have the most loops; return None if no topic has one.

    The brokers are killed after two seconds.
    """
    wiring, topic = wire_without_trees(trees, links)
    if topic is None:
        return None
    with run_federation(trees, folder, wiring=wiring) as federation:
        return asyncio.run(_observe(trees, federation, topic))


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


async def _observe(trees: NamedTrees, federation: RunningFederation, topic: str) -> Storm:
    """Publish one message and count deliveries, until the brokers are killed."""
    subscribers = trees.trees[topic].subscribers
    origin = min(subscribers)
    async with Observers() as observers:
        await observers.attach_all({broker: federation.inventory.endpoints[broker] for broker in subscribers})
        try:
            await observers.publish(origin, topic, example(topic))
            await asyncio.sleep(SECONDS)
        finally:
            # Kill the brokers first: nothing else ends a storm.
            for broker in list(federation.brokers.running):
                federation.brokers.stop(broker, crash=True)
        return Storm(topic, origin, len(subscribers), observers.deliveries)
