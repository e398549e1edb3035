"""The papers' hard cases give the papers' figures."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.overlay import Overlay
from meshwright.workloads import cover_copies, cuboid, lemma1, single_node_copies, single_node_cover
from naive import Components, Edge, topic_sets

set_families = st.lists(st.sets(st.integers(0, 5), max_size=4), min_size=1, max_size=5).filter(any)


def connects(interest: Interest, edges: list[Edge]) -> bool:
    """Return whether nothing is left to merge."""
    components = Components(interest)
    for u, v in edges:
        components.link(u, v)
    return not any(components.merged_topics(u, v) for u, v in combinations(range(interest.num_nodes), 2))


def edge_list(overlay: Overlay) -> list[Edge]:
    return list(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))


def covers(sets: list[set[int]]) -> list[tuple[int, ...]]:
    """Return all covers of the union, smallest first."""
    universe = set().union(*sets)
    return [
        chosen
        for size in range(len(sets) + 1)
        for chosen in combinations(range(len(sets)), size)
        if set().union(*(sets[i] for i in chosen)) == universe
    ]


@pytest.mark.parametrize(("k", "m"), [(1, 3), (2, 3), (3, 4), (4, 4), (3, 5)])
def test_cuboid(k: int, m: int) -> None:
    """GM makes 2k + k·m edges on the cuboid, though both halves linked to all others, 2k + 2m, are enough."""
    interest = cuboid(k, m)
    assert (interest.num_nodes, interest.num_topics) == (2 + m + k, 2 * (2**k - 1) * m)
    assert len(grow(interest, rules.gm)) == 2 * k + k * m
    halves = [interest.node_id("half1"), interest.node_id("half2")]
    others = [v for v in range(interest.num_nodes) if v not in halves]
    enough = [(half, other) for half in halves for other in others]
    assert len(enough) == 2 * k + 2 * m
    assert connects(interest, enough)


def test_cuboid_overlaps_are_the_papers() -> None:
    """Slab i shares 2^i topics with each layer and m·2^(i−1) with each half; slabs share no topic."""
    k, m = 4, 5
    interest = cuboid(k, m)
    names = interest.node_names.to_pylist()
    held = dict(zip(names, topic_sets(interest), strict=True))
    for i in range(1, k + 1):
        assert {len(held[f"slab{i}"] & held[f"layer{j}"]) for j in range(1, m + 1)} == {2**i}
        assert {len(held[f"slab{i}"] & held[f"half{j}"]) for j in (1, 2)} == {m * 2 ** (i - 1)}
    slabs = [held[f"slab{i}"] for i in range(1, k + 1)]
    assert sum(map(len, slabs)) == len(set().union(*slabs)) == interest.num_topics


@pytest.mark.parametrize(("n", "minmax"), [(6, 11), (8, 21), (10, 31), (12, 46)])
def test_lemma1(n: int, minmax: int) -> None:
    """GM makes the star around v1; MinMax-ODA's edges grow with n²."""
    interest = lemma1(n)
    assert (interest.num_nodes, interest.num_topics) == (n, n * n)
    assert sorted(edge_list(grow(interest, rules.gm))) == [(0, v) for v in range(1, n)]
    assert len(grow(interest, rules.minmax)) == minmax


def test_lemma1_keeps_node_order_beyond_nine() -> None:
    """Nodes are v01, v02, … in order, so that ties fall as in the lemma."""
    assert lemma1(11).node_names.to_pylist() == [f"v{i:02d}" for i in range(1, 12)]


@settings(max_examples=40, deadline=None)
@given(set_families)
def test_single_node_cover_is_set_cover(sets: list[set[int]]) -> None:
    """With the other nodes linked to each other, a choice of the hub's neighbours connects iff it covers."""
    interest = single_node_cover(sets)
    hub = interest.node_id("hub")
    others = [interest.node_id(f"set{i}") for i in range(1, len(sets) + 1)]
    clique = [(min(a, b), max(a, b)) for a, b in combinations(others, 2)]
    found = set(covers(sets))
    for size in range(len(sets) + 1):
        for chosen in combinations(range(len(sets)), size):
            edges = clique + [(hub, others[i]) for i in chosen]
            assert connects(interest, edges) == (chosen in found)


@settings(max_examples=25, deadline=None)
@given(set_families)
def test_any_overlay_of_single_node_cover_covers(sets: list[set[int]]) -> None:
    """The hub's neighbours in GM's and MinMax-ODA's overlays are a cover, no smaller than the smallest."""
    interest = single_node_cover(sets)
    hub = interest.node_id("hub")
    for rule in (rules.gm, rules.minmax):
        ends = [edge for edge in edge_list(grow(interest, rule)) if hub in edge]
        chosen = tuple(i for i in range(len(sets)) if any(interest.node_id(f"set{i + 1}") in e for e in ends))
        assert chosen in covers(sets)
        assert len(ends) == len(chosen) >= len(covers(sets)[0])


@settings(max_examples=25, deadline=None)
@given(set_families, st.integers(1, 3))
def test_cover_copies_hold_a_cover_each(sets: list[set[int]], m: int) -> None:
    """An optimal cover for each copy and a clique are enough; in GM's overlay each copy has a cover."""
    interest = cover_copies(sets, m)
    universe = set().union(*sets)
    assert (interest.num_nodes, interest.num_topics) == (len(sets) + m, m * len(universe))
    copies = [interest.node_id(f"copy{j}") for j in range(1, m + 1)]
    others = [interest.node_id(f"set{i}") for i in range(1, len(sets) + 1)]
    best = covers(sets)[0]
    enough = [(copy, others[i]) for copy in copies for i in best]
    assert connects(interest, enough + list(combinations(others, 2)))
    edges = edge_list(grow(interest, rules.gm))
    neighbours = [{a if b == copy else b for a, b in edges if copy in (a, b)} for copy in copies]
    for own in neighbours:
        assert tuple(i for i, node in enumerate(others) if node in own) in covers(sets)
    assert len(best) * m <= sum(map(len, neighbours)) <= len(edges)


@settings(max_examples=25, deadline=None)
@given(set_families)
def test_copies_turn_one_degree_into_all(sets: list[set[int]]) -> None:
    """Any cover gives the copies an overlay in which only the hub has more than three links (Lemma 5.1)."""
    interest = single_node_copies(single_node_cover(sets), "hub")
    count = len(sets)
    assert interest.num_nodes == 1 + count * count
    of = [[interest.node_id(f"set{i}#{j}") for j in range(1, count + 1)] for i in range(1, count + 1)]
    hub = interest.node_id("hub")
    held = topic_sets(interest)
    assert all(held[copy] == held[copies[0]] for copies in of for copy in copies)
    for cover in covers(sets):
        # The cycles, a link between each two of them at copies of their own, and the hub at the rest.
        links = {frozenset((own[j], own[j - 1])) for own in of for j in range(count)}
        links |= {frozenset((of[i][j], of[j][i])) for i, j in combinations(range(count), 2)}
        links |= {frozenset((hub, of[i][i])) for i in cover}
        edges = [(min(link), max(link)) for link in links if len(link) == 2]
        assert connects(interest, edges)
        degree = [sum(v in edge for edge in edges) for v in range(interest.num_nodes)]
        assert degree[hub] == len(cover)
        assert max(degree) <= max(3, len(cover))


@settings(max_examples=15, deadline=None)
@given(set_families)
def test_any_overlay_of_copies_covers(sets: list[set[int]]) -> None:
    """The nodes whose copies are linked to the hub are a cover, in GM's and MinMax-ODA's overlays."""
    interest = single_node_copies(single_node_cover(sets), "hub")
    names = interest.node_names.to_pylist()
    for rule in (rules.gm, rules.minmax):
        ends = [edge for edge in edge_list(grow(interest, rule)) if interest.node_id("hub") in edge]
        linked = {names[v].partition("#")[0] for edge in ends for v in edge} - {"hub"}
        assert tuple(i for i in range(len(sets)) if f"set{i + 1}" in linked) in covers(sets)


def test_bad_hard_cases_are_rejected() -> None:
    """Parameters for which a construction does not exist are rejected with one clear line."""
    with pytest.raises(InputError, match="k = 0"):
        cuboid(0, 4)
    with pytest.raises(InputError, match="m = 2"):
        cuboid(3, 2)
    with pytest.raises(InputError, match="1 nodes"):
        lemma1(1)
    with pytest.raises(InputError, match="no element"):
        single_node_cover([set(), set()])
    with pytest.raises(InputError, match="read the same"):
        single_node_cover([{1, "1"}])
    with pytest.raises(InputError, match="0 copies"):
        cover_copies([{1}], 0)
    with pytest.raises(InputError, match="no node 'hub'"):
        single_node_copies(lemma1(3), "hub")
    with pytest.raises(InputError, match="reads like a copy"):
        single_node_copies(Interest.from_dict({"a": {"x"}, "a#1": {"x"}, "b": {"x"}}), "a#1")
