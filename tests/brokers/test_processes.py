"""Brokers start from their folders and never outlive a context."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from brokers import PROGRAM, unused_ports
from meshwright.brokers import processes
from meshwright.brokers.mosquitto import CONFIGURATION, MOSQUITTO
from meshwright.brokers.processes import Brokers, free_ports
from meshwright.errors import InputError

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")

FAKE = f"""#!{sys.executable} -IS
import os, signal, sys, time
from pathlib import Path
if sys.argv[1:] != ["-c", "{CONFIGURATION}"]:
    sys.exit("bad arguments")
exec(Path("{CONFIGURATION}").read_text())
"""
"""A broker whose configuration is Python, for what Mosquitto does not do on request."""
IDLE = "print('ready', flush=True)\ntime.sleep(60)\n"


@pytest.fixture
def brokers(tmp_path: Path) -> Brokers:
    """Return brokers that run the fake program."""
    program = tmp_path / "program" / "mosquitto"
    program.parent.mkdir()
    program.write_text(FAKE, encoding="utf-8")
    program.chmod(0o755)
    return Brokers(tmp_path, replace(MOSQUITTO, find=lambda: str(program)))


def configure(brokers: Brokers, name: str, text: str) -> None:
    """Write a broker's folder."""
    folder = brokers.folder_of(name)
    folder.mkdir()
    (folder / CONFIGURATION).write_text(text, encoding="utf-8")


def wait_for_log(brokers: Brokers, name: str, *lines: str) -> None:
    """Wait until a broker has logged exactly these lines."""
    end = time.monotonic() + 20
    while brokers.log(name).read_text(encoding="utf-8").splitlines() != [*lines]:
        assert time.monotonic() < end, brokers.log(name).read_text(encoding="utf-8")
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        return "zombie" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def test_brokers_start_only_inside_their_context(brokers: Brokers) -> None:
    """Before and after the context, starting a broker is an error, and nothing is started."""
    configure(brokers, "a", IDLE)
    with pytest.raises(RuntimeError, match="inside their context"):
        brokers.start("a")
    with brokers:
        brokers.start("a")
        brokers.stop("a")
    with pytest.raises(RuntimeError, match="inside their context"):
        brokers.start("a")
    assert not brokers.running


def test_folders_are_named_by_the_caller(brokers: Brokers) -> None:
    """A broker's folder and log are where the caller's function puts them."""
    named = Brokers(brokers.folder, brokers.kind, lambda name: f"broker-{name}")
    assert named.log("a") == brokers.folder / "broker-a" / "broker.log"
    assert brokers.log("a") == brokers.folder / "a" / "broker.log"


def test_stop_asks_first_and_a_crash_does_not(brokers: Brokers) -> None:
    """A broker that is stopped can say goodbye, one that crashes cannot; a new start appends to the log."""
    # The signal may come while the program prints, and printing within printing is an error.
    goodbye = (
        "def end(*_):\n    os.write(1, b'goodbye\\n')\n    sys.exit()\nsignal.signal(signal.SIGTERM, end)\n"
    )
    configure(brokers, "a", goodbye + IDLE)
    with brokers:
        brokers.start("a")
        wait_for_log(brokers, "a", "ready")
        stopped = brokers.running["a"]
        brokers.stop("a")
        assert stopped.returncode == 0
        assert not brokers.running
        brokers.start("a")
        wait_for_log(brokers, "a", "ready", "goodbye", "ready")
        crashed, began = brokers.running["a"], time.monotonic()
        brokers.stop("a", crash=True)
        # Killed at once, and not because it did not stop in time.
        assert time.monotonic() - began < processes.PATIENCE
        assert crashed.returncode == -signal.SIGKILL
        assert not brokers.running
        wait_for_log(brokers, "a", "ready", "goodbye", "ready")


def test_a_broker_that_does_not_stop_is_killed(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that ignores the signal to end is killed when its time is up."""
    monkeypatch.setattr(processes, "PATIENCE", 0.2)
    configure(brokers, "a", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + IDLE)
    with brokers:
        brokers.start("a")
        wait_for_log(brokers, "a", "ready")
        process = brokers.running["a"]
        brokers.stop("a")
        assert process.returncode == -signal.SIGKILL
        brokers.start("a")
        wait_for_log(brokers, "a", "ready", "ready")
        process = brokers.running["a"]
        brokers.stop_together(brokers.running)
        assert process.returncode == -signal.SIGKILL


def test_a_suspended_broker_is_seen_and_goes_on(brokers: Brokers) -> None:
    """A broker that SIGSTOP suspends is named at every look, and resumes as it was."""
    configure(brokers, "a", IDLE)
    with brokers:
        brokers.start("a")
        wait_for_log(brokers, "a", "ready")
        assert brokers.suspended() == []
        os.kill(brokers.running["a"].pid, signal.SIGSTOP)
        wait_until(lambda: brokers.suspended() == ["a"])
        assert (brokers.suspended(), brokers.ended()) == (["a"], {})
        with pytest.raises(InputError, match="broker 'a' is suspended, as by SIGSTOP"):
            brokers.check()
        brokers.resume("a")
        wait_until(lambda: brokers.suspended() == [])
        brokers.check()
        brokers.running["a"].kill()
        wait_until(lambda: bool(brokers.ended()))
        assert brokers.suspended() == []


def test_a_suspended_broker_stops_by_itself(brokers: Brokers) -> None:
    """A broker that is suspended when it is stopped goes on to end, and is not killed."""
    goodbye = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('goodbye', flush=True)))\n"
    configure(brokers, "a", goodbye + IDLE)
    with brokers:
        brokers.start("a")
        wait_for_log(brokers, "a", "ready")
        os.kill(brokers.running["a"].pid, signal.SIGSTOP)
        wait_until(lambda: brokers.suspended() == ["a"])
        began = time.monotonic()
        assert brokers.stop("a").returncode == 0
        assert time.monotonic() - began < processes.PATIENCE / 2
        wait_for_log(brokers, "a", "ready", "goodbye")


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_reload_sends_a_signal(brokers: Brokers) -> None:
    """A reload sends SIGHUP to the broker, which keeps running."""
    reload = "signal.signal(signal.SIGHUP, lambda *_: print('reloaded', flush=True))\n"
    configure(brokers, "a", reload + IDLE)
    with brokers:
        brokers.start("a")
        wait_for_log(brokers, "a", "ready")
        brokers.reload("a")
        wait_for_log(brokers, "a", "ready", "reloaded")
        brokers.check()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("print('first\\nError: no such option\\nlast')", "Error: no such option"),
        ("print('first\\nlast')", "last"),
        ("", "its log is empty"),
    ],
)
def test_a_broker_that_stops_by_itself_is_reported(text: str, error: str, brokers: Brokers) -> None:
    """The check names the broker, and the last error in its log, or else the last line."""
    configure(brokers, "a", IDLE)
    configure(brokers, "b", text)
    with brokers:
        brokers.start("a")
        brokers.check()
        brokers.start("b")
        brokers.running["b"].wait()
        with pytest.raises(InputError) as raised:
            brokers.check()
    assert str(raised.value) == f"broker 'b' ended by itself: {error}"


def test_waiting_for_a_port(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting ends when the broker listens; it fails when the broker stops, or when time is up."""
    listen = "import socket\ntime.sleep(0.2)\nserver = socket.create_server(('127.0.0.1', {}))\n"
    port, other = unused_ports(2)
    configure(brokers, "a", listen.format(port) + IDLE)
    configure(brokers, "b", "sys.exit('Error: no port')")
    with brokers:
        brokers.start("a")
        brokers.wait_for_port("a", port)
        assert brokers.log("a").exists()
        monkeypatch.setattr(processes, "PATIENCE", 0.2)
        with pytest.raises(InputError, match=f"'a' does not listen on port {other} after 0.2 s: see .*a/bro"):
            brokers.wait_for_port("a", other)
        monkeypatch.setattr(processes, "PATIENCE", 20.0)
        brokers.start("b")
        with pytest.raises(InputError, match="broker 'b' ended by itself: Error: no port"):
            brokers.wait_for_port("b", other)


def test_the_watchdog_knows_what_runs(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watchdog watches every broker from its start to its stop, and ends with the context."""
    watched: list[int] = []

    class Recorder:
        watch, forget, close = watched.append, watched.remove, watched.clear

    monkeypatch.setattr(processes, "Watchdog", Recorder)
    configure(brokers, "a", IDLE)
    configure(brokers, "b", IDLE)
    with brokers:
        for name in "ab":
            brokers.start(name)
        pids = {name: process.pid for name, process in brokers.running.items()}
        assert watched == [pids["a"], pids["b"]]
        brokers.stop("a")
        assert watched == [pids["b"]]
    assert watched == []


def test_leaving_the_context_stops_all(brokers: Brokers) -> None:
    """After an error inside the context, no broker is left."""
    configure(brokers, "a", IDLE)
    configure(brokers, "b", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + IDLE)
    pids = []

    def fail() -> None:
        with brokers:
            for name in "ab":
                brokers.start(name)
                pids.append(brokers.running[name].pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not any(is_alive(pid) for pid in pids)
    assert not brokers.running


STARTER = """
import sys
from pathlib import Path
from dataclasses import replace
from meshwright.brokers.mosquitto import MOSQUITTO
from meshwright.brokers.processes import Brokers, free_ports
with Brokers(Path(sys.argv[1]), replace(MOSQUITTO, find=lambda: sys.argv[2])) as brokers:
    for name in "ab":
        brokers.start(name)
    brokers.stop("b")
    print(brokers.running["a"].pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_brokers_end_with_their_starter(end: signal.Signals, brokers: Brokers) -> None:
    """Interrupted, terminated or killed, a starter leaves no broker behind."""
    configure(brokers, "a", IDLE)
    configure(brokers, "b", IDLE)
    command = [sys.executable, "-c", STARTER, str(brokers.folder), brokers.program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert is_alive(pid)
        starter.send_signal(end)
        starter.wait(timeout=20)
        deadline = time.monotonic() + 20
        while is_alive(pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not is_alive(pid)


@needs_broker
def test_a_real_broker(tmp_path: Path) -> None:
    """A real Mosquitto starts from its folder, listens, logs there and stops."""
    brokers, port = Brokers(tmp_path, MOSQUITTO), unused_ports(1)[0]
    configure(brokers, "a", f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    with brokers:
        brokers.start("a")
        brokers.wait_for_port("a", port)
        brokers.check()
        process = brokers.running["a"]
        brokers.stop("a")
        assert process.returncode == 0
    assert f"listen socket on port {port}" in brokers.log("a").read_text(encoding="utf-8")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders to another user")
def test_root_gives_away_nothing_behind_links(tmp_path: Path) -> None:
    """Root gives the broker's user its folder, but nothing that a link or a second name there points to."""
    victim, folder = tmp_path / "victim", tmp_path / "broker"
    (folder / "data").mkdir(parents=True)
    for name in ("file", "linked", "log"):
        (tmp_path / name).write_text("precious")
    victim.mkdir()
    (folder / "own").write_text("x")
    (folder / "link").symlink_to(tmp_path / "file")
    (folder / "data" / "folder").symlink_to(victim)
    os.link(tmp_path / "linked", folder / "second")
    processes._give_to_broker_user(folder, MOSQUITTO.user)
    assert folder.stat().st_uid == (folder / "own").stat().st_uid == (folder / "data").stat().st_uid != 0
    assert {path.stat().st_uid for path in (victim, tmp_path / "file", tmp_path / "linked")} == {0}


def test_a_log_that_is_a_link_is_not_written(tmp_path: Path) -> None:
    """The owner of a broker's folder cannot make us append to another file through its log."""
    (tmp_path / "a").mkdir()
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "a" / "broker.log").symlink_to(tmp_path / "victim")
    with Brokers(tmp_path, MOSQUITTO) as brokers:
        with pytest.raises(InputError, match="is a symbolic link: remove it"):
            brokers.start("a")
        (tmp_path / "a" / "broker.log").unlink()
        os.link(tmp_path / "victim", tmp_path / "a" / "broker.log")
        with pytest.raises(InputError, match="has a second name: remove it"):
            brokers.start("a")
        (tmp_path / "a" / "broker.log").unlink()
        os.mkfifo(tmp_path / "a" / "broker.log")
        with pytest.raises(InputError, match="is a pipe or socket: remove it"):
            brokers.start("a")
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.parametrize("kind", ["link", "pipe", "gone"])
def test_who_ended_is_known_without_its_log(brokers: Brokers, kind: str) -> None:
    """A broker that replaces its log and ends does not stop us from seeing that, nor make us wait."""
    configure(brokers, "a", "sys.exit('Error: no port')")
    with brokers:
        brokers.start("a")
        brokers.running["a"].wait()
        brokers.log("a").unlink()
        if kind == "link":
            brokers.log("a").symlink_to("/etc/passwd")
        elif kind == "pipe":
            os.mkfifo(brokers.log("a"))
        assert brokers.ended()["a"].startswith("its log cannot be read: ")


def test_free_ports() -> None:
    """Ports are different and can be bound, one by one and all together."""
    ports = free_ports(20)
    assert len(set(ports)) == 20
    servers = [socket.create_server(("127.0.0.1", port)) for port in ports]
    taken = free_ports(20)
    for server in servers:
        server.close()
    assert not set(ports) & set(taken)
    assert free_ports(0) == []
