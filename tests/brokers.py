"""Real mosquitto brokers on loopback, for tests that read their logs.

This code starts brokers by itself, so that tests of broker logs do not depend on `meshwright.brokers`.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
"""The path of mosquitto, or None."""

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


@contextmanager
def broker(log: Path) -> Iterator[int]:
    """Run a broker that appends to a log file, and give its port once it listens."""
    assert PROGRAM is not None
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    configuration = log.with_suffix(".conf")
    configuration.write_text(CONFIGURATION.format(port=port), encoding="utf-8")
    with log.open("ab") as file:
        running = subprocess.Popen([PROGRAM, "-c", configuration], stdout=file, stderr=file)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                break
        yield port
    finally:
        running.terminate()
        running.wait(timeout=10)
