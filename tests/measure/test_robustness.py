"""What must hold of redundant edges, and of topics that one failure splits."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import naive
from calls import COMPILED
from meshwright import Interest, Overlay
from meshwright.measure import components, redundant_edges, weak_topics
from meshwright.overlay import unchecked_overlay
from strategies import overlays


def without_edge(overlay: Overlay, position: int) -> Overlay:
    keep = np.arange(len(overlay)) != position
    return unchecked_overlay(overlay.interest, overlay.u[keep], overlay.v[keep], overlay.contribution[keep])


@settings(max_examples=35)
@given(overlays())
def test_redundant_means_removable(overlay: Overlay) -> None:
    """An edge is redundant exactly if the overlay without it has the same components in every topic."""
    before = components(overlay).of_topic.tolist()
    expected = [
        position
        for position in range(len(overlay))
        if components(without_edge(overlay, position)).of_topic.tolist() == before
    ]
    assert redundant_edges(overlay).tolist() == expected


@settings(max_examples=35)
@given(overlays(most_nodes=10, most_topics=2))
def test_redundant_edges_are_bridges_of_no_topic(overlay: Overlay) -> None:
    """The other edges are the bridges that networkx finds in the topics' induced subgraphs."""
    interest = overlay.interest
    edges = list(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(interest.num_nodes))
    needed: set[tuple[int, int]] = set()
    for topic in range(interest.num_topics):
        own = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]].tolist()
        # A copy: networkx cannot look for bridges in an empty view.
        needed.update(tuple(sorted(edge)) for edge in nx.bridges(graph.subgraph(own).copy()))
    assert redundant_edges(overlay).tolist() == [i for i, edge in enumerate(edges) if edge not in needed]


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"], "b": ["x"]}])
def test_an_overlay_without_edges_has_no_redundant_ones(subscriptions: dict[str, list[str]]) -> None:
    """An overlay without links has no redundant ones."""
    assert redundant_edges(Overlay.empty(Interest.from_dict(subscriptions))).tolist() == []


def test_link_without_common_topic_is_redundant() -> None:
    """A link between nodes that share no topic serves no topic."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"y"}})
    overlay = unchecked_overlay(interest, *(np.array([i], dtype=np.int32) for i in (0, 1, 0)))
    assert redundant_edges(overlay).tolist() == [0]


@settings(max_examples=35)
@given(overlays(most_nodes=10, most_topics=3))
def test_weak_means_not_biconnected(overlay: Overlay) -> None:
    """Weak topics are those that networkx finds not biconnected, each with its smallest cut vertex."""
    graph = nx.Graph()
    graph.add_nodes_from(range(overlay.interest.num_nodes))
    graph.add_edges_from(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))
    expected: list[tuple[int, int]] = []
    topics = naive.topic_sets(overlay.interest)
    for topic in range(overlay.interest.num_topics):
        own = graph.subgraph([v for v, held in enumerate(topics) if topic in held])
        if len(own) > 1 and not nx.is_connected(own):
            expected.append((topic, -1))
        elif len(own) > 1 and not nx.is_biconnected(own):
            expected.append((topic, min(nx.articulation_points(own))))
    found = weak_topics(overlay)
    assert list(zip(found.topics.tolist(), found.nodes.tolist(), strict=True)) == expected
    assert len(found) == len(expected)


@settings(max_examples=35)
@given(overlays(most_nodes=9, most_topics=3))
def test_weak_means_split_by_one_failure(overlay: Overlay) -> None:
    """Without its named node a weak topic is split; a topic that is not weak survives any failure."""
    interest, pieces = overlay.interest, components(overlay).of_topic
    found = weak_topics(overlay)
    culprits = dict(zip(found.topics.tolist(), found.nodes.tolist(), strict=True))
    for failed in range(interest.num_nodes):
        left = components(without_node(overlay, failed)).of_topic
        for topic in range(interest.num_topics):
            if culprits.get(topic) == failed:
                assert left[topic] > pieces[topic] == 1
            elif topic not in culprits:
                assert left[topic] <= 1
    for topic, node in culprits.items():
        assert (node < 0) == (pieces[topic] > 1)


def without_node(overlay: Overlay, failed: int) -> Overlay:
    """Return the overlay after a failure: the failed node keeps its id, without topics and links."""
    interest = overlay.interest
    alive = interest.node_of_slot != failed
    rest = Interest.from_ids(
        interest.node_names, interest.topic_names, interest.node_of_slot[alive], interest.node_topics[alive]
    )
    keep = (overlay.u != failed) & (overlay.v != failed)
    return unchecked_overlay(rest, overlay.u[keep], overlay.v[keep], overlay.contribution[keep])


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"], "b": ["y"]}])
def test_topics_without_two_subscribers_are_not_weak(subscriptions: dict[str, list[str]]) -> None:
    """A topic of fewer than two subscribers cannot be split."""
    assert len(weak_topics(Overlay.empty(Interest.from_dict(subscriptions)))) == 0


def test_a_long_ring_and_a_long_path() -> None:
    """Depth does not matter: a ring of 20,000 is sound; without its last link, its second node is a cut."""
    nodes = np.arange(20_000 if COMPILED else 200)
    interest = Interest.from_dict({v: ["x"] for v in nodes.tolist()})
    u, v = np.append(nodes[:-1], 0), np.append(nodes[1:], nodes[-1])
    nothing = np.zeros(len(nodes), dtype=np.int32)
    assert len(weak_topics(unchecked_overlay(interest, u, v, nothing))) == 0
    path = weak_topics(unchecked_overlay(interest, u[:-1], v[:-1], nothing[:-1]))
    assert (path.topics.tolist(), path.nodes.tolist()) == ([0], [1])
