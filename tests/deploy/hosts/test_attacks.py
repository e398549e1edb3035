"""Attacks on real brokers: rogue clients, stolen credentials, a hostile listener; what is stopped or not."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from msgspec import structs
from paho.mqtt.enums import CallbackAPIVersion

from brokers import PROGRAM, unused_ports
from meshwright.brokers.mosquitto import MOSQUITTO
from meshwright.brokers.processes import Brokers
from meshwright.deploy.folder_store import write_federation
from meshwright.deploy.hosts.local import RunningFederation, publish_everywhere, run_federation
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.observations import links_up
from meshwright.deploy.passwords import client_password, password
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets.mosquitto.logs import Logs
from meshwright.deploy.wiring import bridge_identity, client_id, folder_of, wire
from terminal import meshwright

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")

SECRET = b"0123456789abcdef"
TREES = NamedTrees(
    ("a", "b", "c"),
    {"t": TopicTree((("a", "b"),), frozenset("ab")), "u": TopicTree((("a", "c"),), frozenset("ac"))},
)
KEY = BrokerSettings(secret=SECRET).identity_key
B, C = (bridge_identity(KEY, client_id(name, "a")) for name in "bc")


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFederation]:
    """Run three brokers with passwords: b and c dial a."""
    with run_federation(
        TREES, tmp_path_factory.mktemp("x") / "run", BrokerSettings(secret=SECRET)
    ) as running:
        yield running


ANSWER = 10.0
"""Seconds within which a broker answers, also on a busy machine."""


def eventually(holds: Callable[[], bool]) -> bool:
    """Wait until something holds, and return whether it does."""
    end = time.monotonic() + ANSWER
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


class Client:
    """A client of a broker that notes what arrives, and whether it was accepted.

    It is made when the broker has answered its connection and all its subscriptions, with yes or no.
    """

    def __init__(self, port: int, identifier: str, user: str, word: str, *topics: str) -> None:
        self.seen: list[str] = []
        self.accepted: bool | None = None
        self.answered = 0
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=identifier)
        self.client.username_pw_set(user, word)
        self.client.on_connect = self._connected
        self.client.on_subscribe = self._subscribed
        self.client.on_message = lambda _, __, message: self.seen.append(message.topic)
        self.topics = topics
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert eventually(lambda: self.accepted is not None), "no answer to the connection"
        assert not self.accepted or eventually(lambda: self.answered == len(topics)), "no answer to SUBSCRIBE"

    def _connected(self, client: Any, _: Any, __: Any, reason: Any, ___: Any) -> None:
        self.accepted = not reason.is_failure
        for topic in self.topics:
            client.subscribe(topic, 1)

    def _subscribed(self, *_: Any) -> None:
        self.answered += 1

    def publish(self, topic: str) -> None:
        """Publish, and wait for the broker's answer: what it sent before that has arrived, too."""
        sent = self.client.publish(topic, b"x", qos=1)
        sent.wait_for_publish(ANSWER)
        assert sent.is_published()

    def close(self) -> None:
        """Disconnect."""
        self.client.disconnect()
        self.client.loop_stop()


def own_client(federation: RunningFederation, broker: str, identifier: str, *topics: str) -> Client:
    """Return a legitimate client of a broker, with any id."""
    port = federation.inventory.endpoints[broker].port
    return Client(port, identifier, "client", client_password(SECRET, broker), *topics)


@pytest.mark.parametrize("name", ["meshwright.b>a", "local.meshwright.b>a", "meshwright.b>a.0"])
def test_a_client_with_a_bridges_name_disconnects_nobody(federation: RunningFederation, name: str) -> None:
    """A client of a broker that uses the name of a bridge as its id disconnects no bridge."""
    before = federation.watch.positions("ab")
    rogues = [own_client(federation, broker, name) for broker in "ab"]
    # A broker logs that it closes an old connection before it logs the new one.
    logs, end = Logs(federation.brokers), time.monotonic() + ANSWER
    while not all(f"connected {name}" in logs.lines(broker, before[broker]) for broker in "ab"):
        assert time.monotonic() < end
        time.sleep(0.01)
    lines = [line for broker in "ab" for line in logs.lines(broker, before[broker])]
    assert not any("already connected" in line for line in lines)
    for rogue in rogues:
        rogue.close()
    assert publish_everywhere(TREES, federation).passed


def test_stolen_bridge_credentials_reach_little(federation: RunningFederation) -> None:
    """Who stole the password of a bridge gets its topics: no others, no port of clients, no other id."""
    endpoint = federation.inventory.endpoints["a"]
    assert endpoint.bridge_port is not None
    refused = Client(endpoint.port, "x", B, password(SECRET, B))
    assert not refused.accepted
    refused.close()
    watcher = own_client(federation, "a", "watcher", "#")
    before = federation.watch.positions("a")
    thief = Client(endpoint.bridge_port, C, B, password(SECRET, B), "u", "#")
    assert thief.accepted
    for topic in ("u", "cmd/shutdown", "t"):
        thief.publish(topic)
    watcher.publish("marker")
    assert eventually(lambda: "marker" in watcher.seen)
    assert watcher.seen == ["t", "marker"], "only the topic of the stolen bridge"
    publisher = own_client(federation, "c", "publisher")
    publisher.publish("u")
    publisher.close()
    assert eventually(lambda: "u" in watcher.seen)
    # The broker has sent "u" to all who may read it; the answer to the thief comes after that.
    thief.publish("t")
    assert "u" not in thief.seen
    assert C not in federation.brokers.log("a").read_bytes()[before["a"] :].decode()
    thief.close()
    watcher.close()
    with federation.brokers.log("a").open() as log:
        assert not any(f"Client {C} already connected" in line for line in log), (
            "no other bridge was disturbed"
        )


def test_a_hostile_listener_reaches_the_clients_of_who_dials(federation: RunningFederation) -> None:
    """The risk that remains: Mosquitto filters nothing that arrives through a broker's own bridge.

    A listener that was taken over puts any topic into the brokers that dial it. So the less trusted end
    dials. If this test fails, Mosquitto has learned to filter, and plan.md may promise more.
    """
    victim = own_client(federation, "b", "victim", "cmd/#")
    with HostileListener(federation, "b") as hostile:
        hostile.inject("cmd/shutdown")
        assert eventually(lambda: bool(victim.seen))
    assert victim.seen == ["cmd/shutdown"]
    victim.close()


class HostileListener:
    """Takes the place of broker a: accepts a bridge and publishes to it what it likes, by MQTT 5 by hand."""

    def __init__(self, federation: RunningFederation, dialler: str) -> None:
        self.federation, self.dialler = federation, dialler

    def __enter__(self) -> HostileListener:
        import socket

        self.federation.brokers.stop("a")
        port = self.federation.inventory.endpoints["a"].bridge_port
        assert port is not None
        self.server = socket.create_server(("127.0.0.1", port))
        self.server.settimeout(15)
        while True:
            self.socket, _ = self.server.accept()
            packet = self.socket.recv(65536)
            if client_id(self.dialler, "a").encode() in packet:
                break
            self.socket.close()
        self.socket.sendall(bytes([0x20, 3, 0, 0, 0]))  # CONNACK, success, no properties
        return self

    def inject(self, topic: str) -> None:
        """Send a PUBLISH that nobody asked for."""
        body = len(topic).to_bytes(2, "big") + topic.encode() + b"\x00" + b"now"
        self.socket.sendall(bytes([0x30, len(body)]) + body)

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        self.server.close()
        self.federation.brokers.start("a")


RECIPE = Path(__file__).parents[3] / "docs" / "deploying.md"


def recipe(name: str) -> str:
    """Return a command of the docs."""
    text = RECIPE.read_text()
    start = text.index(f"# {name}\n") + len(f"# {name}\n")
    return text[start : text.index("\n\n", start)].split("```")[0]


def certify(folder: Path, brokers: str, authority: Path) -> None:
    """Make certificates as the docs say."""
    authority.mkdir(exist_ok=True)
    subprocess.run(["sh", "-ec", recipe("once")], cwd=authority, check=True, capture_output=True)
    for broker in brokers:
        text = recipe("for each broker").replace("HOST", "127.0.0.1").replace("DNS:", "IP:")
        subprocess.run(["sh", "-ec", text], cwd=authority, check=True, capture_output=True)
        certs = folder / broker / "certs"
        certs.mkdir(exist_ok=True)
        for name in ("ca.crt", "broker.crt", "broker.key"):
            (certs / name).write_bytes((authority / name).read_bytes())
            (certs / name).chmod(0o600)


def test_certificates_of_the_docs(tmp_path: Path) -> None:
    """With the recipe's certificates, bridges come up; a bridge without one is refused, password or not."""
    ports = iter(unused_ports(6))
    places = {name: Endpoint("127.0.0.1", next(ports), True, next(ports)) for name in "abc"}
    wiring, folder = wire(TREES), tmp_path / "run"
    write_federation(TREES, wiring, Inventory(places), BrokerSettings(secret=SECRET), folder)
    certify(folder, "abc", tmp_path / "ca")
    with Brokers(folder, MOSQUITTO, folder_of) as brokers:
        for broker in wiring.order:
            brokers.start(broker)
        Logs(brokers).wait(links_up(wiring, wiring.bridges), {}, seconds=30)
        brokers.stop("b")
        conf = folder / "b" / "mosquitto.conf"
        lines = conf.read_text().splitlines(keepends=True)
        conf.write_text(
            "".join(line for line in lines if not line.startswith(("bridge_certfile", "bridge_keyfile")))
        )
        before = Logs(brokers).positions("a")
        brokers.start("b")
        log = brokers.log("a")
        assert eventually(lambda: b"did not return a certificate" in log.read_bytes()[before["a"] :])
        assert f"connected {client_id('b', 'a')}" not in Logs(brokers).lines("a", before["a"])


def test_a_rogue_listener_without_our_certificate_is_not_used(tmp_path: Path) -> None:
    """Who takes the address of a broker, with a certificate of another authority, gets no bridge."""
    ports = iter(unused_ports(4))
    places = {name: Endpoint("127.0.0.1", next(ports), True, next(ports)) for name in "ab"}
    trees = NamedTrees(("a", "b"), {"t": TREES.trees["t"]})
    wiring, folder = wire(trees), tmp_path / "run"
    write_federation(trees, wiring, Inventory(places), BrokerSettings(secret=SECRET), folder)
    certify(folder, "ab", tmp_path / "ca")
    good = {file: file.read_bytes() for file in (folder / "a" / "certs").iterdir()}
    certify(folder, "a", tmp_path / "rogue")
    (folder / "a" / "certs" / "ca.crt").write_bytes(good[folder / "a" / "certs" / "ca.crt"])
    with Brokers(folder, MOSQUITTO, folder_of) as brokers:
        for broker in wiring.order:
            brokers.start(broker)
        assert eventually(lambda: "certificate verify failed" in brokers.log("b").read_text())
        assert f"connected {client_id('b', 'a')}" not in Logs(brokers).lines("a", 0)


def test_certificates_rotate_with_overlap(tmp_path: Path) -> None:
    """While both CAs are in every ca.crt, brokers with old and new certificates accept each other."""
    ports = iter(unused_ports(6))
    places = {name: Endpoint("127.0.0.1", next(ports), True, next(ports)) for name in "abc"}
    wiring, folder = wire(TREES), tmp_path / "run"
    write_federation(TREES, wiring, Inventory(places), BrokerSettings(secret=SECRET), folder)
    certify(folder, "abc", tmp_path / "old")
    certify(folder, "b", tmp_path / "new")
    both = (tmp_path / "old" / "ca.crt").read_bytes() + (tmp_path / "new" / "ca.crt").read_bytes()
    for broker in "abc":
        (folder / broker / "certs" / "ca.crt").write_bytes(both)
    with Brokers(folder, MOSQUITTO, folder_of) as brokers:
        for broker in wiring.order:
            brokers.start(broker)
        Logs(brokers).wait(links_up(wiring, wiring.bridges), {}, seconds=30)


@pytest.mark.slow
def test_certificates_rotate_step_by_step(tmp_path: Path) -> None:
    """Every step of the docs, broker by broker, on running brokers: after each, all bridges are up again."""
    ports = iter(unused_ports(6))
    places = {name: Endpoint("127.0.0.1", next(ports), True, next(ports)) for name in "abc"}
    wiring, folder = wire(TREES), tmp_path / "run"
    write_federation(TREES, wiring, Inventory(places), BrokerSettings(secret=SECRET), folder)
    certify(folder, "abc", tmp_path / "old")
    new = tmp_path / "spare"
    for broker in "abc":
        (new / broker).mkdir(parents=True)
    certify(new, "abc", tmp_path / "new")
    old_ca, new_ca = ((tmp_path / name / "ca.crt").read_bytes() for name in ("old", "new"))
    steps: list[tuple[str, bytes | None]] = [
        ("both authorities", old_ca + new_ca), ("new certificates", None), ("the new authority alone", new_ca)
    ]  # fmt: skip
    with Brokers(folder, MOSQUITTO, folder_of) as brokers:
        for broker in wiring.order:
            brokers.start(broker)
        Logs(brokers).wait(links_up(wiring, wiring.bridges), {}, seconds=30)
        for _, authority in steps:
            for broker in wiring.order:
                certs = folder / broker / "certs"
                brokers.stop(broker)
                if authority is not None:
                    (certs / "ca.crt").write_bytes(authority)
                else:
                    for name in ("broker.crt", "broker.key"):
                        (certs / name).write_bytes((new / broker / "certs" / name).read_bytes())
                before = Logs(brokers).positions(wiring.order)
                brokers.start(broker)
                touched = [pair for pair in wiring.bridges if broker in pair]
                Logs(brokers).wait(links_up(wiring, touched), before, seconds=30)


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--churn", "10", "--no-ingest"]])
def test_twenty_brokers_with_everything(tmp_path: Path, words: list[str]) -> None:
    """With TLS, passwords and access lists, 20 brokers lose, double and leak nothing on trees that stay."""
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    secret.chmod(0o600)
    answer = meshwright("federation", "--brokers", "20", "--tls", "--secret", secret, *words, "--json")
    figures = answer.json
    assert (answer.code, figures["passed"], figures["leaked"]) == (0, True, 0)
    for counted in [figures["calm"], figures["final"]] if words else [figures]:
        assert counted["expected"] > 0
        assert (counted["missing"], counted["duplicate"], counted["leaked"]) == (0, 0, 0)


def test_trust_decides_who_dials() -> None:
    """The less trusted end of each link dials."""
    order = sorted(TREES.brokers, key={"a": 0, "b": -2, "c": -1}.__getitem__)
    assert set(wire(TREES, order).bridges) == {("a", "b"), ("a", "c")}
    assert structs.replace(Endpoint("h", 1), trust=2).record()["trust"] == 2
