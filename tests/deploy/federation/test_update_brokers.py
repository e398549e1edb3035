"""Deltas applied to real brokers: afterwards the brokers do what the new plan says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import meshwright as mw
from brokers import PROGRAM
from meshwright.brokers.program import free_ports, installed_version
from meshwright.churn.events import JOIN, LEAVE, Event
from meshwright.deploy import (
    BrokerSettings,
    Endpoint,
    Inventory,
    NamedTrees,
    TopicTree,
    read_federation,
    rewire,
    wire,
)
from meshwright.deploy.config.delta import RELOAD, compute_delta
from meshwright.deploy.config.wiring import client_id
from meshwright.deploy.federation.live_plan import LivePlan
from meshwright.deploy.federation.logs import GONE, RELOADED
from meshwright.deploy.federation.plan import FederationPlan
from meshwright.deploy.federation.run import publish_everywhere, run_federation
from meshwright.deploy.federation.update import apply_delta, apply_wave, update_folders
from meshwright.store.trees import TREES
from meshwright.workloads import zipf
from routed_plans import named_trees

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
needs_reload = pytest.mark.skipif(
    PROGRAM is None or installed_version() != "2.1",
    reason="needs mosquitto 2.1 or later, which reloads bridges",
)
SECRET = b"0123456789abcdef"


@needs_broker
def test_a_secured_federation_changes(tmp_path: Path) -> None:
    """With passwords, access lists and queues, a join and a leave lead exactly to the new plan."""
    overlay = mw.design(zipf(6, 5, size=3, seed=4), "low").overlay
    trees = mw.route(overlay)
    plan = LivePlan(
        FederationPlan(named_trees(trees), overlay.edges, trees.to_arrow().cast(TREES))  # type: ignore[arg-type]
    )
    hub = max(plan.live_overlay.nodes, key=lambda node: len(plan.live_overlay.neighbours(node)))
    settings = BrokerSettings("durable", secret=SECRET)
    with run_federation(plan.trees, tmp_path / "run", settings) as federation:
        endpoints = {**federation.inventory.endpoints, "new": Endpoint("127.0.0.1", free_ports(1)[0])}
        for event in (Event(JOIN, "new", ("t0", "t1")), Event(LEAVE, hub)):
            before = plan.wiring
            plan.apply([event])
            delta = compute_delta(before, plan.wiring, secured=True, durable=True)
            assert any(step.bridges is None for step in delta.steps)
            inventory = Inventory({broker: endpoints[broker] for broker in plan.wiring.order})
            for wave in delta.waves:
                positions = federation.logs.positions(federation.brokers.running)
                apply_wave(wave, delta, inventory, federation)
                for step in wave:
                    if step.bridges is None and step.broker in positions and step.action == RELOAD:
                        assert RELOADED in federation.logs.lines(step.broker, positions[step.broker])
            update_folders(plan.trees, plan.wiring, inventory, settings, tmp_path / "run")
            assert publish_everywhere(plan.trees, replace(federation, inventory=inventory)).passed


@needs_broker
def test_moved_brokers_and_new_passwords(tmp_path: Path) -> None:
    """At another port, then with another secret, brokers find each other again, each after one step."""
    trees = named_trees(mw.route(mw.design(zipf(5, 4, size=3, seed=4), "low").overlay))
    folder, first = tmp_path / "run", BrokerSettings(secret=SECRET)
    with run_federation(trees, folder, first) as federation:
        wiring = federation.wiring
        hub = wiring.order[0]
        assert wiring.dialled_to(hub)
        inventory = Inventory(
            {**federation.inventory.endpoints, hub: Endpoint("127.0.0.1", free_ports(1)[0])}
        )
        for settings in (first, BrokerSettings(secret=b"another secret of 16")):
            must_restart = read_federation(folder).must_restart(inventory, settings)
            assert must_restart == ({hub} if settings == first else set(wiring.order))
            delta = compute_delta(wiring, wiring, secured=True, must_restart=must_restart)
            now = replace(federation, inventory=inventory, settings=settings)
            changed = [apply_wave(wave, delta, inventory, now) for wave in delta.waves]
            assert all(changed)
            assert settings != first or changed[0] == [f"{hub}/mosquitto.conf"]
            assert len(delta.steps) == len({step.broker for step in delta.steps})
            assert publish_everywhere(trees, now).passed
            update_folders(trees, wiring, inventory, settings, folder)
            assert not read_federation(folder).must_restart(inventory, settings)


def star(**topics: str) -> NamedTrees:
    """Return trees in which `z`, the last broker, dials the named brokers."""
    return NamedTrees(
        tuple("abcdefz"),
        {
            topic: TopicTree(tuple((other, "z") for other in ends), frozenset(ends + "z"))
            for topic, ends in topics.items()
        },
    )


@needs_reload
def test_bridges_change_by_reload(tmp_path: Path) -> None:
    """Topics and bridges come and go, many at once; unchanged bridges, and all processes, are undisturbed."""
    plans = [
        star(x="abcdef", y="a"),
        star(x="abcdef", y="ab"),
        star(x="abcdef"),
        star(x="af", y="bf"),
        star(y="abcdef", x="a"),
    ]
    order, settings = plans[0].brokers, BrokerSettings(version="2.1")
    with run_federation(plans[0], tmp_path / "run", settings, wiring=wire(plans[0], order)) as federation:
        processes = {broker: process.pid for broker, process in federation.brokers.running.items()}
        wiring = federation.wiring
        for trees in plans[1:]:
            delta = compute_delta(wiring, rewire(trees, wiring), version="2.1")
            assert {step.action for step in delta.steps} == {RELOAD}
            positions = federation.logs.positions(order)
            apply_delta(delta, trees, federation.inventory, federation)
            changed = {
                client_id(step.broker, other) for step in delta.steps for other in step.changed_listeners
            }
            lines = {line for broker in order for line in federation.logs.lines(broker, positions[broker])}
            ended = {line.removeprefix(f"{GONE} ") for line in lines if line.startswith(f"{GONE} meshwright")}
            begun = {line.removeprefix("connected ") for line in lines if line.startswith("connected ")}
            assert ended | begun == changed
            assert not update_folders(trees, delta.new, federation.inventory, settings, tmp_path / "run")
            assert publish_everywhere(trees, federation).passed
            wiring = delta.new
        assert {broker: process.pid for broker, process in federation.brokers.running.items()} == processes
