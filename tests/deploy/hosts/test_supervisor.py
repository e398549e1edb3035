"""Supervised federations: recognised by a lock, so that files of a killed process deceive nobody."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokers import PROGRAM, wait_until
from meshwright import Interest
from meshwright.deploy import folder_store
from meshwright.deploy.hosts import requests, supervisor
from meshwright.deploy.hosts.local import RunningFederation, publish_everywhere, run_federation
from meshwright.deploy.inventory import Endpoint, Inventory, extend_inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree, read_named_trees
from meshwright.deploy.passwords import fingerprint, read_secret
from meshwright.deploy.settings import BrokerSettings
from meshwright.designs.design import design
from meshwright.errors import InputError
from meshwright.files.atomic import locked
from meshwright.routes import route
from meshwright.store.plan_writer import write_plan
from meshwright.store.trees import write_trees
from routed_plans import write_routed_plan

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")

HOLD_LOCK = """
import sys, time
from pathlib import Path
from meshwright.deploy.hosts.supervisor import hold_running
with hold_running(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
INVENTORY = Inventory({"a": Endpoint("127.0.0.1", 1, tls=True)})


def test_a_killed_process_supervises_nothing(tmp_path: Path) -> None:
    """While a process holds the lock the folder is supervised; once it is killed, its file means nothing."""
    assert not folder_store.is_supervised(tmp_path)
    file = tmp_path / folder_store.LOCK_FILE
    command = [sys.executable, "-c", HOLD_LOCK, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == "held\n"
        assert folder_store.is_supervised(tmp_path)
        with pytest.raises(
            InputError,
            match=f"is running, by process {holding.pid} on .*, since .*: stop it, or use meshwright apply",
        ):
            folder_store.require_stopped(tmp_path)
        assert json.loads(file.read_text())["pid"] == holding.pid
        holding.send_signal(signal.SIGTERM)
        holding.wait(timeout=20)
    assert file.is_file()
    assert not folder_store.is_supervised(tmp_path)
    folder_store.require_stopped(tmp_path)


def test_the_id_of_a_process_means_nothing(tmp_path: Path) -> None:
    """A lock file with the id of a live process but without a lock is no sign, and a request ends at once."""
    (tmp_path / folder_store.LOCK_FILE).write_text(json.dumps({"pid": os.getpid()}))
    assert not folder_store.is_supervised(tmp_path)
    with pytest.raises(InputError, match="does not answer"):
        requests.request_update(tmp_path, tmp_path / "plan", INVENTORY)
    assert not (tmp_path / requests.REQUEST_FILE).exists()


def test_an_interrupted_request_is_withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request does not outlive the process that made it: Ctrl-C removes it."""

    def interrupt(_: float) -> None:
        assert (tmp_path / requests.REQUEST_FILE).is_file()
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    with folder_store.hold_running(tmp_path), pytest.raises(KeyboardInterrupt):
        requests.request_update(tmp_path, tmp_path / "plan", INVENTORY)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("answer", [{"changed": ["a/b"]}, {"error": "no such plan"}])
def test_a_request_says_everything_and_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    """A request names plan, options and endpoints; the answer, files or an error, comes back; both vanish."""
    seen: list[dict[str, Any]] = []

    def reply(_: float) -> None:
        seen.append(json.loads((tmp_path / requests.REQUEST_FILE).read_text()))
        (tmp_path / f"answer-{seen[-1]['number']}.json").write_text(json.dumps(answer))

    monkeypatch.setattr(time, "sleep", reply)
    plan = Path("plan")
    with folder_store.hold_running(tmp_path):
        if "error" in answer:
            with pytest.raises(InputError, match="no such plan"):
                requests.request_update(tmp_path, plan, INVENTORY)
        else:
            changed = requests.request_update(tmp_path, plan, INVENTORY, allow_relays=True)
            assert changed.changed == ("a/b",)
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
    monkeypatch.setattr(requests, "PATIENCE", 0.1)
    with (
        folder_store.hold_running(tmp_path),
        pytest.raises(InputError, match="does not answer: start it again and apply again"),
    ):
        requests.request_update(tmp_path, tmp_path / "plan", INVENTORY)


class FakeFederation:
    """A federation without brokers, whose processes end as the test says."""

    settings = None

    def __init__(self, folder: Path) -> None:
        self.folder, self.looks = folder, 0
        self.brokers = self
        self.running = {"a": None}
        self.dead: dict[str, str] = {}
        self.starts: list[float] = []

    def ended(self) -> dict[str, str]:
        """Count looks."""
        self.looks += 1
        return dict(self.dead)

    def suspended(self) -> list[str]:
        """Return no broker."""
        return []

    def start(self, broker: str) -> None:
        """Note a start; the broker stays dead."""
        self.starts.append(time.monotonic())


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ('{"number": "7", "plan": "none"}', "the request is not complete: it has no field 'relays'"),
        (
            '{"number": "7", "plan": "none", "relays": true, "places": {}, "overlaps": "refuse"}',
            "the request is not complete: it has an unknown field 'overlaps'",
        ),
        (
            '{"number": "7", "plan": "p", "relays": true, "places": {"a": {"host": "h\\nlog", "port": 1}}}',
            r"the request is not complete: places['a'].host is 'h\nlog', not a name or address",
        ),
        (
            '{"number": "7", "plan": "none", "relays": true, "places": {}}',
            "no plan none: nothing is there; make one with meshwright plan DATASET --out PLAN",
        ),
    ],
)
def test_a_supervisor_answers_errors(tmp_path: Path, request_: str, said: str) -> None:
    """A request that fails is answered with the error and reported, and supervision continues."""
    federation: Any = FakeFederation(tmp_path)
    (tmp_path / requests.REQUEST_FILE).write_text(request_)
    reports: list[str] = []
    with locked(tmp_path / requests.CLIENT_LOCK, "somebody who waits"):
        supervisor.supervise(federation, until=lambda: federation.looks >= 2, report=reports.append)
    (answer,) = (json.loads(path.read_text()) for path in tmp_path.iterdir())
    assert answer == {"error": said}
    assert reports == [said]
    assert (tmp_path / "answer-7.json").is_file()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"number": 7}', '{"number": "../../x"}', "[" * 100_000, "\x00"]
)
def test_a_broken_request_is_ignored(tmp_path: Path, text: str) -> None:
    """What cannot be read as a request is removed and reported; nothing is written, and nobody stops."""
    folder = tmp_path / "in" / "run"
    folder.mkdir(parents=True)
    federation: Any = FakeFederation(folder)
    (folder / requests.REQUEST_FILE).write_text(text)
    reports: list[str] = []
    supervisor.supervise(federation, until=lambda: federation.looks >= 2, report=reports.append)
    assert len(reports) == 1
    assert reports[0].startswith("ignored a request that cannot be read: ")
    assert list(folder.iterdir()) == []


def test_pauses_between_restarts_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that ends again and again is started again, each time after twice the pause."""
    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(supervisor, "PAUSE", 0.001)
    federation: Any = FakeFederation(tmp_path)
    federation.dead = {"a": "killed by SIGKILL"}
    reports: list[str] = []
    supervisor.supervise(federation, until=lambda: len(federation.starts) >= 4, report=reports.append)
    pauses = [
        later - earlier for earlier, later in zip(federation.starts, federation.starts[1:], strict=False)
    ]
    assert pauses[0] >= 0.04
    assert pauses[1] >= 0.08
    assert pauses[2] >= 0.16
    assert "broker 'a' ended: killed by SIGKILL; starting it again in 0.02 s" in reports[0]
    assert reports[-1] == "broker 'a' was started again, 4 times so far"


def test_a_machine_that_has_just_booted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock counts from the boot of the machine: a broker may end in its first seconds."""
    federation: Any = FakeFederation(tmp_path)
    federation.dead = {"a": "killed by SIGKILL"}
    reports: list[str] = []
    restarts = supervisor.Restarts(federation, reports.append)
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    restarts.look()
    assert reports == ["broker 'a' ended: killed by SIGKILL; starting it again in 0.2 s"]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[RunningFederation]:
    """Run two brokers with a link."""
    trees = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
    with run_federation(trees, tmp_path / "run") as federation:
        yield federation


def request_three(federation: RunningFederation, folder: Path) -> dict[str, Any]:
    """Return a request that adds a third broker to a pair, and makes sessions durable."""
    interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"x", "y"}})
    made = design(interest, "gm")
    write_plan(made, folder / "three")
    write_trees(route(made.overlay), folder / "three")
    places = extend_inventory(federation.inventory, "abc").endpoints
    return {
        "number": "1", "plan": str(folder / "three"), "relays": False, "profile": "durable",
        "places": {name: place.record() for name, place in places.items()},
    }  # fmt: skip


def pids(federation: RunningFederation) -> dict[str, int]:
    """Return the processes of the brokers that run."""
    return {name: each.pid for name, each in federation.brokers.running.items() if each.poll() is None}


@needs_broker
def test_a_refused_change_touches_no_broker(pair: RunningFederation, tmp_path: Path) -> None:
    """A file in the way of the last wave is found before the first one: brokers, files and settings stay."""
    folder, before = pair.brokers.folder, pids(pair)
    (folder / "c").mkdir()
    (folder / "c" / "mosquitto.conf").write_text("mine")
    texts = {file: file.read_bytes() for file in folder.rglob("*.conf")}
    after, answer = supervisor._apply_request(pair, request_three(pair, tmp_path))
    assert "'c/mosquitto.conf'; move them away" in str(answer.error)
    assert (pids(pair), after.settings.profile) == (before, "plain")
    assert {file: file.read_bytes() for file in folder.rglob("*.conf")} == texts
    assert read_federation(folder).rollout is None


@needs_broker
def test_a_broker_that_a_change_cannot_start_is_started_later(
    pair: RunningFederation, tmp_path: Path
) -> None:
    """If a broker cannot be started again in a wave, the supervisor knows, and a second request completes."""
    log, request = pair.brokers.log("b"), request_three(pair, tmp_path)
    log.rename(tmp_path / "log")
    os.mkfifo(log)
    changing, answer = supervisor._apply_request(pair, request)
    assert "is a pipe or socket: remove it" in str(answer.error)
    assert changing.settings.profile == "durable"
    assert set(pair.brokers.running) >= {"a", "b"}
    assert "b" in pair.brokers.ended()
    log.unlink()
    restarts = supervisor.Restarts(pair.brokers, lambda _: None)

    def started_again() -> bool:
        restarts.look()
        return not pair.brokers.ended()

    wait_until(started_again, "b is started again")
    changing, answer = supervisor._apply_request(changing, request)
    assert answer.error is None, answer
    assert set(pids(pair)) == set("abc")
    assert read_federation(pair.brokers.folder).rollout is None


@needs_broker
def test_a_kept_federation_survives(tmp_path: Path) -> None:
    """A killed broker comes back, a broken request and a refused plan change nothing, queues are written."""
    plan, folder = write_routed_plan(tmp_path), tmp_path / "run"
    words: list[str | Path] = [
        sys.executable,
        "-m",
        "meshwright",
        "federation",
        plan,
        "--keep",
        "--out",
        folder,
        "--profile",
        "durable",
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as kept:
        try:
            assert kept.stderr is not None
            said = []
            for line in kept.stderr:
                said.append(line)
                if "until Ctrl-C" in line:
                    break
            before = {file: file.read_bytes() for file in folder.rglob("*.conf")}
            ports = [endpoint.port for endpoint in read_federation(folder).inventory.endpoints.values()]
            victims = [pid for pid in brokers_of(kept.pid) if pid]
            os.kill(victims[0], signal.SIGKILL)
            said += [kept.stderr.readline(), kept.stderr.readline()]
            assert "ended: killed by SIGKILL; starting it again" in said[-2]
            assert "was started again, 1 times so far" in said[-1]
            (folder / "request.json").write_text("{broken")
            assert "ignored a request" in kept.stderr.readline()
            (tmp_path / "junk").mkdir()
            with pytest.raises(InputError, match="is not a plan"):
                requests.request_update(folder, tmp_path / "junk", read_federation(folder).inventory)
            assert "is not a plan" in kept.stderr.readline()
            assert len(brokers_of(kept.pid)) == 6
            for port in ports:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
            assert {file: file.read_bytes() for file in folder.rglob("*.conf")} == before
        finally:
            kept.send_signal(signal.SIGTERM)
            kept.communicate(timeout=30)
    assert kept.returncode in (0, 130)
    assert all((folder / f"b{number}" / "data" / "mosquitto.db").is_file() for number in range(6))


@needs_broker
@pytest.mark.parametrize("profile", ["plain", "durable"])
def test_a_new_secret_rolls_out_in_waves(tmp_path: Path, profile: str) -> None:
    """With another secret every broker restarts once, in waves; the federation goes on, and sessions stay."""
    plan, folder = write_routed_plan(tmp_path), tmp_path / "run"
    trees = read_named_trees(plan)
    secrets = [tmp_path / f"secret-{number}" for number in range(2)]
    for number, secret in enumerate(secrets):
        secret.write_text(f"{number}" * 20)
        secret.chmod(0o600)
    with run_federation(trees, folder, BrokerSettings(profile, secret=read_secret(secrets[0]))) as federation:
        request = {
            "number": "1", "plan": str(plan), "relays": False,
            "secret": str(secrets[1]),
            "places": {name: each.record() for name, each in federation.inventory.endpoints.items()},
        }  # fmt: skip
        before = [process.pid for process in federation.brokers.running.values()]
        after, answer = supervisor._apply_request(federation, request)
        assert answer.error is None, answer
        assert after.settings.secret == b"1" * 20
        assert not set(before) & {process.pid for process in federation.brokers.running.values()}
        assert publish_everywhere(trees, after).passed
        found = read_federation(folder)
        assert (found.settings.fingerprint, found.rollout) == (fingerprint(b"1" * 20), None)
        assert found.settings.identity == BrokerSettings(secret=b"0" * 20).identity_key


def brokers_of(parent: int) -> list[int]:
    """Return the processes of mosquitto that a process started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = status.read_text().partition(" (")[2].rpartition(") ")
            if name == "mosquitto" and int(rest.split()[1]) == parent and rest.split()[0] != "Z":
                found.append(int(status.parent.name))
    return found
