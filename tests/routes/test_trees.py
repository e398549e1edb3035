"""Trees: laws that hold for every overlay, whatever the objective."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import crowds, overlay_of, seeds
from meshwright import Interest, Overlay, measure
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.plan_tables import TREES, LinkTable, TreeTables
from meshwright.routes import OBJECTIVES, Trees, figures, hops, loads, route, stretch
from meshwright.store.plan_parts import edge_table
from meshwright.store.trees import roles_of
from meshwright.verify import tree_faults
from naive import topic_sets
from strategies import overlays

objectives = st.sampled_from(OBJECTIVES)


def distances(links: set[tuple[int, int]], source: int) -> dict[int, int]:
    """Return the hops from a node to all that it reaches."""
    found, queue = {source: 0}, deque([source])
    while queue:
        here = queue.popleft()
        for a, b in links:
            there = b if a == here else a if b == here else None
            if there is not None and there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return found


def subscribers(interest: Interest, topic: int) -> set[int]:
    return {v for v, own in enumerate(topic_sets(interest)) if topic in own}


def links_of(overlay: Overlay) -> set[tuple[int, int]]:
    return set(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))


@st.composite
def connected(draw: st.DrawFn) -> Overlay:
    """Draw an overlay that connects every topic, with more links than it needs."""
    interest = draw(crowds(nodes=(2, 14), topics=(1, 6), subscriptions=60))
    rng = np.random.default_rng(draw(seeds))
    more = [(u, v) for u in range(interest.num_nodes) for v in range(u) if rng.random() < 0.2]
    grown = grow(interest, rules.low(3))
    edges = sorted({*links_of(grown), *((v, u) for u, v in more)})
    return overlay_of(interest, edges)


def check(trees: Trees) -> None:
    """Check each tree: spanning, without cycles, inside the overlay, interested brokers only."""
    overlay, interest = trees.overlay, trees.overlay.interest
    there = links_of(overlay)
    for topic in range(interest.num_topics):
        wanted = subscribers(interest, topic)
        edges = trees.edges_of(topic)
        if len(wanted) < 2 or topic in trees.unreachable:
            assert not edges
            continue
        pairs = {(min(edge), max(edge)) for edge in edges}
        piece = slice(trees.ptr[topic], trees.ptr[topic + 1])
        nodes, relays = trees.nodes[piece].tolist(), trees.nodes[piece][trees.relay[piece]].tolist()
        assert pairs <= there
        assert len(pairs) == len(nodes) - 1 == len(set(nodes)) - 1
        assert set(distances(pairs, nodes[0])) == set(nodes) == wanted | set(relays)
        assert not wanted & set(relays)
        ends = [end for pair in pairs for end in pair]
        assert all(ends.count(relay) > 1 for relay in relays)
        inside = {(u, v) for u, v in there if {u, v} <= wanted}
        if set(distances(inside, min(wanted))) == wanted:
            assert not relays


@given(connected(), objectives)
def test_trees_span_the_interested_only(overlay: Overlay, objective: str) -> None:
    """In a topic-connected overlay each tree has exactly the topic's subscribers."""
    trees = route(overlay, objective, rates=np.arange(overlay.interest.num_topics))
    check(trees)
    assert not trees.relay.any()
    assert not len(trees.unreachable)


@given(overlays(), objectives, seeds)
def test_partial_overlays_get_relays(overlay: Overlay, objective: str, seed: int) -> None:
    """For any links, a topic has a tree exactly if one is possible; its relays are few and needed."""
    rates = np.random.default_rng(seed).pareto(1.0, overlay.interest.num_topics)
    trees = route(overlay, objective, rates=rates)
    check(trees)
    costs = measure.filtering_costs(overlay)
    assert trees.unreachable.tolist() == costs.unreachable.tolist()
    found = np.bincount(trees.topics[trees.relay], minlength=overlay.interest.num_topics)
    reachable = costs.of_topic >= 0
    assert (found[reachable] <= costs.of_topic[reachable]).all()


@given(overlays(), objectives, seeds)
def test_verification_finds_no_faults(overlay: Overlay, objective: str, seed: int) -> None:
    """For any overlay, objective and publishers, the independent check of trees finds nothing wrong."""
    random, interest = np.random.default_rng(seed), overlay.interest
    pairs = [(v, t) for v in range(interest.num_nodes) for t in range(interest.num_topics)]
    trees = route(overlay, objective, publishers=[pair for pair in pairs if random.random() < 0.1])
    tables = TreeTables(LinkTable(edge_table(overlay)), trees.to_arrow().cast(TREES), roles_of(trees))
    assert tree_faults(overlay, tables, figures(trees)) == ()


@settings(max_examples=30)
@given(connected())
def test_hops_is_the_least_deep(overlay: Overlay) -> None:
    """No breadth-first tree from any root is less deep than the tree for `hops`."""
    trees = route(overlay)
    for topic in range(overlay.interest.num_topics):
        wanted = subscribers(overlay.interest, topic)
        if len(wanted) > 1:
            inside = {(u, v) for u, v in links_of(overlay) if {u, v} <= wanted}
            rooted = distances(set(trees.edges_of(topic)), int(trees.nodes[trees.ptr[topic]]))
            assert max(rooted.values()) == min(max(distances(inside, v).values()) for v in wanted)


@settings(max_examples=30)
@given(connected(), seeds)
def test_load_never_makes_the_heaviest_heavier(overlay: Overlay, seed: int) -> None:
    """With `load` the busiest link carries no more than with `hops`, and all links together the same."""
    rates = np.random.default_rng(seed).pareto(1.0, overlay.interest.num_topics)
    before, after = (loads(route(overlay, name, rates=rates)).of_link for name in ("hops", "load"))
    assert after.max(initial=0.0) <= before.max(initial=0.0) * (1 + 1e-9)
    assert after.sum() == pytest.approx(before.sum())


@settings(max_examples=30)
@given(overlays(), seeds)
def test_load_with_relays_never_makes_the_heaviest_heavier(overlay: Overlay, seed: int) -> None:
    """With relays, too, the busiest link carries no more than with `hops`; the sum may differ."""
    rates = np.random.default_rng(seed).pareto(1.0, overlay.interest.num_topics)
    before, after = (loads(route(overlay, name, rates=rates)).of_link for name in ("hops", "load"))
    assert after.max(initial=0.0) <= before.max(initial=0.0) * (1 + 1e-9)


@given(connected(), seeds)
def test_stable_keeps_what_it_can(overlay: Overlay, seed: int) -> None:
    """An old link that still exists and whose ends subscribe stays; the same overlay keeps its trees."""
    rng = np.random.default_rng(seed)
    old = route(overlay, "load", rates=rng.random(overlay.interest.num_topics))
    today = [(t, a, b) for t in range(overlay.interest.num_topics) for a, b in old.edges_of(t)]
    assert _sets(route(overlay, "stable", today=today)) == _sets(old)
    gone = int(rng.integers(overlay.interest.num_nodes))
    pairs = [(u, v) for u, v in links_of(overlay) if gone not in (u, v)]
    left = [topics if v != gone else set() for v, topics in enumerate(topic_sets(overlay.interest))]
    interest = Interest.from_pairs(
        [v for v, own in enumerate(left) for _ in own],
        [t for own in left for t in own],
        all_nodes=range(len(left)),
        all_topics=range(overlay.interest.num_topics),
    )
    repaired = grow(interest, rules.gm, start=overlay_of(interest, sorted(pairs)))
    new = route(repaired, "stable", today=today)
    check(new)
    for topic, links in enumerate(_sets(old)):
        if len(subscribers(interest, topic)) > 1:
            assert {link for link in links if gone not in link} <= _sets(new)[topic]


def _sets(trees: Trees) -> list[set[tuple[int, int]]]:
    topics = range(trees.overlay.interest.num_topics)
    return [{(min(edge), max(edge)) for edge in trees.edges_of(topic)} for topic in topics]


@given(overlays(), objectives)
def test_measures_are_those_of_every_pair(overlay: Overlay, objective: str) -> None:
    """Hops, stretch and loads equal those counted pair by pair, link by link and broker by broker."""
    interest = overlay.interest
    rates = np.arange(1.0, interest.num_topics + 1)
    trees = route(overlay, objective, rates=rates)
    way, ratios, passed = hops(trees), [], np.zeros(interest.num_nodes)
    carried = dict.fromkeys(links_of(overlay), 0.0)
    for topic in range(interest.num_topics):
        pairs = set(trees.edges_of(topic))
        wanted = subscribers(interest, topic) if pairs else set()
        tree = {v: distances(pairs, v) for v in wanted}
        far = sorted(tree[v][w] for v in wanted for w in wanted if v < w)
        assert way.most_of_topic[topic] == max(far, default=0)
        if far:
            assert way.mean_of_topic[topic] == pytest.approx(np.mean(far))
            assert way.usual_of_topic[topic] == far[-(-95 * len(far) // 100) - 1]
        whole = {v: distances(links_of(overlay), v) for v in wanted}
        ratios += [tree[v][w] / whole[v][w] for v in wanted for w in wanted if v != w]
        for a, b in pairs:
            carried[min(a, b), max(a, b)] += rates[topic]
        for v in {end for pair in pairs for end in pair}:
            passed[v] += rates[topic] * (sum(v in pair for pair in pairs) - 1)
    found = loads(trees)
    assert found.of_link.tolist() == [
        carried[link] for link in zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)
    ]
    assert found.of_broker.tolist() == pytest.approx(passed.tolist())
    if ratios:
        assert stretch(trees).mean == pytest.approx(np.mean(ratios))
        assert stretch(trees).most == pytest.approx(max(ratios))
    assert figures(trees)["trees"] == len(trees)


@settings(max_examples=30)
@given(connected(), seeds)
def test_publishers_attach_to_a_carrier(overlay: Overlay, seed: int) -> None:
    """A broker that only publishes is attached to one carrier, a neighbour if there is one."""
    rng = np.random.default_rng(seed)
    interest = overlay.interest
    asked = [
        (v, t) for v in range(interest.num_nodes) for t in range(interest.num_topics) if rng.random() < 0.3
    ]
    trees = route(overlay, publishers=asked)
    expected = {(t, v) for v, t in asked if t not in topic_sets(interest)[v] and subscribers(interest, t)}
    assert {(t, v) for t, v, _ in trees.publishers.tolist()} == expected
    for topic, broker, via in trees.publishers.tolist():
        wanted = subscribers(interest, topic)
        near = {a if b == broker else b for a, b in links_of(overlay) if broker in (a, b)} & wanted
        assert via in (near or wanted)


@settings(max_examples=30)
@given(overlays(), seeds)
def test_publishers_are_in_no_measure(overlay: Overlay, seed: int) -> None:
    """Hops, stretch and loads are those of the trees: one-way links are counted, and change nothing else."""
    rng = np.random.default_rng(seed)
    interest = overlay.interest
    pairs = [(v, t) for v in range(interest.num_nodes) for t in range(interest.num_topics)]
    trees = route(overlay, publishers=[pair for pair in pairs if rng.random() < 0.5])
    assert figures(trees) == {**figures(route(overlay)), "publishers": len(trees.publishers)}


def test_refusals() -> None:
    """An unknown objective, rates for other topics, and invalid rates are each rejected in one line."""
    overlay = Overlay.empty(Interest.from_dict({"a": {"x"}}))
    with pytest.raises(InputError, match="hops, load, stable"):
        route(overlay, "fast")
    with pytest.raises(InputError, match="one for each"):
        route(overlay, rates=np.ones(2))
    with pytest.raises(InputError, match="at least 0"):
        route(overlay, rates=np.array([-1.0]))
    assert len(route(overlay)) == 0
