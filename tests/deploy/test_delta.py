"""Deltas: they lead from one wiring to the other without a loop in between, and once is enough."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calls import seeds
from meshwright import churn
from meshwright.deploy import Inventory, Settings, Wiring, read_federation, wire, write_federation
from meshwright.deploy.config.delta import RESTART, START, STOP, Delta, delta, explained
from meshwright.deploy.config.routed import Routed
from meshwright.deploy.federation.update import update_folders
from meshwright.interest import Interest
from meshwright.routes import Trees, route
from routed_plans import routed_of, routed_plans


def changed(trees: Trees, seed: int, *, stable: bool) -> Routed:
    """Let brokers come and go, and return the trees of what is left."""
    live = churn.LiveOverlay(trees.overlay)
    for events in churn.random_churn(trees.overlay.interest, 3, seed=seed):
        churn.happen(live, events)
    overlay = live.overlay()
    names = {name: place for place, name in enumerate(overlay.interest.node_names.to_pylist())}
    topics = {name: place for place, name in enumerate(overlay.interest.topic_names.to_pylist())}
    before = trees.overlay.interest
    today = [
        (topics[before.topic_names[t].as_py()], names[a], names[b])
        for t in range(before.num_topics)
        for a, b in (
            (before.node_names[p].as_py(), before.node_names[c].as_py()) for p, c in trees.edges_of(t)
        )
        if a in names and b in names
    ]
    return routed_of(route(overlay, "stable" if stable else "hops", today=today))


def loops(bridges: dict[tuple[str, str], dict[str, str]]) -> bool:
    """Say whether some topic's bridges have a loop."""
    graphs: dict[str, nx.Graph] = {}
    for (a, b), lines in bridges.items():
        for topic in lines:
            graphs.setdefault(topic, nx.Graph()).add_edge(a, b)
    return any(not nx.is_forest(graph) for graph in graphs.values())


def played(found: Delta) -> dict[tuple[str, str], dict[str, str]]:
    """Play a delta, step by step in any order within a wave, and look for loops on the way."""
    now = {pair: dict(lines) for pair, lines in found.old.bridges.items()}
    there = set(found.old.order)
    for wave in found.waves:
        for step in reversed(wave):
            if step.action == STOP:
                there.discard(step.broker)
                now = {pair: lines for pair, lines in now.items() if step.broker not in pair}
                continue
            assert (step.action == START) == (step.broker not in there)
            there.add(step.broker)
            assert step.bridges is not None
            now = {pair: lines for pair, lines in now.items() if pair[0] != step.broker}
            now |= {(step.broker, other): dict(lines) for other, lines in step.bridges.items()}
            assert all(other in there for other in step.bridges)
            assert not loops(now)
    return now


@settings(max_examples=40)
@given(routed_plans(), seeds, st.booleans(), st.booleans())
def test_a_delta_leads_there_without_a_loop(
    made: tuple[Interest, Trees], seed: int, stable: bool, durable: bool
) -> None:
    """Every broker ends with what the new wiring says, no topic ever has a loop, newcomers dial."""
    assume(made[0].num_subscriptions)
    before = routed_of(made[1])
    after = changed(made[1], seed, stable=stable)
    old = wire(before)
    new = wire(after, old.order)
    found = delta(old, new, durable=durable)
    kept = {pair: lines for pair, lines in played(found).items() if lines}
    assert kept == {pair: dict(lines) for pair, lines in new.bridges.items()}
    assert not delta(new, new).steps
    assert explained(delta(new, new)) == ["nothing changes"]
    assert all(not set(step.removed) & set(step.added) for step in found.steps)
    assert {step.broker for step in found.steps if step.action == START} == set(new.order) - set(old.order)


@settings(max_examples=20)
@given(routed_plans(), seeds)
def test_joins_restart_nobody(made: tuple[Interest, Trees], seed: int) -> None:
    """With stable trees a join is one step: the newcomer starts."""
    trees = made[1]
    rng = np.random.default_rng(seed)
    live = churn.LiveOverlay(trees.overlay)
    topics = made[0].topic_names.to_pylist()
    live.join(99, [topics[i] for i in rng.permutation(len(topics))[: 1 + len(topics) // 2]])
    today = [(t, a, b) for t in range(made[0].num_topics) for a, b in trees.edges_of(t)]
    before = routed_of(route(trees.overlay, "stable", today=today))
    old = wire(before)
    after = routed_of(route(live.overlay(), "stable", today=today))
    found = delta(old, wire(after, old.order))
    assert [(step.action, step.broker) for step in found.steps] == [(START, "99")]
    assert not found.restarts


@settings(max_examples=10)
@given(routed_plans(), seeds)
def test_applying_twice_changes_nothing(made: tuple[Interest, Trees], seed: int) -> None:
    """Updated folders are those of a fresh export, and updating them again touches no file."""
    assume(made[0].num_subscriptions)
    before, after = routed_of(made[1]), changed(made[1], seed, stable=True)
    with tempfile.TemporaryDirectory() as place:
        folder, fresh = Path(place) / "a", Path(place) / "b"
        old = wire(before)
        write_federation(before, old, Inventory.loopback(old.order), Settings(), folder)
        new = wire(after, read_federation(folder).wiring.order)
        places = Inventory.loopback(new.order)
        update_folders(after, new, places, Settings(), folder)
        assert read_federation(folder).wiring == new
        assert update_folders(after, new, places, Settings(), folder) == []
        write_federation(after, new, places, Settings(), fresh)
        for file in sorted(path for path in fresh.rglob("*") if path.is_file()):
            assert (folder / file.relative_to(fresh)).read_bytes() == file.read_bytes()


def test_a_circle_of_waiting_is_cut() -> None:
    """Two brokers that each add what the other has yet to take away: both first take away, then add."""
    order = ("a", "b", "c", "d")
    old = Wiring(order, {("c", "a"): {"x": "both"}, ("d", "a"): {"y": "both"}})
    new = Wiring(order, {("c", "b"): {"y": "both"}, ("d", "b"): {"x": "both"}})
    found = delta(old, new)
    assert [[step.broker for step in wave] for wave in found.waves] == [["c", "d"], ["c", "d"]]
    assert [len(step.added) for step in found.steps] == [0, 0, 1, 1]
    assert all(step.action == RESTART for step in found.steps)
    assert {step.action for step in delta(old, new, version="2.1").steps} == {"reload"}
    assert {step.action for step in delta(old, new, version="2.1", durable=True).steps} == {RESTART}
    assert found.touched == {"x", "y"}
    assert any("cut off" in line for line in explained(found))


def test_who_moves_acts_first() -> None:
    """A broker at another address restarts, and after it those that dial it, with all their lines to it."""
    wiring = Wiring(("a", "b", "c"), {("b", "a"): {"x": "both"}, ("c", "b"): {"x": "both"}})
    found = delta(wiring, wiring, restless={"b"})
    assert [[step.broker for step in wave] for wave in found.waves] == [["b"], ["c"]]
    assert [len(step.added) for step in found.steps] == [0, 1]
    assert {step.action for step in delta(wiring, wiring, version="2.1", restless={"b"}).steps} == {
        RESTART,
        "reload",
    }


def test_bridges_to_the_gone_need_no_restart() -> None:
    """A broker that leaves is stopped; who dialled it in vain from then on is named, not restarted."""
    old = Wiring(("a", "b"), {("b", "a"): {"x": "both"}})
    found = delta(old, Wiring(("b",), {}))
    assert [(step.action, step.broker) for step in found.steps] == [(STOP, "a")]
    assert found.quiet == ("b",)
    assert any("in vain" in line for line in explained(found))
