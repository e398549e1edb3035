"""The best partner of a loose node, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright import Interest
from meshwright.designs.rings_and_stars import ring
from meshwright.dynamic.mutable_overlay import remove_link
from meshwright.greedy import grow, rules
from meshwright.search.fragment_records import LOOSE, record_fragments, touch_topics
from meshwright.search.improve import find_best_partner, update_barred
from meshwright.search.ruin_and_recreate import RuinAndRecreate
from meshwright.search.topic_trees import plant_trees


@settings(max_examples=examples(80, 25))
@given(crowds(nodes=(2, 80), subscriptions=300), seeds, st.integers(1, 9))
def test_the_best_partner_joins_the_most(interest: Interest, seed: int, cap: int) -> None:
    """The partner of a loose node joins the most topics, and of such nodes it has the fewest links."""
    overlay = ring(interest) if seed % 2 else grow(interest, rules.gm)
    random = np.random.Generator(np.random.PCG64(seed))
    search = RuinAndRecreate(overlay, seed=seed, ruin=5)
    net, records, partners = search.net, search.records, search.partners
    plant_trees(net, search.trees, search.groups)
    gone = random.permutation(len(overlay))[: min(5, len(overlay))]
    left = naive.Components(interest)
    for i in set(range(len(overlay))) - set(gone.tolist()):
        left.link(int(overlay.u[i]), int(overlay.v[i]))
    for place, i in enumerate(gone.tolist()):
        u, v = int(overlay.u[i]), int(overlay.v[i])
        remove_link(net, u, v)
        search.step_links.lost[2 * place : 2 * place + 2] = u, v
    for place in range(len(gone)):
        touch_topics(net, search.trees, records, search.step_links.lost, place)
    lost = search.step_links.lost
    assert record_fragments(net, search.trees, search.groups, records, lost, len(gone))
    for v in range(interest.num_nodes):
        update_barred(net, partners, v, cap)
    if len(gone):
        partners.forbidden[:] = search.step_links.lost[:2]
    over = seed // 2 % 2
    barred = set(partners.forbidden.tolist())
    for position in range(records.tally[LOOSE]):
        find_best_partner(net, records, partners, position, cap, over, 3)
        x = int(records.loose[position])
        joined = {
            v: len(left.merged_topics(x, v))
            for v in range(interest.num_nodes)
            if v != x and max(net.degree[x], net.degree[v]) < cap + over and {x, v} != barred
        }
        most = max(joined.values(), default=0)
        assert partners.gain[position] == most
        assert partners.fresh[position] == 3
        if most:
            best = [v for v, count in joined.items() if count == most]
            fewest = min(net.degree[v] for v in best)
            assert partners.partner[position] in [v for v in best if net.degree[v] == fewest]
        else:
            assert partners.partner[position] == -1
