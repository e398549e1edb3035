"""Broker logs: read line by line as they grow, and waited for until a line is missing for too long."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from meshwright.deploy.observations import LINK_UP, LISTENING, REVISION, Observation, links_up
from meshwright.deploy.targets.mosquitto.logs import RELOADED, Logs, log_lines
from meshwright.deploy.wiring import Wiring
from meshwright.errors import InputError

READY, CHANGED = Observation(LISTENING, what="1883"), Observation(REVISION)
READY_LINE = "Opening ipv4 listen socket on port 1883."


class FakeBrokers:
    """Brokers whose logs are plain files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.running = folder, dict[str, subprocess.Popen[bytes]]()

    def log(self, broker: str) -> Path:
        """Return a broker's log."""
        return self.folder / f"{broker}.log"

    def check(self) -> None:
        """Check nothing."""


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    """Return logs in a folder without any."""
    brokers: Any = FakeBrokers(tmp_path)
    return Logs(brokers)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("New client connected from 127.0.0.1:5 as me and you (p2, c1, k60).", "connected me and you"),
        ("New bridge connected from 127.0.0.1 as meshwright.b>a (p5, c0, k60).", "connected meshwright.b>a"),
        ("Client meshwright.b>a disconnected.", "gone meshwright.b>a"),
        ("Client meshwright.b>a [127.0.0.1:5] disconnected: session taken over.", "gone meshwright.b>a"),
        ("Client x closed its connection.", "gone x"),
        ("Client x has exceeded timeout, disconnecting.", "gone x"),
        ("meshwright.b>a 1 x: y", "meshwright.b>a 1 x: y"),
        ("Reloading config.", "Reloading config."),
    ],
)
def test_lines_are_read_without_times(logs: Logs, line: str, read: str) -> None:
    """A line loses its time; connections of clients and their ends are shortened."""
    logs.brokers.log("a").write_text(f"1700000000: {line}\n")
    assert logs.lines("a") == [read]


def test_only_complete_lines_after_a_position_are_read(logs: Logs) -> None:
    """Reading starts at a position and ends with the last complete line; a missing log has length 0."""
    file = logs.brokers.log("a")
    file.write_text("1: one\n")
    positions = logs.positions(["a", "b"])
    assert positions == {"a": 7, "b": 0}
    file.write_text("1: one\n2: two\n3: thr")
    assert logs.lines("a") == ["one", "two"]
    assert logs.lines("a", positions["a"]) == ["two"]


def test_waiting_ends_with_the_last_line(logs: Logs) -> None:
    """Waiting ends once all lines are there, and calls back in between."""
    for broker in "ab":
        logs.brokers.log(broker).write_text(f"1: {READY_LINE}\n")
    positions = logs.positions("ab")
    calls: list[int] = []

    def write() -> None:
        calls.append(len(calls))
        with logs.brokers.log("ab"[len(calls) - 1]).open("a") as file:
            file.write(f"2: {RELOADED}\n")

    logs.wait({"a": {CHANGED}, "b": {CHANGED}, "c": set()}, positions, while_waiting=write)
    assert calls == [0, 1]
    logs.wait({"a": {READY, CHANGED}}, {})


def test_waiting_in_vain_names_what_is_missing(logs: Logs) -> None:
    """After the time limit, the brokers and lines that are missing are named."""
    logs.brokers.log("a").write_text(f"1: {READY_LINE}\n")
    link = Observation(LINK_UP, ("b", "a"))
    missing = r"not up after 0\.02 s.* 'a: Reloading config\.', 'a: connected meshwright\.b>a'$"
    with pytest.raises(InputError, match=missing):
        logs.wait({"a": {READY, CHANGED, link}}, {}, seconds=0.02)


def test_a_stopped_broker_ends_the_wait(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """While lines are missing, brokers are checked: one that stopped will not log any more."""

    def stopped() -> None:
        raise InputError("broker 'a' is gone")

    logs.brokers.log("a").write_text("")
    monkeypatch.setattr(logs.brokers, "check", stopped)
    with pytest.raises(InputError, match="is gone"):
        logs.wait({"a": {READY}}, {})


def test_bridges_are_up_when_they_have_subscribed() -> None:
    """A listener logs each subscription of a bridge; one that only sends just connects."""
    wiring = Wiring(
        tuple("abc"),
        {
            ("b", "a"): {"x": "both", "y": "out", "z": "in"},
            ("c", "a"): {"x": "out"},
            ("c", "b"): {"x": "both"},
        },
    )
    up = links_up(wiring, wiring.bridges)
    assert {broker: log_lines(seen, 2) for broker, seen in up.items()} == {
        "a": {"meshwright.b>a 2 x", "meshwright.b>a 2 z", "connected meshwright.c>a"},
        "b": {"meshwright.c>b 2 x"},
    }
    assert log_lines(links_up(wiring, [("c", "b")])["b"], 1) == {"meshwright.c>b 1 x"}
