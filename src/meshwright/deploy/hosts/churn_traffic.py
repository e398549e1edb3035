"""Churn under traffic: brokers join, leave and crash while messages flow, and every message is counted.

After each event the overlay is repaired, and the delta is applied to the running brokers. What must hold:

- On a topic that no change affects, every message arrives exactly once.
- Where a tree changes, messages may be lost during the waves that affect the topic. In the profile `plain`
  the same holds where a broker of the tree restarts. These losses are counted separately. Messages whose path
  is not disturbed must not be lost, and none may arrive twice.
- In the profile `durable` a restart excuses nothing: where a tree stays, every message arrives exactly once.
  Where a tree changes, messages queued for a removed link may arrive twice.
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

from meshwright.deploy.folder_store import update_folders
from meshwright.deploy.hosts.local import publish_all, run_federation
from meshwright.deploy.hosts.update import apply_wave
from meshwright.deploy.inventory import Endpoint, Inventory, free_endpoints
from meshwright.deploy.proof.churn_verdict import ChurnVerdict, Window, judge_churn
from meshwright.deploy.proof.prediction import publications, wanted_at
from meshwright.deploy.proof.traffic import Message, Observers, load_aiomqtt
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import RELOAD, RESTART, START, STOP
from meshwright.deploy.waves import compute_delta, join_waves

if TYPE_CHECKING:
    from meshwright.brokers.certificates import Authority
    from meshwright.churn import Event
    from meshwright.deploy.delta import Delta
    from meshwright.deploy.hosts.local import RunningFederation
    from meshwright.deploy.named_trees import NamedTrees
    from meshwright.deploy.proof.live_plan import LivePlan
    from meshwright.progress import Progress

RATE = 200.0
"""Messages a second from all publishers together, by default."""
PAUSE = 1.0
"""Seconds between the end of one change and the next event."""
QUEUE_PATIENCE = 5.0
"""Seconds after which a queued message counts as lost."""
PUBLISHERS = 4
"""Concurrent publishers: one that waits for a stopping broker must not hold up the others."""


def churn_federation(
    plan: LivePlan,
    events: Sequence[Event],
    folder: Path,
    settings: BrokerSettings | None = None,
    *,
    rate: float = RATE,
    seed: int = 0,
    authority: Authority | None = None,
    before_stop: Callable[[RunningFederation], None] | None = None,
    progress: Progress | None = None,
) -> ChurnVerdict:
    """Run a federation, apply events to it while messages flow, and judge.

    `before_stop` is called at the end, while all brokers and their clients still run. The profile is
    `durable` by default.
    """

    async def churn(federation: RunningFederation) -> ChurnVerdict:
        persistent = federation.settings.durable
        async with Observers(
            federation.settings,
            residents=True,
            persistent_sessions=persistent,
            certificate=federation.certificate,
        ) as observers:
            run = _ChurnRun(plan, federation, observers, rate, seed)
            return await run.judge(events, before_stop, progress)

    chosen = settings or BrokerSettings("durable")
    with run_federation(plan.trees, folder, chosen, authority=authority) as federation:
        return asyncio.run(churn(federation))


@dataclass
class _ChurnRun:
    """One run: the brokers, the traffic, and the record of both that the verdict needs."""

    plan: LivePlan
    federation: RunningFederation
    observers: Observers
    rate: float
    seed: int
    endpoints: dict[str, Endpoint] = field(init=False)
    used_ports: set[int] = field(init=False)
    """Ports of all brokers so far: bridges may still dial those of brokers that are gone."""
    versions: list[NamedTrees] = field(init=False)
    """The trees before the first change and after each."""
    windows: list[Window] = field(default_factory=list)
    sent: list[tuple[Message, int]] = field(default_factory=list)
    """Messages that brokers accepted, each with the version of the trees at that time."""
    leaving: set[str] = field(default_factory=set)
    """Brokers that left or crashed, or are about to: nobody publishes there."""
    finished: bool = False

    def __post_init__(self) -> None:
        self.endpoints = dict(self.federation.inventory.endpoints)
        self.used_ports = set().union(*(endpoint.ports for endpoint in self.endpoints.values()))
        self.versions = [self.plan.trees]

    async def judge(
        self,
        events: Sequence[Event],
        before_stop: Callable[[RunningFederation], None] | None,
        progress: Progress | None,
    ) -> ChurnVerdict:
        """Apply the events while messages flow, then publish everywhere, and judge everything."""
        began = time.monotonic()
        await self.observers.attach_all(self.endpoints, self.plan.trees.held_filters())
        traffic = asyncio.gather(*(self._publish_steadily(number) for number in range(PUBLISHERS)))
        for number, event in enumerate(events, start=1):
            self.windows.append(await self._apply_event(event))
            self.versions.append(self.plan.trees)
            if progress is not None:
                progress(number, number / len(events), f"{event.event} of {event.node}")
            await self._wait_for_queued()
            await asyncio.sleep(PAUSE)
        self.finished = True
        await traffic
        await self.observers.wait_for_deliveries(0)
        final = await publish_all(self.observers, self.plan.trees)
        self.federation.brokers.check()
        if before_stop is not None:
            await asyncio.to_thread(before_stop, self.federation)
        outside, leaked = judge_churn(self.sent, self.versions, self.windows)
        audit = self.plan.live_overlay.audit()
        return ChurnVerdict(outside, self.windows, leaked, final, audit, time.monotonic() - began)

    async def _publish_steadily(self, number: int) -> None:
        """Publish at a steady rate, from brokers that are connected, on their topics."""
        random = np.random.Generator(np.random.PCG64((self.seed, number)))
        known, choices = -1, publications(self.versions[-1])
        due = time.monotonic()
        while not self.finished:
            version = len(self.versions) - 1
            if known != version:
                known, choices = version, publications(self.versions[version])
            broker, topic, name = choices[int(random.integers(len(choices)))]
            if self.observers.is_connected(broker) and broker not in self.leaving:
                # A broker that stops may or may not have accepted the message: it does not count.
                with suppress(load_aiomqtt().MqttError):
                    self.sent.append((await self.observers.publish(broker, topic, name), version))
            # After a delay, catch up at most a tenth of a second.
            due = max(due + PUBLISHERS / self.rate, time.monotonic() - 0.1)
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _wait_for_queued(self) -> None:
        """Wait until queued messages have arrived where trees stay: the next change must not disturb them."""
        trees, window = self.plan.trees.trees, self.windows[-1]
        earlier = max((window.ended for window in self.windows[:-1]), default=0.0)
        queued = [
            message
            for message, _ in self.sent
            if window.covers(message)
            and message.sent > earlier
            and message.topic in trees.keys() - window.changed_topics
        ]
        end = time.monotonic() + QUEUE_PATIENCE
        while queued and window.durable and time.monotonic() < end:
            queued = [
                message
                for message in queued
                if not wanted_at(trees[message.topic], message.name) <= message.seen.keys()
            ]
            await asyncio.sleep(0.02)

    async def _apply_event(self, event: Event) -> Window:
        """Let one event happen, and apply its delta to the running brokers."""
        from meshwright.churn.events import CRASH, JOIN, LEAVE

        plan, federation, broker = self.plan, self.federation, str(event.node)
        trees, wiring = plan.trees, plan.wiring
        began = time.monotonic()
        if event.event == CRASH:
            await asyncio.to_thread(federation.brokers.stop, broker, crash=True)
        if event.event in (CRASH, LEAVE):
            self.leaving.add(broker)
            await self.observers.detach(broker)
        plan.apply([event])
        durable = federation.settings.durable
        delta = join_waves(compute_delta(wiring, plan.wiring, federation.settings))
        if event.event == JOIN:
            authority, secured = federation.authority, federation.settings.secret is not None
            new = free_endpoints([broker], tls=authority is not None, apart=secured, used=self.used_ports)
            if authority is not None:
                authority.issue("127.0.0.1", federation.brokers.folder_of(broker) / "certs")
            self.endpoints |= new
            self.used_ports |= new[broker].ports
        elif event.event in (CRASH, LEAVE):
            del self.endpoints[broker]
        # With durable sessions a broker that restarts keeps its messages; one that stops does not.
        disturbing = (STOP,) if durable else (RESTART, STOP)
        window = Window(
            event.event,
            broker,
            began,
            changed_topics=_changed_topics(trees, plan.trees),
            disturbed_brokers=frozenset(step.broker for step in delta.steps if step.action in disturbing),
            interrupted_links=delta.interrupted_links,
            relined=_relined_links(delta, trees, plan.trees),
            restarts=delta.restarts,
            reloads=sorted({step.broker for step in delta.steps if step.action == RELOAD}),
            waves=len(delta.waves),
            durable=durable,
        )
        # Topics of a broker that is gone are affected from the first moment, before any wave.
        window.affect(trees.subscriptions().get(broker, set()), began, began)
        broken_before = self.observers.broken_connections.copy()
        await self._apply_waves(delta, trees, window)
        window.ended = time.monotonic()
        broken = self.observers.broken_connections - broken_before
        window.disconnected_clients = sum(count for other, count in broken.items() if other != broker)
        return window

    async def _apply_waves(self, delta: Delta, before: NamedTrees, window: Window) -> None:
        """Apply one wave after the other, and record which topics each affected, and when."""
        federation, observers = self.federation, self.observers
        inventory = Inventory(dict(self.endpoints))
        topics_before, held = before.subscriptions(), self.plan.trees.held_filters()
        for wave in delta.waves:
            began = time.monotonic()
            await asyncio.to_thread(apply_wave, wave, delta, inventory, federation)
            affected = {
                self.plan.trees.tree_of.get(topic) or before.tree_of.get(topic, topic)
                for topic in delta.affected_by(wave)
            }
            for broker in sorted({step.broker for step in wave if step.action in (START, RESTART)}):
                connect = observers.attach
                if broker in observers.attached:
                    connect = observers.reconnect
                    affected |= topics_before.get(broker, set())
                await connect(broker, inventory.endpoints[broker], held.get(broker, set()))
            window.affect(affected, began, time.monotonic())
        update_folders(
            self.plan.trees, self.plan.wiring, inventory, federation.settings, federation.brokers.folder
        )


def _relined_links(delta: Delta, old: NamedTrees, new: NamedTrees) -> dict[str, frozenset[frozenset[str]]]:
    """Return, by group, the links that stay in its tree and then carry other filters of it."""
    links: dict[str, set[frozenset[str]]] = {}
    for pair in delta.old.bridges.keys() & delta.new.bridges.keys():
        before, after = delta.old.bridges[pair].items(), delta.new.bridges[pair].items()
        groups = [
            {named.tree_of[line] for line, _ in lines if line in named.tree_of}
            for named, lines in ((old, before), (new, after))
        ]
        for line, _ in before ^ after:
            group = new.tree_of.get(line) or old.tree_of.get(line)
            if group is not None and group in groups[0] & groups[1]:
                links.setdefault(group, set()).add(frozenset(pair))
    return {group: frozenset(found) for group, found in links.items()}


def _changed_topics(old: NamedTrees, new: NamedTrees) -> frozenset[str]:
    """Return the topics whose tree has other links, other brokers, or other filters."""

    def shape(named: NamedTrees, topic: str) -> object:
        tree = named.trees.get(topic)
        return tree and (frozenset(map(frozenset, tree.links)), tree.carriers, tree.filters)

    return frozenset(topic for topic in {*old.trees, *new.trees} if shape(old, topic) != shape(new, topic))
