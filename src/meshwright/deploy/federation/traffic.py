"""Traffic through running brokers: published everywhere, observed everywhere, every message counted."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from meshwright.deploy.config.access import CLIENT, client_password
from meshwright.deploy.config.inventory import Settings
from meshwright.errors import MissingDependencyError

if TYPE_CHECKING:
    from types import TracebackType

    from meshwright.deploy.config.inventory import Place

OBSERVER = "observer"
"""How our clients' ids begin."""
RESIDENT = "resident"
"""And those of clients that subscribe to what their broker holds, as real ones do."""
QUIET = logging.Logger("meshwright.mqtt", logging.CRITICAL + 1)
"""Connections that break are counted, not told one by one."""
TRIES = 3
"""So often do we try to come back to a broker."""
PATIENCE, CALM = 2.0, 0.25
"""Seconds without any message: by then what has not come is lost, or all that was due has come."""


@dataclass
class Message:
    """One publication, and where it was seen."""

    topic: str
    """The planned topic or filter, not the name it was published under."""
    origin: str
    sent: float
    seen: Counter[str] = field(default_factory=Counter)
    first: dict[str, float] = field(default_factory=dict)
    """When each broker's observer saw it first."""


def mqtt() -> Any:
    """Return aiomqtt, or say how to get it."""
    try:
        import aiomqtt
    except ModuleNotFoundError as error:
        raise MissingDependencyError("aiomqtt is not installed: pip install 'meshwright[mqtt]'") from error
    return aiomqtt


def _without_goodbyes(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Say nothing of connections that broke and that nobody waited for: brokers come and go."""
    if not isinstance(context.get("exception"), (mqtt().MqttError, OSError)):
        loop.default_exception_handler(context)


async def _subscribe(client: Any, topic: str, qos: int = 0) -> None:
    """Subscribe by a client that is connecting: one that comes back says so before the broker answers."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            await client.subscribe(topic, qos=qos, timeout=PATIENCE)
            return
        except mqtt().MqttError:
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.01)


class Observers:
    """A client at each broker that sees whatever it carries, and publishes there."""

    def __init__(
        self, settings: Settings | None = None, *, residents: bool = False, lasting: bool = False
    ) -> None:
        self.settings, self.residents, self.lasting = settings or Settings(), residents, lasting
        self.messages: list[Message] = []
        self.strange = 0
        """Messages that are not ours."""
        self.deliveries = 0
        self.latest = time.monotonic()
        self._clients: dict[str, Any] = {}
        self._residents: dict[str, Any] = {}
        self._stacks: dict[str, AsyncExitStack] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.lost_connections: set[str] = set()
        self.cuts: Counter[str] = Counter()
        """How often the connection to each broker broke that we had not let go of."""

    async def __aenter__(self) -> Self:
        asyncio.get_running_loop().set_exception_handler(_without_goodbyes)
        return self

    def _client(self, kind: str, broker: str, place: Place) -> Any:
        """Return a client that is not yet connected; small packets go out at once."""
        secret = self.settings.secret
        secured = {"username": CLIENT, "password": client_password(secret or b"", broker)}
        return mqtt().Client(
            place.host,
            place.port,
            identifier=f"{kind}-{place.port}",
            clean_session=not self.lasting,
            logger=QUIET,
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
            **({} if secret is None else secured),
        )

    @property
    def present(self) -> set[str]:
        """The brokers that were attached and not let go of."""
        return set(self._clients)

    async def attach(self, broker: str, place: Place, topics: Iterable[str] = ()) -> None:
        """Connect to a broker and see all that it carries; a resident subscribes to `topics`."""
        self.lost_connections.add(broker)  # nobody publishes by it before it is there
        self._clients[broker] = self._client(OBSERVER, broker, place)
        if self.residents:
            self._residents[broker] = self._client(RESIDENT, broker, place)
        await self._connect(broker, topics)

    async def return_to(self, broker: str, place: Place, topics: Iterable[str] = ()) -> None:
        """Connect again to a broker that restarted; sessions that last go on where they were."""
        if not self.lasting:
            await self.detach(broker)
            await self.attach(broker, place, topics)
            return
        with suppress(mqtt().MqttError):
            await self._stacks.pop(broker).aclose()
        await self._tasks.pop(broker)  # it ends when it has seen all that came
        for left in reversed(range(TRIES)):
            try:
                await self._connect(broker, topics)
                break
            except mqtt().MqttError:
                if not left:
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
        self.lost_connections.discard(broker)
        self._tasks[broker] = asyncio.create_task(self._listen(broker, client))

    async def attach_all(
        self, places: Mapping[str, Place], topics: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        """Connect to several brokers at once."""
        held = topics or {}
        await asyncio.gather(
            *(self.attach(broker, place, held.get(broker, ())) for broker, place in places.items())
        )

    async def detach(self, broker: str) -> None:
        """Let go of a broker, whether it still answers or not."""
        self._tasks.pop(broker).cancel()
        self._clients.pop(broker)
        with suppress(mqtt().MqttError):
            await self._stacks.pop(broker).aclose()

    def attached(self, broker: str) -> bool:
        """Say whether a client is connected to a broker."""
        return broker in self._clients and broker not in self.lost_connections

    async def publish(self, broker: str, topic: str, name: str) -> Message:
        """Publish at a broker, under a name that matches a planned topic, and wait until it has it."""
        message = Message(topic, broker, time.monotonic())
        self.messages.append(message)
        payload = str(len(self.messages) - 1).encode()
        await self._clients[broker].publish(name, payload, qos=self.settings.qos, timeout=PATIENCE)
        return message

    async def _listen(self, broker: str, client: Any) -> None:
        try:
            async for arrived in client.messages:
                self.latest = time.monotonic()
                self.deliveries += 1
                try:
                    message = self.messages[int(arrived.payload)]
                except (ValueError, TypeError, IndexError):
                    self.strange += 1
                    continue
                message.seen[broker] += 1
                message.first.setdefault(broker, self.latest)
        except mqtt().MqttError:
            self.lost_connections.add(broker)
            self.cuts[broker] += 1

    async def settle(self, due: int) -> None:
        """Wait until what is due has arrived and then nothing for a while, or it is plain that it will not.

        Nothing for some seconds means that the rest is lost; far more than is due, that messages run in
        circles and no end is to be waited for.
        """
        while self.deliveries < due and time.monotonic() < self.latest + PATIENCE:
            await asyncio.sleep(0.01)
        self.latest = max(self.latest, time.monotonic() - CALM / 2)
        while time.monotonic() < self.latest + CALM and self.deliveries < 2 * due + 1000:
            await asyncio.sleep(0.01)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(self.detach(broker) for broker in list(self._clients)), return_exceptions=True)
