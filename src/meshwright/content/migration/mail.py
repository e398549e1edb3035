"""Transport two: every agent is a client of a real MQTT broker, with a topic of its own to be reached at.

A broker agent leaves its last will with the MQTT broker, which everybody hears when its connection breaks:
that is how its death is known, and after all that it has sent.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meshwright.content.migration.letters import read, written
from meshwright.content.migration.port import Agent
from meshwright.content.migration.verbs import Message

if TYPE_CHECKING:
    import aiomqtt

TO, DOWN = "meshwright/to/{}", "meshwright/down"
AT_LEAST_ONCE = 1
"""The quality of service: with a connection that holds, it is exactly once and in order."""


AT_ONCE = 10
"""So many messages may be unconfirmed."""


class Mail:
    """All agents' clients; `seen` hears of every message that is sent."""

    def __init__(self, port: int, brokers: int, seen: Callable[[int, int, Message], None]) -> None:
        self._port, self._brokers, self._seen = port, brokers, seen
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._agents: dict[int, Agent] = {}
        self._clients: dict[int, aiomqtt.Client] = {}
        self._outgoing: dict[int, asyncio.Queue[tuple[int, bytes] | None]] = {}
        """Each agent's outgoing mail; nothing means that it is the last."""
        self.dead: set[int] = set()
        self.counts: Counter[type] = Counter()
        self.unheard = 0

    def join(self, address: int, agent: Agent) -> None:
        """Add an agent."""
        self._agents[address] = agent

    def port(self, address: int) -> MailPort:
        """Return an agent's way out."""
        return MailPort(self, address)

    def time(self) -> float:
        """Return the seconds since the run began."""
        return self._loop.time() - self._began

    def send(self, sender: int, to: int, message: Message) -> None:
        """Put a message in an agent's outgoing mail."""
        if sender not in self.dead:
            self.counts[type(message)] += 1
            self._outgoing[sender].put_nowait((to, written(sender, message)))
            self._seen(sender, to, message)

    def call_later(self, address: int, seconds: float, call: Callable[[], None]) -> None:
        """Call an agent back, if it is alive by then."""
        self._loop.call_later(seconds, lambda: None if address in self.dead else call())

    def kill(self, broker: int) -> None:
        """Cut a broker's connection under it, without a goodbye."""
        self.unheard += sum(address not in self.dead for address in self._agents) - 1
        self.dead.add(broker)
        self._outgoing[broker].put_nowait(None)
        cut = self._clients[broker]._client.socket()
        if isinstance(cut, socket.socket):
            cut.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let all clients end. They are not cancelled: one that publishes might not notice."""
        for outgoing in self._outgoing.values():
            outgoing.put_nowait(None)

    async def serve(self, address: int, ready: Callable[[], None]) -> None:
        """Be an agent's client: until it dies, or all is over."""
        import aiomqtt

        will = aiomqtt.Will(DOWN, str(address), AT_LEAST_ONCE) if address < self._brokers else None
        self._outgoing[address] = asyncio.Queue()
        nodelay = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)
        options: Any = {"identifier": f"meshwright-{address}", "will": will, "socket_options": nodelay}
        try:
            async with aiomqtt.Client("127.0.0.1", self._port, **options) as client:
                self._clients[address] = client
                await client.subscribe([(TO.format(address), AT_LEAST_ONCE), (DOWN, AT_LEAST_ONCE)])
                ready()
                receiving = asyncio.create_task(self._receive(address, client))
                receiving.add_done_callback(lambda _: self._outgoing[address].put_nowait(None))
                await self._post(address, client)
                if not receiving.cancel():
                    receiving.result()
        except aiomqtt.MqttError:
            if address not in self.dead:
                raise

    async def _receive(self, address: int, client: aiomqtt.Client) -> None:
        async for letter in client.messages:
            if address in self.dead:
                return
            agent, payload = self._agents[address], letter.payload
            assert isinstance(payload, bytes)
            if str(letter.topic) == DOWN:
                self.unheard -= 1
                agent.down(int(payload))
            else:
                agent.handle(*read(payload))

    async def _post(self, address: int, client: aiomqtt.Client) -> None:
        outgoing = self._outgoing[address]
        while address not in self.dead:
            letters = [await outgoing.get()]
            while not outgoing.empty() and len(letters) < AT_ONCE:
                letters.append(outgoing.get_nowait())
            # Each is on its way before the next is looked at; only the confirmations are awaited together.
            sent = [client.publish(TO.format(each[0]), each[1], AT_LEAST_ONCE) for each in letters if each]
            await asyncio.gather(*sent)
            if None in letters:
                return


class MailPort:
    """One agent's way out."""

    def __init__(self, mail: Mail, address: int) -> None:
        self._mail, self._address = mail, address

    def send(self, to: int, message: Message) -> None:
        """Send a message."""
        self._mail.send(self._address, to, message)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back, if alive."""
        self._mail.call_later(self._address, seconds, call)

    def now(self) -> float:
        """Return the seconds since the run began."""
        return self._mail.time()
