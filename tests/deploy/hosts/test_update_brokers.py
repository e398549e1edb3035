"""Changes of real brokers: they do what the new plan says, and durable sessions lose and leak nothing."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import meshwright as mw
from brokers import PROGRAM, unused_ports
from meshwright.brokers.mosquitto import installed_version
from meshwright.churn.events import JOIN, LEAVE, Event
from meshwright.deploy.change import Change, plan_change
from meshwright.deploy.delta import Delta
from meshwright.deploy.folder_store import FederationFolder, update_folders
from meshwright.deploy.hosts.local import RunningFederation, publish_everywhere, run_federation
from meshwright.deploy.hosts.update import apply_change, apply_wave, end_sessions
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.observations import links_up
from meshwright.deploy.proof.live_plan import FederationPlan, LivePlan
from meshwright.deploy.proof.traffic import Message, Observers, load_aiomqtt
from meshwright.deploy.proof.verdict import judge
from meshwright.deploy.rollout import Rollout
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import RELOAD
from meshwright.deploy.targets.mosquitto.logs import GONE, RELOADED, Logs
from meshwright.deploy.waves import compute_delta
from meshwright.deploy.wiring import Wiring, client_id, local_client_id, rewire, wire
from meshwright.plan_tables import TREES
from meshwright.workloads import zipf
from routed_plans import named_trees

PATIENCE = 15.0
"""Seconds within which queued messages arrive, also on a busy machine."""

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
needs_reload = pytest.mark.skipif(
    PROGRAM is None or installed_version() != "2.1",
    reason="needs mosquitto 2.1 or later, which reloads bridges",
)
SECRET = b"0123456789abcdef"


def change_by(delta: Delta, trees: NamedTrees, federation: RunningFederation) -> Change:
    """Return the change of a running federation by a delta."""
    folder, settings, inventory = federation.brokers.folder, federation.settings, federation.inventory
    rollout = Rollout.begin(delta, inventory, settings)
    return Change(
        FederationFolder(folder), read_federation(folder), trees, inventory, settings, delta, (), rollout
    )


@needs_broker
def test_another_plan_in_the_middle_of_a_rollout(tmp_path: Path) -> None:
    """A change begins where an unfinished one to another plan stands, and its manifest can always be read."""
    links = {"x": TopicTree((("a", "b"),), frozenset("ab"))}
    two, three = (
        NamedTrees(("a", "b"), links),
        NamedTrees(("a", "b", "c"), {"x": TopicTree((("a", "b"), ("a", "c")), frozenset("abc"))}),
    )
    with run_federation(two, tmp_path / "run") as federation:
        store, settings = FederationFolder(tmp_path / "run"), federation.settings
        first = plan_change(store, three, settings)
        changing = replace(federation, inventory=first.inventory)
        apply_wave(
            first.rollout.waves[0], first.delta, first.inventory, changing, replace(first.rollout, done=1)
        )
        assert set(federation.brokers.running) == set("abc")
        back = plan_change(store, two, settings)
        rollout = replace(back.rollout, done=1)
        apply_wave(back.rollout.waves[0], back.delta, back.inventory, changing, rollout)
        assert set(store.read().wiring.order) == set("abc")
        apply_change(plan_change(store, two, settings), changing)
        assert set(federation.brokers.running) == set("ab") == set(store.read().wiring.order)
        assert publish_everywhere(two, federation).passed


@needs_broker
def test_a_secured_federation_changes(tmp_path: Path) -> None:
    """With passwords, access lists and queues, a join and a leave lead exactly to the new plan."""
    overlay = mw.design(zipf(6, 5, size=3, seed=4), "low").overlay
    trees = mw.route(overlay)
    plan = LivePlan(
        FederationPlan(named_trees(trees), overlay.edges, trees.to_arrow().cast(TREES))  # type: ignore[arg-type]
    )
    hub = max(plan.live_overlay.nodes, key=lambda node: len(plan.live_overlay.neighbours(node)))
    settings = BrokerSettings("durable", secret=SECRET)
    with run_federation(plan.trees, tmp_path / "run", settings) as federation:
        endpoints = {**federation.inventory.endpoints, "new": Endpoint("127.0.0.1", unused_ports(1)[0])}
        for event in (Event(JOIN, "new", ("t0", "t1")), Event(LEAVE, hub)):
            before = plan.wiring
            plan.apply([event])
            delta = compute_delta(before, plan.wiring, BrokerSettings("durable", secret=SECRET))
            assert any(step.bridges is None for step in delta.steps)
            inventory = Inventory({broker: endpoints[broker] for broker in plan.wiring.order})
            for wave in delta.waves:
                positions = federation.watch.positions(federation.brokers.running)
                apply_wave(wave, delta, inventory, federation)
                for step in wave:
                    if step.bridges is None and step.broker in positions and step.action == RELOAD:
                        assert RELOADED in Logs(federation.brokers).lines(step.broker, positions[step.broker])
            update_folders(plan.trees, plan.wiring, inventory, settings, tmp_path / "run")
            assert publish_everywhere(plan.trees, replace(federation, inventory=inventory)).passed


@needs_broker
def test_moved_brokers_and_new_passwords(tmp_path: Path) -> None:
    """At another port, then with another secret, brokers find each other again, each after one step."""
    trees = named_trees(mw.route(mw.design(zipf(5, 4, size=3, seed=4), "low").overlay))
    folder, first = tmp_path / "run", BrokerSettings(secret=SECRET)
    with run_federation(trees, folder, first) as federation:
        wiring = federation.wiring
        hub = wiring.order[0]
        assert wiring.dialled_to(hub)
        port, bridge_port = unused_ports(2)
        inventory = Inventory(
            {**federation.inventory.endpoints, hub: Endpoint("127.0.0.1", port, bridge_port=bridge_port)}
        )
        for settings in (first, BrokerSettings(secret=b"another secret of 16")):
            must_restart = read_federation(folder).must_restart(inventory, settings)
            assert must_restart == ({hub} if settings == first else set(wiring.order))
            delta = compute_delta(wiring, wiring, BrokerSettings(secret=SECRET), must_restart=must_restart)
            now = replace(federation, inventory=inventory, settings=settings)
            changed = [apply_wave(wave, delta, inventory, now).changed for wave in delta.waves]
            assert all(changed)
            assert settings != first or changed[0] == [f"{hub}/mosquitto.conf", "federation.json"]
            assert len(delta.steps) == len({step.broker for step in delta.steps})
            assert publish_everywhere(trees, now).passed
            update_folders(trees, wiring, inventory, settings, folder)
            assert not read_federation(folder).must_restart(inventory, settings)


def star(**topics: str) -> NamedTrees:
    """Return trees in which `z`, the last broker, dials the named brokers."""
    return NamedTrees(
        tuple("abcdefz"),
        {
            topic: TopicTree(tuple((other, "z") for other in ends), frozenset(ends + "z"))
            for topic, ends in topics.items()
        },
    )


@needs_reload
def test_bridges_change_by_reload(tmp_path: Path) -> None:
    """Topics and bridges come and go, many at once; unchanged bridges, and all processes, are undisturbed."""
    plans = [
        star(x="abcdef", y="a"),
        star(x="abcdef", y="ab"),
        star(x="abcdef"),
        star(x="af", y="bf"),
        star(y="abcdef", x="a"),
    ]
    order, settings = plans[0].brokers, BrokerSettings(version="2.1")
    with run_federation(plans[0], tmp_path / "run", settings, wiring=wire(plans[0], order)) as federation:
        processes = {broker: process.pid for broker, process in federation.brokers.running.items()}
        wiring = federation.wiring
        for trees in plans[1:]:
            delta = compute_delta(wiring, rewire(trees, wiring), BrokerSettings(version="2.1"))
            assert {step.action for step in delta.steps} == {RELOAD}
            positions = federation.watch.positions(order)
            apply_change(change_by(delta, trees, federation), federation)
            changed = {
                client_id(step.broker, other) for step in delta.steps for other in step.changed_listeners
            }
            lines = {
                line for broker in order for line in Logs(federation.brokers).lines(broker, positions[broker])
            }
            ended = {line.removeprefix(f"{GONE} ") for line in lines if line.startswith(f"{GONE} meshwright")}
            begun = {line.removeprefix("connected ") for line in lines if line.startswith("connected ")}
            assert ended | begun == changed
            assert not update_folders(trees, delta.new, federation.inventory, settings, tmp_path / "run")
            assert publish_everywhere(trees, federation).passed
            wiring = delta.new
        assert {broker: process.pid for broker, process in federation.brokers.running.items()} == processes


DURABLE = BrokerSettings("durable")


def has_session(endpoint: Endpoint, name: str) -> bool:
    """Connect with an id, by packets of our own, and return whether the broker had a session for it."""
    words = b"\x00\x04MQTT\x04\x00\x00\x3c" + struct.pack(">H", len(name)) + name.encode()
    with socket.create_connection((endpoint.host, endpoint.port), timeout=5) as connection:
        connection.sendall(b"\x10" + bytes([len(words)]) + words)
        answer = connection.recv(4)
        assert (answer[0], answer[3]) == (0x20, 0)
        connection.sendall(b"\xe0\x00")
    return bool(answer[2])


def apply_trees(federation: RunningFederation, before: Wiring, trees: NamedTrees) -> Wiring:
    """Bring running brokers to new trees."""
    delta = compute_delta(before, rewire(trees, before), BrokerSettings("durable"))
    assert delta.waves
    apply_change(change_by(delta, trees, federation), federation)
    return delta.new


@needs_broker
def test_removed_topics_and_links_leak_nothing(tmp_path: Path) -> None:
    """A topic leaves a link, and a link is removed: nothing leaks, no session stays, all can come back."""
    chain = TopicTree((("a", "b"), ("b", "c")), frozenset("abc"))
    first = NamedTrees(
        tuple("abcd"), {"x": chain, "y": TopicTree((*chain.links, ("c", "d")), frozenset("abcd"))}
    )
    second = NamedTrees(tuple("abcd"), {"x": chain, "y": TopicTree((("a", "b"),), frozenset("ab"))})
    with run_federation(first, tmp_path / "run", DURABLE) as federation:
        wiring = apply_trees(federation, federation.wiring, second)
        assert publish_everywhere(second, federation).passed
        for broker, name in (("c", client_id("d", "c")), ("d", local_client_id("d", "c"))):
            endpoint = federation.inventory.endpoints[broker]
            assert not has_session(endpoint, name)
            # The question itself has made a session.
            assert has_session(endpoint, name)
            end_sessions({broker: [name]}, federation.inventory, federation.settings)
            assert not has_session(endpoint, name)
        apply_trees(federation, wiring, first)
        assert publish_everywhere(first, federation).passed


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[tuple[NamedTrees, RunningFederation]]:
    """Run three brokers in a row with durable sessions."""
    trees = NamedTrees(tuple("abc"), {"x": TopicTree((("a", "b"), ("b", "c")), frozenset("abc"))})
    with run_federation(trees, tmp_path / "run", DURABLE) as federation:
        yield trees, federation


def start_and_wait(federation: RunningFederation, broker: str) -> None:
    """Start a stopped broker, and wait until all its bridges are up."""
    # Read the positions before the start: the first lines may come at once.
    positions = federation.watch.positions(federation.wiring.order)
    federation.brokers.start(broker)
    pairs = [pair for pair in federation.wiring.bridges if broker in pair]
    federation.watch.wait(links_up(federation.wiring, pairs), positions)


@needs_broker
def test_messages_queue_for_a_broker(chain: tuple[NamedTrees, RunningFederation]) -> None:
    """While the middle broker is down, far more is published than the default in-flight limit; all arrive."""
    trees, federation = chain

    async def publish() -> None:
        async with Observers(federation.settings, persistent_sessions=True) as observers:
            await observers.attach_all(federation.inventory.endpoints)
            federation.brokers.stop("b")
            for number in range(300):
                await observers.publish("ac"[number % 2], "x", "x")
            start_and_wait(federation, "b")
            await observers.reconnect("b", federation.inventory.endpoints["b"])
            until = time.monotonic() + PATIENCE
            while observers.deliveries < 900 and time.monotonic() < until:
                await asyncio.sleep(0.05)
            # Then wait for more than are due.
            await observers.wait_for_deliveries(900)
            verdict = judge(observers.messages, trees.trees)
            assert (verdict.expected, verdict.missing, verdict.duplicate) == (900, (), ())

    asyncio.run(publish())


@needs_broker
def test_a_restart_loses_and_duplicates_nothing(chain: tuple[NamedTrees, RunningFederation]) -> None:
    """Brokers restart under traffic: every acknowledged message arrives once at every broker."""
    trees, federation = chain
    sent: list[Message] = []

    def restart(broker: str) -> None:
        federation.brokers.stop(broker)
        start_and_wait(federation, broker)

    async def publish_steadily(observers: Observers, broker: str) -> None:
        while True:
            if observers.is_connected(broker):
                with suppress(load_aiomqtt().MqttError):
                    sent.append(await observers.publish(broker, "x", "x"))
            await asyncio.sleep(0.005)

    async def publish() -> None:
        async with Observers(federation.settings, persistent_sessions=True) as observers:
            await observers.attach_all(federation.inventory.endpoints)
            tasks = [asyncio.create_task(publish_steadily(observers, broker)) for broker in "abc"]
            for broker in "bac":
                await asyncio.to_thread(restart, broker)
                await observers.reconnect(broker, federation.inventory.endpoints[broker])
                await asyncio.sleep(0.2)
            for task in tasks:
                task.cancel()
            # Messages that were never acknowledged may arrive too, so a number of deliveries says nothing.
            until = time.monotonic() + PATIENCE
            while judge(sent, trees.trees).missing and time.monotonic() < until:
                await asyncio.sleep(0.05)
            verdict = judge(sent, trees.trees)
            assert (verdict.missing, verdict.duplicate, verdict.leaked) == ((), (), ())

    asyncio.run(publish())
    assert len(sent) > 100
