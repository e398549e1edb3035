"""Durable sessions: links unsubscribe from topics they no longer carry, and no session is orphaned."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.deploy.delta import explain_orphaned_sessions, orphaned_sessions
from meshwright.deploy.folder_store import update_folders, write_federation
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.waves import compute_delta
from meshwright.deploy.wiring import Wiring, client_id, folder_of, local_client_id, rewire, wire
from routed_plans import parse_configuration

DURABLE = BrokerSettings("durable")
BROKERS = tuple("abcd")


def trees_of_links(links: dict[str, set[tuple[str, str]]]) -> NamedTrees:
    """Return trees with these links; a broker without a link of a topic does not carry it."""
    return NamedTrees(
        BROKERS,
        {
            topic: TopicTree(tuple(sorted(pairs)), frozenset(end for pair in pairs for end in pair))
            for topic, pairs in sorted(links.items())
        },
    )


forests = st.dictionaries(
    st.sampled_from("xyz"),
    st.sets(st.sampled_from([("a", "b"), ("b", "c"), ("c", "d")]), min_size=1),
    max_size=3,
).map(trees_of_links)


@settings(max_examples=12)
@given(st.lists(forests, min_size=2, max_size=4))
def test_links_unsubscribe_from_former_topics(plans: list[NamedTrees]) -> None:
    """After any changes a bridge unsubscribes from all that its link ever carried and does not carry now."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        first, *others = plans
        inventory = Inventory.on_loopback(BROKERS)
        write_federation(first, wire(first), inventory, DURABLE, folder)
        carried: dict[tuple[str, str], set[str]] = {}
        for plan in (first, *others):
            new = rewire(plan, read_federation(folder).wiring)
            update_folders(plan, new, inventory, DURABLE, folder)
            assert read_federation(folder).wiring == new
            again = rewire(plan, new)
            assert update_folders(plan, again, inventory, DURABLE, folder) == []
            for pair, topics in new.bridges.items():
                carried.setdefault(pair, set()).update(topics)
        at = {inventory.endpoints[broker].address: broker for broker in BROKERS}
        for broker in BROKERS:
            for bridge in parse_configuration(folder / folder_of(broker) / "mosquitto.conf")[1]:
                pair = (broker, at[bridge.options["address"]])
                assert dict(bridge.topics) == new.bridges[pair]
                assert set(bridge.former) == carried[pair] - set(new.bridges[pair])
        write_federation(plan, new, inventory, BrokerSettings(), Path(place) / "plain")
        assert not any("gone" in file.read_text() for file in Path(place).glob("plain/*/mosquitto.conf"))


@settings(max_examples=40)
@given(forests, forests, st.sets(st.sampled_from(BROKERS), max_size=2))
def test_no_session_outlives_its_bridge(before: NamedTrees, after: NamedTrees, leaving: set[str]) -> None:
    """Both sessions of each removed bridge are ended at ends that stay, and no other session is."""
    old = wire(before)
    stay = tuple(broker for broker in BROKERS if broker not in leaving)
    bridges = {pair: topics for pair, topics in wire(after).bridges.items() if not leaving & set(pair)}
    delta = compute_delta(old, Wiring(stay, bridges), BrokerSettings("durable"))
    assert delta.no_action == ()
    by_wave = [orphaned_sessions(delta, wave) for wave in delta.waves]
    ended = {(at, name) for sessions in by_wave for at, names in sessions.items() for name in names}
    gone = [pair for pair in old.bridges if pair not in bridges]
    wanted = {(listener, client_id(dialler, listener)) for dialler, listener in gone if listener in stay}
    wanted |= {(dialler, local_client_id(dialler, listener)) for dialler, listener in gone if dialler in stay}
    assert wanted == ended
    assert wanted == {(at, name) for at, names in orphaned_sessions(delta).items() for name in names}
    assert bool(explain_orphaned_sessions(delta)) == bool(wanted)
    assert not orphaned_sessions(compute_delta(old, delta.new, BrokerSettings()))


def test_five_sessions_are_listed() -> None:
    """The sessions to end are listed with their brokers: five of them, and how many more there are."""

    def explained(order: str) -> list[str]:
        old = Wiring(tuple(order), {(dialler, "a"): {"x": "both"} for dialler in order[1:]})
        return explain_orphaned_sessions(compute_delta(old, Wiring(old.order, {}), BrokerSettings("durable")))

    start = "sessions to end, by connecting once with the id and a clean session: "
    assert explained("a") == []
    assert explained("abc") == [
        f"{start}meshwright.b>a at a, meshwright.c>a at a, local.meshwright.b>a at b, "
        "local.meshwright.c>a at c"
    ]
    assert explained("abcd") == [
        f"{start}meshwright.b>a at a, meshwright.c>a at a, meshwright.d>a at a, local.meshwright.b>a at b, "
        "local.meshwright.c>a at c and 1 more"
    ]
