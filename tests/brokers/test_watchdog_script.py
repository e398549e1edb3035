"""The script of the watchdog, run in this process: whom it asks to end, whom it kills, and for how long."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from meshwright.brokers import watchdog

SENT = "+1\n+2\n+3\n-2\n+4\n"


class Machine:
    """Processes that end when they are asked, when they are killed, or by themselves after a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, obeys: set[int], others: set[int]) -> None:
        self.running, self.obeys, self.now = {1, 2, 3, 4} - others, obeys, 0.0
        self.kills: list[tuple[int, int]] = []
        self.ignored: list[int] = []
        monkeypatch.setattr(watchdog, "_is_broker", lambda pid: pid in self.running)
        monkeypatch.setattr(os, "kill", self.kill)
        monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep))
        monkeypatch.setattr(signal, "signal", lambda number, _: self.ignored.append(number))
        monkeypatch.setattr(sys, "stdin", SENT.splitlines(keepends=True))

    def kill(self, pid: int, number: int) -> None:
        """Take a signal."""
        self.kills.append((pid, number))
        if number == signal.SIGKILL or pid in self.obeys:
            self.running.discard(pid)
        if pid == 4:
            raise ProcessLookupError

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        assert 0 < seconds < 1
        self.now += seconds


def test_brokers_that_end_are_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that are watched are asked once; those that ended before, or were forgotten, are left alone."""
    machine = Machine(monkeypatch, obeys={1, 4}, others={3})
    watchdog._main()
    assert sorted(machine.kills) == [(1, signal.SIGTERM), (4, signal.SIGTERM)]
    assert machine.now == 0.0
    assert machine.ignored == [signal.SIGINT, signal.SIGTERM]


def test_brokers_that_do_not_end_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have some seconds to end by themselves; the others do not wait for them to be killed."""
    machine = Machine(monkeypatch, obeys={1}, others={4})
    watchdog._main()
    assert sorted(machine.kills) == [(1, signal.SIGTERM), (3, signal.SIGKILL), (3, signal.SIGTERM)]
    assert watchdog.PATIENCE <= machine.now <= watchdog.PATIENCE + 0.1


@pytest.mark.parametrize(
    ("stat", "expected"),
    [
        ("7 (mosquitto) S 1 2", True),
        ("7 (mosquitto) Z 1 2", False),
        ("7 (mosquitto_x (y)) R 1 Z", True),
        ("7 (bash) S 1 2", False),
        (None, False),
    ],
)
def test_only_a_running_broker_is_one(
    stat: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A zombie has ended, another program has another name, and a name may hold brackets."""

    def read(path: Path, **_: object) -> str:
        assert path == Path("/proc/7/stat")
        if stat is None:
            raise FileNotFoundError
        return stat

    monkeypatch.setattr(Path, "read_text", read)
    assert watchdog._is_broker(7) is expected
    if stat is None:
        monkeypatch.setattr(Path, "exists", lambda _: False)
        assert watchdog._is_broker(7)  # without /proc nobody knows
