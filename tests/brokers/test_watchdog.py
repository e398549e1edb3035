"""The watchdog kills the brokers that it watches when its input closes, and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meshwright.brokers.watchdog import PATIENCE, Watchdog

Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts an idle process with a given name."""
    started = []

    def start_named(name: str) -> subprocess.Popen[bytes]:
        program = tmp_path / name
        if not program.exists():
            program.write_text(f"#!{sys.executable} -IS\nimport time\ntime.sleep(60)\n", encoding="utf-8")
            program.chmod(0o700)
        started.append(subprocess.Popen([str(program)]))
        return started[-1]

    yield start_named
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="there is no /proc to tell programs apart")
def test_only_watched_brokers_are_killed(start: Start) -> None:
    """A watched broker is killed; a forgotten one, and a process with another name, are left alone."""
    watched, forgotten, other = start("mosquitto"), start("mosquitto"), start("other")
    gone = start("mosquitto")
    gone.kill()
    gone.wait()
    watchdog = Watchdog()
    for process in (gone, watched, forgotten, other):
        watchdog.watch(process.pid)
    watchdog.forget(forgotten.pid)
    assert watched.poll() is None
    began = time.monotonic()
    watchdog.close()
    # The watched one is a zombie until we look; the watchdog does not wait for that.
    assert time.monotonic() - began < PATIENCE
    assert watched.wait(timeout=20) == -signal.SIGTERM
    assert forgotten.poll() is None
    assert other.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_do_not_end_the_watchdog(number: signal.Signals, start: Start) -> None:
    """Interrupted or terminated, the watchdog goes on to watch."""
    broker = start("mosquitto")
    watchdog = Watchdog()
    watchdog.watch(broker.pid)
    # The signal must not arrive before the script ignores it.
    status = Path(f"/proc/{watchdog._process.pid}/status")
    while status.exists() and not _ignores(status, number):
        time.sleep(0.01)
    watchdog._process.send_signal(number)
    with pytest.raises(subprocess.TimeoutExpired):
        watchdog._process.wait(timeout=0.3)
    watchdog.close()
    assert broker.wait(timeout=20) == -signal.SIGTERM


def _ignores(status: Path, number: signal.Signals) -> bool:
    """Return whether a process ignores a signal, by its mask in /proc."""
    lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
    return bool(int(lines["SigIgn"], 16) >> (number - 1) & 1)
