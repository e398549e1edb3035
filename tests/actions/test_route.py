"""Routing in Python and by the command gives the same trees."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshwright as mw
from meshwright.actions.route import route
from meshwright.names import TopicKind
from meshwright.store.datasets import write_dataset
from meshwright.store.plan_writer import write_plan
from meshwright.store.trees import read_trees

HELD = {
    "b0": {"m/b/+"},
    "b1": {"m/a/+", "m/+/x"},
    "b2": {"m/b/+", "m/a/x"},
    "b3": {"m/b/+", "m/a/+"},
    "b4": {"m/b/+", "m/a/+"},
    "b5": {"m/+/y", "m/a/x"},
    "b6": {"m/+/y", "m/a/x"},
    "b7": {"m/+/y", "m/a/+"},
    "b8": {"m/a/x", "m/+/x"},
}


@pytest.mark.parametrize("kind", ["mqtt", "plain"])
@pytest.mark.parametrize("objective", ["hops", "load"])
def test_python_and_the_command_choose_the_same_trees(
    tmp_path: Path, kind: TopicKind, objective: str
) -> None:
    """`mw.route` of a plan is what the command stores, also where topics are groups of MQTT filters."""
    interest = mw.Interest.of(HELD, kind=kind)
    plan = mw.design(interest, "gm", rounds=3)
    write_dataset(interest, tmp_path / "dataset")
    write_plan(plan, tmp_path / "plan")
    routing = route(tmp_path / "plan", tmp_path / "dataset", objective=objective)
    trees = mw.route(plan, objective)
    assert routing.trees.to_arrow().equals(trees.to_arrow())
    relays_matter = (kind, objective) == ("mqtt", "hops")
    assert mw.route(plan.overlay, objective).to_arrow().equals(trees.to_arrow()) != relays_matter
    stored = read_trees(tmp_path / "plan").trees
    assert stored.to_pylist() == trees.to_arrow().cast(stored.schema).to_pylist()
