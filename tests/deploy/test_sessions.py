"""Sessions that last: messages wait, what a link carries no more is over, and nobody queues for nobody."""

from __future__ import annotations

import asyncio
import socket
import struct
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokers import PROGRAM
from meshwright.deploy import Inventory, Place, Routed, Settings, Way, read_federation, write_federation
from meshwright.deploy.config.delta import delta
from meshwright.deploy.config.wiring import Wiring, client_id, folder_of, local_id, rewire, wire
from meshwright.deploy.federation.logs import arrivals
from meshwright.deploy.federation.run import Running, publish_everywhere, running
from meshwright.deploy.federation.sessions import end_sessions, outlived, told_outlived
from meshwright.deploy.federation.traffic import Message, Observers, mqtt
from meshwright.deploy.federation.update import perform, update_folders
from meshwright.deploy.federation.verdict import judge
from routed_plans import parsed

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="no mosquitto is installed")
DURABLE = Settings("durable")
BROKERS = tuple("abcd")


def of_links(links: dict[str, set[tuple[str, str]]]) -> Routed:
    """Return ways with these links; who has none of a topic's does not carry it."""
    return Routed(
        BROKERS,
        {
            topic: Way(tuple(sorted(pairs)), frozenset(end for pair in pairs for end in pair))
            for topic, pairs in sorted(links.items())
        },
    )


forests = st.dictionaries(
    st.sampled_from("xyz"),
    st.sets(st.sampled_from([("a", "b"), ("b", "c"), ("c", "d")]), min_size=1),
    max_size=3,
).map(of_links)


@settings(max_examples=30)
@given(st.lists(forests, min_size=2, max_size=4))
def test_links_unsubscribe_from_what_they_carried(plans: list[Routed]) -> None:
    """After any changes a bridge unsubscribes from all that its link ever carried and does not carry now."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        first, *others = plans
        inventory = Inventory.loopback(BROKERS)
        write_federation(first, wire(first), inventory, DURABLE, folder)
        carried: dict[tuple[str, str], set[str]] = {}
        for plan in (first, *others):
            new = rewire(plan, read_federation(folder).wiring)
            update_folders(plan, new, inventory, DURABLE, folder)
            assert read_federation(folder).wiring == new
            again = rewire(plan, new)
            assert update_folders(plan, again, inventory, DURABLE, folder) == []
            for pair, lines in new.bridges.items():
                carried.setdefault(pair, set()).update(lines)
        at = {inventory.places[broker].address: broker for broker in BROKERS}
        for broker in BROKERS:
            for bridge in parsed(folder / folder_of(broker) / "mosquitto.conf")[1]:
                pair = (broker, at[bridge.options["address"]])
                assert dict(bridge.topics) == new.bridges[pair]
                assert set(bridge.gone) == carried[pair] - set(new.bridges[pair])
        write_federation(plan, new, inventory, Settings(), Path(place) / "plain")
        assert not any("gone" in file.read_text() for file in Path(place).glob("plain/*/mosquitto.conf"))


@settings(max_examples=40)
@given(forests, forests, st.sets(st.sampled_from(BROKERS), max_size=2))
def test_no_session_outlives_its_bridge(before: Routed, after: Routed, leaving: set[str]) -> None:
    """Of each bridge that goes both sessions are ended, at ends that stay, and no other is."""
    old = wire(before)
    stay = tuple(broker for broker in BROKERS if broker not in leaving)
    bridges = {pair: way for pair, way in wire(after).bridges.items() if not leaving & set(pair)}
    found = delta(old, Wiring(stay, bridges), durable=True)
    assert found.quiet == ()
    by_wave = [outlived(found, wave) for wave in found.waves]
    ended = {(at, name) for sessions in by_wave for at, names in sessions.items() for name in names}
    gone = [pair for pair in old.bridges if pair not in bridges]
    wanted = {(listener, client_id(dialler, listener)) for dialler, listener in gone if listener in stay}
    wanted |= {(dialler, local_id(dialler, listener)) for dialler, listener in gone if dialler in stay}
    assert wanted == ended
    assert wanted == {(at, name) for at, names in outlived(found).items() for name in names}
    assert bool(told_outlived(found)) == bool(wanted)
    assert not outlived(delta(old, found.new))


def present(place: Place, name: str) -> bool:
    """Ask a broker, by a connection of our own, whether it keeps a session of this name."""
    words = b"\x00\x04MQTT\x04\x00\x00\x3c" + struct.pack(">H", len(name)) + name.encode()
    with socket.create_connection((place.host, place.port), timeout=5) as connection:
        connection.sendall(b"\x10" + bytes([len(words)]) + words)
        answer = connection.recv(4)
        assert (answer[0], answer[3]) == (0x20, 0)
        connection.sendall(b"\xe0\x00")
    return bool(answer[2])


def applied(here: Running, before: Wiring, plan: Routed) -> Wiring:
    """Bring running brokers to a plan."""
    new = rewire(plan, before)
    found = delta(before, new, durable=True)
    assert found.waves
    for wave in found.waves:
        perform(wave, found, here.inventory, here.settings, here.brokers, here.logs)
    update_folders(plan, new, here.inventory, here.settings, here.brokers.folder)
    return new


@needs_broker
def test_what_leaves_a_link_does_not_leak(tmp_path: Path) -> None:
    """A topic leaves a link, and a link its brokers: nothing leaks, no session is left, all can come back."""
    row = {("a", "b"), ("b", "c"), ("c", "d")}
    first = of_links({"x": {("a", "b"), ("b", "c")}, "y": row})
    second = of_links({"x": {("a", "b"), ("b", "c")}, "y": {("a", "b")}})
    with running(first, tmp_path / "run", DURABLE) as here:
        wiring = applied(here, here.wiring, second)
        assert publish_everywhere(second, here).passed
        for broker, name in (("c", client_id("d", "c")), ("d", local_id("d", "c"))):
            assert not present(here.inventory.places[broker], name)
            assert present(here.inventory.places[broker], name)  # by asking we made one
            end_sessions({broker: [name]}, here.inventory)
            assert not present(here.inventory.places[broker], name)
        applied(here, wiring, first)
        assert publish_everywhere(first, here).passed


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[tuple[Routed, Running]]:
    """Run three brokers in a row, whose sessions last."""
    plan = Routed(tuple("abc"), {"x": Way((("a", "b"), ("b", "c")), frozenset("abc"))})
    with running(plan, tmp_path / "run", DURABLE) as here:
        yield plan, here


@needs_broker
def test_messages_wait_for_a_broker(chain: tuple[Routed, Running]) -> None:
    """While the middle one is away far more is published than may be in flight unless told; all come once."""
    plan, here = chain

    async def go() -> None:
        async with Observers(here.settings, lasting=True) as observers:
            await observers.attach_all(here.inventory.places)
            here.brokers.stop("b")
            for number in range(300):
                await observers.publish("ac"[number % 2], "x", "x")
            here.brokers.start("b")
            here.logs.wait({"b": {"connected meshwright.c>b"}}, here.logs.marks("b"))
            await observers.return_to("b", here.inventory.places["b"])
            await observers.settle(900)
            found = judge(observers.messages, plan.ways)
            assert (found.expected, found.missing, found.duplicate) == (900, (), ())

    asyncio.run(go())


@needs_broker
def test_a_restart_loses_and_doubles_nothing(chain: tuple[Routed, Running]) -> None:
    """Brokers restart under traffic: what was acknowledged comes to everybody once."""
    plan, here = chain
    sent: list[Message] = []

    def restart(broker: str) -> None:
        here.brokers.stop(broker)
        marks = here.logs.marks("abc")
        here.brokers.start(broker)
        pairs = [pair for pair in here.wiring.bridges if broker in pair]
        here.logs.wait(arrivals(here.wiring, pairs, here.settings.qos), marks)

    async def chat(observers: Observers, broker: str) -> None:
        while True:
            if observers.attached(broker):
                with suppress(mqtt().MqttError):
                    sent.append(await observers.publish(broker, "x", "x"))
            await asyncio.sleep(0.005)

    async def go() -> None:
        async with Observers(here.settings, lasting=True) as observers:
            await observers.attach_all(here.inventory.places)
            chats = [asyncio.create_task(chat(observers, broker)) for broker in "abc"]
            for broker in "bac":
                await asyncio.to_thread(restart, broker)
                await observers.return_to(broker, here.inventory.places[broker])
                await asyncio.sleep(0.2)
            for task in chats:
                task.cancel()
            await observers.settle(3 * len(sent))
            found = judge(sent, plan.ways)
            assert (found.missing, found.duplicate, found.leaked) == ((), (), ())

    asyncio.run(go())
    assert len(sent) > 100
