"""The transport over a real MQTT broker, in real time.

A broker agent leaves its last will with the MQTT broker, which everybody hears when its connection breaks:
that is how its death is known, and after all that it has sent.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meshwright.brokers.single import mosquitto
from meshwright.content.migration.messages import Message, read, written
from meshwright.content.migration.terms import Agent
from meshwright.content.migration.world import World
from meshwright.errors import InputError, MissingDependencyError

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


LOOK = 0.05
AFTERMATH = 0.5
"""So long what is still on its way is waited for, when all is over."""
CLOSING = 15.0
"""So long clients may take to say goodbye."""
MOST = 250
"""Each agent is a client with three files open; few systems give a process more than 1024."""


def run_mosquitto(world: World, tick: Callable[[float, int], None]) -> Mail:
    """Run a world to its end or its time limit, and return the mail; `tick` is called now and then.

    Raises
    ------
    InputError
        If there are too many agents for so many connections.
    MissingDependencyError
        If Mosquitto or the client for it is not installed.
    """
    agents = world.workload.num_users + world.workload.num_brokers
    if agents > MOST:
        raise InputError(
            f"{agents} users and brokers over mosquitto: take at most {MOST}, or --transport asyncio"
        )
    try:
        import aiomqtt  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingDependencyError("aiomqtt is not installed: pip install 'meshwright[mqtt]'") from error
    with mosquitto() as port:
        return asyncio.run(_run(world, port, tick))


async def _run(world: World, port: int, tick: Callable[[float, int], None]) -> Mail:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    mail = Mail(port, world.workload.num_brokers, world.seen)

    def failed(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not over.done() and not (mail.dead and is_closed_socket(error)):
            over.set_exception(error or RuntimeError(context["message"]))

    loop.set_exception_handler(failed)
    agents = world.workload.num_brokers + world.workload.num_users
    connected = asyncio.Semaphore(0)
    serving = [asyncio.create_task(mail.serve(address, connected.release)) for address in range(agents)]
    for task in serving:
        task.add_done_callback(lambda done: _surface(done, over))
    watching = asyncio.create_task(_watch(world, mail, connected, tick, over))
    try:
        await over
    finally:
        watching.cancel()
        mail.close()
        alive = [task for address, task in enumerate(serving) if address not in mail.dead]
        await asyncio.wait(alive, timeout=CLOSING)
    return mail


def is_closed_socket(error: BaseException | None) -> bool:
    """Say whether the loop was asked to watch a socket that is closed by now.

    That happens when a connection is cut while its client has something to write: it asks, and the loop does
    so in its next turn only.
    """
    return isinstance(error, OSError) and error.errno == errno.EBADF


async def _watch(
    world: World,
    mail: Mail,
    connected: asyncio.Semaphore,
    tick: Callable[[float, int], None],
    over: asyncio.Future[None],
) -> None:
    for _ in range(world.workload.num_brokers + world.workload.num_users):
        await connected.acquire()
    world.populate(mail)
    happening = asyncio.create_task(_happen(world, mail))
    while not world.over and mail.time() < world.terms.limit and not happening.cancelled():
        await asyncio.sleep(LOOK)
        tick(mail.time(), mail.counts.total())
    await asyncio.sleep(AFTERMATH)
    tick(mail.time(), mail.counts.total())
    happening.cancel()
    if not over.done():
        over.set_result(None)


async def _happen(world: World, mail: Mail) -> None:
    for time, happen in world.due():
        if time > mail.time():
            await asyncio.sleep(time - mail.time())
        happen()


def _surface(task: asyncio.Task[None], over: asyncio.Future[None]) -> None:
    """Let an error of one agent end the whole run."""
    if not task.cancelled() and task.exception() is not None and not over.done():
        over.set_exception(task.exception() or RuntimeError)
