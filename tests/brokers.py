"""Real mosquitto brokers on loopback, for tests that read their logs.

This code starts brokers by itself, so that tests of broker logs do not depend on `meshwright.brokers`.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
"""The path of mosquitto, or None."""

PATIENCE = 30.0
"""Seconds within which a broker answers, also on a busy machine."""
CONFIGURATION = """
listener {port} 127.0.0.1
allow_anonymous true
log_dest stderr
log_type error
log_type warning
log_type notice
log_type information
log_type subscribe
log_type unsubscribe
"""


LOWEST_PORT, PORTS_OF_A_WORKER, WORKERS = 12_000, 500, 32
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
_ports = cycle(
    LOWEST_PORT + WORKER * PORTS_OF_A_WORKER + (os.getpid() + place) % PORTS_OF_A_WORKER
    for place in range(PORTS_OF_A_WORKER)
)


def unused_ports(count: int) -> list[int]:
    """Return different loopback ports that nothing listens on.

    No two processes of pytest-xdist draw the same ones, and no connection takes one of them meanwhile: they
    are below the ports that systems give out by themselves.
    """
    found: list[int] = []
    with ExitStack() as stack:
        for port in islice(_ports, PORTS_OF_A_WORKER):
            if len(found) == count:
                return found
            server = stack.enter_context(socket.socket())
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                server.bind(("127.0.0.1", port))
                found.append(port)
    raise AssertionError(f"of {PORTS_OF_A_WORKER} ports fewer than {count} are unused")


def wait_until(holds: Callable[[], bool], what: str, running: Iterable[subprocess.Popen[Any]] = ()) -> None:
    """Wait until something holds; fail if it does not in time, or if a process has ended before."""
    end = time.monotonic() + PATIENCE
    while not holds():
        for process in running:
            assert process.poll() is None, (
                f"a process ended with code {process.returncode} before this: {what}"
            )
        assert time.monotonic() < end, f"not in {PATIENCE:g} s: {what}"
        time.sleep(0.02)


def subscriptions(log: Path, client: str) -> int:
    """Count the subscriptions of a client, a regular expression, in the log of a broker that logs them."""
    return len(re.findall(rf"^\d+: {client} [012] ", log.read_text(encoding="utf-8"), re.MULTILINE))


async def count_deliveries(
    ports: Mapping[str, int], origin: str, topic: str, least: Mapping[str, int], **login: Any
) -> dict[str, int]:
    """Publish one message, wait for the least deliveries at each broker, and a second for more; count all."""
    import aiomqtt

    seen = dict.fromkeys(ports, 0)
    ready = {name: asyncio.Event() for name in ports}

    async def listen(name: str) -> None:
        async with aiomqtt.Client("127.0.0.1", ports[name], identifier=f"watch-{name}", **login) as client:
            await client.subscribe("#")
            ready[name].set()
            async for _ in client.messages:
                seen[name] += 1

    tasks = [asyncio.create_task(listen(name)) for name in ports]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(event.wait() for event in ready.values()))
    async with aiomqtt.Client("127.0.0.1", ports[origin], identifier="publisher", **login) as client:
        await client.publish(topic, b"1", qos=1)
    end = time.monotonic() + PATIENCE
    while any(seen[name] < times for name, times in least.items()) and time.monotonic() < end:
        await asyncio.sleep(0.02)
    await asyncio.sleep(1.0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return seen


@contextmanager
def broker(log: Path) -> Iterator[int]:
    """Run a broker that appends to a log file, and give its port once it listens."""
    assert PROGRAM is not None
    (port,) = unused_ports(1)
    configuration = log.with_suffix(".conf")
    configuration.write_text(CONFIGURATION.format(port=port), encoding="utf-8")
    with log.open("ab") as file:
        running = subprocess.Popen([PROGRAM, "-c", configuration], stdout=file, stderr=file)

    def listens() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return running.poll() is None

    try:
        wait_until(listens, f"a broker listens on port {port}: see {log}", [running])
        yield port
    finally:
        running.terminate()
        running.wait(timeout=10)
