"""The MQTT clients of a migration, over a broker that is part of this process: how runs go on and end."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from meshwright.content import Workload, synthetic
from meshwright.content.migration import Crash, Migration, Terms, migrate, mqtt_transport
from meshwright.content.sequential import random


class MqttError(Exception):
    """The error of the client library."""


class Broker:
    """Hands each message to all who subscribe to its topic, in order.

    It drops a client if another one connects under its name, and then sends the last will of the first.
    """

    def __init__(self) -> None:
        self.inboxes: dict[str, list[asyncio.Queue[Any]]] = {}
        self.clients: list[Client] = []
        self.fails_for = ""
        """The identifier of a client whose messages are refused."""

    def deliver(self, topic: str, payload: bytes) -> None:
        """Hand over a message."""
        for inbox in self.inboxes.get(topic, []):
            inbox.put_nowait(SimpleNamespace(topic=topic, payload=payload))


BROKER = Broker()


class Client:
    """Takes the place of the library's client."""

    def __init__(self, host: str, port: int, *, identifier: str, will: Any, socket_options: Any) -> None:
        assert (host, port) == ("127.0.0.1", 1883)
        self.identifier, self.will, self.inbox = identifier, will, asyncio.Queue[Any]()
        self.most_at_once = self.at_once = 0
        self.ended = False
        self.dropped = False

    async def __aenter__(self) -> Client:
        for client in BROKER.clients:
            if client.identifier == self.identifier and not client.ended:
                client.dropped = True
                client.leave()
                client.inbox.put_nowait(None)
                BROKER.deliver(client.will.topic, client.will.payload)
        BROKER.clients.append(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.ended = True
        self.leave()

    def leave(self) -> None:
        """Receive no more messages."""
        for inboxes in BROKER.inboxes.values():
            with suppress(ValueError):
                inboxes.remove(self.inbox)

    async def subscribe(self, topics: list[tuple[str, int]]) -> None:
        """Take the messages of topics."""
        for topic, quality in topics:
            assert quality == 1
            BROKER.inboxes.setdefault(topic, []).append(self.inbox)

    async def publish(self, topic: str, payload: bytes, quality: int) -> None:
        """Send a message, and wait until it is confirmed."""
        assert quality == 1
        if self.identifier == BROKER.fails_for:
            raise MqttError("refused")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        BROKER.deliver(topic, payload)
        await asyncio.sleep(0)
        self.at_once -= 1

    @property
    async def messages(self) -> AsyncIterator[Any]:
        """Yield what arrives."""
        while (message := await self.inbox.get()) is not None:
            yield message
        raise MqttError("dropped")


@pytest.fixture(autouse=True)
def _library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the client library and the broker's process."""
    module: Any = ModuleType("aiomqtt")
    module.Client, module.MqttError = Client, MqttError
    module.Will = lambda topic, payload, quality: SimpleNamespace(topic=topic, payload=payload.encode())
    monkeypatch.setitem(sys.modules, "aiomqtt", module)
    monkeypatch.setattr(mqtt_transport, "LINGER", 0.01)

    @contextmanager
    def broker() -> Iterator[int]:
        yield 1883

    monkeypatch.setattr(mqtt_transport, "_mqtt_broker", broker)
    BROKER.__init__()  # type: ignore[misc]


def run(workload: Workload, **changes: Any) -> Migration:
    """Migrate users from a random assignment."""
    known: dict[str, Any] = {"publications": 40, "seconds": 0.2, "pause": 0.002, "patience": 0.2}
    terms = Terms(**(known | {"limit": 20.0} | changes))
    return migrate(workload, random(workload, seed=3), terms, seed=1, transport="mosquitto")


@pytest.fixture
def workload() -> Workload:
    return synthetic(12, 3, 4, capacity=4.0, seed=1)


def test_a_run_with_a_crash(workload: Workload) -> None:
    """Nothing is lost or doubled, all clients end, and each waits for confirmations from time to time."""
    made = run(workload, crashes=(Crash(2, "home"),))
    assert made.sound
    assert len(made.crashed) == sum(client.dropped for client in BROKER.clients) == 1
    assert made.messages["connect"] > 0
    assert all(client.ended for client in BROKER.clients)
    assert all(client.will is not None for client in BROKER.clients[:3])
    users = [client for client in BROKER.clients if int(client.identifier.removeprefix("meshwright-")) >= 3]
    assert {client.will for client in users} == {None}
    assert 1 < max(client.most_at_once for client in BROKER.clients) <= mqtt_transport.MAX_UNCONFIRMED


def test_the_limit_ends_a_run(workload: Workload) -> None:
    """A run that is not over at its limit ends then, with what there is; all clients end."""
    made = run(workload, seconds=30.0, publications=400, limit=0.1)
    assert made.samples[-1].time < 5.0
    assert not made.sound
    assert all(client.ended for client in BROKER.clients)


def test_a_client_that_fails_ends_the_run(workload: Workload) -> None:
    """The error of one client that lives is the error of the run."""
    BROKER.fails_for = "meshwright-1"
    with pytest.raises(MqttError, match="refused"):
        run(workload)
    assert all(client.ended for client in BROKER.clients)


def test_an_agent_that_fails_ends_the_run(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is the error of an agent that handles a message."""

    def fail(payload: bytes) -> Any:
        raise ValueError("not a message")

    monkeypatch.setattr(mqtt_transport, "decode", fail)
    with pytest.raises(ValueError, match="not a message"):
        run(workload)
