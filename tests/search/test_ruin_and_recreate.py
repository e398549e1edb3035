"""Ruin and recreate: what always holds, and its parts against slow, obvious twins."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds, triples
from meshwright import Interest, Overlay, measure
from meshwright.designs.ring import ring
from meshwright.dynamic.fragments import forget, group_of, search
from meshwright.greedy import grow, rules
from meshwright.search import Remaking
from meshwright.verify import verify_overlay
from meshwright.workloads import zipf

some_interests = crowds(nodes=(2, 30), subscriptions=120)


def complete(interest: Interest, draw: int) -> Overlay:
    """Return one of three overlays that connect every topic, some with links to spare."""
    makers = (lambda: grow(interest, rules.gm), lambda: grow(interest, rules.minmax), lambda: ring(interest))
    return makers[draw % 3]()


def pairs(overlay: Overlay) -> set[tuple[int, int]]:
    return set(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))


@settings(max_examples=examples(150, 20))
@given(some_interests, seeds)
def test_topics_stay_connected_by_no_more_links(interest: Interest, seed: int) -> None:
    """However many steps are run, every topic is connected, and links have not become more."""
    before = complete(interest, seed)
    remaking = Remaking(before, seed=seed, ruin=1 + seed % 7)
    remaking.run(1 + seed % 60)
    after = remaking.overlay()
    assert verify_overlay(after).connected
    assert len(after) == len(remaking) <= len(before)
    assert measure.degrees(after).maximum == remaking.max_degree


@settings(max_examples=examples(100, 15))
@given(some_interests, seeds, st.integers(1, 6))
def test_no_node_is_pushed_over_the_cap(interest: Interest, seed: int, cap: int) -> None:
    """Whoever has more links than the cap afterwards had as many before."""
    before = complete(interest, seed)
    remaking = Remaking(before, seed=seed)
    remaking.run(40, max_degree=cap)
    had = np.bincount(np.concatenate((before.u, before.v)), minlength=interest.num_nodes)
    assert (remaking.net.degree <= np.maximum(had, cap)).all()


@settings(max_examples=examples(100, 15))
@given(some_interests, seeds)
def test_steps_leave_nothing_behind(interest: Interest, seed: int) -> None:
    """Between steps all working memory is as at the start, and the lists of links agree with each other."""
    remaking = Remaking(complete(interest, seed), seed=seed)
    remaking.run(30)
    assert (remaking.groups.mark == -1).all()
    assert not remaking.pieces.label.any()
    assert (remaking.pieces.node_first == -1).all()
    assert not remaking.pieces.tally.any()
    overlay = remaking.overlay()
    degree = np.bincount(np.concatenate((overlay.u, overlay.v)), minlength=interest.num_nodes)
    assert remaking.net.degree.tolist() == degree.tolist()


@settings(max_examples=examples(100, 15))
@given(some_interests, seeds)
def test_pruning_is_the_twins(interest: Interest, seed: int) -> None:
    """Links go, last pair first, if every topic stays connected without them; then none can be spared."""
    before = complete(interest, seed)
    remaking = Remaking(before)
    remaking.prune()
    left = sorted(pairs(before))
    for link in sorted(pairs(before), reverse=True):
        others = [other for other in left if other != link]
        components = naive.Components(interest)
        for u, v in others:
            components.link(u, v)
        if not components.merged_topics(*link):
            left = others
    assert sorted(pairs(remaking.overlay())) == left
    assert len(measure.redundant_edges(remaking.overlay())) == 0


@settings(max_examples=examples(200, 30))
@given(some_interests, seeds)
def test_fragments_are_the_components(interest: Interest, seed: int) -> None:
    """Whom the search says to be connected are connected; whom it never saw belong to its rest."""
    overlay = grow(interest, rules.gm)
    chance = np.random.Generator(np.random.PCG64(seed))
    kept = overlay.prefix(int(chance.integers(0, len(overlay) + 1)))
    remaking = Remaking(kept, ruin=8)
    topic = int(chance.integers(interest.num_topics))
    members = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]]
    components = naive.Components(interest)
    for u, v in sorted(pairs(kept)):
        components.link(u, v)
    of = {int(v): components.of[topic, int(v)] for v in members}
    # The ends of lost links meet every component: one member of each, and some more.
    firsts = list({label: v for v, label in of.items()}.values())
    if not firsts or len(firsts) > 8:
        return
    more = chance.choice(members, size=min(8, len(members)), replace=False).tolist()
    ends = np.array((firsts + more)[:16], dtype=np.int32)
    made, seen, rest = search(remaking.net, remaking.groups, topic, ends, len(ends))
    found = {
        int(v): int(group_of(remaking.groups, int(remaking.groups.mark[v])))
        for v in remaking.groups.seen[:seen]
    }
    forget(remaking.groups, seen)
    whole = {int(v): found.get(int(v), int(rest)) for v in members}
    for a, b in combinations(whole, 2):
        assert (whole[a] == whole[b]) == (of[a] == of[b])
    assert made >= len(set(of.values()))


def test_the_seed_decides() -> None:
    """The same seed gives the same overlay, another seed another one, and both have fewer links than GM."""
    interest = zipf(200, 40, size=6, seed=1)
    greedy = grow(interest, rules.gm)

    def improved(seed: int) -> Overlay:
        remaking = Remaking(greedy, seed=seed)
        remaking.run(500)
        return remaking.overlay()

    assert triples(improved(1)) == triples(improved(1))
    assert triples(improved(1)) != triples(improved(2))
    assert len(improved(1)) < len(greedy)


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_next_to_nothing(nodes: int) -> None:
    """With no link to remake nothing happens."""
    interest = Interest.from_dict({f"n{i}": {f"t{i}"} for i in range(nodes)})
    remaking = Remaking(Overlay.empty(interest))
    remaking.prune()
    remaking.run(5)
    assert len(remaking) == len(remaking.overlay()) == 0
