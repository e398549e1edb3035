"""Federations of real brokers: every message once, to those who asked, and sabotage is seen."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import meshwright as mw
from brokers import PROGRAM
from meshwright.brokers.processes import Brokers
from meshwright.brokers.program import free_ports
from meshwright.deploy import Inventory, Place, Routed, Settings, wire, write_federation
from meshwright.deploy.config.wiring import Wiring
from meshwright.deploy.federation.logs import Logs, arrivals
from meshwright.deploy.federation.run import publish_everywhere, running
from meshwright.deploy.federation.storm import storm
from meshwright.interest import Interest
from meshwright.workloads import zipf
from routed_plans import routed_of

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="no mosquitto is installed")


def routed(interest: Interest, algorithm: str = "low", **asked: object) -> Routed:
    """Plan and route an interest."""
    overlay = mw.design(interest, algorithm).overlay
    return routed_of(mw.route(overlay, **asked))  # type: ignore[arg-type]


@needs_broker
@pytest.mark.parametrize(
    ("brokers", "chosen"), [(6, Settings("durable", secret=b"0123456789abcdef")), (20, Settings())]
)
def test_every_message_once(brokers: int, chosen: Settings, tmp_path: Path) -> None:
    """6 brokers with queues, passwords and access lists, and 20: 0 missing, 0 duplicate, 0 leaked."""
    plan = routed(zipf(brokers, 8, size=3, seed=1), publishers=[(0, topic) for topic in range(8)])
    with running(plan, tmp_path / "run", chosen) as here:
        found = publish_everywhere(plan, here)
        processes = [process.pid for process in here.brokers.running.values()]
    assert (found.missing, found.duplicate, found.leaked) == ((), (), ())
    assert found.published == sum(len(way.subscribers) + len(way.publishers) for way in plan.ways.values())
    assert found.expected >= found.published > brokers
    assert sum(count for count, _, _ in found.latency.values()) == found.expected
    assert max(found.latency) >= 2
    assert not any(_alive(pid) for pid in processes)


@needs_broker
@pytest.mark.slow
def test_a_hundred_brokers(tmp_path: Path) -> None:
    """100 brokers: 0 missing, 0 duplicate, 0 leaked."""
    plan = routed(zipf(100, 40, size=6, seed=1))
    with running(plan, tmp_path / "run") as here:
        found = publish_everywhere(plan, here)
    assert (found.missing, found.duplicate, found.leaked) == ((), (), ())
    assert found.expected > 5_000


@needs_broker
@pytest.mark.parametrize("sabotage", ["an edge dropped", "an edge added", "a stranger attached"])
def test_sabotage_is_caught(sabotage: str, tmp_path: Path) -> None:
    """A tree that lacks a link, has one too many, or reaches a broker that did not ask: each is seen."""
    held = {broker: {"x", "y"} for broker in "abc"}
    plan = routed(Interest.from_dict({**held, "d": {"y"}}), "gm")
    wiring = wire(plan)
    bridges = {pair: dict(lines) for pair, lines in wiring.bridges.items()}
    if sabotage == "an edge dropped":
        pair = next(pair for pair, lines in bridges.items() if "x" in lines)
        del bridges[pair]["x"]
    elif sabotage == "an edge added":
        missing = next(p for p in (("b", "a"), ("c", "a"), ("c", "b")) if "x" not in bridges.get(p, {}))
        bridges.setdefault(missing, {})["x"] = "both"
    else:
        bridges.setdefault(("d", "a"), {})["x"] = "in"
    with running(plan, tmp_path / "run", wiring=Wiring(wiring.order, bridges)) as here:
        found = publish_everywhere(plan, here)
    assert not found.passed
    assert bool(found.missing) == (sabotage == "an edge dropped")
    assert bool(found.duplicate) == (sabotage == "an edge added")
    assert bool(found.leaked) == (sabotage == "a stranger attached")


@needs_broker
def test_access_lists_stop_a_neighbour(tmp_path: Path) -> None:
    """With a secret, a bridge that asks for more than is planned gets nothing more."""
    plan = routed(Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}}), "gm")
    with running(plan, tmp_path / "run", Settings(secret=b"0123456789abcdef")) as here:
        (dialler, listener) = next(pair for pair in here.wiring.bridges if "c" in pair)
        conf = tmp_path / "run" / dialler / "mosquitto.conf"
        conf.write_text(conf.read_text() + 'topic x both 1 "" ""\n')
        marks = here.logs.marks([listener])
        here.brokers.stop(dialler)
        here.brokers.start(dialler)
        here.logs.wait({listener: {f"meshwright.{dialler}>{listener} 1 x"}}, marks)
        found = publish_everywhere(plan, here)
    assert found.passed


def test_without_loops_nothing_storms(tmp_path: Path) -> None:
    """Where no topic's links have a loop there is no storm to show, and nothing is started."""
    chain = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    assert storm(routed(chain, "gm"), [("a", "b")], tmp_path / "none") is None
    assert not (tmp_path / "none").exists()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return "zombie" not in Path(f"/proc/{pid}/status").read_text()


STARTED = """
import sys
from pathlib import Path
import meshwright as mw
from meshwright.deploy import Routed
from meshwright.deploy.federation import running
from meshwright.deploy.routed import Way
plan = Routed(("a", "b"), {"x": Way((("a", "b"),), frozenset("ab"))})
with running(plan, Path(sys.argv[1])) as here:
    print(*(process.pid for process in here.brokers.running.values()), flush=True)
    sys.stdin.read()
"""


@needs_broker
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_brokers_end_with_their_starter(end: signal.Signals, tmp_path: Path) -> None:
    """Interrupted or killed, a federation leaves no broker behind."""
    command = [sys.executable, "-c", STARTED, str(tmp_path / "run")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as starter:
        assert starter.stdout is not None
        pids = [int(word) for word in starter.stdout.readline().split()]
        assert len(pids) == 2
        assert all(_alive(pid) for pid in pids)
        starter.send_signal(end)
        starter.wait(timeout=20)
        for _ in range(200):
            if not any(_alive(pid) for pid in pids):
                break
            time.sleep(0.05)
        assert not any(_alive(pid) for pid in pids)


@needs_broker
def test_a_broker_that_does_not_start_is_told(tmp_path: Path) -> None:
    """A configuration that the broker refuses ends everything with one line, and says which broker."""
    plan = routed(Interest.from_dict({"a": {"x"}, "b": {"x"}}), "gm")
    broken = replace(wire(plan), bridges={("b", "a"): {"x": "sideways"}})
    with (
        pytest.raises(mw.MeshwrightError, match="broker 'b' ended by itself"),
        running(plan, tmp_path / "run", wiring=broken),
    ):
        pass


@needs_broker
def test_merged_filters_and_relays(tmp_path: Path) -> None:
    """Filters that share a tree, and a topic that needs a relay: still every message once, and no leak."""
    held = {"a": {"m/#", "x"}, "b": {"m/#", "m/n"}, "c": {"m/n", "x"}, "d": {"m/n"}}
    interest = Interest.from_dict(held)
    path = mw.Overlay(interest, np.array([0, 1, 2]), np.array([1, 2, 3]), np.zeros(3, np.int32))
    plan = routed_of(mw.route(path)).checked(overlaps="merge", relays=True)
    assert plan.ways["x"].relays == {"b"}
    assert plan.ways["m/#"].merged == ("m/#", "m/n")
    with running(plan, tmp_path / "run") as here:
        found = publish_everywhere(plan, here)
    assert found.passed
    assert found.published == 10


CERTIFICATE = """
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.crt -subj /CN=ours \
    -addext basicConstraints=critical,CA:TRUE &&
openssl req -newkey rsa:2048 -nodes -keyout broker.key -out broker.csr -subj /CN=127.0.0.1 &&
printf 'subjectAltName=IP:127.0.0.1' > names &&
openssl x509 -req -days 2 -in broker.csr -CA ca.crt -CAkey ca.key -CAcreateserial -extfile names \
    -out broker.crt
"""


@needs_broker
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")
def test_bridges_over_tls(tmp_path: Path) -> None:
    """With TLS in the inventory and certificates in the folders, brokers start and their bridges come up."""
    plan = routed(Interest.from_dict({"a": {"x"}, "b": {"x"}}), "gm")
    wiring, ports = wire(plan), free_ports(2)
    places = {broker: Place("127.0.0.1", port, tls=True) for broker, port in zip("ab", ports, strict=True)}
    write_federation(plan, wiring, Inventory(places), Settings(), tmp_path / "run")
    (tmp_path / "run" / "a" / "certs").mkdir()
    made = tmp_path / "run" / "a" / "certs"
    subprocess.run(["sh", "-c", CERTIFICATE], cwd=made, check=True, capture_output=True)
    for file in made.iterdir():
        file.chmod(0o644)
    shutil.copytree(made, tmp_path / "run" / "b" / "certs")
    with Brokers(tmp_path / "run") as brokers:
        for broker in wiring.order:
            brokers.start(broker)
        Logs(brokers).wait(arrivals(wiring, wiring.bridges), {}, seconds=30)


def _speaks_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@needs_broker
@pytest.mark.skipif(not _speaks_ipv6(), reason="no IPv6 on loopback")
def test_bridges_over_ipv6(tmp_path: Path) -> None:
    """Brokers at ::1 listen there, and find each other there."""
    plan = routed(Interest.from_dict({"a": {"x"}, "b": {"x"}}), "gm")
    places = {broker: Place("::1", port) for broker, port in zip("ab", free_ports(2), strict=True)}
    write_federation(plan, wire(plan), Inventory(places), Settings(), tmp_path / "run")
    with Brokers(tmp_path / "run") as brokers:
        for broker in "ab":
            brokers.start(broker)
        Logs(brokers).wait(arrivals(wire(plan), wire(plan).bridges), {}, seconds=10)
