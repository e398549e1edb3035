"""Live churn with real brokers: they come, go and crash under traffic, and undisturbed messages arrive."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import meshwright as mw
from brokers import PROGRAM
from meshwright import churn
from meshwright.brokers.mosquitto import installed_version
from meshwright.churn.events import CRASH, JOIN, LEAVE, Event
from meshwright.deploy.hosts.churn_traffic import churn_federation
from meshwright.deploy.hosts.local import RunningFederation
from meshwright.deploy.proof.churn_verdict import ChurnVerdict
from meshwright.deploy.proof.live_plan import FederationPlan, LivePlan
from meshwright.deploy.settings import BrokerSettings
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.readers.formats import Reading
from meshwright.plan_tables import TREES
from meshwright.workloads import zipf
from routed_plans import named_trees

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")


def live_plan(brokers: int, topics: int, size: int = 3) -> LivePlan:
    """Plan and route random subscriptions."""
    interest = zipf(brokers, topics, size=size, seed=3)
    overlay = mw.design(interest, "low").overlay
    trees = mw.route(overlay)
    table = trees.to_arrow().cast(TREES)
    return LivePlan(FederationPlan(named_trees(trees), overlay.edges, table))  # type: ignore[arg-type]


def check(verdict: ChurnVerdict, events: int, *, durable: bool = True) -> None:
    """Assert that nothing undisturbed is lost, and that everything is exact in the end."""
    assert (verdict.outside.missing, verdict.outside.duplicate, verdict.outside.leaked) == ((), (), ())
    assert (verdict.final.missing, verdict.final.duplicate, verdict.final.leaked) == ((), (), ())
    assert verdict.leaked == 0
    assert verdict.audit_faults == ()
    assert verdict.outside.published > 0
    assert len(verdict.windows) == events
    for window in verdict.windows:
        if window.event == JOIN:
            assert (window.disconnected_clients, window.restarts) == (0, [])
            assert (window.missing, window.duplicate) == (0, 0)
        assert window.unexcused == 0
        if durable:
            assert (window.unchanged_trees.missing, window.unchanged_trees.duplicate) == (0, 0)
        assert window.in_time
        assert bool(window.unchanged_trees.published) <= bool(window.restarts or window.reloads)
        if not window.restarts:
            assert window.disconnected_clients == 0
    assert verdict.passed


@needs_broker
def test_logs_give_the_live_interest(spark: SparkSession, tmp_path: Path) -> None:
    """After a join, a crash and a leave under traffic, the ingested logs give the interest of the overlay."""
    plan = live_plan(6, 5)
    names = plan.live_overlay.nodes
    events = [
        Event(JOIN, "new", ("t0", "t1", "t2")),
        Event(CRASH, names[1]),
        Event(LEAVE, names[2]),
    ]
    progress: list[tuple[int, float, str]] = []

    def record(done: int, share: float, phase: str, /) -> None:
        progress.append((done, round(share, 2), phase))

    def copy_logs(federation: RunningFederation) -> None:
        (tmp_path / "logs").mkdir()
        for broker in federation.brokers.running:
            shutil.copy(federation.brokers.log(broker), tmp_path / "logs" / f"{broker}.log")

    verdict = churn_federation(plan, events, tmp_path / "run", before_stop=copy_logs, progress=record)
    check(verdict, 3)
    assert progress == [
        (1, 0.33, "join of new"), (2, 0.67, f"crash of {names[1]}"), (3, 1.0, f"leave of {names[2]}")
    ]  # fmt: skip
    reading = Reading("mosquitto-log", node_from="broker", bridges=r"^(local|meshwright|observer)[.\-]")
    ingest(spark, [tmp_path / "logs"], tmp_path / "dataset", reading)
    found = mw.load_interest(tmp_path / "dataset").to_arrow().to_pylist()
    live = plan.live_overlay.interest().to_arrow().to_pylist()
    assert {tuple(row.values()) for row in found} == {tuple(row.values()) for row in live}
    assert "new" in {row["node"] for row in found}


@needs_broker
@pytest.mark.slow
@pytest.mark.parametrize("profile", ["durable", "plain"])
def test_much_churn(profile: str, tmp_path: Path) -> None:
    """20 brokers, 30 events, steady traffic: where a tree stays nothing is lost or duplicated.

    In the profile `plain` a restart may lose what passes that broker, and nothing else; if the installed
    broker reloads, only what crosses an interrupted link.
    """
    plan = live_plan(20, 12, size=4)
    interest = plan.live_overlay.interest()
    events = [event for events in churn.random_churn(interest, 30, seed=2) for event in events]
    events = [
        Event(CRASH, event.node) if event.event == LEAVE and place % 2 else event
        for place, event in enumerate(events)
    ]
    settings = BrokerSettings(profile, installed_version())
    verdict = churn_federation(plan, events, tmp_path / "run", settings)
    check(verdict, 30, durable=profile == "durable")
    due = sum(window.unchanged_trees.expected for window in verdict.windows)
    assert due > (100 if settings.reloads else 1_000)
