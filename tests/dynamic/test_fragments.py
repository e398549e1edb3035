"""The search for fragments, against components from plain Python."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings

import naive
from calls import crowds, examples, seeds
from meshwright import Interest
from meshwright.dynamic.fragments import clear_marks, find_fragments, group_of
from meshwright.greedy import grow, rules
from meshwright.search import RuinAndRecreate

MOST_ENDS = 16


@settings(max_examples=examples(200, 30))
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
    of = {int(v): components.of[topic, int(v)] for v in members}
    # Every component contains an end: one member of each, and some more.
    firsts = list({label: v for v, label in of.items()}.values())
    if not firsts or len(firsts) > MOST_ENDS // 2:
        return
    more = chance.choice(members, size=min(MOST_ENDS // 2, len(members)), replace=False).tolist()
    ends = np.array((firsts + more)[:MOST_ENDS], dtype=np.int32)
    found = find_fragments(net, groups, topic, ends, len(ends))
    seen = {int(v): int(group_of(groups, int(groups.mark[v]))) for v in groups.seen[: found.seen]}
    clear_marks(groups, found.seen)
    fragment = {int(v): seen.get(int(v), int(found.rest)) for v in members}
    for a, b in combinations(fragment, 2):
        assert (fragment[a] == fragment[b]) == (of[a] == of[b])
    assert found.made == len(set(ends.tolist()))
    assert (groups.mark == -1).all()
