"""Live churn: brokers come, go and crash under traffic; what nothing touched loses nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import meshwright as mw
from brokers import PROGRAM
from meshwright import churn
from meshwright.brokers.program import installed_version
from meshwright.churn.events import CRASH, JOIN, LEAVE, Event
from meshwright.deploy import Settings
from meshwright.deploy.federation.churn import churn_live
from meshwright.deploy.federation.churn_verdict import Churned
from meshwright.deploy.federation.live_plan import LivingPlan
from meshwright.deploy.federation.run import Running
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.readers.options import Reading
from meshwright.store.trees import TREES
from meshwright.workloads import zipf
from routed_plans import routed_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="no mosquitto is installed")


def living(brokers: int, topics: int, size: int = 3) -> LivingPlan:
    """Plan and route a made-up federation that can live."""
    interest = zipf(brokers, topics, size=size, seed=3)
    overlay = mw.design(interest, "low").overlay
    trees = mw.route(overlay)
    return LivingPlan(routed_of(trees), overlay.edges, trees.to_arrow().cast(TREES))  # type: ignore[arg-type]


def check(found: Churned, events: int, *, durable: bool = True) -> None:
    """Look that nothing is lost where no tree, or nothing, changed, and that all is exact in the end."""
    assert (found.calm.missing, found.calm.duplicate, found.calm.leaked) == ((), (), ())
    assert (found.final.missing, found.final.duplicate, found.final.leaked) == ((), (), ())
    assert found.leaked == 0
    assert found.faults == ()
    assert found.calm.published > 0
    assert len(found.windows) == events
    for window in found.windows:
        if window.event == JOIN:
            assert (window.cut_off, window.restarts, window.missing, window.duplicate) == (0, [], 0, 0)
        assert window.unexcused == 0
        if durable:
            assert (window.of_restarted.missing, window.of_restarted.duplicate) == (0, 0)
        assert window.in_time
        assert bool(window.of_restarted.published) <= bool(window.restarts or window.reloads)
        if not window.restarts:
            assert window.cut_off == 0
    assert found.passed


@needs_broker
def test_the_loop_is_closed(spark: SparkSession, tmp_path: Path) -> None:
    """A join, a crash and a leave under traffic; then the brokers' logs, ingested, give the interest anew."""
    plan = living(6, 5)
    names = plan.live.nodes
    events = [
        Event(JOIN, "new", ("t0", "t1", "t2")),
        Event(CRASH, names[1]),
        Event(LEAVE, names[2]),
    ]

    def look(here: Running) -> None:
        (tmp_path / "logs").mkdir()
        for broker in here.brokers.running:
            shutil.copy(here.brokers.log(broker), tmp_path / "logs" / f"{broker}.log")

    check(churn_live(plan, events, tmp_path / "run", look=look), 3)
    reading = Reading("mosquitto-log", node_from="broker", bridges=r"^(local|meshwright|observer)[.\-]")
    ingest(spark, [tmp_path / "logs"], tmp_path / "dataset", reading)
    found = mw.load_interest(tmp_path / "dataset").to_arrow().to_pylist()
    live = plan.live.interest().to_arrow().to_pylist()
    assert {tuple(row.values()) for row in found} == {tuple(row.values()) for row in live}
    assert "new" in {row["node"] for row in found}


@needs_broker
@pytest.mark.slow
@pytest.mark.parametrize("profile", ["durable", "plain"])
def test_much_churn(profile: str, tmp_path: Path) -> None:
    """20 brokers, 30 events, steady traffic: where a tree stays nothing is lost or doubled, restarts or not.

    In the profile `plain` a restart may cost what goes through that broker, and nothing else; where the
    installed broker reloads, only what goes over a link that is renewed.
    """
    plan = living(20, 12, size=4)
    interest = plan.live.interest()
    events = [event for events in churn.random_churn(interest, 30, seed=2) for event in events]
    events = [
        Event(CRASH, event.node) if event.event == LEAVE and place % 2 else event
        for place, event in enumerate(events)
    ]
    chosen = Settings(profile, installed_version())
    found = churn_live(plan, events, tmp_path / "run", chosen)
    check(found, 30, durable=profile == "durable")
    assert sum(window.of_restarted.expected for window in found.windows) > (100 if chosen.reloads else 1_000)
    assert any(window.reloads if chosen.reloads else window.restarts for window in found.windows)
    assert {window.event for window in found.windows} == {JOIN, LEAVE, CRASH}
