"""What an overlay does without trees: each link carries every topic that both its ends hold."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.deploy.config.wiring import BOTH, Wiring, wire
from meshwright.deploy.federation.run import running
from meshwright.deploy.federation.traffic import Observers
from meshwright.filters.mqtt import example

if TYPE_CHECKING:
    from meshwright.deploy.config.routed import Routed
    from meshwright.deploy.federation.run import Running

SECONDS = 2.0
"""How long a storm may last."""


@dataclass(frozen=True)
class Storm:
    """One message published, and what came of it."""

    topic: str
    origin: str
    expected: int
    """Deliveries that the trees would make of it."""
    deliveries: int
    """Deliveries that were seen until the brokers were ended."""

    @property
    def factor(self) -> float:
        """How often each delivery was made, on average."""
        return self.deliveries / self.expected


def storm(routed: Routed, links: Iterable[tuple[str, str]], folder: Path) -> Storm | None:
    """Publish one message where the links of a topic have a loop; None if no topic has one.

    The brokers are killed after two seconds.
    """
    wiring, topic = untreed(routed, links)
    if topic is None:
        return None
    with running(routed, folder, wiring=wiring) as here:
        return asyncio.run(_observe(routed, here, topic))


def untreed(routed: Routed, links: Iterable[tuple[str, str]]) -> tuple[Wiring, str | None]:
    """Return bridges for all links with all common topics, and the topic with the most links too many."""
    order = wire(routed).order
    rank = {broker: place for place, broker in enumerate(order)}
    held: dict[str, set[str]] = {}
    for topic, way in routed.ways.items():
        for broker in way.subscribers:
            held.setdefault(broker, set()).add(topic)
    bridges: dict[tuple[str, str], dict[str, str]] = {}
    surplus = {topic: 1 - len(way.subscribers) for topic, way in routed.ways.items()}
    for a, b in links:
        dialler, listener = (a, b) if rank[a] > rank[b] else (b, a)
        common = sorted(held.get(a, set()) & held.get(b, set()))
        bridges[dialler, listener] = dict.fromkeys(common, BOTH)
        for topic in common:
            surplus[topic] += 1
    worst = max(surplus, key=lambda topic: surplus[topic], default=None)
    return Wiring(order, bridges), worst if worst is not None and surplus[worst] > 0 else None


async def _observe(routed: Routed, here: Running, topic: str) -> Storm:
    way = routed.ways[topic]
    origin = min(way.subscribers)
    async with Observers() as observers:
        await observers.attach_all({broker: here.inventory.places[broker] for broker in way.subscribers})
        try:
            await observers.publish(origin, topic, example(topic))
            await asyncio.sleep(SECONDS)
        finally:
            for broker in list(here.brokers.running):  # brokers first: nothing else ends it
                here.brokers.stop(broker, crash=True)
        return Storm(topic, origin, len(way.subscribers), observers.deliveries)
