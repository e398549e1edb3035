"""A Mosquitto of our own on loopback, for as long as a run takes."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshwright.errors import MissingDependencyError

CONFIGURATION = """
listener {port} 127.0.0.1
allow_anonymous true
persistence false
log_dest stderr
log_type error
set_tcp_nodelay true
max_inflight_messages 0
max_queued_messages 0
"""
"""Without the last two lines a burst is cut short: then messages would be lost without a crash."""
ELSEWHERE = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"
ATTEMPTS, BETWEEN = 200, 0.05


def program() -> str:
    """Return the path of Mosquitto, or say that there is none."""
    found = shutil.which("mosquitto") or shutil.which("mosquitto", path=ELSEWHERE)
    if found is None:
        raise MissingDependencyError("mosquitto is not installed: on Debian, apt install mosquitto")
    return found


@contextmanager
def mosquitto() -> Iterator[int]:
    """Run a broker, and give its port once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="meshwright-") as folder:
        configuration = Path(folder) / "mosquitto.conf"
        configuration.write_text(CONFIGURATION.format(port=port), encoding="utf-8")
        log = Path(folder) / "log"
        with log.open("wb") as file:
            running = subprocess.Popen([program(), "-c", configuration], stdout=file, stderr=file)
        try:
            _await(port, running, log)
            yield port
        finally:
            running.terminate()
            running.wait(timeout=10)


def _await(port: int, running: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(ATTEMPTS):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if running.poll() is not None:
                break
            time.sleep(BETWEEN)
        else:
            return
    raise MissingDependencyError(
        f"mosquitto does not start: {log.read_text(errors='replace').strip() or 'it says nothing'}; mend it"
    )
