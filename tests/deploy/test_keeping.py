"""A federation that is kept running: known by a lock, so that what a killed one left deceives nobody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from meshwright.deploy import Inventory, Place
from meshwright.deploy.federation import supervisor
from meshwright.errors import InputError

HOLDING = """
import sys, time
from pathlib import Path
from meshwright.deploy.federation.supervisor import _locked
with _locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
PLACES = Inventory({"a": Place("127.0.0.1", 1)})


def test_what_a_killed_one_left_is_not_kept(tmp_path: Path) -> None:
    """While a process holds the folder it is kept; killed, its file is still there and it is not."""
    assert not supervisor.is_kept(tmp_path)
    file = tmp_path / supervisor.KEPT
    command = [sys.executable, "-c", HOLDING, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == "held\n"
        assert supervisor.is_kept(tmp_path)
        with pytest.raises(InputError, match="is kept running"):
            supervisor.check_free(tmp_path)
        holding.send_signal(signal.SIGTERM)
        holding.wait(timeout=20)
    assert file.is_file()
    assert not supervisor.is_kept(tmp_path)
    supervisor.check_free(tmp_path)


def test_a_number_of_a_process_says_nothing(tmp_path: Path) -> None:
    """A file with the number of some process that lives is no sign, and asking ends at once."""
    (tmp_path / supervisor.KEPT).write_text(json.dumps({"pid": os.getpid()}))
    assert not supervisor.is_kept(tmp_path)
    with pytest.raises(InputError, match="does not answer"):
        supervisor.ask(tmp_path, tmp_path / "plan", PLACES)
    assert not (tmp_path / supervisor.REQUEST).exists()


def test_who_stops_asking_asks_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request does not outlive the one who asks: Ctrl-C takes it back."""

    def interrupted(_: float) -> None:
        assert (tmp_path / supervisor.REQUEST).is_file()
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    with supervisor._locked(tmp_path / supervisor.KEPT), pytest.raises(KeyboardInterrupt):
        supervisor.ask(tmp_path, tmp_path / "plan", PLACES)
    assert list(tmp_path.iterdir()) == []
