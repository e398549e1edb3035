"""What must hold of weak topics."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import naive
from calls import COMPILED
from meshwright import Interest, Overlay
from meshwright.measure import components, weak_topics
from strategies import overlays


@given(overlays(most_nodes=10, most_topics=3))
def test_weak_means_not_biconnected(overlay: Overlay) -> None:
    """They are the topics whose sub-overlay networkx calls not biconnected; the first cut vertex is told."""
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


@given(overlays(most_nodes=9, most_topics=3))
def test_weak_means_split_by_one_failure(overlay: Overlay) -> None:
    """Without the node that is told, the topic is split; of a topic that is not weak, any node may go."""
    interest, pieces = overlay.interest, components(overlay).of_topic
    found = weak_topics(overlay)
    culprits = dict(zip(found.topics.tolist(), found.nodes.tolist(), strict=True))
    for failed in range(interest.num_nodes):
        left = components(without(overlay, failed)).of_topic
        for topic in range(interest.num_topics):
            if culprits.get(topic) == failed:
                assert left[topic] > pieces[topic] == 1
            elif topic not in culprits:
                assert left[topic] <= 1
    for topic, node in culprits.items():
        assert (node < 0) == (pieces[topic] > 1)


def without(overlay: Overlay, failed: int) -> Overlay:
    """Return the overlay of the other nodes; the failed one keeps its place, without topics and links."""
    interest = overlay.interest
    alive = interest.node_of_slot != failed
    rest = Interest.from_ids(
        interest.node_names, interest.topic_names, interest.node_of_slot[alive], interest.node_topics[alive]
    )
    keep = (overlay.u != failed) & (overlay.v != failed)
    return Overlay(rest, overlay.u[keep], overlay.v[keep], overlay.contribution[keep])


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"], "b": ["y"]}])
def test_what_nobody_shares_is_not_weak(subscriptions: dict[str, list[str]]) -> None:
    """A topic of one subscriber, or none, cannot be split."""
    assert len(weak_topics(Overlay.empty(Interest.from_dict(subscriptions)))) == 0


def test_a_long_ring_and_a_long_path() -> None:
    """Depth is no matter: a ring of 20,000 is sound, and without its last link its second node is a cut."""
    nodes = np.arange(20_000 if COMPILED else 200)
    interest = Interest.from_dict({v: ["x"] for v in nodes.tolist()})
    u, v = np.append(nodes[:-1], 0), np.append(nodes[1:], nodes[-1])
    nothing = np.zeros(len(nodes), dtype=np.int32)
    assert len(weak_topics(Overlay(interest, u, v, nothing))) == 0
    path = weak_topics(Overlay(interest, u[:-1], v[:-1], nothing[:-1]))
    assert (path.topics.tolist(), path.nodes.tolist()) == ([0], [1])
