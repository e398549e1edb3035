"""Exported folders: the bridges in their files are the planned trees, and a folder reads back as written."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

import networkx as nx
import pytest
import yaml
from hypothesis import given, settings

import meshwright as mw
from meshwright.deploy.folder_store import write_federation
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.manifest import DeployedFederation, describe, manifest_text, read_federation
from meshwright.deploy.passwords import fingerprint
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import Wiring, bridge_identity, client_id, folder_of, wire
from meshwright.errors import FormatError, InputError
from meshwright.interest import Interest
from meshwright.routes import Trees, route
from routed_plans import named_trees, parse_configuration, routed_plans

SECRET = b"0123456789abcdef"


def written(trees: Trees, folder: Path, chosen: BrokerSettings | None = None) -> Wiring:
    """Export trees to a folder."""
    named = named_trees(trees).deployable()
    wiring = wire(named)
    inventory = Inventory.on_loopback(wiring.order)
    write_federation(named, wiring, inventory, chosen or BrokerSettings(), folder)
    return wiring


@settings(max_examples=25)
@given(routed_plans())
def test_parsed_back_every_topic_is_a_spanning_tree(made: tuple[Interest, Trees]) -> None:
    """The files' bridges form, for each topic, a tree of exactly its subscribers; one end owns each link."""
    interest, trees = made
    with tempfile.TemporaryDirectory() as place:
        wiring = written(trees, Path(place) / "out")
        at = {f"127.0.0.1:{18830 + i}": broker for i, broker in enumerate(wiring.order)}
        graphs: dict[str, nx.Graph] = {}
        one_way: dict[str, set[tuple[str, str]]] = {}
        owned: set[frozenset[str]] = set()
        for broker in wiring.order:
            own, bridges = parse_configuration(Path(place) / "out" / folder_of(broker) / "mosquitto.conf")
            assert at[f"127.0.0.1:{own['listener'].split()[0]}"] == broker
            for bridge in bridges:
                other = at[bridge.options["address"]]
                assert wiring.order.index(other) < wiring.order.index(broker)
                assert frozenset((broker, other)) not in owned
                owned.add(frozenset((broker, other)))
                for topic, direction in bridge.topics:
                    if direction == "both":
                        graph = graphs.setdefault(topic, nx.Graph())
                        assert not graph.has_edge(broker, other)
                        graph.add_edge(broker, other)
                    else:
                        pair = (broker, other) if direction == "out" else (other, broker)
                        one_way.setdefault(topic, set()).add(pair)
    names, topics = interest.node_names.to_pylist(), interest.topic_names.to_pylist()
    for number, name in enumerate(topics):
        piece = interest.topic_nodes[interest.topic_ptr[number] : interest.topic_ptr[number + 1]].tolist()
        wanted = {str(names[v]) for v in piece}
        if len(wanted) > 1:
            assert nx.is_tree(graphs[str(name)])
            assert set(graphs[str(name)]) == wanted
        else:
            assert str(name) not in graphs
        for sender, receiver in one_way.get(str(name), set()):
            assert sender not in wanted
            assert receiver in wanted


@settings(max_examples=10)
@given(routed_plans())
def test_a_federation_reads_back_as_written(made: tuple[Interest, Trees]) -> None:
    """The folder records who dials whom, and writing it again gives the same bytes."""
    with tempfile.TemporaryDirectory() as place:
        first, second = Path(place) / "a", Path(place) / "b"
        wiring = written(made[1], first)
        written(made[1], second)
        found = read_federation(first)
        assert (found.wiring, found.inventory) == (wiring, Inventory.on_loopback(wiring.order))
        files = [path.relative_to(first) for path in sorted(first.rglob("*")) if path.is_file()]
        assert files
        assert all((first / file).read_bytes() == (second / file).read_bytes() for file in files)


@pytest.fixture(scope="module")
def three() -> Trees:
    """Route three brokers in a row, whose names are hard on paths and settings."""
    interest = mw.Interest.from_dict({"a/b": {"x"}, "a b>c%": {"x", "y"}, "..": {"y"}})
    return route(mw.design(interest, "gm").overlay)


def test_names_are_safe(three: Trees, tmp_path: Path) -> None:
    """Whatever brokers are called, folders stay inside, and ids contain neither spaces nor separators."""
    wiring = written(three, tmp_path / "out")
    folders = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    assert folders == {folder_of(broker) for broker in wiring.order}
    assert len(folders) == 3
    assert len({client_id(*pair) for pair in wiring.bridges}) == len(wiring.bridges) == 2
    assert (tmp_path / "out" / "start-order.txt").read_text().split() == list(map(folder_of, wiring.order))
    assert "%%2E." in (tmp_path / "out" / "%2E." / "mosquitto.service").read_text()
    assert "3 brokers, 2 bridges, 2 topic lines" in (tmp_path / "out" / "plan.md").read_text()


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_the_compose_file(three: Trees, tmp_path: Path, version: str) -> None:
    """Each broker is a service of the chosen version that starts after the brokers that it dials."""
    wiring = written(three, tmp_path / "out", BrokerSettings(version=version))
    services = yaml.safe_load((tmp_path / "out" / "docker-compose.yml").read_text())["services"]
    names = {broker: f"broker-000{number}" for number, broker in enumerate(wiring.order)}
    assert list(services) == list(names.values())
    for broker, name in names.items():
        assert services[name] == {
            "image": f"eclipse-mosquitto:{version}",
            "network_mode": "host",
            "working_dir": "/federation",
            "command": ["sh", "-c", "chown -hR mosquitto . && exec mosquitto -c mosquitto.conf"],
            "volumes": [f"./{folder_of(broker)}:/federation"],
            "restart": "unless-stopped",
            "depends_on": [names[other] for other in wiring.dialled_by(broker)],
        }
    assert sum(len(service["depends_on"]) for service in services.values()) == 2


def test_profiles_and_passwords(three: Trees, tmp_path: Path) -> None:
    """`durable` keeps sessions; with a secret, each bridge has a user whose access is what is planned."""
    wiring = written(three, tmp_path / "out", BrokerSettings("durable", "2.1", SECRET))
    (dialler, listener), topics = next(iter(wiring.bridges.items()))
    own, bridges = parse_configuration(tmp_path / "out" / folder_of(dialler) / "mosquitto.conf")
    assert own["allow_anonymous"] == "false"
    assert bridges[0].options["cleansession"] == "false"
    assert bridges[0].options["bridge_protocol_version"] == "mqttv311"
    access = (tmp_path / "out" / folder_of(listener) / "access").read_text()
    user = bridge_identity(BrokerSettings(secret=SECRET).identity_key, client_id(dialler, listener))
    assert f"user {user}\ntopic readwrite {next(iter(topics))}\n" in access
    assert access.count("topic readwrite #") == 1
    passwords = tmp_path / "out" / folder_of(listener) / "passwords"
    assert passwords.stat().st_mode & 0o077 == 0
    assert bridges[0].options["remote_password"] not in passwords.read_text()


@pytest.mark.parametrize("secret", [None, SECRET])
def test_only_files_with_passwords_are_private(three: Trees, tmp_path: Path, secret: bytes | None) -> None:
    """With a secret, the three files that hold passwords are private; without, and all others, are not."""
    wiring = written(three, tmp_path / "out", BrokerSettings(secret=secret))
    own = tmp_path / "out" / folder_of(wiring.order[-1])
    private = {path.name for path in own.iterdir() if path.stat().st_mode & 0o077 == 0}
    assert private == ({"passwords", "client.password", "mosquitto.conf"} if secret else set())


def test_names_change_with_what_a_bridge_carries(three: Trees, tmp_path: Path) -> None:
    """For 2.1, a bridge has other names where it carries something else, and only there; for 2.0 never."""
    wiring = wire(named_trees(three))
    pair, other = list(wiring.bridges)
    changed = Wiring(wiring.order, {**wiring.bridges, pair: {**wiring.bridges[pair], "more": "both"}})
    for chosen in (BrokerSettings(), BrokerSettings(version="2.1"), BrokerSettings("durable", "2.1")):
        names = []
        for number, wired in enumerate((wiring, changed)):
            folder = tmp_path / f"{chosen.profile}-{chosen.version}-{number}"
            inventory = Inventory.on_loopback(wired.order)
            write_federation(named_trees(three), wired, inventory, chosen, folder)
            texts = [(folder / folder_of(broker) / "mosquitto.conf").read_text() for broker in wired.order]
            lines = [line for text in texts for line in text.splitlines()]
            names.append([line for line in lines if line.startswith(("connection", "local_clientid"))])
        for ends in (pair, other):
            before, after = ([name for name in each if client_id(*ends) in name] for each in names)
            assert len(before) == 2
            assert (before != after) == (chosen.reloads and ends == pair)


def test_tls(three: Trees, tmp_path: Path) -> None:
    """A broker with TLS has certificates on its listener, and those that dial it check them."""
    named = named_trees(three)
    wiring = wire(named)
    first = wiring.order[0]
    endpoints = {**Inventory.on_loopback(wiring.order).endpoints, first: Endpoint("mqtt.example", 8883, True)}
    write_federation(named, wiring, Inventory(endpoints), BrokerSettings(), tmp_path / "out")
    own, _ = parse_configuration(tmp_path / "out" / folder_of(first) / "mosquitto.conf")
    assert own["listener"] == "8883"
    assert own["keyfile"] == "certs/broker.key"
    (dialler, _), *_ = (pair for pair in wiring.bridges if pair[1] == first)
    _, bridges = parse_configuration(tmp_path / "out" / folder_of(dialler) / "mosquitto.conf")
    assert any(bridge.options.get("bridge_cafile") == "certs/ca.crt" for bridge in bridges)


def test_nothing_is_written_for_wrong_brokers(three: Trees, tmp_path: Path) -> None:
    """Brokers that differ only in case, or are missing from the inventory, leave no folder behind."""
    named = named_trees(three)
    clash = Wiring(("Oslo", "oslo"), {})
    inventory = Inventory.on_loopback(clash.order)
    with pytest.raises(InputError, match="differ only in case"):
        write_federation(named, clash, inventory, BrokerSettings(), tmp_path / "out")
    with pytest.raises(InputError, match="no brokers"):
        write_federation(named, wire(named), inventory, BrokerSettings(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_manifest(tmp_path: Path) -> None:
    """The manifest keeps its documented keys, and former topics only where sessions are durable."""
    wiring = Wiring(("a", "b"), {("b", "a"): {"x": "both"}}, {("b", "a"): ("y", "z")})
    inventory = Inventory({"a": Endpoint("h", 1, tls=True), "b": Endpoint("h", 2)})
    for profile in ("plain", "durable"):
        chosen = BrokerSettings(profile, "2.1", SECRET)
        described = describe(wiring, inventory, chosen, {"a/mosquitto.conf": "x"})
        (tmp_path / "federation.json").write_text(manifest_text(described))
        content = json.loads((tmp_path / "federation.json").read_text())
        assert {name: content[name] for name in content if name not in ("format", "schema")} == {
            "profile": profile,
            "mosquitto": "2.1",
            "secret_fingerprint": fingerprint(SECRET),
            "identity": chosen.identity_key,
            "brokers": [
                {"broker": "a", "folder": "a", "host": "h", "port": 1, "tls": True},
                {"broker": "b", "folder": "b", "host": "h", "port": 2, "tls": False},
            ],
            "bridges": [{"dialler": "b", "listener": "a", "topics": {"x": "both"}}],
            "files": {"a/mosquitto.conf": hashlib.sha256(b"x").hexdigest()},
            **(
                {"taken_off": [{"dialler": "b", "listener": "a", "topics": ["y", "z"]}]}
                if profile == "durable"
                else {}
            ),
        }
        found = read_federation(tmp_path)
        assert found.wiring == (wiring if profile == "durable" else Wiring(wiring.order, wiring.bridges))
        assert (found.settings, found.inventory) == (
            BrokerSettings(profile, "2.1", identity=chosen.identity_key, fingerprint=fingerprint(SECRET)),
            inventory,
        )
        assert (found.settings.secured, found.settings.fingerprint) == (True, fingerprint(SECRET))
    assert [path.name for path in tmp_path.iterdir()] == ["federation.json"]


@pytest.mark.parametrize("missing", ["brokers", "bridges", "profile", "secret_fingerprint", "files"])
def test_a_damaged_manifest_is_refused(tmp_path: Path, missing: str) -> None:
    """A manifest without one of its keys is damaged, not read by halves."""
    described = describe(Wiring(("a",), {}), Inventory.on_loopback("a"), BrokerSettings())
    (tmp_path / "federation.json").write_text(manifest_text(described))
    content = json.loads((tmp_path / "federation.json").read_text())
    del content[missing]
    (tmp_path / "federation.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match=missing):
        read_federation(tmp_path)


def test_who_must_restart() -> None:
    """Brokers at another address must restart; with another secret, all brokers that stay."""
    before, after = Inventory.on_loopback("abc"), Inventory.on_loopback("xab", 18829)
    deployed = DeployedFederation(Wiring(tuple("abc"), {}), before, BrokerSettings(secret=SECRET))
    assert deployed.must_restart(after, BrokerSettings(secret=SECRET)) == set()
    moved = Inventory({**after.endpoints, "b": Endpoint("h", 1)})
    assert deployed.must_restart(moved, BrokerSettings(secret=SECRET)) == {"b"}
    assert deployed.must_restart(after, BrokerSettings(secret=SECRET[::-1])) == {"a", "b"}
