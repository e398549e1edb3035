"""A delta applied to running brokers: afterwards they do what the new plan says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import meshwright as mw
from brokers import PROGRAM
from meshwright import churn
from meshwright.churn.events import Event
from meshwright.deploy import Inventory, Place, Settings
from meshwright.deploy.delta import delta
from meshwright.deploy.federation import publish_everywhere, running
from meshwright.deploy.living import LivingPlan
from meshwright.deploy.program import free_ports
from meshwright.deploy.updating import perform, update_folders
from meshwright.store.routes import TREES
from meshwright.workloads import zipf
from routed_plans import routed_of

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="no mosquitto is installed")


@needs_broker
def test_a_secured_federation_changes(tmp_path: Path) -> None:
    """With passwords and access lists too, a join and a leave lead to what the new plan says, exactly."""
    overlay = mw.design(zipf(6, 5, size=3, seed=4), "low").overlay
    trees = mw.route(overlay)
    plan = LivingPlan(routed_of(trees), overlay.edges, trees.to_arrow().cast(TREES))  # type: ignore[arg-type]
    hub = max(plan.live.nodes, key=lambda node: len(plan.live.neighbours(node)))
    chosen = Settings(secret=b"0123456789abcdef")
    with running(plan.routed, tmp_path / "run", chosen) as here:
        places = {**here.inventory.places, "new": Place("127.0.0.1", free_ports(1)[0])}
        for event in (Event(churn.EVENTS[0], "new", ("t0", "t1")), Event(churn.EVENTS[1], hub)):
            before = plan.wiring
            plan.happen([event])
            found = delta(before, plan.wiring, secured=True)
            assert any(step.bridges is None for step in found.steps)
            now = Inventory({broker: places[broker] for broker in plan.wiring.order})
            for wave in found.waves:
                perform(wave, found, now, chosen, here.brokers, here.logs)
            update_folders(plan.routed, plan.wiring, now, chosen, tmp_path / "run")
            assert publish_everywhere(plan.routed, replace(here, inventory=now)).passed
