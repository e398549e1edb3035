"""The fragments that a ruin leaves, and the trees that find them, against sets in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

import naive
from calls import crowds, examples, seeds
from meshwright import Interest
from meshwright.designs.rings_and_stars import ring
from meshwright.dynamic.mutable_overlay import remove_link
from meshwright.greedy import grow, rules
from meshwright.search.fragment_records import MISSING, RECORDS, record_fragments, touch_topics
from meshwright.search.ruin_and_recreate import RuinAndRecreate
from meshwright.search.topic_trees import plant_trees

some_interests = crowds(nodes=(2, 25), topics=(1, 80), subscriptions=150)


@settings(max_examples=examples(50, 15))
@given(some_interests, seeds)
def test_fragments_are_those_of_the_links_left(interest: Interest, seed: int) -> None:
    """Labels are equal where links connect, 0 in one fragment, and each other fragment needs a merge."""
    overlay = ring(interest) if seed % 2 else grow(interest, rules.gm)
    if not len(overlay):
        return
    chance = np.random.default_rng(seed)
    gone = chance.choice(len(overlay), size=min(len(overlay), 1 + seed % 4), replace=False).tolist()
    search = RuinAndRecreate(overlay, ruin=len(gone))
    plant_trees(search.net, search.trees, search.groups)
    lost = search.step_links.lost
    components = naive.Components(interest)
    for i, (u, v) in enumerate(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)):
        if i not in gone:
            components.link(u, v)
    for number, i in enumerate(gone):
        lost[2 * number : 2 * number + 2] = overlay.u[i], overlay.v[i]
        remove_link(search.net, overlay.u[i], overlay.v[i])
    for number in range(len(gone)):
        touch_topics(search.net, search.trees, search.records, lost, number)
    assert record_fragments(search.net, search.trees, search.groups, search.records, lost, len(gone))
    records, missing = search.records, 0
    ptr = interest.topic_ptr
    for topic, of in components.of.items():
        subscribers = interest.topic_nodes[ptr[topic] : ptr[topic + 1]]
        labels = records.label[ptr[topic] : ptr[topic + 1]]
        pairs = {(of[int(v)], int(label)) for v, label in zip(subscribers, labels, strict=True)}
        fragments = set(of.values())
        assert len(pairs) == len(fragments) == len({label for _, label in pairs})
        assert 0 in {label for _, label in pairs}
        missing += len(fragments) - 1
    assert records.tally[MISSING] == missing
    assert records.tally[RECORDS] == np.count_nonzero(records.label)
    assert (search.groups.mark == -1).all()


@settings(max_examples=examples(50, 15))
@given(some_interests, seeds)
def test_trees_span_their_topics(interest: Interest, seed: int) -> None:
    """After any steps, each subscriber but one is linked with its parent, and all lead to that one."""
    overlay = ring(interest) if seed % 2 else grow(interest, rules.gm)
    search = RuinAndRecreate(overlay, seed=seed, ruin=1 + seed % 5)
    search.run(1 + seed % 50, max_degree=None if seed % 3 else 3, lowering=seed % 4)
    us, vs = search.links()
    links = set(zip(us.tolist(), vs.tolist(), strict=True))
    for topic in range(interest.num_topics if links else 0):
        first, last = interest.topic_ptr[topic], interest.topic_ptr[topic + 1]
        subscribers = interest.topic_nodes[first:last].tolist()
        parent = dict(zip(subscribers, search.trees.parent[first:last].tolist(), strict=True))
        roots = [v for v in subscribers if parent[v] == -1]
        assert len(roots) == (1 if subscribers else 0)
        for v in subscribers:
            path = [v]
            while parent[path[-1]] != -1:
                path.append(parent[path[-1]])
                assert (min(path[-2:]), max(path[-2:])) in links
                assert len(path) <= len(subscribers)
