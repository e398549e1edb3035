"""Trees by name: read from a plan's tables, and refused where brokers could not run them."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest

from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.errors import InputError
from meshwright.plan_tables import ROLES, TREES


def chain(*brokers: str) -> TopicTree:
    """Return a tree along some brokers."""
    return TopicTree(tuple(pairwise(brokers)), frozenset(brokers))


def test_tables_give_every_role() -> None:
    """Subscribers, relays, publishers and brokers that stand alone are read from the two tables."""
    trees = pa.Table.from_pylist(
        [
            {"topic": "y", "parent": None, "child": "a"},
            {"topic": "y", "parent": "a", "child": "b"},
            {"topic": "y", "parent": "b", "child": "c"},
            {"topic": "y", "parent": "c", "child": "p"},
        ],
        schema=TREES,
    )
    roles = pa.Table.from_pylist(
        [
            {"topic": "y", "broker": "b", "role": "relay"},
            {"topic": "y", "broker": "p", "role": "publisher"},
            {"topic": "x", "broker": "q", "role": "alone"},
            {"topic": None, "broker": "r", "role": "alone"},
        ],
        schema=ROLES,
    )
    found = NamedTrees.from_tables(trees, roles, brokers=["z"])
    assert found.brokers == ("a", "b", "c", "p", "q", "r", "z")
    assert list(found.trees) == ["x", "y"]
    assert found.trees["x"] == TopicTree((), frozenset("q"))
    assert found.trees["y"] == TopicTree(
        (("a", "b"), ("b", "c")), frozenset("ac"), frozenset("b"), {"p": "c"}
    )
    assert found.trees["y"].carriers == frozenset("abc")
    assert found.subscriptions() == {"a": {"y"}, "c": {"y"}, "q": {"x"}}


def test_filters_planned_as_plain_names_are_refused() -> None:
    """Overlapping filters with trees of their own would deliver twice: they must be planned as a group."""
    named = NamedTrees(
        tuple("pqrs"), {"a/b": chain("r", "s"), "a/#": chain("p", "q", "r"), "c": chain("p", "q")}
    )
    with pytest.raises(InputError, match=r"'a/#', 'a/b' overlap .* --topic-kind mqtt"):
        named.deployable()


def test_filters_of_a_group_are_attached_to_its_tree() -> None:
    """A group of several filters knows who holds which; a group of one filter stays a plain topic."""
    named = NamedTrees(tuple("pqr"), {"a/#": chain("p", "q", "r"), "c": chain("p", "q")})
    holders = [("p", "a/#"), ("q", "a/b"), ("r", "a/b"), ("p", "c"), ("q", "c")]
    found = named.with_filters({"a/#": "a/#", "a/b": "a/#", "c": "c"}, holders)
    assert found.trees["c"] == named.trees["c"]
    assert found.trees["a/#"].filters == {"p": {"a/#"}, "q": {"a/b"}, "r": {"a/b"}}
    assert found.tree_of == {"a/#": "a/#", "a/b": "a/#"}
    assert found.held_filters() == {"p": {"a/#", "c"}, "q": {"a/b", "c"}, "r": {"a/b"}}
    assert found.deployable() == found


def test_relays_are_refused_unless_allowed() -> None:
    """A tree with relays is deployed only if relays are allowed."""
    tree = TopicTree((("p", "q"), ("q", "r")), frozenset("pr"), frozenset("q"))
    named = NamedTrees(tuple("pqr"), {"a": tree, "b": chain("p", "q")})
    with pytest.raises(InputError, match=r"not topic-connected: topics 'a' need relays, .* --allow-relays"):
        named.deployable()
    assert named.deployable(allow_relays=True) == named


def test_invalid_filters_are_refused() -> None:
    """A topic that is not a valid filter is refused before anything else."""
    with pytest.raises(InputError, match="spaces"):
        NamedTrees(tuple("pq"), {"a b": chain("p", "q")}).deployable(allow_relays=True)
