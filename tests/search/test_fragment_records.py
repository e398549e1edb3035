"""Detours of two and three links, against all paths in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

import naive
from calls import crowds, examples, seeds
from meshwright import Interest
from meshwright.designs.rings_and_stars import ring
from meshwright.dynamic.link_lists import remove_link
from meshwright.greedy import grow, rules
from meshwright.search import RuinAndRecreate
from meshwright.search.fragment_records import TOUCHED, touch_topics


@settings(max_examples=examples(50, 15))
@given(crowds(nodes=(2, 25), topics=(1, 80), subscriptions=150), seeds)
def test_topics_without_a_detour_are_touched(interest: Interest, seed: int) -> None:
    """A lost link touches the topics of both ends that no path of two or three links has, and no other."""
    overlay = ring(interest) if seed % 2 else grow(interest, rules.gm)
    if not len(overlay):
        return
    search, topics = RuinAndRecreate(overlay), naive.topic_sets(interest)
    near: list[set[int]] = [set() for _ in topics]
    for a, b in zip(overlay.u.tolist(), overlay.v.tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
    lost = int(np.random.default_rng(seed).integers(len(overlay)))
    u, v = int(overlay.u[lost]), int(overlay.v[lost])
    remove_link(search.net, u, v)
    near[u].remove(v)
    near[v].remove(u)
    search.step_links.lost[:2] = u, v
    touch_topics(search.net, search.groups, search.records, search.step_links.lost, 0)
    bridged: set[int] = set()
    for w in near[u]:
        bridged |= topics[w] if w in near[v] else set()
        for z in near[w] & near[v]:
            bridged |= topics[w] & topics[z]
    touched = search.records.touched[: search.records.tally[TOUCHED]].tolist()
    assert touched == sorted((topics[u] & topics[v]) - bridged)
    assert (search.groups.mark == -1).all()
