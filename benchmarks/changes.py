"""Measure what messages a change costs: real brokers, steady traffic, every delivery counted.

Run this in the checkout; it needs Mosquitto and takes about five seconds for each change:

    python -m benchmarks.changes [--profile durable] [--by-wave] [--changes N] [--brokers N] [--seed N]

Two plans differ at three brokers. The running federation changes from one to the other and back, while
clients at all brokers publish and subscribe without a pause. Clients connect again at once when their broker
restarts. A delivery is due at each broker that subscribes to the topic before and after the change.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from meshwright.deploy.change import plan_change
from meshwright.deploy.folder_store import FederationFolder
from meshwright.deploy.hosts.local import RunningFederation, run_federation
from meshwright.deploy.hosts.update import apply_change
from meshwright.deploy.inventory import Endpoint
from meshwright.deploy.named_trees import NamedTrees
from meshwright.deploy.proof.traffic import client_of, load_aiomqtt
from meshwright.deploy.settings import BrokerSettings
from meshwright.designs.design import design
from meshwright.interest import Interest
from meshwright.plan_tables import TREES
from meshwright.routes import route
from meshwright.store.trees import roles_of, tree_ids
from meshwright.workloads import zipf

DIFFERENT = 3
"""Brokers at which the plans differ."""
CALM = 1.0
"""Seconds of traffic before each change, and after it."""
QUEUED = 5.0
"""Seconds that queued messages have to arrive at the end."""
AGAIN = 0.01
"""Seconds between two attempts of a client to connect."""


@dataclass
class Message:
    """A message that a broker acknowledged, and where it arrived."""

    topic: str
    origin: str
    change: int
    """The changes that had begun when it was sent."""
    sent: float
    seen: Counter[str] = field(default_factory=Counter)


class Client:
    """A client of one broker that publishes there, sees everything there, and connects again at once."""

    def __init__(self, broker: str, endpoint: Endpoint, settings: BrokerSettings) -> None:
        self.broker, self.qos, self.connected = broker, settings.qos, False
        name = f"observer-{broker}"
        self.client = client_of(broker, endpoint, name, None, clean_session=not settings.durable)

    async def run(self, messages: Sequence[Message]) -> None:
        """Count deliveries until it is cancelled."""
        while True:
            with suppress(load_aiomqtt().MqttError):
                async with self.client:
                    await self.client.subscribe("#", qos=self.qos)
                    self.connected = True
                    async for arrived in self.client.messages:
                        messages[int(arrived.payload)].seen[self.broker] += 1
            self.connected = False
            await asyncio.sleep(AGAIN)


class Traffic:
    """Steady traffic through a federation that changes between plans."""

    def __init__(
        self, federation: RunningFederation, plans: Sequence[NamedTrees], rate: float, *, by_wave: bool
    ) -> None:
        self.federation, self.plans, self.rate, self.by_wave = federation, plans, rate, by_wave
        self.messages: list[Message] = []
        self.changes = 0
        self.took: list[float] = []
        self.clients: dict[str, Client] = {}
        held = [plan.subscriptions() for plan in plans]
        self.both = {
            name: sorted(held[0].get(name, set()) & held[1].get(name, set()))
            for name in federation.inventory.endpoints
        }
        """The topics of each broker in both plans."""

    async def run(self, changes: int) -> None:
        """Publish while the federation changes."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)  # connections break
        for name, endpoint in self.federation.inventory.endpoints.items():
            self.clients[name] = Client(name, endpoint, self.federation.settings)
        listening = [asyncio.create_task(client.run(self.messages)) for client in self.clients.values()]
        while not all(client.connected for client in self.clients.values()):
            await asyncio.sleep(AGAIN)
        publishing = [
            asyncio.create_task(self._publish(name)) for name, topics in self.both.items() if topics
        ]
        for number in range(1, changes + 1):
            await asyncio.sleep(CALM)
            self.changes, began = number, time.monotonic()
            await asyncio.to_thread(self._change, self.plans[number % 2])
            self.took.append(time.monotonic() - began)
            await asyncio.sleep(2 * CALM)
        for task in publishing:
            task.cancel()
        end = time.monotonic() + QUEUED
        while self.missing() and time.monotonic() < end:
            await asyncio.sleep(0.1)
        # A client that is connecting may swallow the first request to end.
        for task in (*publishing, *listening):
            while not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=0.1)

    def _change(self, trees: NamedTrees) -> None:
        settings = self.federation.settings
        store = FederationFolder(self.federation.brokers.folder)
        apply_change(plan_change(store, trees, settings, together=not self.by_wave), self.federation)

    async def _publish(self, broker: str) -> None:
        """Publish one message after the other on the topics of a broker."""
        client, topics, sent = self.clients[broker], self.both[broker], 0
        pause = len(self.both) / self.rate
        while True:
            if client.connected:
                message = Message(topics[sent % len(topics)], broker, self.changes, time.monotonic())
                self.messages.append(message)
                number, sent = len(self.messages) - 1, sent + 1
                try:
                    await client.client.publish(message.topic, str(number), qos=client.qos, timeout=30.0)
                except load_aiomqtt().MqttError:
                    message.origin = ""  # the broker may have it or not: it does not count
            await asyncio.sleep(pause)

    def due(self, message: Message) -> list[str]:
        """Return the brokers where a message is due."""
        return [name for name, topics in self.both.items() if message.origin and message.topic in topics]

    def missing(self) -> list[tuple[Message, str]]:
        """Return the deliveries that are missing."""
        return [(one, name) for one in self.messages for name in self.due(one) if not one.seen[name]]

    def figures(self) -> dict[str, Any]:
        """Return what was lost in all changes, and how long topics were cut."""
        missing = self.missing()
        shapes = [
            {t: {frozenset(link) for link in tree.links} for t, tree in p.trees.items()} for p in self.plans
        ]
        cuts: dict[tuple[int, str], list[float]] = {}
        for message, _ in missing:
            cuts.setdefault((message.change, message.topic), []).append(message.sent)
        spans = sorted(max(times) - min(times) for times in cuts.values())
        return {
            "changes": self.changes,
            "due": sum(len(self.due(message)) for message in self.messages),
            "missing": len(missing),
            "missing_where_trees_stay": sum(
                shapes[0][one.topic] == shapes[1][one.topic] for one, _ in missing
            ),
            "duplicate": sum(
                max(message.seen[name] - 1, 0) for message in self.messages for name in self.due(message)
            ),
            "topics_cut_per_change": len(cuts) / max(self.changes, 1),
            "cut_median_s": round(spans[len(spans) // 2], 2) if spans else 0.0,
            "cut_longest_s": round(spans[-1], 2) if spans else 0.0,
            "change_takes_s": [round(seconds, 2) for seconds in self.took],
        }


def two_plans(brokers: int, seed: int) -> tuple[NamedTrees, NamedTrees]:
    """Return the trees of two plans; the second keeps as much as it can of the first."""
    first = zipf(brokers, max(6, brokers), size=4, seed=seed)
    rows = first.to_arrow().to_pylist()
    held: dict[str, list[str]] = {}
    for row in rows:
        held.setdefault(row["node"], []).append(row["topic"])
    other = zipf(brokers, max(6, brokers), size=4, seed=seed + 1).to_arrow().to_pylist()
    changed = np.random.default_rng(seed).choice(sorted(held), DIFFERENT, replace=False).tolist()
    for name in changed:
        held[name] = [row["topic"] for row in other if row["node"] == name]
    second = Interest.from_dict({name: sorted(topics) for name, topics in held.items()})
    today = route(design(first, "gm").overlay)
    links = tree_ids(today.to_arrow().cast(TREES), second)
    return tuple(  # type: ignore[return-value]
        NamedTrees.from_tables(
            trees.to_arrow().cast(TREES), roles_of(trees), trees.overlay.interest.node_names.to_pylist()
        )
        for trees in (today, route(design(second, "gm").overlay, "stable", today=links))
    )


def measure(
    profile: str = "plain",
    *,
    changes: int = 6,
    brokers: int = 10,
    rate: float = 500.0,
    seed: int = 1,
    by_wave: bool = False,
) -> dict[str, Any]:
    """Run the brokers, change them under traffic, and return what was lost."""
    plans = two_plans(brokers, seed)
    with tempfile.TemporaryDirectory() as folder:
        settings = BrokerSettings(profile)
        with run_federation(plans[0], Path(folder) / "federation", settings) as federation:
            traffic = Traffic(federation, plans, rate, by_wave=by_wave)
            asyncio.run(traffic.run(changes))
    chosen = {"profile": profile, "by_wave": by_wave, "brokers": brokers, "rate": rate, "seed": seed}
    return {**chosen, **traffic.figures()}


def main() -> None:
    """Measure as the command line says, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile", choices=("plain", "durable"), default="plain")
    parser.add_argument("--changes", type=int, default=6)
    parser.add_argument("--brokers", type=int, default=10)
    parser.add_argument("--rate", type=float, default=500.0, help="messages a second, all brokers together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--by-wave", action="store_true", help="one wave after the other, not together")
    print(json.dumps(measure(**vars(parser.parse_args())), indent=2))


if __name__ == "__main__":
    main()
