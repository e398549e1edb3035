"""Federations of real brokers: every message arrives once at its subscribers; sabotage is detected."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import meshwright as mw
from brokers import PROGRAM, unused_ports
from meshwright.brokers.mosquitto import MOSQUITTO
from meshwright.brokers.processes import Brokers
from meshwright.deploy.folder_store import write_federation
from meshwright.deploy.hosts.local import (
    Storm,
    publish_everywhere,
    run_federation,
    run_storm,
    wire_without_trees,
)
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.observations import FILTER_CARRIED, Observation, links_up
from meshwright.deploy.proof.prediction import publications
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets.mosquitto.logs import Logs
from meshwright.deploy.wiring import Wiring, folder_of, wire
from meshwright.filters.filter_plan import plan_filters
from meshwright.interest import Interest
from meshwright.overlay import unchecked_overlay
from meshwright.workloads import zipf
from routed_plans import grouped_trees, named_trees

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
SECRET = b"0123456789abcdef"


def routed(interest: Interest, algorithm: str = "low", **options: object) -> NamedTrees:
    """Plan and route an interest."""
    overlay = mw.design(interest, algorithm).overlay
    return named_trees(mw.route(overlay, **options))  # type: ignore[arg-type]


def test_every_broker_publishes_on_each_of_its_topics() -> None:
    """Each subscriber and publisher of a topic publishes on it; in a group, each carrier on each name."""
    trees = NamedTrees(
        tuple("abcp"),
        {
            "m/+": TopicTree(
                (("a", "b"),), frozenset("ab"), filters={"a": frozenset({"m/+"}), "b": frozenset({"m/n"})}
            ),
            "x": TopicTree((("b", "c"), ("c", "a")), frozenset("ba"), frozenset("c"), {"p": "a"}),
        },
    )
    assert publications(trees) == [
        ("a", "m/+", "m/any"),
        ("b", "m/+", "m/any"),
        ("a", "m/+", "m/n"),
        ("b", "m/+", "m/n"),
        ("a", "x", "x"),
        ("b", "x", "x"),
        ("p", "x", "x"),
    ]


@needs_broker
@pytest.mark.parametrize(
    ("brokers", "settings"), [(6, BrokerSettings("durable", secret=SECRET)), (20, BrokerSettings())]
)
def test_every_message_arrives_once(brokers: int, settings: BrokerSettings, tmp_path: Path) -> None:
    """6 brokers with queues, passwords and access lists, and 20 plain ones: no message is at fault."""
    trees = routed(zipf(brokers, 8, size=3, seed=1), publishers=[(0, topic) for topic in range(8)])
    progress: list[tuple[int, float, str]] = []

    def record(done: int, share: float, phase: str, /) -> None:
        progress.append((done, share, phase))

    with run_federation(trees, tmp_path / "run", settings, progress=record) as federation:
        verdict = publish_everywhere(trees, federation, progress=record)
        processes = [process.pid for process in federation.brokers.running.values()]
    assert (verdict.missing, verdict.duplicate, verdict.leaked) == ((), (), ())
    published = sum(len(tree.subscribers) + len(tree.publishers) for tree in trees.trees.values())
    assert verdict.published == published
    assert verdict.expected >= verdict.published > brokers
    assert sum(count for count, _, _ in verdict.latency.values()) == verdict.expected
    assert max(verdict.latency) >= 2
    assert not any(_is_alive(pid) for pid in processes)
    for phase, total in (("starting brokers", brokers), ("publishing", published)):
        reported = [(done, share) for done, share, name in progress if name == phase]
        assert reported == [(number, number / total) for number in range(1, total + 1)]
    assert len(progress) == brokers + published


@needs_broker
@pytest.mark.slow
def test_a_hundred_brokers(tmp_path: Path) -> None:
    """100 brokers: nothing missing, twice or leaked."""
    trees = routed(zipf(100, 40, size=6, seed=1))
    with run_federation(trees, tmp_path / "run") as federation:
        verdict = publish_everywhere(trees, federation)
    assert (verdict.missing, verdict.duplicate, verdict.leaked) == ((), (), ())
    assert verdict.expected > 5_000


@needs_broker
@pytest.mark.parametrize("sabotage", ["link removed", "link added", "stranger attached"])
def test_sabotage_is_detected(sabotage: str, tmp_path: Path) -> None:
    """A tree that lacks a link, has one too many, or reaches a broker that does not subscribe is detected."""
    subscriptions = {broker: {"x", "y"} for broker in "abc"}
    trees = routed(Interest.from_dict({**subscriptions, "d": {"y"}}), "gm")
    wiring = wire(trees)
    bridges = {pair: dict(topics) for pair, topics in wiring.bridges.items()}
    if sabotage == "link removed":
        pair = next(pair for pair, topics in bridges.items() if "x" in topics)
        del bridges[pair]["x"]
    elif sabotage == "link added":
        unused = next(p for p in (("b", "a"), ("c", "a"), ("c", "b")) if "x" not in bridges.get(p, {}))
        bridges.setdefault(unused, {})["x"] = "both"
    else:
        bridges.setdefault(("d", "a"), {})["x"] = "in"
    with run_federation(trees, tmp_path / "run", wiring=Wiring(wiring.order, bridges)) as federation:
        verdict = publish_everywhere(trees, federation)
    assert not verdict.passed
    assert bool(verdict.missing) == (sabotage == "link removed")
    assert bool(verdict.duplicate) == (sabotage == "link added")
    assert bool(verdict.leaked) == (sabotage == "stranger attached")


@needs_broker
def test_access_lists_stop_a_misconfigured_neighbour(tmp_path: Path) -> None:
    """With a secret, a bridge that asks for more than is planned gets nothing more."""
    trees = routed(Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}}), "gm")
    with run_federation(trees, tmp_path / "run", BrokerSettings(secret=SECRET)) as federation:
        (dialler, listener) = next(pair for pair in federation.wiring.bridges if "c" in pair)
        file = tmp_path / "run" / dialler / "mosquitto.conf"
        file.write_text(file.read_text() + 'topic x both 1 "" ""\n')
        positions = federation.watch.positions([listener])
        federation.brokers.stop(dialler)
        federation.brokers.start(dialler)
        carried = Observation(FILTER_CARRIED, (dialler, listener), "x")
        federation.watch.wait({listener: {carried}}, positions)
        verdict = publish_everywhere(trees, federation)
    assert verdict.passed


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return "zombie" not in Path(f"/proc/{pid}/status").read_text()


RUN_TWO_BROKERS = """
import sys
from pathlib import Path
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.hosts.local import run_federation
trees = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
with run_federation(trees, Path(sys.argv[1])) as federation:
    print(*(process.pid for process in federation.brokers.running.values()), flush=True)
    sys.stdin.read()
"""


@needs_broker
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_brokers_end_with_their_parent(end: signal.Signals, tmp_path: Path) -> None:
    """Interrupted or killed, a federation leaves no broker behind."""
    command = [sys.executable, "-c", RUN_TWO_BROKERS, str(tmp_path / "run")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert all(_is_alive(pid) for pid in pids)
        parent.send_signal(end)
        parent.wait(timeout=20)
        for _ in range(200):
            if not any(_is_alive(pid) for pid in pids):
                break
            time.sleep(0.05)
        assert not any(_is_alive(pid) for pid in pids)


@needs_broker
def test_a_broker_that_does_not_start_is_named(tmp_path: Path) -> None:
    """A configuration that the broker refuses ends everything with one line that names the broker."""
    trees = routed(Interest.from_dict({"a": {"x"}, "b": {"x"}}), "gm")
    broken = replace(wire(trees), bridges={("b", "a"): {}})
    with (
        pytest.raises(mw.MeshwrightError, match="broker 'b' ended by itself"),
        run_federation(trees, tmp_path / "run", wiring=broken),
    ):
        pass


@needs_broker
def test_groups_and_relays(tmp_path: Path) -> None:
    """With a group of filters, and a topic that needs a relay, still every message arrives once."""
    subscriptions = {"a": {"m/#", "x"}, "b": {"m/#", "m/n"}, "c": {"m/n", "x"}, "d": {"m/n"}}
    planned = plan_filters(Interest.from_dict(subscriptions))
    interest = planned.groups
    path = unchecked_overlay(interest, np.array([0, 1, 2]), np.array([1, 2, 3]), np.zeros(3, np.int32))
    trees = grouped_trees(planned, mw.route(path)).deployable(allow_relays=True)
    assert trees.trees["x"].relays == {"b"}
    assert trees.trees["m/#"].all_filters == ("m/#", "m/n")
    with run_federation(trees, tmp_path / "run") as federation:
        verdict = publish_everywhere(trees, federation)
    assert verdict.passed
    # Four brokers on m, m/any, m/any/any and m/n, and two on x.
    assert verdict.published == 4 * 4 + 2
    assert verdict.relayed == verdict.predicted_relayed > 0


CERTIFICATE = """
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.crt -subj /CN=ours \
    -addext basicConstraints=critical,CA:TRUE &&
openssl req -newkey rsa:2048 -nodes -keyout broker.key -out broker.csr -subj /CN=127.0.0.1 &&
printf 'subjectAltName=IP:127.0.0.1' > names &&
openssl x509 -req -days 2 -in broker.csr -CA ca.crt -CAkey ca.key -CAcreateserial -extfile names \
    -out broker.crt
"""


@needs_broker
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_bridges_over_tls(tmp_path: Path) -> None:
    """With TLS in the inventory and certificates in the folders, brokers start and their bridges come up."""
    trees = routed(Interest.from_dict({"a": {"x"}, "b": {"x"}}), "gm")
    wiring, ports = wire(trees), unused_ports(2)
    endpoints = {
        broker: Endpoint("127.0.0.1", port, tls=True) for broker, port in zip("ab", ports, strict=True)
    }
    write_federation(trees, wiring, Inventory(endpoints), BrokerSettings(), tmp_path / "run")
    made = tmp_path / "run" / "a" / "certs"
    made.mkdir()
    subprocess.run(["sh", "-c", CERTIFICATE], cwd=made, check=True, capture_output=True)
    for file in made.iterdir():
        file.chmod(0o644)
    shutil.copytree(made, tmp_path / "run" / "b" / "certs")
    with Brokers(tmp_path / "run", MOSQUITTO, folder_of) as brokers:
        for broker in wiring.order:
            brokers.start(broker)
        Logs(brokers).wait(links_up(wiring, wiring.bridges), {}, seconds=30)


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@needs_broker
@pytest.mark.skipif(not _has_ipv6(), reason="no IPv6 on loopback")
def test_bridges_over_ipv6(tmp_path: Path) -> None:
    """Brokers at ::1 listen there, and find each other there."""
    trees = routed(Interest.from_dict({"a": {"x"}, "b": {"x"}}), "gm")
    endpoints = {broker: Endpoint("::1", port) for broker, port in zip("ab", unused_ports(2), strict=True)}
    write_federation(trees, wire(trees), Inventory(endpoints), BrokerSettings(), tmp_path / "run")
    with Brokers(tmp_path / "run", MOSQUITTO, folder_of) as brokers:
        for broker in "ab":
            brokers.start(broker)
        Logs(brokers).wait(links_up(wire(trees), wire(trees).bridges), {}, seconds=10)


def chain(brokers: str) -> TopicTree:
    """Return a tree along some brokers."""
    return TopicTree(tuple(pairwise(brokers)), frozenset(brokers))


def test_without_loops_nothing_storms(tmp_path: Path) -> None:
    """Where no topic's links have a loop there is no storm, and nothing is started or written."""
    trees = NamedTrees(("a", "b"), {"x": chain("ab")})
    assert run_storm(trees, [("a", "b")], tmp_path / "none") is None
    assert not (tmp_path / "none").exists()
    assert wire_without_trees(NamedTrees(("a",), {}), []) == (Wiring(("a",), {}), None)


def test_every_link_carries_what_its_ends_share() -> None:
    """Each link carries all shared topics, the later end dials, and the topic with most loops is named."""
    trees = NamedTrees(
        tuple("abcd"), {"x": chain("abc"), "y": chain("abcd"), "z": TopicTree((), frozenset("d"))}
    )
    links = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "a")]
    wiring, topic = wire_without_trees(trees, links)
    assert wiring.bridges == {
        ("b", "a"): {"x": "both", "y": "both"},
        ("c", "b"): {"x": "both", "y": "both"},
        ("c", "a"): {"x": "both", "y": "both"},
        ("d", "c"): {"y": "both"},
        ("d", "a"): {"y": "both"},
    }
    assert wiring.order == tuple("abcd")
    assert topic == "y"
    assert wire_without_trees(trees, links[:3])[1] == "x"
    assert wire_without_trees(trees, links[:2])[1] is None


def test_the_factor_is_deliveries_over_due_ones() -> None:
    """A storm's factor says how many times each due delivery was made."""
    assert Storm("x", "a", 4, 1_000).factor == 250
