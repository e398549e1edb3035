"""Running a world in real time, over a real Mosquitto."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import Any

from meshwright.content.migration.mail import Mail
from meshwright.content.migration.mosquitto_process import mosquitto
from meshwright.content.migration.world import World
from meshwright.errors import InputError, MissingDependencyError

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
