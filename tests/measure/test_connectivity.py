"""What must hold of components and support."""

from __future__ import annotations

from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright import Interest, Overlay
from meshwright.measure import components, connectivity, support
from strategies import interests, overlays


def graph_of(overlay: Overlay) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(overlay.interest.num_nodes))
    graph.add_edges_from(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))
    return graph


def subscribers(interest: Interest, topic: int) -> list[int]:
    here: list[int] = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]].tolist()
    return here


@given(overlays(), st.sampled_from([1, 7, connectivity.SLOTS_AT_ONCE]))
def test_components_are_those_of_each_induced_subgraph(overlay: Overlay, batch: int) -> None:
    """Each topic has as many components as networkx finds among its subscribers, in batches of any size."""
    graph = graph_of(overlay)
    expected = [
        nx.number_connected_components(graph.subgraph(subscribers(overlay.interest, topic)))
        for topic in range(overlay.interest.num_topics)
    ]
    with mock.patch.object(connectivity, "SLOTS_AT_ONCE", batch):
        found = components(overlay)
    assert found.of_topic.tolist() == expected
    assert found.total == sum(expected)


@given(overlays())
def test_support_follows_its_definition(overlay: Overlay) -> None:
    """Support is the share of the mergeable components that is merged."""
    interest = overlay.interest
    best = len(set(interest.node_topics.tolist()))
    worst = interest.num_subscriptions
    merged = worst - components(overlay).total
    assert support(overlay) == pytest.approx(merged / (worst - best) if worst > best else 1.0)


@given(interests())
def test_support_of_nothing_and_of_everything(interest: Interest) -> None:
    """Without links the support is 0, with all links it is 1, and it is 1 where nothing can merge."""
    u, v = (ends.astype(np.int32) for ends in np.triu_indices(interest.num_nodes, 1))
    assert support(Overlay(interest, u, v, np.zeros_like(u))) == 1.0
    mergeable = interest.num_subscriptions > len(set(interest.node_topics.tolist()))
    assert support(Overlay.empty(interest)) == (0.0 if mergeable else 1.0)


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"]}, {"a": ["x"], "b": ["y"]}])
def test_nothing_to_connect(subscriptions: dict[str, list[str]]) -> None:
    """Without two subscribers of any topic, each topic is one component and support is 1."""
    overlay = Overlay.empty(Interest.from_dict(subscriptions))
    assert components(overlay).of_topic.tolist() == [1] * overlay.interest.num_topics
    assert support(overlay) == 1.0


def test_topic_without_subscribers_has_no_component() -> None:
    """A topic that nobody subscribes to has zero components and does not lower the support."""
    interest = Interest.from_pairs(["a", "b"], ["x", "x"], all_topics=["idle"])
    joined = Overlay(interest, *(np.array([i], dtype=np.int32) for i in (0, 1, 1)))
    assert components(joined).of_topic.tolist() == [0, 1]
    assert support(joined) == 1.0
