"""Traffic through running brokers: clients publish and observe at every broker, and count every message."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from meshwright.deploy.inventory import Endpoint
from meshwright.deploy.passwords import CLIENT_USER, client_password
from meshwright.deploy.settings import BrokerSettings
from meshwright.errors import MissingDependencyError

OBSERVER = "observer"
"""The prefix of observers' client ids; log readers skip these clients."""
RESIDENT = "resident"
"""The prefix of client ids of residents, which subscribe to their broker's topics as real clients do."""
SILENT_LOGGER = logging.Logger("meshwright.mqtt", logging.CRITICAL + 1)
"""Broken connections are counted, not logged."""
TRIES = 3
"""Attempts to reconnect to a broker."""
PATIENCE = 2.0
"""Seconds without a delivery after which missing messages count as lost; also the time limit of requests."""
SETTLED = 0.25
"""Seconds without any delivery after which no more are expected, once all due ones have arrived."""


@dataclass
class Message:
    """One published message, and the brokers that it reached."""

    topic: str
    """The planned topic or filter, not the name under which the message was published."""
    origin: str
    sent: float
    seen: Counter[str] = field(default_factory=Counter)
    """Deliveries at each broker."""
    first: dict[str, float] = field(default_factory=dict)
    """Time of the first delivery at each broker."""
    name: str = ""
    """The name under which it was published."""


def load_aiomqtt() -> Any:
    """Return the module aiomqtt.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    try:
        import aiomqtt
    except ModuleNotFoundError as error:
        raise MissingDependencyError("aiomqtt is not installed: pip install 'meshwright[mqtt]'") from error
    return aiomqtt


def client_of(
    broker: str,
    endpoint: Endpoint,
    identifier: str,
    secret: bytes | None,
    *,
    clean_session: bool,
    certificate: Path | None = None,
) -> Any:
    """Return an MQTT client of a broker, not connected yet; with TLS, it checks the broker."""
    tls = {"tls_context": ssl.create_default_context(cafile=certificate)} if endpoint.tls else {}
    login = {} if secret is None else {"username": CLIENT_USER, "password": client_password(secret, broker)}
    return load_aiomqtt().Client(
        endpoint.host,
        endpoint.port,
        identifier=identifier,
        clean_session=clean_session,
        logger=SILENT_LOGGER,
        # Send small packets at once.
        socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        **login,
        **tls,
    )


def _ignore_broken_connections(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handle exceptions of tasks that nobody awaits: brokers stop and start, so connections break."""
    if not isinstance(context.get("exception"), (load_aiomqtt().MqttError, OSError)):
        loop.default_exception_handler(context)


async def _subscribe(client: Any, topic: str, qos: int = 0) -> None:
    """Subscribe, and retry while a client reconnects: it counts as connected before the broker answers."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            await client.subscribe(topic, qos=qos, timeout=PATIENCE)
            return
        except load_aiomqtt().MqttError:
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.01)


class Observers:
    """A client at each broker that sees every message there, and publishes there.

    With `residents`, a second client at each broker subscribes to the broker's topics. With
    `persistent_sessions`, clients keep their sessions while a broker restarts.
    """

    def __init__(
        self,
        settings: BrokerSettings | None = None,
        *,
        residents: bool = False,
        persistent_sessions: bool = False,
        certificate: Path | None = None,
    ) -> None:
        self.certificate = certificate
        self.settings = settings or BrokerSettings()
        self.residents, self.persistent_sessions = residents, persistent_sessions
        self.messages: list[Message] = []
        self.foreign_messages = 0
        """Deliveries of messages that were not published here."""
        self.deliveries = 0
        self.latest = time.monotonic()
        """Time of the latest delivery."""
        self.disconnected: set[str] = set()
        """Brokers whose observer is not connected, or not yet."""
        self.broken_connections: Counter[str] = Counter()
        """Connections to each broker that broke without a call of `detach`."""
        self._clients: dict[str, Any] = {}
        self._residents: dict[str, Any] = {}
        self._stacks: dict[str, AsyncExitStack] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        asyncio.get_running_loop().set_exception_handler(_ignore_broken_connections)
        return self

    def _client(self, kind: str, broker: str, endpoint: Endpoint) -> Any:
        return client_of(
            broker,
            endpoint,
            f"{kind}-{endpoint.port}",
            self.settings.secret,
            clean_session=not self.persistent_sessions,
            certificate=self.certificate,
        )

    @property
    def attached(self) -> set[str]:
        """The brokers that were attached and not detached since."""
        return set(self._clients)

    def is_connected(self, broker: str) -> bool:
        """Return whether the observer of a broker is connected."""
        return broker in self._clients and broker not in self.disconnected

    async def attach(self, broker: str, endpoint: Endpoint, topics: Iterable[str] = ()) -> None:
        """Connect to a broker and observe all its messages; a resident subscribes to `topics`."""
        # Nobody may publish through the new client before it is connected.
        self.disconnected.add(broker)
        self._clients[broker] = self._client(OBSERVER, broker, endpoint)
        if self.residents:
            self._residents[broker] = self._client(RESIDENT, broker, endpoint)
        await self._connect(broker, topics)

    async def attach_all(
        self, endpoints: Mapping[str, Endpoint], topics: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        """Connect to several brokers at once; residents subscribe to the `topics` of their broker."""
        topics_of = topics or {}
        await asyncio.gather(
            *(
                self.attach(broker, endpoint, topics_of.get(broker, ()))
                for broker, endpoint in endpoints.items()
            )
        )

    async def reconnect(self, broker: str, endpoint: Endpoint, topics: Iterable[str] = ()) -> None:
        """Connect again to a broker that restarted; persistent sessions continue."""
        if not self.persistent_sessions:
            await self.detach(broker)
            await self.attach(broker, endpoint, topics)
            return
        with suppress(load_aiomqtt().MqttError):
            await self._stacks.pop(broker).aclose()
        # The task ends by itself, after it has counted every message that arrived.
        await self._tasks.pop(broker)
        for tries_left in reversed(range(TRIES)):
            try:
                await self._connect(broker, topics)
                break
            except load_aiomqtt().MqttError:
                if not tries_left:
                    raise

    async def _connect(self, broker: str, topics: Iterable[str]) -> None:
        client = self._clients[broker]
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(client)
            await _subscribe(client, "#", self.settings.qos)
            if self.residents:
                resident = self._residents[broker]
                await stack.enter_async_context(resident)
                for topic in sorted(topics):
                    await _subscribe(resident, topic)
            self._stacks[broker] = stack.pop_all()
        self.disconnected.discard(broker)
        self._tasks[broker] = asyncio.create_task(self._listen(broker, client))

    async def detach(self, broker: str) -> None:
        """Disconnect from a broker, whether it still answers or not."""
        self._tasks.pop(broker).cancel()
        self._clients.pop(broker)
        with suppress(load_aiomqtt().MqttError):
            await self._stacks.pop(broker).aclose()

    async def publish(self, broker: str, topic: str, name: str) -> Message:
        """Publish at a broker under a name that matches a planned topic, and wait until the broker has it."""
        message = Message(topic, broker, time.monotonic(), name=name)
        self.messages.append(message)
        payload = str(len(self.messages) - 1).encode()
        await self._clients[broker].publish(name, payload, qos=self.settings.qos, timeout=PATIENCE)
        return message

    async def _listen(self, broker: str, client: Any) -> None:
        """Count deliveries until the connection breaks; the payload is the message's index."""
        try:
            async for arrived in client.messages:
                self.latest = time.monotonic()
                self.deliveries += 1
                try:
                    message = self.messages[int(arrived.payload)]
                except (ValueError, TypeError, IndexError):
                    self.foreign_messages += 1
                    continue
                message.seen[broker] += 1
                message.first.setdefault(broker, self.latest)
        except load_aiomqtt().MqttError:
            self.disconnected.add(broker)
            self.broken_connections[broker] += 1

    async def wait_for_deliveries(self, due: int) -> None:
        """Wait until all due deliveries have arrived and none follows for a while.

        Gives up after some seconds without any delivery: then the rest is lost. Gives up too with far more
        deliveries than are due: then messages circle, and they would not end.
        """
        while self.deliveries < due and time.monotonic() < self.latest + PATIENCE:
            await asyncio.sleep(0.01)
        self.latest = max(self.latest, time.monotonic() - SETTLED / 2)
        while time.monotonic() < self.latest + SETTLED and self.deliveries < 2 * due + 1000:
            await asyncio.sleep(0.01)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(self.detach(broker) for broker in list(self._clients)), return_exceptions=True)
