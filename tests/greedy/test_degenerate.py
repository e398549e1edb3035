"""The engine handles empty, tiny and extreme interests."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from calls import RULES, Call, overlay_of, triples
from meshwright import Interest, measure
from meshwright.greedy import Tuning, candidates, grow, rules
from meshwright.greedy.rules import Rule
from meshwright.verify import verify_overlay

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)

NOTHING_TO_LINK = {
    "no nodes": Interest.from_dict({}),
    "no nodes but a topic": Interest.from_pairs([], [], all_topics=["x"]),
    "one node": Interest.from_dict({"a": {"x", "y"}}),
    "one node without topics": Interest.from_dict({"a": set()}),
    "no topics": Interest.from_dict({"a": set(), "b": set(), "c": set()}),
    "a subscriber for each topic": Interest.from_dict({"a": {"x", "y"}, "b": {"z"}, "c": set()}),
}


@every_rule
@pytest.mark.parametrize("interest", NOTHING_TO_LINK.values(), ids=NOTHING_TO_LINK)
def test_where_nothing_can_be_linked(interest: Interest, rule: Rule) -> None:
    """Without a pair to link, the overlay is empty, every topic counts as connected, and support is 1."""
    for threads in (1, 2):
        overlay = grow(interest, rule, threads=threads)
        assert len(overlay) == 0
        assert verify_overlay(overlay).connected
        assert measure.support(overlay) == 1
    assert len(grow(interest, rule, candidates=candidates.pairs([]), topics=[], max_degree=3)) == 0


@every_rule
def test_nodes_without_topics_stay_alone(rule: Rule) -> None:
    """A node without topics gets no link, wherever it comes in the order."""
    overlay = grow(Interest.from_dict({"a": set(), "b": {"x"}, "c": set(), "d": {"x"}, "e": set()}), rule)
    assert overlay.edges == [("b", "d")]


@every_rule
def test_identical_nodes(rule: Rule) -> None:
    """One link connects all topics of two identical nodes."""
    assert triples(grow(Interest.from_dict({v: set("xyz") for v in "ab"}), rule)) == [(0, 1, 3)]


@pytest.mark.parametrize("rule", [rules.gm, rules.minmax], ids=lambda rule: rule.name)
@pytest.mark.parametrize("node_bits", [True, False])
def test_two_nodes_with_very_many_topics(rule: Rule, node_bits: bool) -> None:
    """A contribution may exceed 16 bits."""
    topics = np.arange(70_000)
    interest = Interest.from_ids(
        pa.array([0, 1]), pa.array(topics), np.repeat([0, 1], 70_000), np.tile(topics, 2)
    )
    assert triples(grow(interest, rule, tuning=Tuning(node_bits=node_bits))) == [(0, 1, 70_000)]


@pytest.mark.parametrize("node_bits", [True, False, None])
def test_ranks_beyond_16_bits(node_bits: bool | None) -> None:
    """Topics beyond the first 2¹⁶ of a node are handled: connected ones contribute nothing."""
    ends = np.array([0, 4464, 2**16]), np.array([70_000] * 3)  # each node's range of topics
    sizes = ends[1] - ends[0]
    interest = Interest.from_ids(
        pa.array(np.arange(3)),
        pa.array(np.arange(70_000)),
        np.repeat(np.arange(3), sizes),
        np.concatenate([np.arange(first, last) for first, last in zip(*ends, strict=True)]),
    )
    start = overlay_of(interest, [(0, 1)])
    tuning = Tuning(heavy=0, giant=100, node_bits=node_bits)
    assert triples(grow(interest, rules.gm, start=start, max_edges=2, tuning=tuning)) == [
        (0, 1, 2**16),
        (0, 2, 4464),
    ]


@pytest.mark.parametrize("rule", [rules.gm, rules.minmax, rules.low(3)], ids=lambda rule: rule.name)
def test_more_large_components_than_bit_rows(rule: Rule) -> None:
    """With more large components than bit rows, the links are still the twin's."""
    interest = Interest.from_dict({v: {"x", "y"} for v in range(60)})
    pairs = [(v, v + 1) for v in range(0, 60, 2)]
    call = Call(interest, rule, start=pairs, tuning=Tuning(window=2, heavy=0, large=2))
    assert triples(call.grown(), len(pairs)) == call.twin()


def test_many_edges() -> None:
    """The result columns grow: a star of 2600 links is complete and in order."""
    interest = Interest.from_dict({v: {"x"} for v in range(2601)})
    assert triples(grow(interest, rules.gm)) == [(0, v, 1) for v in range(1, 2601)]


@every_rule
def test_one_topic_of_all(rule: Rule) -> None:
    """One topic is connected by a tree; with `max_degree=2`, MinMax-ODA makes it a path."""
    interest = Interest.from_dict({v: {"x"} for v in range(70)})
    assert len(grow(interest, rule)) == 69
    path = grow(interest, rules.minmax, max_degree=2)
    assert len(path) == 69
    assert measure.degrees(path).maximum == 2
