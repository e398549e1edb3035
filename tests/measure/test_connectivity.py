"""What must hold of components, support, contributions and the support curve."""

from __future__ import annotations

from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from meshwright import Interest, Overlay
from meshwright.errors import InputError
from meshwright.measure import components, connectivity, contributions, support, support_curve
from meshwright.overlay import unchecked_overlay
from strategies import interests, overlays


def graph_of(overlay: Overlay) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(overlay.interest.num_nodes))
    graph.add_edges_from(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))
    return graph


def subscribers(interest: Interest, topic: int) -> list[int]:
    here: list[int] = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]].tolist()
    return here


@settings(max_examples=35)
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


@settings(max_examples=35)
@given(overlays())
def test_support_follows_its_definition(overlay: Overlay) -> None:
    """Support is the share of the mergeable components that is merged."""
    interest = overlay.interest
    best = len(set(interest.node_topics.tolist()))
    worst = interest.num_subscriptions
    merged = worst - components(overlay).total
    assert support(overlay) == pytest.approx(merged / (worst - best) if worst > best else 1.0)


@settings(max_examples=35)
@given(interests())
def test_support_of_nothing_and_of_everything(interest: Interest) -> None:
    """Without links the support is 0, with all links it is 1, and it is 1 where nothing can merge."""
    u, v = (ends.astype(np.int32) for ends in np.triu_indices(interest.num_nodes, 1))
    assert support(unchecked_overlay(interest, u, v, np.zeros_like(u))) == 1.0
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


@settings(max_examples=35)
@given(overlays())
def test_contributions_equal_the_naive_twin(overlay: Overlay) -> None:
    """Each edge merges as many topics as the twin says, given the edges before it."""
    twin = naive.Components(overlay.interest)
    expected = [twin.link(u, v) for u, v in zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)]
    found = contributions(overlay.interest, overlay.u, overlay.v)
    assert found.tolist() == expected
    assert found.dtype == np.int32


@settings(max_examples=35)
@given(overlays(most_nodes=7))
def test_curve_is_the_support_of_every_prefix(overlay: Overlay) -> None:
    """Entry i of the curve is what scipy's components say of the first i edges."""
    curve = support_curve(overlay)
    assert curve.tolist() == pytest.approx([support(overlay.prefix(i)) for i in range(len(overlay) + 1)])


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"]}])
def test_curve_where_nothing_can_be_connected(subscriptions: dict[str, list[str]]) -> None:
    """The empty prefix of an overlay with nothing to connect has support 1."""
    assert support_curve(Overlay.empty(Interest.from_dict(subscriptions))).tolist() == [1.0]


@pytest.mark.parametrize(("u", "v"), [([1], [0]), ([0], [2]), ([-1], [1]), ([1], [1])])
def test_bad_pairs_are_named(u: list[int], v: list[int]) -> None:
    """A pair that cannot be an edge is rejected and named."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    with pytest.raises(InputError, match=rf"\({u[0]}, {v[0]}\).*u < v < 2"):
        contributions(interest, np.array(u), np.array(v))


def test_ends_of_different_number() -> None:
    """Columns of different length are rejected."""
    with pytest.raises(InputError, match="1 ends u but 2 ends v"):
        contributions(Interest.from_dict({"a": {"x"}}), np.array([0]), np.array([1, 2]))


@settings(max_examples=35)
@given(overlays(), st.sampled_from([1, 7, connectivity.SLOTS_AT_ONCE]))
def test_merges_are_those_of_links_added_one_by_one(overlay: Overlay, batch: int) -> None:
    """Each link merges the topics that the naive twin finds, in batches of any size."""
    state, expected = naive.Components(overlay.interest), []
    for link, (u, v) in enumerate(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)):
        expected += [(link, topic) for topic in sorted(state.merged_topics(u, v))]
        state.link(u, v)
    with mock.patch.object(connectivity, "SLOTS_AT_ONCE", batch):
        found = connectivity.merges(overlay)
    assert list(zip(found.links.tolist(), found.topics.tolist(), strict=True)) == expected
