"""Changes of running brokers that are interrupted or watched: who writes holds the lock."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokers import PROGRAM, wait_until
from meshwright.actions.apply import ChangeChoice, plan_apply, stop_change
from meshwright.actions.diff import diff
from meshwright.actions.lint import lint
from meshwright.deploy.folder_store import hold_running, is_locked
from meshwright.deploy.hosts import requests, supervisor
from meshwright.deploy.hosts.local import RunningFederation, publish_everywhere, run_federation
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import read_named_trees
from meshwright.deploy.settings import BrokerSettings
from meshwright.errors import GoesOnError, InputError, MeshwrightError
from meshwright.files.folder_change import LOCK
from routed_plans import write_routed_plan

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")


@pytest.fixture
def plans(tmp_path: Path) -> list[Path]:
    """Write two plans of six brokers."""
    first = write_routed_plan(tmp_path)
    return [first, write_routed_plan(tmp_path, seed=1, today=first)]


@pytest.fixture
def running(plans: list[Path], tmp_path: Path) -> Iterator[RunningFederation]:
    """Run the first plan."""
    with run_federation(read_named_trees(plans[0]), tmp_path / "run") as federation:
        yield federation


def request_of(federation: RunningFederation, plan: Path) -> dict[str, object]:
    """Return a request to change to a plan."""
    places = {name: place.record() for name, place in federation.inventory.endpoints.items()}
    return {"number": "1", "plan": str(plan), "relays": False, "places": places}


def test_ctrl_c_of_a_client_says_what_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a request is taken, Ctrl-C ends the client only: it says how to follow and to stop the change."""

    def take_and_interrupt(_: float) -> None:
        (tmp_path / requests.REQUEST_FILE).rename(tmp_path / requests.TAKEN_FILE)
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", take_and_interrupt)
    said = rf"goes on in the process that runs {tmp_path}: meshwright apply .*plan {tmp_path} waits .* --stop"
    with hold_running(tmp_path), pytest.raises(GoesOnError, match=said):
        requests.request_update(tmp_path, tmp_path / "plan", Inventory({}))
    assert [path.name for path in tmp_path.iterdir()] == [requests.TAKEN_FILE]


def test_one_client_asks_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second client waits for the first, and never overwrites or removes its request."""
    monkeypatch.setattr("meshwright.files.atomic.PATIENCE", 0.1)
    answers: list[str] = []

    def ask() -> None:
        with pytest.raises(MeshwrightError) as refused:
            requests.request_update(tmp_path, tmp_path / "plan", Inventory({}))
        answers.append(str(refused.value))

    with hold_running(tmp_path):
        first = threading.Thread(target=ask)
        first.start()
        wait_until((tmp_path / requests.REQUEST_FILE).is_file, "the first client asks")
        number = json.loads((tmp_path / requests.REQUEST_FILE).read_text())["number"]
        second = threading.Thread(target=ask)
        second.start()
        second.join()
        assert json.loads((tmp_path / requests.REQUEST_FILE).read_text())["number"] == number
        (tmp_path / f"answer-{number}.json").write_text('{"error": "no such plan"}')
        first.join()
    assert ["is in use by" in answer for answer in answers] == [True, False]


def test_there_must_be_a_change_to_stop(tmp_path: Path) -> None:
    """Where no process runs brokers there is nothing to stop, and no file is left."""
    with pytest.raises(InputError, match=r"no process runs the brokers of .*: there is nothing to stop"):
        stop_change(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_of_the_supervisor_waits_for_the_wave() -> None:
    """The first Ctrl-C takes effect at the end; a second one at once."""
    reached: list[bool] = []

    def interrupt(times: int) -> None:
        with supervisor._interrupts_deferred() as interrupted:
            for _ in range(times):
                reached.append(interrupted())
                os.kill(os.getpid(), signal.SIGINT)
            reached.append(interrupted())

    before = signal.getsignal(signal.SIGINT)
    for times in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            interrupt(times)
    assert reached == [False, True, False, True]
    assert signal.getsignal(signal.SIGINT) is before


@needs_broker
def test_a_stop_ends_after_the_wave(plans: list[Path], tmp_path: Path) -> None:
    """A stopped change says where it is, under the folder's lock; the next request goes on and completes."""
    folder, settings = tmp_path / "run", BrokerSettings(secret=b"0123456789abcdef")
    locked: list[bool] = []

    def stop() -> bool:
        locked.append(is_locked(folder / LOCK))
        return True

    with run_federation(read_named_trees(plans[0]), folder, settings) as federation:
        before = {name: process.pid for name, process in federation.brokers.running.items()}
        after, answer = supervisor._apply_request(federation, request_of(federation, plans[1]), stop)
        assert (answer.done, answer.waves, answer.stopped, locked) == (1, 2, True, [True])
        rollout = read_federation(folder).rollout
        assert rollout is not None
        assert (rollout.done, rollout.finished) == (1, False)
        assert {name: process.pid for name, process in after.brokers.running.items()} == before
        after, answer = supervisor._apply_request(after, request_of(federation, plans[1]))
        assert (answer.done, answer.waves, answer.stopped) == (2, 2, False)
        assert answer.cut.keys() <= {f"t{number}" for number in range(5)}
        assert all(0 < seconds < 30 for seconds in answer.cut.values())
        assert answer.cut
        assert read_federation(folder).rollout is None
        assert publish_everywhere(read_named_trees(plans[1]), after).passed


@needs_broker
def test_readers_never_fail_while_a_change_goes_on(running: RunningFederation, plans: list[Path]) -> None:
    """`diff`, `lint` and a dry run in a tight loop: none fails, and every change completes."""
    folder, done = running.brokers.folder, threading.Event()
    failed: list[BaseException] = []
    looks = 0

    def look() -> None:
        nonlocal looks
        while not done.is_set():
            try:
                diff(str(folder), str(plans[looks % 2]))
                lint([folder])
                with plan_apply(plans[looks % 2], folder, ChangeChoice(dry_run=True)) as change:
                    change.perform()
            except BaseException as error:
                failed.append(error)
            looks += 1

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for number in range(1, 5):
            running, answer = supervisor._apply_request(running, request_of(running, plans[number % 2]))
            assert answer.error is None
            assert answer.changed
    finally:
        done.set()
        reader.join()
    assert failed == []
    assert looks
    assert not (folder / ".update").exists()
    assert publish_everywhere(read_named_trees(plans[0]), running).passed


@needs_broker
def test_stale_answers_are_removed(running: RunningFederation, plans: list[Path]) -> None:
    """The answer for a client that is gone is not written; what an earlier process left is removed."""
    folder = running.brokers.folder
    (folder / "answer-old.json").write_text("{}")
    (folder / requests.REQUEST_FILE).write_text(json.dumps(request_of(running, plans[0])))
    looks = iter([False, True])
    supervisor.supervise(running, until=lambda: next(looks))
    assert not list(folder.glob("answer-*.json"))
    assert not (folder / requests.TAKEN_FILE).exists()


@needs_broker
@pytest.mark.slow
def test_ctrl_c_of_apply_on_running_brokers(plans: list[Path], tmp_path: Path) -> None:
    """The processes that people use: Ctrl-C ends `apply`, the change goes on, and the same command waits."""
    folder = tmp_path / "run"
    program = [sys.executable, "-m", "meshwright"]
    run: list[str | Path] = [*program, "federation", plans[0], "--keep", "--out", folder]
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as kept:
        try:
            assert kept.stderr is not None
            assert any("until Ctrl-C" in line for line in kept.stderr)
            for number in range(1, 9):
                words: list[str | Path] = [*program, "apply", plans[number % 2], folder, "--yes"]
                with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as client:
                    wait_until((folder / requests.REQUEST_FILE).is_file, "the client asks")
                    wait_until(lambda: not (folder / requests.REQUEST_FILE).is_file(), "it is taken")
                    client.send_signal(signal.SIGINT)
                    _, said = client.communicate(timeout=60)
                assert client.returncode == 130
                assert "interrupted; the change goes on in" in said
                subprocess.run(words, check=True, timeout=60, stdout=subprocess.DEVNULL)
                assert read_federation(folder).rollout is None
                assert not list(folder.glob("answer-*.json"))
        finally:
            kept.send_signal(signal.SIGINT)
            kept.communicate(timeout=30)
