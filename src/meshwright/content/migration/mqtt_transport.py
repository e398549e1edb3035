"""The transport over a real MQTT broker, in real time.

Every agent is an MQTT client. A broker agent leaves a last will, which the MQTT broker sends to all agents
when the connection breaks. That is how agents learn of a crash, after everything that the broker has sent.
To break a connection, another client connects under the same name: the MQTT broker then drops the first.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.brokers.mosquitto import CONFIGURATION, MOSQUITTO
from meshwright.brokers.processes import Brokers, free_ports
from meshwright.content.migration.messages import Message, decode, encode
from meshwright.content.migration.transport import CHECK_INTERVAL, Transport
from meshwright.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import aiomqtt

    from meshwright.content.migration.simulation import Simulation

# Without the last two lines, Mosquitto drops messages of a burst although no broker has crashed.
SETTINGS = """
listener {port} 127.0.0.1
allow_anonymous true
persistence false
log_dest stderr
log_type error
set_tcp_nodelay true
max_inflight_messages 0
max_queued_messages 0
"""
INBOX, DOWN = "meshwright/to/{}", "meshwright/down"
"""The topic of an agent's messages, and the topic of crashes."""
AT_LEAST_ONCE = 1
"""The quality of service. While a connection holds, messages arrive exactly once and in order."""
MAX_UNCONFIRMED = 10
"""How many messages a client sends before it waits for their confirmations."""
LINGER = 0.5
"""Seconds to wait for the last messages when a run is over."""
CLOSE_TIMEOUT = 15.0
"""Seconds that clients have to disconnect."""
MAX_AGENTS = 250
"""Each agent has three files open; most systems allow a process 1024."""


class MqttTransport(Transport):
    """All agents' MQTT clients."""

    def __init__(self, port: int, num_brokers: int, on_send: Callable[[int, int, Message], None]) -> None:
        super().__init__(asyncio.get_running_loop(), on_send)
        self._port, self._num_brokers = port, num_brokers
        self._outgoing: dict[int, asyncio.Queue[tuple[int, bytes] | None]] = {}
        """Each agent's outgoing messages; None ends its client."""

    def kill(self, broker: int) -> None:
        """Let a broker's connection break without a disconnect message."""
        self.unnotified += sum(address not in self.dead for address in self._agents) - 1
        self.dead.add(broker)
        self._outgoing[broker].put_nowait(None)

    def close(self) -> None:
        """Let all clients end. Cancelling them does not work: a client that publishes may ignore it."""
        for outgoing in self._outgoing.values():
            outgoing.put_nowait(None)

    async def serve(self, address: int, on_connected: Callable[[], None]) -> None:
        """Run an agent's client until the agent crashes or the run is over."""
        import aiomqtt

        self._outgoing[address] = asyncio.Queue()
        try:
            async with self._client(address) as client:
                await client.subscribe([(INBOX.format(address), AT_LEAST_ONCE), (DOWN, AT_LEAST_ONCE)])
                on_connected()
                receiving = asyncio.create_task(self._receive(address, client))
                receiving.add_done_callback(lambda _: self._outgoing[address].put_nowait(None))
                await self._publish(address, client)
                if address in self.dead:
                    async with self._client(address):  # the MQTT broker drops the first client
                        await receiving
                elif not receiving.cancel():
                    receiving.result()
        except aiomqtt.MqttError:
            if address not in self.dead:
                raise

    def _client(self, address: int) -> aiomqtt.Client:
        import aiomqtt

        will = aiomqtt.Will(DOWN, str(address), AT_LEAST_ONCE) if address < self._num_brokers else None
        nodelay = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)
        options: Any = {"identifier": f"meshwright-{address}", "will": will, "socket_options": nodelay}
        return aiomqtt.Client("127.0.0.1", self._port, **options)

    def _transmit(self, sender: int, to: int, message: Message) -> None:
        self._outgoing[sender].put_nowait((to, encode(sender, message)))

    async def _receive(self, address: int, client: aiomqtt.Client) -> None:
        async for received in client.messages:
            if address in self.dead:
                continue
            agent, payload = self._agents[address], received.payload
            assert isinstance(payload, bytes)
            if str(received.topic) == DOWN:
                self.unnotified -= 1
                agent.broker_down(int(payload))
            else:
                agent.handle(*decode(payload))

    async def _publish(self, address: int, client: aiomqtt.Client) -> None:
        outgoing = self._outgoing[address]
        while address not in self.dead:
            batch = [await outgoing.get()]
            while not outgoing.empty() and len(batch) < MAX_UNCONFIRMED:
                batch.append(outgoing.get_nowait())
            # Messages leave in this order; only their confirmations are awaited together.
            sends = [client.publish(INBOX.format(each[0]), each[1], AT_LEAST_ONCE) for each in batch if each]
            await asyncio.gather(*sends)
            if None in batch:
                return


def run_mqtt(simulation: Simulation, on_tick: Callable[[float, int], None]) -> MqttTransport:
    """Run a simulation to its end or its time limit, and return the transport.

    `on_tick` is called regularly with the time and the number of messages sent.

    Raises
    ------
    InputError
        If there are too many agents, or the MQTT broker does not start.
    MissingDependencyError
        If Mosquitto or its Python client is not installed.
    """
    agents = simulation.workload.num_users + simulation.workload.num_brokers
    if agents > MAX_AGENTS:
        raise InputError(
            f"{agents} users and brokers over mosquitto: take at most {MAX_AGENTS}, or --transport asyncio"
        )
    try:
        import aiomqtt  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingDependencyError("aiomqtt is not installed: pip install 'meshwright[mqtt]'") from error
    with _mqtt_broker() as port:
        return asyncio.run(_run(simulation, port, on_tick))


@contextmanager
def _mqtt_broker() -> Iterator[int]:
    """Run an MQTT broker on loopback, and give its port once it listens."""
    name, port = "migration", free_ports(1)[0]
    with (
        tempfile.TemporaryDirectory(prefix="meshwright-") as folder,
        Brokers(Path(folder), MOSQUITTO) as brokers,
    ):
        brokers.folder_of(name).mkdir()
        configuration = brokers.folder_of(name) / CONFIGURATION
        configuration.write_text(SETTINGS.format(port=port), encoding="utf-8")
        brokers.start(name)
        brokers.wait_for_port(name, port)
        yield port


async def _run(simulation: Simulation, port: int, on_tick: Callable[[float, int], None]) -> MqttTransport:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    transport = MqttTransport(port, simulation.workload.num_brokers, simulation.on_send)

    def stop_on_error(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not over.done() and not (transport.dead and is_closed_socket(error)):
            over.set_exception(error or RuntimeError(context["message"]))

    loop.set_exception_handler(stop_on_error)
    agents = simulation.workload.num_brokers + simulation.workload.num_users
    connected = asyncio.Semaphore(0)
    clients = [asyncio.create_task(transport.serve(address, connected.release)) for address in range(agents)]
    for client in clients:
        client.add_done_callback(lambda done: _raise_in(over, done))
    watching = asyncio.create_task(_watch(simulation, transport, connected, on_tick, over))
    try:
        await over
    finally:
        watching.cancel()
        transport.close()
        alive = [client for address, client in enumerate(clients) if address not in transport.dead]
        await asyncio.wait(alive, timeout=CLOSE_TIMEOUT)
    return transport


def is_closed_socket(error: BaseException | None) -> bool:
    """Return whether the loop was asked to watch a socket that is closed by now.

    This happens when a connection breaks while its client has something to write: the client asks the loop to
    watch the socket, and the loop does so only in its next iteration.
    """
    return isinstance(error, OSError) and error.errno == errno.EBADF


async def _watch(
    simulation: Simulation,
    transport: MqttTransport,
    connected: asyncio.Semaphore,
    on_tick: Callable[[float, int], None],
    over: asyncio.Future[None],
) -> None:
    """Start the agents once all clients are connected, and end the run when nothing is left to do."""
    for _ in range(simulation.workload.num_brokers + simulation.workload.num_users):
        await connected.acquire()
    simulation.populate(transport)
    events = asyncio.create_task(_perform_events(simulation, transport))
    while not simulation.over and transport.time() < simulation.terms.limit and not events.cancelled():
        await asyncio.sleep(CHECK_INTERVAL)
        on_tick(transport.time(), transport.counts.total())
    await asyncio.sleep(LINGER)
    on_tick(transport.time(), transport.counts.total())
    events.cancel()
    if not over.done():
        over.set_result(None)


async def _perform_events(simulation: Simulation, transport: MqttTransport) -> None:
    for time, happen in simulation.events():
        if time > transport.time():
            await asyncio.sleep(time - transport.time())
        happen()


def _raise_in(over: asyncio.Future[None], task: asyncio.Task[None]) -> None:
    """Let the error of one client end the whole run."""
    if not task.cancelled() and task.exception() is not None and not over.done():
        over.set_exception(task.exception() or RuntimeError)
