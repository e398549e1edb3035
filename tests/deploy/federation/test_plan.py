"""Plans to run: read from a folder, or synthetic with a loop to storm in."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshwright as mw
from meshwright.deploy import wire
from meshwright.deploy.federation.plan import read_federation_plan, synthetic_plan
from meshwright.deploy.federation.storm import wire_without_trees
from meshwright.errors import InputError


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
