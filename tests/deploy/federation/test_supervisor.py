"""Supervised federations: recognised by a lock, so that files of a killed process deceive nobody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from meshwright.deploy import Endpoint, Inventory
from meshwright.deploy.federation import supervisor
from meshwright.errors import InputError

HOLD_LOCK = """
import sys, time
from pathlib import Path
from meshwright.deploy.federation.supervisor import _hold_lock
with _hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
INVENTORY = Inventory({"a": Endpoint("127.0.0.1", 1, tls=True)})


def test_a_killed_process_supervises_nothing(tmp_path: Path) -> None:
    """While a process holds the lock the folder is supervised; once it is killed, its file means nothing."""
    assert not supervisor.is_supervised(tmp_path)
    file = tmp_path / supervisor.LOCK_FILE
    command = [sys.executable, "-c", HOLD_LOCK, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == "held\n"
        assert supervisor.is_supervised(tmp_path)
        with pytest.raises(InputError, match="is running: stop it, or use meshwright apply"):
            supervisor.require_stopped(tmp_path)
        assert json.loads(file.read_text()) == {"pid": holding.pid}
        holding.send_signal(signal.SIGTERM)
        holding.wait(timeout=20)
    assert file.is_file()
    assert not supervisor.is_supervised(tmp_path)
    supervisor.require_stopped(tmp_path)


def test_the_id_of_a_process_means_nothing(tmp_path: Path) -> None:
    """A lock file with the id of a live process but without a lock is no sign, and a request ends at once."""
    (tmp_path / supervisor.LOCK_FILE).write_text(json.dumps({"pid": os.getpid()}))
    assert not supervisor.is_supervised(tmp_path)
    with pytest.raises(InputError, match="does not answer"):
        supervisor.request_update(tmp_path, tmp_path / "plan", INVENTORY)
    assert not (tmp_path / supervisor.REQUEST_FILE).exists()


def test_an_interrupted_request_is_withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request does not outlive the process that made it: Ctrl-C removes it."""

    def interrupt(_: float) -> None:
        assert (tmp_path / supervisor.REQUEST_FILE).is_file()
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    with supervisor._hold_lock(tmp_path / supervisor.LOCK_FILE), pytest.raises(KeyboardInterrupt):
        supervisor.request_update(tmp_path, tmp_path / "plan", INVENTORY)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("answer", [{"changed": ["a/b"]}, {"error": "no such plan"}])
def test_a_request_says_everything_and_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    """A request names plan, options and endpoints; the answer, files or an error, comes back; both vanish."""
    seen: list[dict[str, Any]] = []

    def reply(_: float) -> None:
        seen.append(json.loads((tmp_path / supervisor.REQUEST_FILE).read_text()))
        (tmp_path / f"answer-{seen[-1]['number']}.json").write_text(json.dumps(answer))

    monkeypatch.setattr(time, "sleep", reply)
    plan = Path("plan")
    with supervisor._hold_lock(tmp_path / supervisor.LOCK_FILE):
        if "error" in answer:
            with pytest.raises(InputError, match="no such plan"):
                supervisor.request_update(tmp_path, plan, INVENTORY)
        else:
            changed = supervisor.request_update(tmp_path, plan, INVENTORY, allow_relays=True)
            assert changed == ["a/b"]
    assert seen == [
        {
            "number": seen[0]["number"],
            "plan": str(plan.absolute()),
            "relays": "error" not in answer,
            "places": {"a": {"host": "127.0.0.1", "port": 1, "tls": True}},
        }
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_request_is_given_up_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor that holds the lock and never answers is given up."""
    monkeypatch.setattr(supervisor, "PATIENCE", 0.1)
    with (
        supervisor._hold_lock(tmp_path / supervisor.LOCK_FILE),
        pytest.raises(InputError, match="does not answer: start it again and apply again"),
    ):
        supervisor.request_update(tmp_path, tmp_path / "plan", INVENTORY)


class FakeFederation:
    """A federation without brokers; settings are read before a request is applied."""

    settings = None

    def __init__(self, folder: Path) -> None:
        self.folder, self.checks = folder, 0
        self.brokers = self

    def check(self) -> None:
        """Count checks."""
        self.checks += 1


def test_a_supervisor_answers_errors(tmp_path: Path) -> None:
    """A request that fails is answered with the error and reported, and supervision continues."""
    federation: Any = FakeFederation(tmp_path)
    (tmp_path / supervisor.REQUEST_FILE).write_text(json.dumps({"number": "7", "plan": "none"}))
    reports: list[str] = []
    supervisor.supervise(federation, until=lambda: federation.checks >= 2, report=reports.append)
    (answer,) = (json.loads(path.read_text()) for path in tmp_path.iterdir())
    assert list(answer) == ["error"]
    assert reports == [answer["error"]]
    assert (tmp_path / "answer-7.json").is_file()
