"""Observers without a network: a fake MQTT client shows what they count, and when they stop waiting."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any, Self

import pytest

from meshwright.deploy.hosts.update import end_sessions
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.passwords import client_password
from meshwright.deploy.proof import traffic
from meshwright.deploy.proof.traffic import TRIES, Observers
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import bridge_identity

SECRET = b"0123456789abcdef"
ENDPOINTS = Inventory.on_loopback("abc", 1).endpoints


class MqttError(Exception):
    """The error of the fake client."""


class FakeNetwork:
    """Brokers on ports 1 to 3; a message published at one reaches all of them, `copies` times."""

    def __init__(self) -> None:
        self.clients: list[FakeClient] = []
        self.copies = 1
        self.refused_connections = self.refused_subscriptions = 0

    def module(self) -> Any:
        """Return a module like aiomqtt."""
        return SimpleNamespace(MqttError=MqttError, Client=self.client)

    def client(self, host: str, port: int, **options: Any) -> FakeClient:
        """Make a client."""
        made = FakeClient(self, host, port, options)
        self.clients.append(made)
        return made


class FakeClient:
    """A client that delivers through queues."""

    def __init__(self, network: FakeNetwork, host: str, port: int, options: dict[str, Any]) -> None:
        self.network, self.host, self.port, self.options = network, host, port, options
        self.subscriptions: list[tuple[str, int]] = []
        self.published: list[tuple[str, bytes, int]] = []
        self.connections = 0
        self.connected = False
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        if self.network.refused_connections:
            self.network.refused_connections -= 1
            raise MqttError
        self.connections += 1
        self.connected = True
        return self

    async def __aexit__(self, *error: object) -> None:
        self.connected = False

    async def subscribe(self, topic: str, *, qos: int, timeout: float) -> None:
        """Subscribe, unless the network refuses."""
        if self.network.refused_subscriptions:
            self.network.refused_subscriptions -= 1
            raise MqttError
        self.subscriptions.append((topic, qos))

    async def publish(self, name: str, payload: bytes, *, qos: int, timeout: float) -> None:
        """Deliver to all connected observers."""
        self.published.append((name, payload, qos))
        for client in self.network.clients:
            if client.connected and ("#", qos) in client.subscriptions:
                for _ in range(self.network.copies):
                    client.queue.put_nowait(payload)

    def cut(self) -> None:
        """Break the connection."""
        self.queue.put_nowait(None)

    @property
    def messages(self) -> AsyncIterator[Any]:
        """Yield deliveries until the connection breaks."""
        return self._messages()

    async def _messages(self) -> AsyncIterator[Any]:
        while (payload := await self.queue.get()) is not None:
            yield SimpleNamespace(payload=payload)
        raise MqttError


class FakeClock:
    """A clock that moves when somebody sleeps, and a little at each look: later events have later times."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        """Return the time."""
        self.now += 1e-6
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass, and other tasks run."""
        self.now += seconds
        await PAUSE(0)


PAUSE = asyncio.sleep


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """Replace the clock and all sleep: a stall of the machine takes no time."""
    fake = FakeClock()
    monkeypatch.setattr(traffic, "time", fake)
    monkeypatch.setattr(asyncio, "sleep", fake.sleep)
    return fake


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> FakeNetwork:
    """Use the fake client, the fake clock and short times."""
    fake = FakeNetwork()
    monkeypatch.setattr(traffic, "load_aiomqtt", fake.module)
    monkeypatch.setattr(traffic, "PATIENCE", 0.1)
    monkeypatch.setattr(traffic, "SETTLED", 0.05)
    return fake


def run(use: Callable[[Observers], Awaitable[None]], **options: Any) -> None:
    """Use observers that are attached to all brokers."""

    async def attached() -> None:
        async with Observers(**options) as observers:
            await observers.attach_all(ENDPOINTS, {"a": ["y", "x"]})
            await use(observers)

    asyncio.run(attached())


async def cut(network: FakeNetwork, observers: Observers) -> None:
    """Break the connection of `b`, and let its observer notice."""
    network.clients[1].cut()
    for _ in range(100):
        if "b" in observers.disconnected:
            return
        await asyncio.sleep(0)
    raise AssertionError("nobody noticed")


def test_every_delivery_is_counted(network: FakeNetwork, clock: FakeClock) -> None:
    """A message counts once at each broker that it reaches, with the time of the first delivery."""
    network.copies = 2

    async def use(observers: Observers) -> None:
        before = clock.now
        message = await observers.publish("b", "a/#", "a/any")
        await observers.wait_for_deliveries(6)
        assert (message.topic, message.origin) == ("a/#", "b")
        assert message.seen == Counter("aabbcc")
        assert list(message.first) == ["a", "b", "c"]
        assert all(before < message.sent < first < observers.latest for first in message.first.values())
        assert (observers.deliveries, observers.foreign_messages) == (6, 0)

    run(use)
    assert [client.published for client in network.clients] == [[], [("a/any", b"0", 1)], []]


def test_foreign_messages_are_counted_apart(network: FakeNetwork) -> None:
    """Payloads that are not the number of a message are foreign, and no message is credited."""

    async def use(observers: Observers) -> None:
        message = await observers.publish("a", "x", "x")
        for payload in (b"7", b"text"):
            network.clients[0].queue.put_nowait(payload)
        await observers.wait_for_deliveries(5)
        assert (observers.deliveries, observers.foreign_messages) == (5, 2)
        assert message.seen == Counter("abc")

    run(use)


@pytest.mark.parametrize("settings", [BrokerSettings(), BrokerSettings("durable", secret=SECRET)])
def test_clients_connect_as_the_settings_say(network: FakeNetwork, settings: BrokerSettings) -> None:
    """Clients use the bridges' QoS, log in if there is a secret, and keep sessions if asked to."""

    async def use(observers: Observers) -> None:
        await observers.publish("a", "x", "x")

    run(use, settings=settings, persistent_sessions=settings.durable)
    first = network.clients[0]
    assert (first.host, first.port, first.options["identifier"]) == ("127.0.0.1", 1, "observer-1")
    assert first.options["clean_session"] != settings.durable
    login = {name: first.options[name] for name in ("username", "password") if name in first.options}
    expected = {"username": "client", "password": client_password(SECRET, "a")}
    assert login == (expected if settings.secret else {})
    assert first.subscriptions == [("#", settings.qos)]
    assert first.published == [("x", b"0", settings.qos)]


def test_residents_subscribe_to_the_topics_of_their_broker(network: FakeNetwork) -> None:
    """With residents, a second client at each broker subscribes to its topics, and to no others."""

    async def use(_: Observers) -> None:
        found = {client.options["identifier"]: client.subscriptions for client in network.clients}
        observed = {f"observer-{port}": [("#", 1)] for port in (1, 2, 3)}
        assert found == {
            **observed, "resident-1": [("x", 0), ("y", 0)], "resident-2": [], "resident-3": []
        }  # fmt: skip
        assert all(client.connected for client in network.clients)

    run(use, residents=True)
    assert not any(client.connected for client in network.clients)


def test_broken_connections_are_counted(network: FakeNetwork) -> None:
    """A connection that breaks is counted, and its broker is attached but not connected."""

    async def use(observers: Observers) -> None:
        assert observers.attached == set("abc")
        assert all(observers.is_connected(broker) for broker in "abc")
        await cut(network, observers)
        assert (observers.broken_connections, observers.disconnected) == (Counter("b"), {"b"})
        assert [observers.is_connected(broker) for broker in "abcd"] == [True, False, True, False]
        assert observers.attached == set("abc")

    run(use)


def test_detached_brokers_are_forgotten(network: FakeNetwork) -> None:
    """After detaching, a broker is neither attached nor connected, and nothing broke."""

    async def use(observers: Observers) -> None:
        await observers.detach("b")
        assert observers.attached == set("ac")
        assert not observers.is_connected("b")
        assert not observers.broken_connections
        assert not network.clients[1].connected

    run(use)


@pytest.mark.parametrize("persistent", [True, False])
def test_reconnecting(network: FakeNetwork, persistent: bool) -> None:
    """A persistent session continues with the same client; otherwise a new client connects."""

    async def use(observers: Observers) -> None:
        await cut(network, observers)
        await observers.reconnect("b", ENDPOINTS["b"], ["x"])
        assert observers.is_connected("b")
        assert [client.connections for client in network.clients] == (
            [1, 2, 1] if persistent else [1, 1, 1, 1]
        )
        message = await observers.publish("b", "x", "x")
        await observers.wait_for_deliveries(3)
        assert message.seen == Counter("abc")

    run(use, persistent_sessions=persistent)


def test_reconnecting_is_tried_some_times(network: FakeNetwork) -> None:
    """A broker that refuses is tried again, and given up after the last try."""

    async def use(observers: Observers) -> None:
        for refused in (TRIES - 1, TRIES):
            await cut(network, observers)
            network.refused_connections = refused
            if refused < TRIES:
                await observers.reconnect("b", ENDPOINTS["b"])
                assert observers.is_connected("b")
            else:
                with pytest.raises(MqttError):
                    await observers.reconnect("b", ENDPOINTS["b"])
                assert not observers.is_connected("b")

    run(use, persistent_sessions=True)


def test_subscribing_is_retried_for_a_while(network: FakeNetwork, clock: FakeClock) -> None:
    """A subscription that fails at first is repeated, and given up when time is over."""

    async def use(observers: Observers) -> None:
        network.refused_subscriptions = 2
        await observers.reconnect("a", ENDPOINTS["a"])
        assert network.clients[-1].subscriptions == [("#", 1)]
        network.refused_subscriptions = 1_000_000
        began = clock.now
        with pytest.raises(MqttError):
            await observers.reconnect("b", ENDPOINTS["b"])
        assert traffic.PATIENCE <= clock.now - began < traffic.PATIENCE + 0.02
        network.refused_subscriptions = 0

    run(use)


def test_waiting_ends(network: FakeNetwork, clock: FakeClock) -> None:
    """Waiting ends soon after the last due delivery, late if some are lost, and at once in a storm."""

    async def waited(observers: Observers, due: int) -> float:
        began = clock.now
        await observers.wait_for_deliveries(due)
        return clock.now - began

    async def use(observers: Observers) -> None:
        await observers.publish("a", "x", "x")
        soon = await waited(observers, 3)
        assert soon == pytest.approx(0.07, abs=0.011)
        # A long calm before does not count: at least half of the time is waited again.
        clock.now += 10
        assert await waited(observers, 3) == pytest.approx(0.03, abs=0.011)
        await observers.publish("a", "x", "x")
        lost = await waited(observers, 7)
        assert lost == pytest.approx(0.13, abs=0.021)
        observers.deliveries = 1_014
        assert await waited(observers, 7) < 0.001, "no sleep"
        observers.deliveries = 1_013
        observers.latest = clock.now
        assert await waited(observers, 7) > 0.001

    run(use)


def test_sessions_are_ended_by_a_clean_connection(
    network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each session is ended by one client with its id and a clean session, at its broker."""
    monkeypatch.setattr("meshwright.deploy.proof.traffic.load_aiomqtt", network.module)
    end_sessions({}, Inventory(ENDPOINTS), BrokerSettings())
    assert network.clients == []
    settings = BrokerSettings(secret=SECRET)
    end_sessions({"a": ["s", "local.t"], "c": ["u"]}, Inventory(ENDPOINTS), settings)
    s, t, u = (bridge_identity(settings.identity_key, name) for name in "stu")
    found = [(client.port, client.options["identifier"], client.connections) for client in network.clients]
    assert found == [(1, s, 1), (1, f"local.{t}", 1), (3, u, 1)]
    assert all(client.options["clean_session"] and not client.connected for client in network.clients)
    assert network.clients[2].options["password"] == client_password(SECRET, "c")
