"""Renaming the nodes changes a run only through ties.

A tie goes to the smallest (u, v), so names decide which of the best links is taken, and thus what comes
later. Under any names, each link is one of the best at its time.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

import naive
from calls import Triple, crowds, examples, seeds, triples
from meshwright import Interest
from meshwright.greedy import grow, rules

few_ties = crowds(nodes=(2, 9), topics=(40, 150), subscriptions=600)
"""Interests whose pairs mostly differ in their contributions."""


def best_pairs(components: naive.Components) -> tuple[int, list[naive.Edge]]:
    """Return the largest contribution and the pairs that have it."""
    nodes = len(components.topics)
    gains = {(u, v): len(components.merged_topics(u, v)) for u in range(nodes) for v in range(u + 1, nodes)}
    most = max(gains.values(), default=0)
    return most, [pair for pair, gain in gains.items() if gain == most]


def run_under_other_names(interest: Interest, seed: int) -> list[Triple]:
    """Shuffle the nodes' names, run Greedy Merge, and translate its links back to the old names."""
    new_name = np.random.default_rng(seed).permutation(interest.num_nodes)
    renamed = Interest.from_ids(
        interest.node_names, interest.topic_names, new_name[interest.node_of_slot], interest.node_topics
    )
    old_name = np.argsort(new_name)
    return [
        (int(min(old_name[[u, v]])), int(max(old_name[[u, v]])), gain)
        for u, v, gain in triples(grow(renamed, rules.gm))
    ]


@settings(max_examples=examples(35, 20))
@given(crowds(nodes=(2, 25), topics=(1, 40), subscriptions=120), seeds)
def test_under_any_names_each_link_is_a_best_one(interest: Interest, seed: int) -> None:
    """Translated to the old names, a run under new names is greedy too: each link is a best one."""
    components = naive.Components(interest)
    for u, v, gain in run_under_other_names(interest, seed):
        most, best = best_pairs(components)
        assert (u, v) in best
        assert components.link(u, v) == gain == most
    assert best_pairs(components)[0] == 0


@settings(max_examples=examples(50, 30))
@given(few_ties, seeds)
def test_until_the_first_tie_names_do_not_matter(interest: Interest, seed: int) -> None:
    """Both runs take the same links until the first tie, and the same contribution at that tie."""
    components = naive.Components(interest)
    here, there = triples(grow(interest, rules.gm)), run_under_other_names(interest, seed)
    for mine, yours in zip(here, there, strict=False):
        assert mine[2] == yours[2]
        if len(best_pairs(components)[1]) > 1:
            return
        assert mine == yours
        components.link(*mine[:2])
    assert len(here) == len(there)


@settings(max_examples=examples(35, 20))
@given(crowds(), seeds)
def test_contributions_have_the_same_sum_under_any_names(interest: Interest, seed: int) -> None:
    """The contributions of a complete run have the same sum under any names."""
    here, there = triples(grow(interest, rules.gm)), run_under_other_names(interest, seed)
    assert sum(gain for *_, gain in here) == sum(gain for *_, gain in there)
