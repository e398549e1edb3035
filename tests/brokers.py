"""Real mosquitto brokers on loopback, for tests that read what they log."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")

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
{further}
"""


def free_port() -> int:
    """Return a port of loopback that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@contextmanager
def broker(log: Path, further: str = "", port: int | None = None) -> Iterator[int]:
    """Run a broker that appends to a log, and give its port once it answers."""
    assert PROGRAM is not None
    chosen = port or free_port()
    configuration = log.with_suffix(".conf")
    configuration.write_text(CONFIGURATION.format(port=chosen, further=further), encoding="utf-8")
    with log.open("ab") as file:
        running = subprocess.Popen([PROGRAM, "-c", configuration], stdout=file, stderr=file)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", chosen), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                break
        yield chosen
    finally:
        running.terminate()
        running.wait(timeout=10)
