"""What must hold of redundant edges."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from meshwright import Interest, Overlay
from meshwright.measure import components, redundant_edges
from strategies import overlays


def without(overlay: Overlay, position: int) -> Overlay:
    keep = np.arange(len(overlay)) != position
    return Overlay(overlay.interest, overlay.u[keep], overlay.v[keep], overlay.contribution[keep])


@given(overlays())
def test_redundant_means_removable(overlay: Overlay) -> None:
    """An edge is redundant exactly when the overlay without it has the same components in every topic."""
    before = components(overlay).of_topic.tolist()
    expected = [
        position
        for position in range(len(overlay))
        if components(without(overlay, position)).of_topic.tolist() == before
    ]
    assert redundant_edges(overlay).tolist() == expected


@given(overlays(most_nodes=10, most_topics=2))
def test_redundant_edges_are_bridges_of_no_topic(overlay: Overlay) -> None:
    """The edges that are left are the bridges that networkx finds in the topics' induced subgraphs."""
    interest = overlay.interest
    edges = list(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(interest.num_nodes))
    needed: set[tuple[int, int]] = set()
    for topic in range(interest.num_topics):
        own = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]].tolist()
        # A copy, as networkx cannot look for bridges in an empty view.
        needed.update(tuple(sorted(edge)) for edge in nx.bridges(graph.subgraph(own).copy()))
    assert redundant_edges(overlay).tolist() == [i for i, edge in enumerate(edges) if edge not in needed]


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"], "b": ["x"]}])
def test_without_edges_none_is_redundant(subscriptions: dict[str, list[str]]) -> None:
    """An overlay without links has no redundant ones."""
    assert redundant_edges(Overlay.empty(Interest.from_dict(subscriptions))).tolist() == []


def test_link_without_common_topic_is_redundant() -> None:
    """A link between nodes that share no topic serves nobody."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"y"}})
    overlay = Overlay(interest, *(np.array([i], dtype=np.int32) for i in (0, 1, 0)))
    assert redundant_edges(overlay).tolist() == [0]
