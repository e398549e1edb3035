"""Ruin and recreate: every topic stays connected, links do not increase, and nothing is left behind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds, triples
from meshwright import Interest, Overlay, measure
from meshwright.designs.rings_and_stars import ring
from meshwright.greedy import grow, rules
from meshwright.search.improve import MOST_MORE
from meshwright.search.ruin_and_recreate import RuinAndRecreate
from meshwright.verify import verify_overlay
from meshwright.workloads import zipf

some_interests = crowds(nodes=(2, 30), subscriptions=120)


def complete(interest: Interest, draw: int) -> Overlay:
    """Return one of three overlays that connect every topic, some with redundant links."""
    makers = (lambda: grow(interest, rules.gm), lambda: grow(interest, rules.minmax), lambda: ring(interest))
    return makers[draw % 3]()


def pairs(overlay: Overlay) -> set[tuple[int, int]]:
    return set(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))


@settings(max_examples=examples(65, 20))
@given(some_interests, seeds)
def test_topics_stay_connected_by_no_more_links(interest: Interest, seed: int) -> None:
    """After any number of steps, every topic is connected and there are no more links than before."""
    before = complete(interest, seed)
    search = RuinAndRecreate(before, seed=seed, ruin=1 + seed % 7)
    search.run(1 + seed % 60)
    after = search.overlay()
    assert verify_overlay(after).connected
    assert len(after) == len(search) <= len(before)
    assert measure.degrees(after).maximum == search.max_degree


@settings(max_examples=examples(50, 15))
@given(some_interests, seeds, st.integers(1, 6))
def test_no_node_is_pushed_over_the_cap(interest: Interest, seed: int, cap: int) -> None:
    """A node that has more links than the cap had as many before."""
    before = complete(interest, seed)
    search = RuinAndRecreate(before, seed=seed)
    search.run(40, max_degree=cap)
    had = np.bincount(np.concatenate((before.u, before.v)), minlength=interest.num_nodes)
    assert (search.net.degree <= np.maximum(had, cap)).all()


@settings(max_examples=examples(50, 15))
@given(some_interests, seeds, st.integers(1, 6), st.integers(1, 3))
def test_links_beyond_the_cap_never_become_more(
    interest: Interest, seed: int, cap: int, lowering: int
) -> None:
    """Steps that lower degrees may move links beyond the cap. Some links more have to lower their number."""
    search = RuinAndRecreate(complete(interest, seed), seed=seed)
    for _ in range(20):
        above, links = search.above(cap), len(search)
        search.run(1, max_degree=cap, lowering=lowering)
        assert search.above(cap) <= above
        assert len(search) <= links + (MOST_MORE if search.above(cap) < above else 1)
    assert verify_overlay(search.overlay()).connected


@settings(max_examples=examples(50, 15))
@given(some_interests, seeds)
def test_steps_leave_nothing_behind(interest: Interest, seed: int) -> None:
    """Between steps, all working memory is blank and degrees are those of the links."""
    search = RuinAndRecreate(complete(interest, seed), seed=seed)
    search.run(30)
    assert (search.groups.mark == -1).all()
    assert not search.records.label.any()
    assert (search.records.node_first == -1).all()
    assert not search.records.tally.any()
    overlay = search.overlay()
    degree = np.bincount(np.concatenate((overlay.u, overlay.v)), minlength=interest.num_nodes)
    assert search.net.degree.tolist() == degree.tolist()


@settings(max_examples=examples(50, 15))
@given(some_interests, seeds)
def test_pruning_removes_the_last_pairs_first(interest: Interest, seed: int) -> None:
    """A link goes, last pair first, if every topic stays connected without it; then none is redundant."""
    before = complete(interest, seed)
    search = RuinAndRecreate(before)
    search.prune()
    left = sorted(pairs(before))
    for link in sorted(pairs(before), reverse=True):
        others = [other for other in left if other != link]
        components = naive.Components(interest)
        for u, v in others:
            components.link(u, v)
        if not components.merged_topics(*link):
            left = others
    assert sorted(pairs(search.overlay())) == left
    assert len(measure.redundant_edges(search.overlay())) == 0


def test_the_seed_decides() -> None:
    """The same seed gives the same overlay, another seed another one, both with fewer links than GM."""
    interest = zipf(200, 40, size=6, seed=1)
    greedy = grow(interest, rules.gm)

    def improved(seed: int) -> Overlay:
        search = RuinAndRecreate(greedy, seed=seed)
        search.run(500)
        return search.overlay()

    assert triples(improved(1)) == triples(improved(2**63 + 1))
    assert triples(improved(1)) != triples(improved(2))
    assert len(improved(1)) < len(greedy)


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_an_overlay_without_links(nodes: int) -> None:
    """Without a link, nothing happens."""
    interest = Interest.from_dict({f"n{i}": {f"t{i}"} for i in range(nodes)})
    search = RuinAndRecreate(Overlay.empty(interest))
    search.prune()
    search.run(5)
    assert len(search) == len(search.overlay()) == 0
