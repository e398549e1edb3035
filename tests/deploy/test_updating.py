"""A delta applied to running brokers: afterwards they do what the new plan says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import meshwright as mw
from brokers import PROGRAM
from meshwright import churn
from meshwright.brokers.program import free_ports
from meshwright.churn.events import Event
from meshwright.deploy import Inventory, Place, Settings, read_federation
from meshwright.deploy.config.delta import RELOAD, delta
from meshwright.deploy.federation.live_plan import LivingPlan
from meshwright.deploy.federation.logs import RELOADED
from meshwright.deploy.federation.run import publish_everywhere, running
from meshwright.deploy.federation.update import perform, update_folders
from meshwright.store.trees import TREES
from meshwright.workloads import zipf
from routed_plans import routed_of

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="no mosquitto is installed")


@needs_broker
def test_a_secured_federation_changes(tmp_path: Path) -> None:
    """With passwords, access lists and queues, a join and a leave lead to what the new plan says, exactly."""
    overlay = mw.design(zipf(6, 5, size=3, seed=4), "low").overlay
    trees = mw.route(overlay)
    plan = LivingPlan(routed_of(trees), overlay.edges, trees.to_arrow().cast(TREES))  # type: ignore[arg-type]
    hub = max(plan.live.nodes, key=lambda node: len(plan.live.neighbours(node)))
    chosen = Settings("durable", secret=b"0123456789abcdef")
    with running(plan.routed, tmp_path / "run", chosen) as here:
        places = {**here.inventory.places, "new": Place("127.0.0.1", free_ports(1)[0])}
        for event in (Event(churn.EVENTS[0], "new", ("t0", "t1")), Event(churn.EVENTS[1], hub)):
            before = plan.wiring
            plan.happen([event])
            found = delta(before, plan.wiring, secured=True, durable=True)
            assert any(step.bridges is None for step in found.steps)
            now = Inventory({broker: places[broker] for broker in plan.wiring.order})
            for wave in found.waves:
                marks = here.logs.marks(here.brokers.running)
                perform(wave, found, now, chosen, here.brokers, here.logs)
                for step in wave:
                    if step.bridges is None and step.broker in marks and step.action == RELOAD:
                        assert RELOADED in here.logs.lines(step.broker, marks[step.broker])
            update_folders(plan.routed, plan.wiring, now, chosen, tmp_path / "run")
            assert publish_everywhere(plan.routed, replace(here, inventory=now)).passed


@needs_broker
def test_moved_brokers_and_new_passwords(tmp_path: Path) -> None:
    """At another port, and then with another secret, brokers find each other again, each after one step."""
    plan = routed_of(mw.route(mw.design(zipf(5, 4, size=3, seed=4), "low").overlay))
    folder, chosen = tmp_path / "run", Settings(secret=b"0123456789abcdef")
    with running(plan, folder, chosen) as here:
        hub = here.wiring.order[0]
        assert here.wiring.heard_by(hub)
        places = Inventory({**here.inventory.places, hub: Place("127.0.0.1", free_ports(1)[0])})
        for settings in (chosen, Settings(secret=b"another secret of 16")):
            deployed = read_federation(folder)
            restless = deployed.restless(places, settings)
            assert restless == ({hub} if settings == chosen else set(here.wiring.order))
            found = delta(here.wiring, here.wiring, secured=True, restless=restless)
            changed = [
                perform(wave, found, places, settings, here.brokers, here.logs) for wave in found.waves
            ]
            assert all(changed)
            assert settings != chosen or changed[0] == [f"{hub}/mosquitto.conf"]
            assert len(found.steps) == len({step.broker for step in found.steps})
            now = replace(here, inventory=places, settings=settings)
            assert publish_everywhere(plan, now).passed
            update_folders(plan, here.wiring, places, settings, folder)
            assert not read_federation(folder).restless(places, settings)
