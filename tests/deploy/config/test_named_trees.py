"""Trees by name: read from a plan's tables, and refused or merged where brokers could not run them."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest

from meshwright.deploy import NamedTrees, TopicTree
from meshwright.errors import InputError
from meshwright.store.trees import ROLES, TREES


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


def test_overlaps_are_refused_or_merged() -> None:
    """Overlapping filters are refused, or share one tree under the filter that covers the others."""
    named = NamedTrees(
        tuple("pqrs"), {"a/b": chain("r", "s"), "a/#": chain("p", "q", "r"), "c": chain("p", "q")}
    )
    with pytest.raises(InputError, match=r"'a/#', 'a/b' overlap, .* --overlaps merge"):
        named.deployable()
    merged = named.deployable(overlaps="merge")
    assert list(merged.trees) == ["a/#", "c"]
    assert merged.trees["c"] == named.trees["c"]
    tree = merged.trees["a/#"]
    assert tree.links == (("p", "q"), ("q", "r"), ("r", "s"))
    assert tree.subscribers == frozenset("pqrs")
    assert tree.merged == ("a/#", "a/b")
    assert not tree.relays
    with pytest.raises(InputError, match="choose refuse or merge"):
        named.deployable(overlaps="ignore")


def test_merged_trees_keep_relays_and_publishers() -> None:
    """In a merged tree, a subscriber of any filter is no relay, and a publisher in the tree none either."""
    wide = TopicTree((("p", "q"), ("q", "r")), frozenset("pr"), frozenset("q"), {"s": "p", "t": "r"})
    named = NamedTrees(tuple("pqrst"), {"a/#": wide, "a/b": chain("r", "s")})
    merged = named.deployable(overlaps="merge", allow_relays=True).trees["a/#"]
    assert merged.relays == frozenset("q")
    assert merged.subscribers == frozenset("prs")
    assert merged.publishers == {"t": "r"}


def test_trees_that_cannot_be_merged_are_refused() -> None:
    """Overlapping filters whose trees do not connect, or of which none covers the others, are refused."""
    apart = NamedTrees(tuple("pqrs"), {"a/#": chain("p", "q"), "a/b": chain("r", "s")})
    with pytest.raises(InputError, match="do not connect: plan them as one topic"):
        apart.deployable(overlaps="merge")
    crossed = NamedTrees(tuple("pq"), {"a/+/c": chain("p", "q"), "a/b/+": chain("p", "q")})
    with pytest.raises(InputError, match="no one of them covers"):
        crossed.deployable(overlaps="merge")


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
