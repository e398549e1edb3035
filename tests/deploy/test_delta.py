"""Deltas: they lead from one wiring to another without a loop in between, and only once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calls import seeds
from meshwright import churn
from meshwright.deploy.delta import Delta, Step, explain_cut, explain_delta
from meshwright.deploy.folder_store import update_folders, write_federation
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import RELOAD, RESTART, START, STOP
from meshwright.deploy.waves import compute_delta, join_waves
from meshwright.deploy.wiring import Wiring, rewire, wire
from meshwright.interest import Interest
from meshwright.routes import Trees, route
from routed_plans import named_trees, routed_plans

SECRET = b"0123456789abcdef"


def after_churn(trees: Trees, seed: int, *, stable: bool) -> NamedTrees:
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
    return named_trees(route(overlay, "stable" if stable else "hops", today=today))


def have_loops(bridges: dict[tuple[str, str], dict[str, str]]) -> bool:
    """Return whether the bridges of some topic have a loop."""
    graphs: dict[str, nx.Graph] = {}
    for (a, b), topics in bridges.items():
        for topic in topics:
            graphs.setdefault(topic, nx.Graph()).add_edge(a, b)
    return any(not nx.is_forest(graph) for graph in graphs.values())


def play(delta: Delta) -> dict[tuple[str, str], dict[str, str]]:
    """Play a delta step by step, each wave in reverse order, and look for loops on the way."""
    now = {pair: dict(topics) for pair, topics in delta.old.bridges.items()}
    there = set(delta.old.order)
    for wave in delta.waves:
        for step in reversed(wave):
            if step.action == STOP:
                there.discard(step.broker)
                now = {pair: topics for pair, topics in now.items() if step.broker not in pair}
                continue
            assert (step.action == START) == (step.broker not in there)
            there.add(step.broker)
            assert step.bridges is not None
            now = {pair: topics for pair, topics in now.items() if pair[0] != step.broker}
            now |= {(step.broker, other): dict(topics) for other, topics in step.bridges.items()}
            assert all(other in there for other in step.bridges)
            assert not have_loops(now)
    return now


@settings(max_examples=40)
@given(routed_plans(), seeds, st.booleans(), st.booleans())
def test_a_delta_leads_there_without_a_loop(
    made: tuple[Interest, Trees], seed: int, stable: bool, durable: bool
) -> None:
    """Every broker ends with the new wiring, no topic ever has a loop, and newcomers dial."""
    assume(made[0].num_subscriptions)
    old = wire(named_trees(made[1]))
    new = wire(after_churn(made[1], seed, stable=stable), old.order)
    delta = compute_delta(old, new, BrokerSettings("durable" if durable else "plain"))
    kept = {pair: topics for pair, topics in play(delta).items() if topics}
    assert kept == {pair: dict(topics) for pair, topics in new.bridges.items()}
    assert not compute_delta(new, new, BrokerSettings()).steps
    assert explain_delta(compute_delta(new, new, BrokerSettings())) == ["nothing changes"]
    assert all(not set(step.removed) & set(step.added) for step in delta.steps)
    assert {step.broker for step in delta.steps if step.action == START} == set(new.order) - set(old.order)


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
    before = named_trees(route(trees.overlay, "stable", today=today))
    old = wire(before)
    after = named_trees(route(live.overlay(), "stable", today=today))
    delta = compute_delta(old, wire(after, old.order), BrokerSettings())
    assert [(step.action, step.broker) for step in delta.steps] == [(START, "99")]
    assert not delta.restarts


@settings(max_examples=10)
@given(routed_plans(), seeds)
def test_applying_twice_changes_nothing(made: tuple[Interest, Trees], seed: int) -> None:
    """Updated folders equal those of a fresh export, and a second update touches no file."""
    assume(made[0].num_subscriptions)
    before, after = named_trees(made[1]), after_churn(made[1], seed, stable=True)
    chosen = BrokerSettings()
    with tempfile.TemporaryDirectory() as place:
        folder, fresh = Path(place) / "a", Path(place) / "b"
        old = wire(before)
        write_federation(before, old, Inventory.on_loopback(old.order), chosen, folder)
        new = wire(after, read_federation(folder).wiring.order)
        inventory = Inventory.on_loopback(new.order)
        update_folders(after, new, inventory, chosen, folder)
        assert read_federation(folder).wiring == new
        assert update_folders(after, new, inventory, chosen, folder) == []
        write_federation(after, new, inventory, chosen, fresh)
        for file in sorted(path for path in fresh.rglob("*") if path.is_file()):
            assert (folder / file.relative_to(fresh)).read_bytes() == file.read_bytes()


CIRCLE = (
    Wiring(tuple("abcd"), {("c", "a"): {"x": "both"}, ("d", "a"): {"y": "both"}}),
    Wiring(tuple("abcd"), {("c", "b"): {"y": "both"}, ("d", "b"): {"x": "both"}}),
)


def test_a_circle_of_waiting_is_cut() -> None:
    """If two brokers each add what the other has yet to remove, both first remove, then add."""
    delta = compute_delta(*CIRCLE, BrokerSettings())
    assert [[step.broker for step in wave] for wave in delta.waves] == [["c", "d"], ["c", "d"]]
    assert [len(step.added) for step in delta.steps] == [0, 0, 1, 1]
    assert [step.bridges for step in delta.steps[:2]] == [{}, {}]
    assert all(step.action == RESTART for step in delta.steps)
    assert {step.action for step in compute_delta(*CIRCLE, BrokerSettings(version="2.1")).steps} == {RELOAD}
    assert {
        step.action for step in compute_delta(*CIRCLE, BrokerSettings("durable", version="2.1")).steps
    } == {RESTART}
    assert delta.affected_topics == {"x", "y"}


def test_waves_are_joined() -> None:
    """Brokers that one process stops and starts act once and together; access lists are loaded before."""
    joined = join_waves(compute_delta(*CIRCLE, BrokerSettings(secret=SECRET)))
    assert [[(step.action, step.broker) for step in wave] for wave in joined.waves] == [
        [(RELOAD, "a"), (RELOAD, "b")],
        [(RESTART, "c"), (RESTART, "d")],
    ]
    last = joined.waves[1][0]
    assert (last.removed, last.added) == ((("a", "x", "both"),), (("b", "y", "both"),))
    assert last.bridges == {"b": {"y": "both"}}
    reloaded = compute_delta(*CIRCLE, BrokerSettings(version="2.1"))
    assert join_waves(reloaded) == reloaded


def test_cuts_are_estimated() -> None:
    """A topic is cut until brokers have restarted or dialled again, over all waves that cut it."""
    target = BrokerSettings().broker
    restart, redial = target.restart_seconds, target.redial_seconds
    by_wave = compute_delta(*CIRCLE, BrokerSettings())
    assert by_wave.estimate_cut(target) == {"x": 2 * restart, "y": 2 * restart}
    assert by_wave.estimate_cut(target, 1) == {"x": restart, "y": restart}
    assert join_waves(by_wave).estimate_cut(target) == {"x": restart, "y": restart}
    chain = Wiring(tuple("abc"), {("b", "a"): {"x": "both"}, ("c", "b"): {"z": "both"}})
    more = Wiring(tuple("abc"), {("b", "a"): {"x": "both", "y": "both"}, ("c", "b"): {"z": "both"}})
    delta = compute_delta(chain, more, BrokerSettings())
    assert delta.estimate_cut(target) == {"x": restart, "y": restart, "z": redial}
    assert explain_cut(delta, target) == [
        "3 topics cut for about: z 2.0 s, x 0.2 s, y 0.2 s",
        "Mosquitto dials a broker that restarted again after up to 2 s: only links that the restarted broker "
        "dials are back earlier",
    ]
    assert explain_cut(join_waves(compute_delta(*CIRCLE, BrokerSettings("durable"))), target) == [
        "2 topics cut for about: x 0.2 s, y 0.2 s",
        "2 topics may lose messages: Mosquitto does not queue for a link before it has had it, and a removed "
        "link takes its queue along",
    ]
    joined = Wiring(tuple("abcd"), {**chain.bridges, ("d", "a"): {"x": "both"}})
    assert explain_cut(compute_delta(chain, joined, BrokerSettings()), target) == []


def test_a_broker_that_moves_acts_first() -> None:
    """A broker at another address restarts, and after it those that dial it, with all their lines to it."""
    wiring = Wiring(("a", "b", "c"), {("b", "a"): {"x": "both"}, ("c", "b"): {"x": "both"}})
    delta = compute_delta(wiring, wiring, BrokerSettings(), must_restart={"b"})
    assert [[step.broker for step in wave] for wave in delta.waves] == [["b"], ["c"]]
    assert [len(step.added) for step in delta.steps] == [0, 1]
    steps = compute_delta(wiring, wiring, BrokerSettings(version="2.1"), must_restart={"b"}).steps
    assert [step.action for step in steps] == [RESTART, RELOAD]


def test_bridges_to_brokers_that_are_gone_need_no_restart() -> None:
    """A broker that leaves is stopped; its diallers are listed and act only if sessions are durable."""
    old, new = Wiring(("a", "b"), {("b", "a"): {"x": "both"}}), Wiring(("b",), {})
    delta = compute_delta(old, new, BrokerSettings())
    assert [(step.action, step.broker) for step in delta.steps] == [(STOP, "a")]
    assert delta.no_action == ("b",)
    durable = compute_delta(old, new, BrokerSettings("durable"))
    assert [(step.action, step.broker) for step in durable.steps] == [(STOP, "a"), (RESTART, "b")]
    assert durable.no_action == ()


def test_new_passwords_come_first() -> None:
    """With passwords, brokers with other diallers reload before these dial; newcomers and movers need not."""
    old = Wiring(tuple("abc"), {("b", "a"): {"x": "both"}, ("c", "a"): {"x": "both"}})
    new = Wiring(tuple("abcd"), {("b", "a"): {"x": "both"}, ("c", "b"): {"x": "both"}, ("d", "a"): {}})
    first, *_ = compute_delta(old, new, BrokerSettings(secret=SECRET)).waves
    assert first == (Step(RELOAD, "a"), Step(RELOAD, "b"))
    moved, *_ = compute_delta(old, new, BrokerSettings(secret=SECRET), must_restart={"a"}).waves
    assert moved == (Step(RELOAD, "b"),)


def test_affected_topics_are_those_of_disturbed_bridges() -> None:
    """A restart affects all topics of a broker's bridges, dialled or not; a start only those it adds."""
    old = Wiring(
        tuple("abcd"), {("b", "a"): {"x": "both"}, ("c", "b"): {"y": "both"}, ("d", "c"): {"z": "both"}}
    )
    more = Wiring(old.order, {**old.bridges, ("b", "a"): {"x": "both", "w": "both"}})
    assert compute_delta(old, more, BrokerSettings()).affected_topics == {"w", "x", "y"}
    assert compute_delta(old, more, BrokerSettings(version="2.1")).affected_topics == {"w", "x"}
    joined = Wiring((*old.order, "e"), {**old.bridges, ("e", "a"): {"v": "both"}})
    assert compute_delta(old, joined, BrokerSettings()).affected_topics == {"v"}
    left = Wiring(tuple("bcd"), {("c", "b"): {"y": "both"}, ("d", "c"): {"z": "both"}})
    assert compute_delta(old, left, BrokerSettings()).affected_topics == {"x"}


def test_a_reload_interrupts_changed_links_only() -> None:
    """Topics of a bridge that a reload interrupts are affected, also those that stay; no others are."""

    def star(**topics: str) -> NamedTrees:
        """Return trees in which `z` dials the named brokers."""
        return NamedTrees(
            tuple("abz"),
            {
                topic: TopicTree(tuple((other, "z") for other in ends), frozenset(ends + "z"))
                for topic, ends in topics.items()
            },
        )

    old = wire(star(x="ab", y="a", w="b"))
    delta = compute_delta(old, rewire(star(x="ab", w="b"), old), BrokerSettings(version="2.1"))
    assert [step.action for step in delta.steps] == [RELOAD]
    assert delta.interrupted_links == {frozenset("az")}
    assert delta.affected_topics == {"x", "y"}
    new = rewire(star(x="ab"), wire(star(x="a")))
    assert (
        compute_delta(wire(star(x="a")), new, BrokerSettings(version="2.1")).interrupted_links == frozenset()
    )


def test_json_keeps_its_keys() -> None:
    """The JSON document states waves, restarts, brokers without an action and affected topics."""
    old, new = Wiring(("a", "b"), {("b", "a"): {"x": "both"}}), Wiring(("b", "c"), {("c", "b"): {"x": "in"}})
    assert compute_delta(old, new, BrokerSettings()).to_dict() == {
        "waves": [
            [{"action": "stop", "broker": "a", "removed": [], "added": []}],
            [{"action": "start", "broker": "c", "removed": [], "added": [["b", "x", "in"]]}],
        ],
        "restarts": [],
        "quiet": ["b"],
        "touched_topics": 1,
    }


def test_explanations() -> None:
    """Each wave, the brokers without an action, and what clients and messages suffer is explained."""
    assert explain_delta(compute_delta(*CIRCLE, BrokerSettings())) == [
        "wave 1:",
        "  restart c; without x ↔ a",
        "  restart d; without y ↔ a",
        "wave 2:",
        "  restart c; with y ↔ b",
        "  restart d; with x ↔ b",
        "clients of 2 brokers are disconnected for a moment; 2 topics may lose messages meanwhile",
    ]
    assert explain_delta(compute_delta(*CIRCLE, BrokerSettings("durable")))[-1] == (
        "clients of 2 brokers are disconnected for a moment; "
        "2 topics are affected; where their trees stay, messages queue"
    )
    assert explain_delta(compute_delta(*CIRCLE, BrokerSettings(version="2.1")))[-1] == (
        "no client is disconnected; 2 topics may lose messages meanwhile"
    )
    late = explain_delta(compute_delta(*CIRCLE, BrokerSettings()), 1)
    assert late[:3] == ["wave 2:", "  restart c; with y ↔ b", "  restart d; with x ↔ b"]
    one = Wiring(("a", "b"), {("b", "a"): {"x": "both"}}), Wiring(("a", "b"), {("b", "a"): {"x": "in"}})
    assert explain_delta(compute_delta(*one, BrokerSettings("durable")))[-1] == (
        "clients of 1 broker are disconnected for a moment; "
        "1 topic is affected; where their trees stay, messages queue"
    )
    for count, shown in ((5, "b0, b1, b2, b3, b4;"), (6, "b0, b1, b2, b3, b4 …;")):
        diallers = [f"b{number}" for number in range(count)]
        old = Wiring(("a", *diallers), {(dialler, "a"): {"x": "both"} for dialler in diallers})
        lines = explain_delta(compute_delta(old, Wiring(tuple(diallers), {}), BrokerSettings()))
        assert lines[:2] == ["wave 1:", "  stop a"]
        assert lines[2].startswith(f"no action: {shown} until they restart")
        assert len(lines) == 3


def test_steps_show_the_first_three_lines() -> None:
    """A step names three of its lines and counts the rest, and says if only passwords change."""
    lines = tuple(("a", f"t{number}", "both") for number in range(5))
    assert str(Step(RESTART, "b", lines[:3], lines[:4], {})) == (
        "restart b; without t0 ↔ a, t1 ↔ a, t2 ↔ a; with t0 ↔ a, t1 ↔ a, t2 ↔ a and 1 more"
    )
    assert str(Step(RELOAD, "b")) == "reload b; for changed passwords and access"
    assert (str(Step(RELOAD, "b", bridges={})), str(Step(STOP, "b"))) == ("reload b", "stop b")


def group_wiring(links: list[tuple[str, str]], held: dict[str, set[str]]) -> Wiring:
    """Return the bridges of one group of filters on a tree."""
    filters = {broker: frozenset(own) for broker, own in held.items()}
    tree = TopicTree(tuple(links), frozenset(held), filters=filters)
    return wire(NamedTrees(tuple(sorted(held)), {"group": tree}))


def test_overlapping_filters_wait_for_each_other() -> None:
    """Nobody adds a filter before all others have removed those that overlap it: another name, same loop."""
    held = {"a": {"m/#"}, "b": {"m/+"}, "c": {"m/n"}}
    old = group_wiring([("a", "b"), ("b", "c")], held)
    new = group_wiring([("a", "b"), ("a", "c")], held)
    waves = compute_delta(old, new, BrokerSettings()).waves
    assert next({step.broker for step in wave if step.removed} for wave in waves) >= {"c"}
    apart = group_wiring([("b", "a"), ("c", "a")], {"a": {"m/+"}, "b": {"m/#"}, "c": {"m/n"}})
    for delta in (compute_delta(old, new, BrokerSettings()), compute_delta(old, apart, BrokerSettings())):
        for number, wave in enumerate(delta.waves):
            later = {step.broker for after in delta.waves[number + 1 :] for step in after if step.removed}
            for step in wave:
                assert not (step.added and later - {step.broker})


def test_filters_on_a_tree_that_stays_change_in_one_wave() -> None:
    """Where the links of a group stay, no order can make a loop, and all brokers change at once."""
    links = [("a", "b"), ("b", "c"), ("c", "d")]
    held = {"a": {"m/#"}, "b": {"m/+"}, "c": {"m/n"}, "d": {"m/o"}}
    delta = compute_delta(
        group_wiring(links, held), group_wiring(links, {**held, "d": {"m/#"}}), BrokerSettings()
    )
    assert len(delta.waves) == 1
    assert {step.broker for step in delta.steps} == {"b", "c", "d"}
