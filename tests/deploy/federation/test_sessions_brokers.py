"""Durable sessions with real brokers: messages queue, removed links leak nothing, restarts lose nothing."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from brokers import PROGRAM
from meshwright.deploy import BrokerSettings, Endpoint, NamedTrees, TopicTree, Wiring, rewire
from meshwright.deploy.config.delta import compute_delta
from meshwright.deploy.config.wiring import client_id, local_client_id
from meshwright.deploy.federation.logs import bridge_up_lines
from meshwright.deploy.federation.run import RunningFederation, publish_everywhere, run_federation
from meshwright.deploy.federation.sessions import end_sessions
from meshwright.deploy.federation.traffic import Message, Observers, load_aiomqtt
from meshwright.deploy.federation.update import apply_delta
from meshwright.deploy.federation.verdict import judge

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
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
    delta = compute_delta(before, rewire(trees, before), durable=True)
    assert delta.waves
    apply_delta(delta, trees, federation.inventory, federation)
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
            end_sessions({broker: [name]}, federation.inventory)
            assert not has_session(endpoint, name)
        apply_trees(federation, wiring, first)
        assert publish_everywhere(first, federation).passed


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[tuple[NamedTrees, RunningFederation]]:
    """Run three brokers in a row with durable sessions."""
    trees = NamedTrees(tuple("abc"), {"x": TopicTree((("a", "b"), ("b", "c")), frozenset("abc"))})
    with run_federation(trees, tmp_path / "run", DURABLE) as federation:
        yield trees, federation


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
            federation.brokers.start("b")
            federation.logs.wait({"b": {"connected meshwright.c>b"}}, federation.logs.positions("b"))
            await observers.reconnect("b", federation.inventory.endpoints["b"])
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
        positions = federation.logs.positions("abc")
        federation.brokers.start(broker)
        pairs = [pair for pair in federation.wiring.bridges if broker in pair]
        federation.logs.wait(bridge_up_lines(federation.wiring, pairs, federation.settings.qos), positions)

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
            await observers.wait_for_deliveries(3 * len(sent))
            verdict = judge(sent, trees.trees)
            assert (verdict.missing, verdict.duplicate, verdict.leaked) == ((), (), ())

    asyncio.run(publish())
    assert len(sent) > 100
