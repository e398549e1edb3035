"""Plans to run: read from a folder, synthetic with a loop to storm in, or live with compiled kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import meshwright as mw
from meshwright.deploy.hosts.local import wire_without_trees
from meshwright.deploy.proof.live_plan import read_federation_plan, synthetic_plan
from meshwright.deploy.wiring import wire
from meshwright.errors import InputError
from meshwright.jit.compiler import config


@pytest.mark.parametrize("brokers", [3, 4, 6, 12, 30])
def test_a_plan_with_loops_can_storm(brokers: int) -> None:
    """With loops, the links of some topic have one, whatever the seed; the trees have none."""
    for seed in range(5):
        plan = synthetic_plan(brokers, loops=True, seed=seed)
        trees = plan.trees.deployable()
        assert len(trees.brokers) == brokers
        assert wire_without_trees(trees, plan.links)[1] is not None
        assert all(len(tree.links) == len(tree.carriers) - 1 for tree in trees.trees.values())
        assert {frozenset(pair) for pair in wire(trees).bridges} <= {frozenset(pair) for pair in plan.links}


def test_synthetic_plans_differ_by_seed() -> None:
    """The same seed gives the same plan, another seed another; without loops there are fewer links."""
    one, other = synthetic_plan(12, seed=1), synthetic_plan(12, seed=2)
    assert one == synthetic_plan(12, seed=1)
    assert one.trees != other.trees
    assert len(one.links) < len(synthetic_plan(12, loops=True, seed=1).links)


def test_a_stored_plan_is_read_whole(tmp_path: Path) -> None:
    """The links, trees and table of a folder are those of the plan; without trees it is refused."""
    interest = mw.Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"y"}})
    design = mw.design(interest, "gm")
    mw.write_plan(design, tmp_path / "plan")
    with pytest.raises(InputError, match="has no trees"):
        read_federation_plan(tmp_path / "plan")
    mw.write_trees(mw.route(design.overlay), tmp_path / "plan")
    plan = read_federation_plan(tmp_path / "plan")
    assert sorted(plan.links) == [("a", "b"), ("b", "c")]
    assert plan.trees.brokers == ("a", "b", "c")
    assert {topic: tree.subscribers for topic, tree in plan.trees.trees.items()} == {
        "x": frozenset("ab"), "y": frozenset("bc")
    }  # fmt: skip
    assert plan.table.column_names == ["topic", "parent", "child"]


def test_a_plan_that_leaves_topics_apart_is_refused(tmp_path: Path) -> None:
    """A plan with a topic that no tree spans is not topic-connected."""
    interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"z"}, "d": {"z"}})
    design = mw.design(interest, "gpa", max_edges=1)
    mw.write_plan(design, tmp_path / "plan")
    mw.write_trees(mw.route(design.overlay), tmp_path / "plan")
    with pytest.raises(InputError, match="not topic-connected: 1 topics have no tree"):
        read_federation_plan(tmp_path / "plan")


PROGRAM = """
import json
import sys
from numba.core.dispatcher import Dispatcher
import meshwright as mw
from meshwright.churn import Event
from meshwright.deploy.proof.live_plan import LivePlan
from meshwright.deploy.proof.live_plan import FederationPlan
from meshwright.store.trees import TREES
from meshwright.workloads import zipf
from routed_plans import named_trees

overlay = mw.design(zipf(6, 5, size=3, seed=3), "low").overlay
trees = mw.route(overlay)
table = trees.to_arrow().cast(TREES)
plan = LivePlan(FederationPlan(named_trees(trees), overlay.edges, table), policy=sys.argv[1])
taken, compile = [], Dispatcher.compile
Dispatcher.compile = lambda self, signature: taken.append(self.py_func.__name__) or compile(self, signature)
first, second, *_ = plan.live_overlay.nodes
topic = plan.live_overlay.interest().topic_names[0].as_py()
plan.apply([Event("join", "new", (topic, "other"))])
plan.apply([Event("subscribe", first, ("other",))])
plan.apply([Event("unsubscribe", "new", (topic,))])
plan.apply([Event("crash", second)])
plan.apply([Event("leave", "new")])
print(json.dumps(taken))
"""


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
@pytest.mark.parametrize("policy", ["shadow", pytest.param("tidy", marks=pytest.mark.slow)])
def test_no_repair_waits_for_a_compiler(policy: str) -> None:
    """Every kernel that repairs call is compiled, or loaded, when the plan is made; the events load none."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, policy],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == []
