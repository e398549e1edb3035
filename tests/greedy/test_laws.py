"""Laws that every run obeys, on any instance."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import RULES, Call, calls, crowds, examples, overlay_of, seeds, triples, tunings
from meshwright import Interest
from meshwright.greedy import Tuning, grow, rules
from meshwright.greedy.rules import Rule
from meshwright.verify import verify_overlay
from meshwright.workloads import WORKLOADS

some_rules = st.sampled_from(list(RULES.values()))


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_unbudgeted_runs_connect_every_topic(rule: Rule, workload: str) -> None:
    """Without budgets every topic is connected, as scipy finds, and the contributions are right."""
    found = verify_overlay(grow(WORKLOADS[workload](150, 40, min_size=1, max_size=8, seed=5), rule))
    assert found.connected
    assert found.contributions_agree
    assert found.support == 1


@settings(max_examples=examples(35, 15))
@given(crowds(), tunings)
def test_contributions_never_rise_along_gm(interest: Interest, tuning: Tuning) -> None:
    """No link of Greedy Merge contributes more than the one before it, and each contributes."""
    gains = grow(interest, rules.gm, tuning=tuning).contribution
    assert (np.diff(gains) <= 0).all()
    assert (gains > 0).all()


@settings(max_examples=examples(50, 20))
@given(some_rules.flatmap(lambda rule: calls(crowds(), rule)))
def test_arguments_are_respected(call: Call) -> None:
    """Budgets hold, each new link is a candidate and merges something, and no pair is linked twice."""
    overlay = call.grown()
    added = triples(overlay, len(call.start))
    assert len({(u, v) for u, v, _ in triples(overlay)}) == len(overlay)
    assert all(u < v and gain > 0 for u, v, gain in added)
    assert {(u, v) for u, v, _ in added} <= call.candidate_pairs()
    if call.max_edges is not None:
        assert len(added) <= call.max_edges
    if call.max_degree is not None:
        degree = np.bincount(np.concatenate((overlay.u, overlay.v)), minlength=call.interest.num_nodes)
        assert all(max(degree[u], degree[v]) <= call.max_degree for u, v, _ in added)


@settings(max_examples=examples(35, 15))
@given(crowds(), some_rules, st.floats(0, 1))
def test_a_run_can_be_resumed(interest: Interest, rule: Rule, part: float) -> None:
    """A run that is stopped anywhere and started from there gives the links of an unbroken run."""
    whole = grow(interest, rule)
    begun = grow(interest, rule, max_edges=int(part * len(whole)))
    assert triples(grow(interest, rule, start=begun)) == triples(whole)


@settings(max_examples=examples(35, 15))
@given(some_rules.flatmap(lambda rule: calls(crowds(subscriptions=120), rule)), seeds)
def test_topic_ids_do_not_matter(call: Call, seed: int) -> None:
    """Permuting the topic ids changes no link."""
    interest = call.interest
    renamed = np.random.default_rng(seed).permutation(interest.num_topics)
    other = Interest.from_ids(
        interest.node_names, interest.topic_names, interest.node_of_slot, renamed[interest.node_topics]
    )
    topics = None if call.topics is None else renamed[call.topics].tolist()
    assert triples(call.on(other, topics=topics).grown()) == triples(call.grown())


@settings(max_examples=examples(35, 15))
@given(crowds(), some_rules, tunings)
def test_every_topic_twice_doubles_every_contribution(interest: Interest, rule: Rule, tuning: Tuning) -> None:
    """If every topic has a copy with the same subscribers, links stay and contributions double."""
    once = grow(interest, rule, tuning=tuning)
    names = np.arange(2 * interest.num_topics)
    doubled = Interest.from_pairs(
        np.tile(interest.node_of_slot, 2),
        np.concatenate((interest.node_topics, interest.node_topics + interest.num_topics)),
        all_nodes=interest.node_names,
        all_topics=names,
    )
    twice = grow(doubled, rule, tuning=tuning)
    assert triples(twice) == [(u, v, 2 * gain) for u, v, gain in triples(once)]


@settings(max_examples=examples(40, 10))
@given(crowds(), tunings)
def test_lows_k_leads_from_gm_to_minmax(interest: Interest, tuning: Tuning) -> None:
    """With k = ∞ Low-ODA is MinMax-ODA; with k = 1 contributions never rise along the run."""
    infinite = grow(interest, rules.low(np.inf), tuning=tuning)
    assert triples(infinite) == triples(grow(interest, rules.minmax, tuning=tuning))
    gains = grow(interest, rules.low(1), tuning=tuning).contribution.tolist()
    assert all(later <= earlier for earlier, later in pairwise(gains))


@settings(max_examples=examples(40, 10))
@given(data=st.data())
def test_strict_low_with_k_one_is_gm(data: st.DataObject) -> None:
    """With k = 1 and >, no link is better than the best: the links are GM's, whatever the arguments."""
    call = data.draw(calls(crowds(), rules.gm))
    strict = replace(call, rule=rules.low(1, strict=True))
    assert triples(strict.grown()) == triples(call.grown())


def test_the_start_keeps_its_contributions() -> None:
    """The start's own contributions are kept, even under a topic filter."""
    interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"x", "y"}})
    start = overlay_of(interest, [(1, 2)])
    assert triples(grow(interest, rules.gm, start=start, topics=[0])) == [(1, 2, 2), (0, 1, 1)]


@given(st.integers(0, 400), st.floats(1, 50), st.booleans())
def test_the_lowest_sparing_contribution_is_the_first_that_is_good_enough(
    best: int, k: float, strict: bool
) -> None:
    """It is the least contribution of 1 or more that passes the rule, and one less does not."""
    rule = rules.low(k, strict=strict)

    def enough(sparing: int) -> bool:
        return sparing * k > best if strict else sparing * k >= best

    lowest = rule.lowest_sparing(best)
    assert enough(lowest) or lowest == 1 > best
    assert lowest == 1 or not enough(lowest - 1)
    assert rules.minmax.lowest_sparing(best) == 1
