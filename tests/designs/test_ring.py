"""Ring per topic equals its obvious twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import naive
from calls import triples
from meshwright import Interest
from meshwright.designs.design import design
from meshwright.designs.rings_and_stars import parallel_links, ring
from meshwright.verify import verify_overlay
from strategies import interests


def rings(interest: Interest) -> list[naive.Edge]:
    """Walk each topic's subscribers in node order and back to the first; keep each new pair."""
    edges: list[naive.Edge] = []
    held = naive.topic_sets(interest)
    for topic in range(interest.num_topics):
        subscribers = [v for v in range(interest.num_nodes) if topic in held[v]]
        for here, there in zip(subscribers, subscribers[1:] + subscribers[:1], strict=True):
            edge = (min(here, there), max(here, there))
            if here != there and edge not in edges:
                edges.append(edge)
    return edges


@given(interests(most_nodes=9, most_topics=6))
def test_ring_equals_the_twin(interest: Interest) -> None:
    """Edges come topic by topic, in node order, each once, with the contributions that they have."""
    components = naive.Components(interest)
    assert triples(ring(interest)) == [(u, v, components.link(u, v)) for u, v in rings(interest)]


@given(interests(most_nodes=9, most_topics=6))
def test_parallel_links_count_for_each_topic(interest: Interest) -> None:
    """Counted apart, the links of all topics are those of a ring for each topic alone."""
    apart = [ring(interest.restrict(np.array([topic]))) for topic in range(interest.num_topics)]
    assert parallel_links(interest) == sum(len(overlay) for overlay in apart)
    figures = design(interest, "ring").figures
    assert figures["parallel_edges"] == parallel_links(interest) >= figures["edges"]
    assert figures["parallel_average_degree"] * interest.num_nodes == pytest.approx(
        2 * parallel_links(interest)
    )


@given(interests(most_nodes=9, most_topics=6))
def test_ring_connects_every_topic(interest: Interest) -> None:
    """Scipy's components find every topic in one piece."""
    found = verify_overlay(ring(interest))
    assert found.connected
    assert found.contributions_agree


def test_rings_that_topics_share_count_once() -> None:
    """Three nodes with the same topics make one triangle, two make one link, one makes no link."""
    assert ring(Interest.from_dict({v: {"x", "y"} for v in "abc"})).edges == [
        ("a", "b"),
        ("b", "c"),
        ("a", "c"),
    ]
    assert ring(Interest.from_dict({v: {"x", "y"} for v in "ab"})).edges == [("a", "b")]
    assert ring(Interest.from_dict({"a": {"x", "y"}})).edges == []
