"""The best partner of a loose node against a slow, obvious twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright import Interest
from meshwright.designs.ring import ring
from meshwright.dynamic.link_lists import remove_link
from meshwright.greedy import grow, rules
from meshwright.search import Remaking
from meshwright.search.kernels.best_partner import bar, look_around
from meshwright.search.kernels.pieces import LOOSE, record_fragments, touch_topics


@settings(max_examples=examples(200, 25))
@given(crowds(nodes=(2, 80), subscriptions=300), seeds, st.integers(1, 9))
def test_it_is_the_node_that_joins_most(interest: Interest, seed: int, cap: int) -> None:
    """After some links are gone, each loose node's partner joins most, with the fewest links of these."""
    overlay = ring(interest) if seed % 2 else grow(interest, rules.gm)
    random = np.random.Generator(np.random.PCG64(seed))
    remaking = Remaking(overlay, seed=seed, ruin=5)
    net, pieces, partners = remaking.net, remaking.pieces, remaking.partners
    gone = random.permutation(len(overlay))[: min(5, len(overlay))]
    left = naive.Components(interest)
    for i in set(range(len(overlay))) - set(gone.tolist()):
        left.link(int(overlay.u[i]), int(overlay.v[i]))
    for place, i in enumerate(gone.tolist()):
        u, v = int(overlay.u[i]), int(overlay.v[i])
        remove_link(net, u, v)
        remaking.desk.lost[2 * place : 2 * place + 2] = u, v
    for place in range(len(gone)):
        touch_topics(net, remaking.groups, pieces, remaking.desk.lost, place)
    assert record_fragments(net, remaking.groups, pieces, remaking.desk.lost, len(gone))
    for v in range(interest.num_nodes):
        bar(net, partners, v, cap)
    if len(gone):
        partners.forbidden[:] = remaking.desk.lost[:2]
    barred = set(partners.forbidden.tolist())
    for position in range(pieces.tally[LOOSE]):
        look_around(net, pieces, partners, position, cap, 3)
        x = int(pieces.loose[position])
        joined = {
            v: len(left.merged_topics(x, v))
            for v in range(interest.num_nodes)
            if v != x and max(net.degree[x], net.degree[v]) < cap and {x, v} != barred
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
