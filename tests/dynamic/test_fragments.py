"""The search for fragments, and pruning by it, against plain Python."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright import Interest, measure
from meshwright.designs.rings_and_stars import ring
from meshwright.dynamic.fragments import clear_marks, find_fragments, group_of, prune
from meshwright.greedy import grow, rules
from meshwright.search.ruin_and_recreate import RuinAndRecreate
from meshwright.verify import verify_overlay

MOST_ENDS = 16


@settings(max_examples=examples(80, 30))
@given(crowds(nodes=(2, 30), subscriptions=120), seeds)
def test_fragments_are_the_components(interest: Interest, seed: int) -> None:
    """Subscribers are in one fragment if and only if they are connected; unseen ones are in the rest."""
    overlay = grow(interest, rules.gm)
    chance = np.random.Generator(np.random.PCG64(seed))
    kept = overlay.prefix(int(chance.integers(0, len(overlay) + 1)))
    search = RuinAndRecreate(kept, ruin=MOST_ENDS // 2)
    net, groups = search.net, search.groups
    topic = int(chance.integers(interest.num_topics))
    members = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]]
    components = naive.Components(interest)
    for u, v in zip(kept.u.tolist(), kept.v.tolist(), strict=True):
        components.link(u, v)
    of = {int(v): components.of[topic][int(v)] for v in members}
    # Every component contains an end: one member of each, and some more.
    firsts = list({label: v for v, label in of.items()}.values())
    if not firsts or len(firsts) > MOST_ENDS // 2:
        return
    more = chance.choice(members, size=min(MOST_ENDS // 2, len(members)), replace=False).tolist()
    # Ends without a neighbour in the topic may come last, and be announced.
    pairs = zip(kept.u.tolist(), kept.v.tolist(), strict=True)
    linked = {v for pair in pairs if of.keys() >= set(pair) for v in pair}
    some = sorted((firsts + more)[:MOST_ENDS], key=lambda v: int(v) not in linked)
    alone = int(chance.integers(1 + sum(int(v) not in linked for v in some)))
    ends = np.array(some, dtype=np.int32)
    found = find_fragments(net, groups, topic, ends, len(ends), alone)
    seen = {int(v): int(group_of(groups, int(groups.mark[v]))) for v in groups.seen[: found.seen]}
    clear_marks(groups, found.seen)
    fragment = {int(v): seen.get(int(v), int(found.rest)) for v in members}
    for a, b in combinations(fragment, 2):
        assert (fragment[a] == fragment[b]) == (of[a] == of[b])
    assert found.made == len(set(ends.tolist()))
    assert (groups.mark == -1).all()


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


@settings(max_examples=examples(50, 15))
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
