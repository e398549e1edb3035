"""Resilient overlays survive the failure of any one broker, with no link to spare."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import COMPILED, crowds, examples, triples
from meshwright import Interest, Overlay, measure
from meshwright.designs.by_contribution import gm
from meshwright.designs.design import design
from meshwright.designs.resilient import RUNS, grow_biconnected, remove_spare_links, resilient
from meshwright.errors import InputError
from meshwright.overlay import unchecked_overlay
from meshwright.verify import verify_overlay
from meshwright.workloads import expo, zipf
from strategies import interests

any_interest = st.one_of(interests(most_nodes=10, most_topics=5), crowds((2, 40), (1, 30), 200))


def survives(overlay: Overlay, failed: int | None) -> bool:
    """Return whether every topic's subscribers are connected among themselves without the failed node."""
    graph = nx.Graph()
    graph.add_nodes_from(range(overlay.interest.num_nodes))
    graph.add_edges_from(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))
    topics = naive.topic_sets(overlay.interest)
    for topic in range(overlay.interest.num_topics):
        alive = [v for v, own in enumerate(topics) if topic in own and v != failed]
        if alive and not nx.is_connected(graph.subgraph(alive)):
            return False
    return True


@settings(max_examples=examples(40, 12), deadline=None)
@given(any_interest)
def test_every_single_failure_is_survived(interest: Interest) -> None:
    """Without any one node, the other subscribers of each topic stay connected."""
    overlay = resilient(interest)
    assert survives(overlay, None)
    for v in range(interest.num_nodes):
        assert survives(overlay, v)
    assert verify_overlay(overlay).contributions_agree


@settings(max_examples=examples(20, 8), deadline=None)
@given(any_interest)
def test_no_link_can_be_removed(interest: Interest) -> None:
    """Without any one link, some topic is split, or some single failure splits one."""
    overlay = resilient(interest)
    for left_out in range(len(overlay)):
        keep = np.arange(len(overlay)) != left_out
        less = unchecked_overlay(interest, overlay.u[keep], overlay.v[keep], overlay.contribution[keep])
        ends = (int(overlay.u[left_out]), int(overlay.v[left_out]))
        others = (v for v in range(interest.num_nodes) if v not in ends)
        assert not survives(less, None) or any(not survives(less, v) for v in others)


@settings(max_examples=examples(25, 5), deadline=None)
@given(any_interest)
def test_the_run_with_fewer_links_is_kept(interest: Interest) -> None:
    """The result has no more links than any of its runs, and is the same each time."""
    overlay = resilient(interest)
    assert all(len(overlay) <= len(grow_biconnected(interest, phases)) for phases in RUNS)
    assert triples(resilient(interest)) == triples(overlay)


def test_each_run_wins_somewhere() -> None:
    """The first run wins on nodes of one size, the second on nodes of many sizes."""
    equal, mixed = zipf(80, 20, size=5), expo(60, 60, min_size=5, max_size=50)
    for interest, best in ((equal, 0), (mixed, 1)):
        made = [remove_spare_links(grow_biconnected(interest, phases)) for phases in RUNS]
        assert len(made[best]) < len(made[1 - best])
        assert triples(resilient(interest)) == triples(made[best])


@pytest.mark.skipif(not COMPILED, reason="too large for plain Python")
@pytest.mark.parametrize("sizes", [{"size": 10}, {"min_size": 10, "max_size": 90}], ids=["equal", "mixed"])
def test_a_thousand_nodes(sizes: dict[str, Any]) -> None:
    """With a thousand nodes no topic is weak, and the size of the windows changes nothing."""
    interest = expo(1000, 200, **sizes)
    assert len(measure.weak_topics(resilient(interest))) == 0
    for phases in RUNS:
        links = triples(grow_biconnected(interest, phases))
        assert links == triples(grow_biconnected(interest, phases, window=500))


@given(st.integers(3, 60 if COMPILED else 20))
def test_one_topic_is_a_ring(nodes: int) -> None:
    """The subscribers of a single topic get the fewest possible links."""
    overlay = resilient(Interest.from_dict({v: ["x"] for v in range(nodes)}))
    assert len(overlay) == nodes
    assert measure.degrees(overlay).maximum == 2


def test_it_is_much_cheaper_than_two_rounds() -> None:
    """GM in two rounds takes over 1.5 times the links, and still leaves a topic that one failure splits."""
    interest = expo(100, 40, size=5, seed=4)
    twice, overlay = gm(interest, rounds=2), resilient(interest)
    assert len(twice) > 1.5 * len(overlay)
    assert len(measure.weak_topics(twice)) > 0
    assert len(measure.weak_topics(overlay)) == 0


@pytest.mark.parametrize(
    ("subscriptions", "edges"),
    [
        ({}, []),
        ({"a": []}, []),
        ({"a": ["x"]}, []),
        ({"a": ["x"], "b": ["y"]}, []),
        ({"a": ["x"], "b": ["x"]}, [("a", "b")]),
        ({v: ["x", "y"] for v in "abc"}, [("a", "b"), ("a", "c"), ("b", "c")]),
    ],
)
def test_few_nodes(subscriptions: dict[str, list[str]], edges: list[tuple[str, str]]) -> None:
    """Without a common topic there is no link; two subscribers get one link, three get all."""
    assert resilient(Interest.from_dict(subscriptions)).edges == edges


@given(interests())
def test_k_1_is_greedy_merge(interest: Interest) -> None:
    """With k = 1 it is GM, and 2.0 counts as 2."""
    assert triples(resilient(interest, k=1.0, threads=2)) == triples(gm(interest))
    assert triples(resilient(interest, k=2.0)) == triples(resilient(interest))


@pytest.mark.parametrize("k", [0, 3, 1.5, float("nan"), "two"])
def test_other_k(k: Any) -> None:
    """An unsupported k is rejected, and the error lists the supported ones."""
    with pytest.raises(InputError, match=f"k is {k}: give 1 .* or 2"):
        resilient(Interest.from_dict({}), k=k)


def test_progress_reaches_the_end() -> None:
    """The share rises to 1 over both runs, and the links are those without a callback."""
    interest = zipf(120, 20, size=5)
    reports: list[tuple[int, float, str]] = []
    plan = design(interest, "resilient", progress=lambda *report: reports.append(report))
    shares = [share for _, share, phase in reports if phase == "linking"]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert triples(plan.overlay) == triples(resilient(interest))
    assert all(count > 0 for count, _, phase in reports if phase == "linking")


def test_every_pair_may_be_needed() -> None:
    """If every pair has a topic of its own, all pairs are linked."""
    pairs = list(combinations(range(6), 2))
    interest = Interest.from_pairs(
        [v for pair in pairs for v in pair], [t for t in range(len(pairs)) for _ in "ab"]
    )
    assert sorted(resilient(interest).edges) == pairs
