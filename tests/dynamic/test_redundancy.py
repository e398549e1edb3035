"""Pruning, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright import Interest, measure
from meshwright.designs.rings_and_stars import ring
from meshwright.dynamic.redundancy import prune
from meshwright.greedy import grow, rules
from meshwright.search import RuinAndRecreate
from meshwright.verify import verify_overlay

Link = tuple[int, int]


def pruned(interest: Interest, links: list[Link], order: list[Link], most: int) -> list[Link]:
    """Return the links that go, in order: all topics stay connected without each of them."""
    left = list(links)
    gone: list[Link] = []
    for link in order:
        others = [other for other in left if other != link]
        components = naive.Components(interest)
        for u, v in others:
            components.link(u, v)
        if len(gone) < most and not components.merged_topics(*link):
            left = others
            gone.append(link)
    return gone


@settings(max_examples=examples(100, 15))
@given(crowds(nodes=(2, 30), subscriptions=120), seeds, st.sampled_from([0, 1, 3, 1000]))
def test_redundant_links_go_in_order(interest: Interest, seed: int, most: int) -> None:
    """In the order given, a link goes if every topic stays connected without it, until enough have gone."""
    overlay = ring(interest) if seed % 2 else grow(interest, rules.minmax)
    links: list[Link] = sorted(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))
    order = [links[i] for i in np.random.default_rng(seed).permutation(len(links))]
    us, vs = np.array(order, dtype=np.int32).reshape(-1, 2).T.copy()
    search = RuinAndRecreate(overlay)
    removed = prune(search.net, search.groups, us, vs, most)
    front = list(zip(us[:removed].tolist(), vs[:removed].tolist(), strict=True))
    assert front == pruned(interest, links, order, most)
    assert sorted(zip(us.tolist(), vs.tolist(), strict=True)) == links
    after = search.overlay()
    assert sorted(zip(after.u.tolist(), after.v.tolist(), strict=True)) == sorted(set(links) - set(front))
    assert verify_overlay(after).connected
    if most > len(links):
        assert len(measure.redundant_edges(after)) == 0
