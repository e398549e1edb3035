"""A process that ends brokers when the process that started them is gone, even if that one was killed.

`Watchdog` starts this file as a plain script. The script reads `+PID` and `-PID` from its input. When the
input closes, it stops the brokers that are left, and kills those that do not stop. It imports only the
standard library, so that it runs without site packages and starts fast.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PATIENCE = 10.0
"""Seconds that brokers have to end by themselves."""


class Watchdog:
    """The starter's end: starts the script and reports the brokers that it must kill."""

    def __init__(self) -> None:
        # A session of its own keeps Ctrl-C in the starter's terminal away from it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__], stdin=subprocess.PIPE, start_new_session=True
        )

    def watch(self, pid: int) -> None:
        """Kill this broker when the starter is gone."""
        self._write(f"+{pid}")

    def forget(self, pid: int) -> None:
        """Leave this broker alone: it has stopped."""
        self._write(f"-{pid}")

    def close(self) -> None:
        """End the script, which kills all brokers that it still watches."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        self._process.wait()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()


def _is_broker(pid: int) -> bool:
    """Return whether a process is still a broker that runs: its id may belong to another program by now.

    A zombie has ended, though its starter has not looked yet. Without /proc there is no way to know, so the
    answer is yes.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return not Path("/proc/self").exists()
    # "PID (name) state …"; a name may hold anything, even a bracket.
    name, _, rest = stat.partition("(")[2].rpartition(")")
    return name.startswith("mosquitto") and rest.split()[0] != "Z"


def _main() -> None:
    """Follow the starter's lines until it is gone, then kill what is left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    watched: set[int] = set()
    for line in sys.stdin:
        (watched.add if line[0] == "+" else watched.discard)(int(line[1:]))
    # First ask: a broker that ends by itself writes its queues.
    for sent, seconds in ((signal.SIGTERM, PATIENCE), (signal.SIGKILL, 0.0)):
        watched = {pid for pid in watched if _is_broker(pid)}
        for pid in watched:
            with suppress(OSError):
                os.kill(pid, sent)
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(_is_broker(pid) for pid in watched):
            time.sleep(0.02)


if __name__ == "__main__":
    _main()
