"""Bridges that change by a reload, as Mosquitto does from 2.1 on: nobody restarts, no client is cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokers import PROGRAM
from meshwright.brokers.program import installed_version
from meshwright.deploy import Routed, Settings, Way, rewire, wire
from meshwright.deploy.config.delta import RELOAD, delta
from meshwright.deploy.config.wiring import client_id
from meshwright.deploy.federation.logs import GONE
from meshwright.deploy.federation.run import publish_everywhere, running
from meshwright.deploy.federation.update import perform, update_folders

needs_reload = pytest.mark.skipif(
    PROGRAM is None or installed_version() != "2.1",
    reason="no mosquitto of 2.1 or later, which takes up bridges by a reload, is installed",
)
ORDER = tuple("abcdefz")
CHOSEN = Settings(version="2.1")


def ways(**topics: str) -> Routed:
    """Return ways on which `z`, last of all, dials whoever is named."""
    return Routed(
        ORDER,
        {t: Way(tuple((other, "z") for other in ends), frozenset(ends + "z")) for t, ends in topics.items()},
    )


def test_what_a_reload_touches() -> None:
    """Topics of a bridge that a reload renews are touched, also those that stay; no others are."""
    old = wire(ways(x="ab", y="a", w="b"), ORDER)
    found = delta(old, rewire(ways(x="ab", w="b"), old), version="2.1")
    assert [step.action for step in found.steps] == [RELOAD]
    assert found.renewed == {frozenset("az")}
    assert found.touched == {"x", "y"}


@needs_reload
def test_bridges_change_by_reload(tmp_path: Path) -> None:
    """Topics and bridges come and go, many at once; bridges that stay, and clients, notice nothing of it."""
    plans = [
        ways(x="abcdef", y="a"),
        ways(x="abcdef", y="ab"),
        ways(x="abcdef"),
        ways(x="af", y="bf"),
        ways(y="abcdef", x="a"),
    ]
    with running(plans[0], tmp_path / "run", CHOSEN, wiring=wire(plans[0], ORDER)) as here:
        processes = {broker: process.pid for broker, process in here.brokers.running.items()}
        wiring = here.wiring
        for plan in plans[1:]:
            new = rewire(plan, wiring)
            found = delta(wiring, new, version="2.1")
            assert {step.action for step in found.steps} == {RELOAD}
            marks = here.logs.marks(ORDER)
            for wave in found.waves:
                perform(wave, found, here.inventory, CHOSEN, here.brokers, here.logs)
            changed = {client_id(step.broker, other) for step in found.steps for other in step.changed}
            said = {line for broker in ORDER for line in here.logs.lines(broker, marks[broker])}
            broken = {line.removeprefix(f"{GONE} ") for line in said if line.startswith(f"{GONE} meshwright")}
            begun = {line.removeprefix("connected ") for line in said if line.startswith("connected ")}
            assert broken | begun == changed
            update_folders(plan, new, here.inventory, CHOSEN, tmp_path / "run")
            assert not update_folders(plan, new, here.inventory, CHOSEN, tmp_path / "run")
            assert publish_everywhere(plan, here).passed
            wiring = new
        assert {broker: process.pid for broker, process in here.brokers.running.items()} == processes
