"""Real brokers on this machine, started from their folders and stopped whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from meshwright.brokers.program import find_mosquitto
from meshwright.deploy.config.mosquitto import CONFIGURATION, USER
from meshwright.deploy.config.wiring import folder_of
from meshwright.errors import InputError

LOG = "broker.log"
PATIENCE = 10.0
"""Seconds that a broker has to end by itself."""


class Brokers:
    """The brokers of a federation's folder; a context that ends them all.

    Each logs to `broker.log` in its folder. A keeper, a process apart, ends them if this one is killed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.program = folder, find_mosquitto()
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._keeper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        file = Path(__file__).with_name("keeper.py")
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(file)], stdin=subprocess.PIPE, start_new_session=True
        )
        return self

    def log(self, broker: str) -> Path:
        """Return the file that a broker logs to."""
        return self.folder / folder_of(broker) / LOG

    def start(self, broker: str) -> None:
        """Start a broker from its folder; it goes on to log where it stopped."""
        own = self.folder / folder_of(broker)
        _hand_over(own)
        with self.log(broker).open("ab") as file:
            self.running[broker] = subprocess.Popen(
                [self.program, "-c", CONFIGURATION],
                cwd=own,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,  # Ctrl-C is for us, and then we end them
            )
        self._tell(f"+{self.running[broker].pid}")

    def stop(self, broker: str, *, crash: bool = False) -> None:
        """End a broker: politely, or as a crash would."""
        process = self.running.pop(broker)
        if crash:
            process.kill()
        else:
            process.terminate()
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._tell(f"-{process.pid}")

    def reload(self, broker: str) -> None:
        """Let a broker read its folder again: who may connect and do what, and from 2.1 on its bridges."""
        _hand_over(self.folder / folder_of(broker))
        self.running[broker].send_signal(signal.SIGHUP)

    def check(self) -> None:
        """Refuse to go on if a broker ended by itself, and say why."""
        for broker, process in self.running.items():
            if process.poll() is not None:
                lines = self.log(broker).read_text(encoding="utf-8", errors="replace").splitlines()
                why = next((line for line in reversed(lines) if "Error" in line), (lines or ["no word"])[-1])
                raise InputError(f"broker {broker!r} ended by itself: {why}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.wait()
        self.running.clear()
        if self._keeper is not None and self._keeper.stdin is not None:
            with suppress(OSError):
                self._keeper.stdin.close()
            self._keeper.wait()

    def _tell(self, line: str) -> None:
        if self._keeper is None or self._keeper.stdin is None:
            raise RuntimeError("brokers are started inside of their context")
        self._keeper.stdin.write(f"{line}\n".encode())
        self._keeper.stdin.flush()


def _hand_over(folder: Path) -> None:
    """Give a broker's folder to the user that it becomes if root starts it; its paths are relative to it."""
    if os.getuid() != 0:
        return
    for user in (USER, "nobody"):
        with suppress(LookupError):
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, user)
            return
