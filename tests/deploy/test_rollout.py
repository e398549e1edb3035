"""Rollouts: followed wave by wave, in any order within a wave and stopped anywhere, there is never a loop."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calls import seeds
from meshwright import Interest
from meshwright.deploy.change import plan_change, write_everything, write_stages, write_wave
from meshwright.deploy.folder_store import FederationFolder, write_federation
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import RELOAD, STOP
from meshwright.deploy.wiring import folder_of, wire
from meshwright.errors import InputError
from meshwright.routes import Trees
from routed_plans import named_trees, parse_configuration, routed_plans

SECRET = b"0123456789abcdef"
CHOICES = [
    BrokerSettings(profile, version, secret)
    for profile in ("plain", "durable")
    for version in ("2.0", "2.1")
    for secret in (None, SECRET)
]

Running = dict[str, list[tuple[str, str, str]]]
"""By running broker: the lines that it loaded, as (listener's address, topic, direction)."""


@pytest.fixture(autouse=True, scope="module")
def _without_flushing() -> Iterator[None]:
    """Flush nothing: these tests write many files and cut no power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def random_trees(chance: random.Random, brokers: str) -> NamedTrees:
    """Return random spanning trees of three topics: changes of these often wait for each other."""
    trees = {}
    for topic in "xyz":
        order = chance.sample(brokers, len(brokers))
        links = tuple((chance.choice(order[:place]), order[place]) for place in range(1, len(order)))
        trees[topic] = TopicTree(links, frozenset(brokers))
    return NamedTrees(tuple(brokers), trees)


def load(folder: Path, broker: str) -> list[tuple[str, str, str]]:
    """Read the bridges that a broker loads when it starts now."""
    _, bridges = parse_configuration(folder / folder_of(broker) / "mosquitto.conf")
    return [(bridge.options["address"], *line) for bridge in bridges for line in bridge.topics]


def has_loop(running: Running, address: Mapping[str, str]) -> bool:
    """Return whether a message of some topic could circle: over arcs, and not straight back."""
    arcs: dict[str, set[tuple[str, str]]] = {}
    for broker, lines in running.items():
        for where, topic, way in lines:
            other = address[where]
            if other in running:
                if way in ("both", "out"):
                    arcs.setdefault(topic, set()).add((broker, other))
                if way in ("both", "in"):
                    arcs.setdefault(topic, set()).add((other, broker))
    for each in arcs.values():
        steps = nx.DiGraph(((a, b), (c, d)) for a, b in each for c, d in each if b == c and (a, b) != (d, c))
        if not nx.is_directed_acyclic_graph(steps):
            return True
    return False


@settings(max_examples=40)
@given(st.sampled_from(CHOICES), seeds)
def test_a_rollout_of_tangled_trees_never_makes_a_loop(chosen: BrokerSettings, seed: int) -> None:
    """The same for trees that change everywhere, where brokers act in several waves."""
    chance = random.Random(seed)
    follow_rollout(random_trees(chance, "abcde"), random_trees(chance, "abcde"[seed % 2 :]), chosen, seed)


@settings(max_examples=12)
@given(routed_plans(), routed_plans(), st.sampled_from(CHOICES), seeds)
def test_a_rollout_never_makes_a_loop(
    old: tuple[Interest, Trees], new: tuple[Interest, Trees], chosen: BrokerSettings, seed: int
) -> None:
    """Steps in any order, brokers that restart by themselves, and a stop anywhere make no loop."""
    follow_rollout(named_trees(old[1]), named_trees(new[1]), chosen, seed)


def follow_rollout(before: NamedTrees, after: NamedTrees, chosen: BrokerSettings, seed: int) -> None:
    """Follow a rollout as an operator does, with accidents, and check after every step."""
    chance = random.Random(seed)
    everyone = sorted({*before.brokers, *after.brokers})
    inventory = Inventory.on_loopback(everyone)
    address = {endpoint.address: name for name, endpoint in inventory.endpoints.items()}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        first = Inventory({name: inventory.endpoints[name] for name in before.brokers})
        write_federation(before, wire(before), first, chosen, folder)
        running: Running = {broker: load(folder, broker) for broker in before.brokers}
        target, goal = after, set(after.brokers)
        for _ in range(30):
            places = Inventory({name: inventory.endpoints[name] for name in target.brokers})
            change = plan_change(FederationFolder(folder), target, chosen, places)
            if change.rollout.finished and change.before.rollout is None:
                break
            number, _ = write_wave(change, "next")
            wave = list(change.rollout.waves[number - 1]) if number else []
            chance.shuffle(wave)
            for step in wave:
                if step.action == STOP:
                    running.pop(step.broker, None)
                elif step.action != RELOAD or chosen.reloads:
                    running[step.broker] = load(folder, step.broker)
                assert not has_loop(running, address)
                if not running:
                    continue
                crashed = chance.choice(sorted(running))
                if (folder / folder_of(crashed) / "mosquitto.conf").exists():
                    running[crashed] = load(folder, crashed)
                assert not has_loop(running, address)
            if chance.random() < 0.15 and target is after and number < len(change.rollout.waves):
                target, goal = before, set(before.brokers)  # somebody rolls back in the middle
        assert read_federation(folder).rollout is None
        assert set(running) == goal
        lines = {broker: set(load(folder, broker)) for broker in goal}
        assert {broker: set(loaded) for broker, loaded in running.items()} == lines
        final = plan_change(FederationFolder(folder), target, chosen, places)
        assert (final.rollout.waves, final.drift) == ((), ())


@settings(max_examples=40)
@given(st.sampled_from([choice for choice in CHOICES if not choice.reloads]), seeds)
def test_brokers_that_stop_together_never_make_a_loop(chosen: BrokerSettings, seed: int) -> None:
    """Joined waves: all brokers that act stop, then start one by one, each once; there is no loop."""
    chance = random.Random(seed)
    before, after = random_trees(chance, "abcde"), random_trees(chance, "abcde"[seed % 2 :])
    inventory = Inventory.on_loopback("abcde")
    address = {endpoint.address: name for name, endpoint in inventory.endpoints.items()}
    places = Inventory({name: inventory.endpoints[name] for name in after.brokers})
    with tempfile.TemporaryDirectory() as place:
        store = FederationFolder(Path(place) / "out")
        write_federation(before, wire(before), inventory, chosen, store.path)
        running: Running = {broker: load(store.path, broker) for broker in before.brokers}
        change = plan_change(store, after, chosen, places, together=True)
        apart = plan_change(store, after, chosen, places)
        assert {step.broker for step in change.delta.steps} == {step.broker for step in apart.delta.steps}
        assert len(change.delta.steps) == len({step.broker for step in change.delta.steps})
        assert len([wave for wave in change.delta.waves if any(step.bridges for step in wave)]) <= 1
        while True:
            number, _ = write_wave(plan_change(store, after, chosen, places, together=True), "next")
            wave = change.rollout.waves[number - 1] if number else ()
            for step in wave:
                if step.action != RELOAD:
                    running.pop(step.broker, None)
            for step in chance.sample(wave, len(wave)):
                if step.action not in (RELOAD, STOP):
                    running[step.broker] = load(store.path, step.broker)
                assert not has_loop(running, address)
            if number == len(change.rollout.waves):
                break
        # Brokers without an action may still dial one that is gone.
        kept = {
            name: {line for line in lines if address[line[0]] in places.endpoints}
            for name, lines in running.items()
        }
        assert kept == {name: set(load(store.path, name)) for name in after.brokers}
        assert plan_change(store, after, chosen, places).rollout.waves == ()


@settings(max_examples=25)
@given(routed_plans(), routed_plans())
def test_files_are_written_at_once_only_if_that_is_safe(
    old: tuple[Interest, Trees], new: tuple[Interest, Trees]
) -> None:
    """Where brokers need other files in between, apply refuses to write the last ones and says what to do."""
    before, after = named_trees(old[1]), named_trees(new[1])
    inventory = Inventory.on_loopback(sorted({*before.brokers, *after.brokers}))
    places = Inventory({name: inventory.endpoints[name] for name in after.brokers})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        first = Inventory({name: inventory.endpoints[name] for name in before.brokers})
        write_federation(before, wire(before), first, BrokerSettings(), folder)
        change = plan_change(FederationFolder(folder), after, BrokerSettings(), places)
        acting = [step.broker for step in change.delta.steps]
        if len(acting) == len(set(acting)):
            write_everything(change)
            return
        with pytest.raises(
            InputError, match=r"act in several waves .* --wave next, or all of them with apply --staged"
        ):
            write_everything(change)
        staged = write_stages(change, Path(place) / "staged")
        for number, wave in enumerate(change.rollout.waves, start=1):
            assert (staged / f"wave-{number}" / "steps.txt").read_text().splitlines() == [
                str(step) for step in wave
            ]
            write_wave(plan_change(FederationFolder(folder), after, BrokerSettings(), places), "next")
            for step in wave:
                if step.action != STOP:
                    name = f"{folder_of(step.broker)}/mosquitto.conf"
                    text = (staged / f"wave-{number}" / name).read_bytes()
                    assert (folder / name).read_bytes() == text
        for file in (staged / "last").rglob("*"):
            if file.is_file():
                assert (folder / file.relative_to(staged / "last")).read_bytes() == file.read_bytes()


@given(routed_plans(), routed_plans())
@settings(max_examples=10)
def test_waves_come_in_order(old: tuple[Interest, Trees], new: tuple[Interest, Trees]) -> None:
    """A wave can be written again, but none is left out."""
    before, after = named_trees(old[1]), named_trees(new[1])
    inventory = Inventory.on_loopback(sorted({*before.brokers, *after.brokers}))
    places = Inventory({name: inventory.endpoints[name] for name in after.brokers})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        first = Inventory({name: inventory.endpoints[name] for name in before.brokers})
        write_federation(before, wire(before), first, BrokerSettings(), folder)
        change = plan_change(FederationFolder(folder), after, BrokerSettings(), places)
        assume(len(change.rollout.waves) > 2)
        for wave in ("2", "0x", "-1", "99"):
            with pytest.raises(InputError, match=r"cannot write wave|no wave"):
                write_wave(change, wave)
        assert write_wave(change, "1")[0] == 1
        change = plan_change(FederationFolder(folder), after, BrokerSettings(), places)
        assert write_wave(change, "1") == (1, [])
        with pytest.raises(InputError, match=r"1 of . waves are written"):
            write_wave(change, "3")


def test_a_wave_written_meanwhile_is_no_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader between whose looks at the manifest and at the files a wave is written looks again."""
    chain = {"x": TopicTree((("a", "b"), ("b", "c")), frozenset("abc"))}
    star = {"x": TopicTree((("a", "b"), ("a", "c")), frozenset("abc"))}
    places = Inventory.on_loopback("abc")
    folder = tmp_path / "out"
    write_federation(NamedTrees(tuple("abc"), chain), wire(NamedTrees(tuple("abc"), chain)), places,
                     BrokerSettings(), folder)  # fmt: skip
    after = NamedTrees(tuple("abc"), star)
    change = plan_change(FederationFolder(folder), after, BrokerSettings(), places)
    look = FederationFolder.drift
    written: list[tuple[int, list[str]]] = []

    def late(store: FederationFolder, *known: object) -> object:
        if not written:
            written.append(write_wave(change, "next"))
        return look(store, *known)  # type: ignore[arg-type]

    monkeypatch.setattr(FederationFolder, "drift", late)
    seen = plan_change(FederationFolder(folder), after, BrokerSettings(), places, to_write=False)
    assert written
    assert written[0][1]
    assert not seen.drift
    assert seen.before == read_federation(folder)


def test_brokers_may_exchange_their_addresses(tmp_path: Path) -> None:
    """A rollout in which brokers take over the addresses of others can be resumed."""
    chain = {"x": TopicTree((("a", "b"), ("b", "c")), frozenset("abc"))}
    shorter = {"x": TopicTree((("a", "c"), ("c", "d")), frozenset("acd"))}
    before, after = NamedTrees(tuple("abc"), chain), NamedTrees(tuple("acd"), shorter)
    folder = tmp_path / "out"
    write_federation(before, wire(before), Inventory.on_loopback("abc"), BrokerSettings(), folder)
    swapped = Inventory.on_loopback("cda")  # c takes a's address, the new d that of b, which leaves
    for _ in range(10):
        change = plan_change(FederationFolder(folder), after, BrokerSettings(), swapped)
        if change.rollout.finished and change.before.rollout is None:
            break
        write_wave(change, "next")
    found = read_federation(folder)
    assert (set(found.wiring.order), found.rollout) == ({"a", "c", "d"}, None)
    assert {name: found.inventory.endpoints[name] for name in "acd"} == swapped.endpoints
