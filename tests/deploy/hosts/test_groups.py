"""Overlapping filters on real brokers: nothing missing, duplicate or leaked, and relayed as predicted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from brokers import PROGRAM
from meshwright.churn import Event
from meshwright.deploy.hosts.churn_traffic import churn_federation
from meshwright.deploy.hosts.local import publish_everywhere, run_federation
from meshwright.deploy.named_trees import NamedTrees
from meshwright.deploy.proof.live_plan import FederationPlan, LivePlan
from meshwright.deploy.settings import BrokerSettings
from meshwright.designs.design import design
from meshwright.filters.filter_plan import FilterChoice, PlannedFilters, plan_filters
from meshwright.interest import Interest
from meshwright.overlay import unchecked_overlay
from meshwright.plan_tables import TREES
from meshwright.routes import Trees, route
from routed_plans import grouped_trees

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")

FILTERS = (
    "s1/#", "+/+/state", "+/a/#", "s1/a/temp", "s2/a/+", "s2/+/state", "+/b/state", "s1/+/temp", "s2/#", "s1",
)  # fmt: skip
"""Kinds of filters that overlap: `#` below a name, `+` first, in the middle and last, several, and none."""


def random_holdings(brokers: int, seed: int) -> dict[str, list[str]]:
    """Return two filters for each broker; each filter has a holder."""
    rng = np.random.default_rng(seed)
    held = {f"b{number:02}": set(rng.choice(FILTERS, 2, replace=False).tolist()) for number in range(brokers)}
    for place, one in enumerate(FILTERS):
        held[f"b{place % brokers:02}"].add(one)
    return {broker: sorted(own) for broker, own in held.items()}


def random_tree(planned: PlannedFilters, seed: int) -> Trees:
    """Return the trees of a random tree over all brokers."""
    rng = np.random.default_rng(seed)
    count = planned.groups.num_nodes
    parents = np.array([rng.integers(child) for child in range(1, count)])
    children = np.arange(1, count, dtype=np.int32)
    overlay = unchecked_overlay(
        planned.groups, parents.astype(np.int32), children, np.zeros(count - 1, np.int32)
    )
    return route(overlay)


def proof(trees: NamedTrees, folder: Path, profile: str = "plain") -> None:
    """Run brokers and publish everywhere; nothing may be wrong, and something must be relayed."""
    with run_federation(trees, folder, BrokerSettings(profile)) as federation:
        verdict = publish_everywhere(trees, federation)
    assert verdict.passed, (verdict.missing[:3], verdict.duplicate[:3], verdict.leaked[:3])
    assert verdict.relayed == verdict.predicted_relayed


@needs_broker
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_overlapping_filters_on_eight_brokers(tmp_path: Path, seed: int) -> None:
    """Ten kinds of overlapping filters on a random tree: every message once, relayed as predicted."""
    planned = plan_filters(Interest.from_dict(random_holdings(8, seed)))
    assert planned.groups.num_topics == 1
    proof(grouped_trees(planned, random_tree(planned, seed)), tmp_path / "run")


@needs_broker
@pytest.mark.parametrize("expanded", [(), ("#",)])
@pytest.mark.parametrize("profile", ["plain", "durable"])
def test_a_monitor_that_asks_for_everything(tmp_path: Path, expanded: tuple[str, ...], profile: str) -> None:
    """A broker with `#` sees everything; expanded, it sees what others ask for, in more groups."""
    holdings = {"monitor": ["#"], **random_holdings(6, 5), "x": ["lone/1"], "y": ["lone/1", "lone/2"]}
    planned = plan_filters(Interest.from_dict(holdings), FilterChoice(expanded=expanded))
    assert planned.groups.num_topics == (3 if expanded else 1)
    trees = route(design(planned.groups, "gm").overlay)
    proof(grouped_trees(planned, trees), tmp_path / "run", profile)


@needs_broker
@pytest.mark.slow
@pytest.mark.parametrize("profile", ["plain", "durable"])
def test_overlapping_filters_on_forty_brokers(tmp_path: Path, profile: str) -> None:
    """Forty brokers on a random tree: every message once, relayed as predicted."""
    planned = plan_filters(Interest.from_dict(random_holdings(40, 7)))
    proof(grouped_trees(planned, random_tree(planned, 7)), tmp_path / "run", profile)


@needs_broker
@pytest.mark.slow
@pytest.mark.parametrize("profile", ["plain", "durable"])
def test_churn_of_filters(tmp_path: Path, profile: str) -> None:
    """Brokers join, leave and change their filters under traffic: lines change, and nothing leaks."""
    planned = plan_filters(Interest.from_dict({**random_holdings(10, 3), "z": ["q/1"], "y": ["q/1"]}))
    trees = route(design(planned.groups, "low").overlay)
    named = grouped_trees(planned, trees)
    links = [
        (planned.groups.node_names[u].as_py(), planned.groups.node_names[v].as_py())
        for u, v in zip(trees.overlay.u.tolist(), trees.overlay.v.tolist(), strict=True)
    ]
    plan = LivePlan(FederationPlan(named, links, trees.to_arrow().cast(TREES)))
    events = [
        Event("subscribe", "b01", ("s2/#",)),
        Event("unsubscribe", "b02", tuple(random_holdings(10, 3)["b02"][:1])),
        Event("join", "new", ("s1/+/temp", "q/1")),
        Event("leave", "b03"),
        Event("subscribe", "z", ("s1",)),
        Event("crash", "b04"),
    ]
    verdict = churn_federation(plan, events, tmp_path / "run", BrokerSettings(profile))
    assert verdict.passed
    assert plan.trees.held_filters()["new"] == {"s1/+/temp", "q/1"}
