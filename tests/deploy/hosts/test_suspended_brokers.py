"""A broker that a signal suspends answers nobody: the supervisor notices by itself."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from brokers import PROGRAM
from meshwright.deploy.hosts import supervisor
from meshwright.deploy.hosts.local import publish_everywhere, run_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree

PAIR = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})


class Suspended:
    """Brokers of which one is suspended again after every resumption."""

    def __init__(self) -> None:
        self.resumed: list[float] = []

    def ended(self) -> dict[str, str]:
        """Return no broker."""
        return {}

    def suspended(self) -> list[str]:
        """Return the broker."""
        return ["a"]

    def resume(self, broker: str) -> None:
        """Note when."""
        assert broker == "a"
        self.resumed.append(time.monotonic())


def test_pauses_between_resumptions_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is suspended again and again is resumed, each time after twice the pause."""
    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 0.02)
    brokers: Any = Suspended()
    reports: list[str] = []
    restarts = supervisor.Restarts(brokers, reports.append)
    while len(brokers.resumed) < 4:
        restarts.look()
        time.sleep(0.001)
    pauses = [later - earlier for earlier, later in zip(brokers.resumed, brokers.resumed[1:], strict=False)]
    assert [pause >= least for pause, least in zip(pauses, (0.04, 0.08, 0.16), strict=True)] == [True] * 3
    assert reports[0] == "broker 'a' is suspended: a signal such as SIGSTOP; resuming it in 0.02 s"
    assert reports[-1] == "broker 'a' was resumed, 4 times so far"


def test_somebody_else_resumes_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that goes on before its pause is over is left alone."""
    brokers: Any = Suspended()
    restarts = supervisor.Restarts(brokers, lambda _: None)
    restarts.look()
    monkeypatch.setattr(Suspended, "suspended", lambda _: [])
    restarts.look()
    monkeypatch.undo()
    time.sleep(supervisor.FIRST_PAUSE)
    restarts.look()
    assert brokers.resumed == []


@pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
def test_a_real_broker_that_is_suspended(tmp_path: Path) -> None:
    """Without any change that waits for it, SIGSTOP is noticed in a second, and nothing is lost."""
    reports: list[str] = []
    with run_federation(PAIR, tmp_path / "run") as federation:
        pids = {broker: process.pid for broker, process in federation.brokers.running.items()}
        os.kill(pids["a"], signal.SIGSTOP)
        began = time.monotonic()
        supervisor.supervise(
            federation,
            until=lambda: len(reports) == 2 or time.monotonic() > began + 10,
            report=reports.append,
        )
        assert reports == [
            "broker 'a' is suspended: a signal such as SIGSTOP; resuming it in 0.2 s",
            "broker 'a' was resumed, 1 times so far",
        ]
        assert {broker: process.pid for broker, process in federation.brokers.running.items()} == pids
        assert publish_everywhere(PAIR, federation).passed
