"""Exported folders: the bridges that their files set up are the planned trees, and nothing more."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx
import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import meshwright as mw
from meshwright.deploy import Inventory, Place, Settings, Wiring, read_federation, wire, write_federation
from meshwright.deploy.config.mosquitto import configuration
from meshwright.deploy.config.wiring import client_id, folder_of
from meshwright.filters.mqtt import covers, overlapping
from meshwright.interest import Interest
from meshwright.routes import Trees, route
from routed_plans import parsed, routed_of, routed_plans


def written(trees: Trees, folder: Path, chosen: Settings | None = None) -> Wiring:
    """Export trees to a folder."""
    routed = routed_of(trees).checked()
    wiring = wire(routed)
    write_federation(routed, wiring, Inventory.loopback(wiring.order), chosen or Settings(), folder)
    return wiring


@settings(max_examples=25)
@given(routed_plans())
def test_parsed_back_every_topic_is_a_spanning_tree(made: tuple[Interest, Trees]) -> None:
    """The files' bridges form, for each topic, a tree of exactly its subscribers; each link has one owner."""
    interest, trees = made
    with tempfile.TemporaryDirectory() as place:
        wiring = written(trees, Path(place) / "out")
        at = {f"127.0.0.1:{18830 + i}": broker for i, broker in enumerate(wiring.order)}
        graphs: dict[str, nx.Graph] = {}
        one_way: dict[str, set[tuple[str, str]]] = {}
        owned: set[frozenset[str]] = set()
        for broker in wiring.order:
            own, bridges = parsed(Path(place) / "out" / folder_of(broker) / "mosquitto.conf")
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


FILTERS = ("a/#", "a/+", "a/b", "a/b/c", "c/+", "c/d", "e", "f/+/g", "f/h/#")


@settings(max_examples=25)
@given(st.lists(st.sets(st.sampled_from(FILTERS)), min_size=1, max_size=6))
def test_no_overlaps_are_left(held: list[set[str]]) -> None:
    """Merged, the files' filters do not overlap, and each is a tree of all who asked for part of it."""
    hub = set().union(*held)
    groups = overlapping(hub)
    assume(all(any(all(covers(wide, each) for each in group) for wide in group) for group in groups))
    brokers = {"hub": hub} | {f"b{number}": own for number, own in enumerate(held)}
    routed = routed_of(route(mw.design(Interest.from_dict(brokers), "gm").overlay)).checked(overlaps="merge")
    wiring = wire(routed)
    graphs: dict[str, nx.Graph] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        write_federation(routed, wiring, Inventory.loopback(wiring.order), Settings(), folder)
        at = {f"127.0.0.1:{18830 + i}": broker for i, broker in enumerate(wiring.order)}
        for broker in wiring.order:
            for bridge in parsed(folder / folder_of(broker) / "mosquitto.conf")[1]:
                for topic, _ in bridge.topics:
                    graphs.setdefault(topic, nx.Graph()).add_edge(broker, at[bridge.options["address"]])
    assert not overlapping(graphs)
    for topic, graph in graphs.items():
        assert nx.is_tree(graph)
        asked = {broker for broker, own in brokers.items() if any(covers(topic, each) for each in own)}
        assert set(graph) == asked
    assert set(hub) == {each for each in hub if any(covers(topic, each) for topic in routed.ways)}


@settings(max_examples=10)
@given(routed_plans())
def test_a_federation_is_read_as_it_was_written(made: tuple[Interest, Trees]) -> None:
    """The folder says who dials whom, and writing it again gives the same bytes."""
    with tempfile.TemporaryDirectory() as place:
        first, second = Path(place) / "a", Path(place) / "b"
        wiring = written(made[1], first)
        written(made[1], second)
        found = read_federation(first)
        assert (found.wiring, found.inventory) == (wiring, Inventory.loopback(wiring.order))
        files = [path.relative_to(first) for path in sorted(first.rglob("*")) if path.is_file()]
        assert files
        assert all((first / file).read_bytes() == (second / file).read_bytes() for file in files)


@pytest.fixture
def three(tmp_path: Path) -> Trees:
    """Route three brokers in a row, whose names are hard on paths and settings."""
    interest = mw.Interest.from_dict({"a/b": {"x"}, "a b>c%": {"x", "y"}, "..": {"y"}})
    return route(mw.design(interest, "gm").overlay)


def test_names_are_safe(three: Trees, tmp_path: Path) -> None:
    """Whatever brokers are called, folders stay inside, and ids hold neither spaces nor separators."""
    wiring = written(three, tmp_path / "out")
    folders = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    assert folders == {folder_of(broker) for broker in wiring.order}
    assert len(folders) == 3
    assert len({client_id(*pair) for pair in wiring.bridges}) == len(wiring.bridges) == 2
    assert (tmp_path / "out" / "start-order.txt").read_text().split() == list(map(folder_of, wiring.order))
    composed = yaml.safe_load((tmp_path / "out" / "docker-compose.yml").read_text())["services"]
    assert len(composed) == 3
    assert sum(len(service["depends_on"]) for service in composed.values()) == 2
    assert "%%2E." in (tmp_path / "out" / "%2E." / "mosquitto.service").read_text()
    assert "3 brokers, 2 bridges, 2 topic lines" in (tmp_path / "out" / "plan.md").read_text()


def test_profiles_and_passwords(three: Trees, tmp_path: Path) -> None:
    """`durable` keeps sessions; with a secret each bridge has a user whose access is what is planned."""
    wiring = written(three, tmp_path / "out", Settings("durable", "2.1", b"0123456789abcdef"))
    (dialler, listener), topics = next(iter(wiring.bridges.items()))
    own, bridges = parsed(tmp_path / "out" / folder_of(dialler) / "mosquitto.conf")
    assert own["allow_anonymous"] == "false"
    assert bridges[0].options["cleansession"] == "false"
    assert bridges[0].options["bridge_protocol_version"] == "mqttv311"
    access = (tmp_path / "out" / folder_of(listener) / "access").read_text()
    assert f"user {client_id(dialler, listener)}\ntopic readwrite {next(iter(topics))}\n" in access
    assert access.count("topic readwrite #") == 1
    passwords = tmp_path / "out" / folder_of(listener) / "passwords"
    assert passwords.stat().st_mode & 0o077 == 0
    assert bridges[0].options["remote_password"] not in passwords.read_text()
    assert own["max_inflight_messages"] == "20000"
    assert "clients publish with QoS 2 comes once" in (tmp_path / "out" / "plan.md").read_text()


def test_names_tell_what_a_bridge_carries(three: Trees, tmp_path: Path) -> None:
    """For 2.1, a bridge has other names where it carries something else, and only there; for 2.0 never."""
    routed = routed_of(three)
    wiring = wire(routed)
    pair, other = list(wiring.bridges)
    changed = Wiring(wiring.order, {**wiring.bridges, pair: {**wiring.bridges[pair], "more": "both"}})
    places = Inventory({broker: Place("h", port) for port, broker in enumerate(wiring.order, start=1)})

    def names(wired: Wiring, ends: tuple[str, str], chosen: Settings) -> list[str]:
        text = configuration(wired, places, chosen, ends[0])
        words = [line.split()[-1] for line in text.splitlines() if line.startswith(("connection", "local_c"))]
        return [word for word in words if client_id(*ends) in word]

    for chosen in (Settings(), Settings(version="2.1"), Settings("durable", "2.1")):
        assert (names(wiring, pair, chosen) == names(changed, pair, chosen)) != chosen.reloads
        assert names(wiring, other, chosen) == names(changed, other, chosen)
        assert len(names(wiring, pair, chosen)) == 2


def test_tls(three: Trees, tmp_path: Path) -> None:
    """A broker with TLS has certificates on its listener, and those that dial it check them."""
    routed = routed_of(three)
    wiring = wire(routed)
    plain = Inventory.loopback(wiring.order).places
    first = wiring.order[0]
    places = {**plain, first: type(plain[first])("mqtt.example", 8883, True)}
    write_federation(routed, wiring, Inventory(places), Settings(), tmp_path / "out")
    own, _ = parsed(tmp_path / "out" / folder_of(first) / "mosquitto.conf")
    assert own["listener"] == "8883"
    assert own["keyfile"] == "certs/broker.key"
    (dialler, _), *_ = (pair for pair in wiring.bridges if pair[1] == first)
    _, bridges = parsed(tmp_path / "out" / folder_of(dialler) / "mosquitto.conf")
    assert any(bridge.options.get("bridge_cafile") == "certs/ca.crt" for bridge in bridges)
