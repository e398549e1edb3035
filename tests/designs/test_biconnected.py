"""Growth towards 2-connected topics equals its obvious twin, and pruning removes exactly the spare links."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, overlay_of, restless_engine, seeds, triples
from meshwright import Interest
from meshwright.designs.resilient import grow_biconnected, remove_spare_links
from meshwright.greedy import grow, rules
from meshwright.overlay import Overlay
from meshwright.verify import verify_overlay
from strategies import interests

Weights = tuple[int, int, int]

small = st.one_of(interests(most_nodes=9, most_topics=4), crowds((2, 14), (1, 9), 45))
weights = st.tuples(*(st.integers(0, 3),) * 3)


class SubOverlays:
    """For each topic the sub-overlay of its subscribers; networkx finds components and blocks."""

    def __init__(self, interest: Interest) -> None:
        self.topics = naive.topic_sets(interest)
        self.graphs = [nx.Graph() for _ in range(interest.num_topics)]
        for v, own in enumerate(self.topics):
            for topic in own:
                self.graphs[topic].add_node(v)

    def link(self, u: int, v: int) -> None:
        for topic in self.topics[u] & self.topics[v]:
            self.graphs[topic].add_edge(u, v)

    def counts(self, weights: Weights) -> dict[naive.Edge, int]:
        """Return what a link between each pair that is not linked would count."""
        pieces, missing, blocks = weights
        counts: dict[naive.Edge, int] = {}
        for graph in self.graphs:
            component = {v: i for i, part in enumerate(nx.connected_components(graph)) for v in part}
            shared = {
                pair for block in nx.biconnected_components(graph) for pair in combinations(sorted(block), 2)
            }
            lacks = {v: degree < min(2, len(graph) - 1) for v, degree in graph.degree}
            for u, v in combinations(sorted(graph), 2):
                if not graph.has_edge(u, v):
                    count = pieces * (component[u] != component[v]) + missing * (lacks[u] + lacks[v])
                    counts[u, v] = counts.get((u, v), 0) + count + blocks * ((u, v) not in shared)
        return counts


def twin(interest: Interest, phases: Sequence[Weights]) -> list[naive.Edge]:
    """Evaluate every pair in every step."""
    parts, added = SubOverlays(interest), []
    for phase in phases:
        while counts := {pair: count for pair, count in parts.counts(phase).items() if count}:
            best = min(counts, key=lambda pair: (-counts[pair], pair))
            parts.link(*best)
            added.append(best)
    return added


def edges(overlay: Overlay) -> list[naive.Edge]:
    return [(u, v) for u, v, _ in triples(overlay)]


@settings(max_examples=examples(50, 15), deadline=None)
@given(small, st.lists(weights, max_size=2), st.integers(1, 4), st.booleans())
def test_growth_equals_the_twin(
    interest: Interest, phases: list[Weights], window: int, restless: bool
) -> None:
    """Each link is the twin's, under any weights, however small the windows and however often it pauses."""
    with restless_engine(0) if restless else nullcontext():
        assert edges(grow_biconnected(interest, phases, window=window)) == twin(interest, phases)


@settings(max_examples=examples(8, 3), deadline=None)
@given(crowds((20, 30), (2, 12), 120))
def test_growth_equals_the_twin_on_crowds(interest: Interest) -> None:
    """With many blocks and large components, each link is the twin's."""
    for phases in (((1, 1, 0), (0, 0, 1)), ((1, 0, 2),)):
        assert edges(grow_biconnected(interest, phases, window=3)) == twin(interest, phases)


@settings(max_examples=examples(40, 10), deadline=None)
@given(small)
def test_components_alone_give_greedy_merge(interest: Interest) -> None:
    """With weights 1, 0, 0 it is the engine's GM, with the same contributions."""
    assert triples(grow_biconnected(interest, [(1, 0, 0)])) == triples(grow(interest, rules.gm))


@settings(max_examples=examples(40, 12), deadline=None)
@given(small, seeds)
def test_spare_links_go_from_the_last_to_the_first(interest: Interest, seed: int) -> None:
    """Pruning removes, last to first, each link without which all topics stay 2-connected."""
    pairs = list(combinations(range(interest.num_nodes), 2))
    order = [pairs[i] for i in np.random.default_rng(seed).permutation(len(pairs))]
    # All pairs are more than enough; a part of them may be enough too.
    kept = order
    for count in (len(order) // 2, 2 * len(order) // 3):
        if is_biconnected(interest, order[:count]):
            kept = order[:count]
            break
    pruned = remove_spare_links(overlay_of(interest, kept))
    for edge in kept[::-1]:
        rest = [other for other in kept if other != edge]
        if is_biconnected(interest, rest):
            kept = rest
    assert edges(pruned) == kept
    assert verify_overlay(pruned).contributions_agree


def is_biconnected(interest: Interest, links: list[naive.Edge]) -> bool:
    """Return whether networkx finds every topic's sub-overlay biconnected; two subscribers must be linked."""
    parts = SubOverlays(interest)
    for u, v in links:
        parts.link(u, v)
    return all(len(graph) < 2 or nx.is_biconnected(graph) for graph in parts.graphs)
