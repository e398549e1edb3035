"""Routing in Python and by the command gives the same trees."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshwright as mw
from meshwright.actions.route import route
from meshwright.names import TopicKind
from meshwright.store.datasets import write_dataset
from meshwright.store.plans import write_plan
from meshwright.store.trees import read_trees

HELD = {"a": {"m/+"}, "b": {"m/x"}, "c": {"m/y"}, "d": {"m/x", "n"}, "e": {"m/y", "n"}, "f": {"m/z"}}


@pytest.mark.parametrize("kind", ["mqtt", "plain"])
@pytest.mark.parametrize("objective", ["hops", "load"])
def test_python_and_the_command_choose_the_same_trees(
    tmp_path: Path, kind: TopicKind, objective: str
) -> None:
    """`mw.route` of a plan is what the command stores, also where topics are groups of MQTT filters."""
    interest = mw.Interest.of(HELD, kind=kind)
    plan = mw.design(interest, "gm", rounds=2)
    write_dataset(interest, tmp_path / "dataset")
    write_plan(plan, tmp_path / "plan")
    routing = route(tmp_path / "plan", tmp_path / "dataset", objective=objective)
    trees = mw.route(plan, objective)
    assert routing.trees.to_arrow().equals(trees.to_arrow())
    stored = read_trees(tmp_path / "plan").trees
    assert stored.to_pylist() == trees.to_arrow().cast(stored.schema).to_pylist()
