"""What must hold of filtering costs."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import overlay_of
from meshwright import Interest, Overlay, design
from meshwright.measure import components, filtering_costs
from meshwright.overlay import unchecked_overlay
from meshwright.workloads import zipf
from strategies import overlays


def graph_of(overlay: Overlay) -> nx.Graph:
    graph = nx.Graph(list(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)))
    graph.add_nodes_from(range(overlay.interest.num_nodes))
    return graph


def subscribers(interest: Interest, topic: int) -> list[int]:
    own: list[int] = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]].tolist()
    return own


def naive_mehlhorn(graph: nx.Graph, terminals: list[int]) -> int:
    """Count the relays of Mehlhorn's tree: Voronoi regions, edges between them sorted, Kruskal, paths."""
    pieces = list(nx.connected_components(graph.subgraph(terminals)))
    level, order = list(terminals), []
    depth: dict[int, int] = {}
    parent: dict[int, int] = {}
    owner = {terminal: terminal for terminal in terminals}
    while level:
        depth |= {node: depth[parent[node]] + 1 if node in parent else 0 for node in level}
        order += level
        beyond = []
        for here in level:
            for there in sorted(graph[here]):
                if there not in owner:
                    owner[there], parent[there] = owner[here], here
                    beyond.append(there)
        if level == terminals:
            beyond.sort(key=lambda node: -sum(not piece.isdisjoint(graph[node]) for piece in pieces))
        level = beyond
    bridges = sorted(
        (depth[here] + depth[there] + 1, place, there, here)
        for place, here in enumerate(order)
        for there in graph[here]
        if depth[there] <= depth[here]
    )
    group = {terminal: terminal for terminal in terminals}
    spanned: set[int] = set()
    for _, _, there, here in bridges:
        a, b = group[owner[here]], group[owner[there]]
        if a == b:
            continue
        group = {terminal: a if label == b else label for terminal, label in group.items()}
        for end in (here, there):
            step: int | None = end
            while step is not None:
                spanned.add(step)
                step = parent.get(step)
    return -1 if len(set(group.values())) > 1 else len(spanned - set(terminals))


def fewest_relays(graph: nx.Graph, terminals: list[int]) -> int:
    """Try every set of relays, smallest first; -1 if none will do."""
    others = [node for node in graph if node not in terminals]
    for size in range(len(others) + 1):
        for relays in combinations(others, size):
            if not terminals or nx.is_connected(graph.subgraph([*terminals, *relays])):
                return size
    return -1


@settings(max_examples=35)
@given(overlays(most_nodes=14, most_topics=3))
def test_the_kernel_equals_its_twin(overlay: Overlay) -> None:
    """Each topic's relays are those of Mehlhorn's tree, built step by step from its definition."""
    interest, graph = overlay.interest, graph_of(overlay)
    expected = [naive_mehlhorn(graph, subscribers(interest, topic)) for topic in range(interest.num_topics)]
    assert filtering_costs(overlay).of_topic.tolist() == expected


@settings(max_examples=35)
@given(overlays(most_nodes=9, most_topics=3))
def test_the_best_lies_between_the_bounds(overlay: Overlay) -> None:
    """The fewest relays, found by trying all, lie between the bounds; two pieces are exact."""
    found, graph = filtering_costs(overlay), graph_of(overlay)
    pieces = components(overlay).of_topic.tolist()
    for topic, (low, high) in enumerate(zip(found.lower.tolist(), found.of_topic.tolist(), strict=True)):
        best = fewest_relays(graph, subscribers(overlay.interest, topic))
        if best < 0:
            assert (low, high) == (-1, -1)
            continue
        assert 0 <= low <= best <= high
        if pieces[topic] <= 2:
            assert low == best == high
        else:
            assert low >= 1
            assert high + pieces[topic] - 1 <= 2 * (1 - 1 / pieces[topic]) * (best + pieces[topic] - 1)


@settings(max_examples=35)
@given(overlays(most_nodes=10, most_topics=4))
def test_totals_and_unreachable_topics(overlay: Overlay) -> None:
    """Totals sum over the topics that can be spanned, the others are listed; connected topics cost 0."""
    found = filtering_costs(overlay)
    reachable = found.of_topic >= 0
    assert found.unreachable.tolist() == np.flatnonzero(~reachable).tolist()
    assert found.total == found.of_topic[reachable].sum()
    assert found.lower_total == found.lower[reachable].sum()
    assert found.maximum == max([0, *found.of_topic[reachable].tolist()])
    assert ((found.of_topic == 0) == (components(overlay).of_topic <= 1)).all()


@settings(max_examples=35)
@given(st.integers(0, 2**32))
def test_more_links_never_cost_more_than_fewer(seed: int) -> None:
    """The lower bound of an overlay is never above the cost of a part of its links."""
    interest = zipf(20, 6, size=2, seed=seed % 1000)
    ring = design(interest, "ring").overlay
    rng = np.random.Generator(np.random.PCG64(seed))
    some = np.sort(rng.permutation(len(ring))[: len(ring) // 2])
    part = unchecked_overlay(interest, ring.u[some], ring.v[some], ring.contribution[some])
    more, fewer = filtering_costs(ring), filtering_costs(part)
    reachable = fewer.of_topic >= 0
    assert (more.lower[reachable] <= fewer.of_topic[reachable]).all()
    assert more.total == 0


def test_two_pieces_are_joined_by_a_shortest_path() -> None:
    """Of two paths between two subscribers the shorter one counts."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"y"}, "c": {"y"}, "d": {"y"}, "e": {"x"}})
    overlay = overlay_of(interest, [(0, 1), (1, 2), (2, 4), (0, 3), (3, 4)])
    found = filtering_costs(overlay)
    assert (found.of_topic.tolist(), found.lower.tolist()) == ([1, 1], [1, 1])


def test_a_hub_is_counted_once() -> None:
    """Subscribers around one uninterested hub need one relay, and the bound says so."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}, "d": {"x"}, "hub": set()})
    found = filtering_costs(overlay_of(interest, [(v, 4) for v in range(4)]))
    assert (found.of_topic.tolist(), found.lower.tolist()) == ([1], [1])


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"]}, {"a": ["x"], "b": ["y"]}])
def test_topics_without_two_subscribers_cost_nothing(subscriptions: dict[str, list[str]]) -> None:
    """A topic of fewer than two subscribers needs no tree."""
    found = filtering_costs(Overlay.empty(Interest.from_dict(subscriptions)))
    assert found.of_topic.tolist() == [0] * len(found.lower)
    assert (found.total, found.lower_total, found.maximum, len(found.unreachable)) == (0, 0, 0, 0)
