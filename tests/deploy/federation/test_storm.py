"""Storms: only where the links of a topic have a loop, and on the topic with the most of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from meshwright.deploy import NamedTrees, TopicTree, Wiring
from meshwright.deploy.federation.storm import Storm, storm, wire_without_trees


def chain(brokers: str) -> TopicTree:
    """Return a tree along some brokers."""
    return TopicTree(tuple(pairwise(brokers)), frozenset(brokers))


def test_without_loops_nothing_storms(tmp_path: Path) -> None:
    """Where no topic's links have a loop there is no storm, and nothing is started or written."""
    trees = NamedTrees(("a", "b"), {"x": chain("ab")})
    assert storm(trees, [("a", "b")], tmp_path / "none") is None
    assert not (tmp_path / "none").exists()
    assert wire_without_trees(NamedTrees(("a",), {}), []) == (Wiring(("a",), {}), None)


def test_every_link_carries_what_its_ends_share() -> None:
    """Each link carries all shared topics, the later end dials, and the topic with most loops is named."""
    trees = NamedTrees(
        tuple("abcd"), {"x": chain("abc"), "y": chain("abcd"), "z": TopicTree((), frozenset("d"))}
    )
    links = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "a")]
    wiring, topic = wire_without_trees(trees, links)
    assert wiring.bridges == {
        ("b", "a"): {"x": "both", "y": "both"},
        ("c", "b"): {"x": "both", "y": "both"},
        ("c", "a"): {"x": "both", "y": "both"},
        ("d", "c"): {"y": "both"},
        ("d", "a"): {"y": "both"},
    }
    assert wiring.order == tuple("abcd")
    assert topic == "y"
    assert wire_without_trees(trees, links[:3])[1] == "x"
    assert wire_without_trees(trees, links[:2])[1] is None


def test_the_factor_is_deliveries_over_due_ones() -> None:
    """A storm's factor says how many times each due delivery was made."""
    assert Storm("x", "a", 4, 1_000).factor == 250
