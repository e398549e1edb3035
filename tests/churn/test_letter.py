"""The letter of the paper, and what the paper plots about each repair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from calls import crowds, examples, seeds
from meshwright.churn import FromScratch, LiveOverlay, Policy, random_churn, replay
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.workloads import unif

some_interests = crowds(nodes=(3, 30), topics=(1, 40), subscriptions=120)


def backups_of(live: LiveOverlay) -> dict[Any, list[Any]]:
    return {node: live.backups(node) for node in live.nodes}


@settings(max_examples=examples(25, 6), deadline=None)
@given(some_interests, seeds)
def test_only_primaries_of_the_departed_choose_again(interest: Interest, seed: int) -> None:
    """A leave rebuilds the backups of its primaries, a join those of the newcomer, and no others."""
    chance = np.random.default_rng(seed)
    live = LiveOverlay(grow(interest, rules.low(3)), Policy.letter(coverage=2), seed=seed)
    node = int(chance.integers(interest.num_nodes))
    topics, before, primaries = interest.topics_of(node), backups_of(live), set(live.primaries(node))
    live.leave(node)
    after = backups_of(live)
    assert {each for each in after if after[each] != before[each]} <= primaries
    assert all(node not in own for own in after.values())
    if topics:
        live.join(node, topics)
        assert {each: own for each, own in backups_of(live).items() if each != node} == after
    assert live.audit() == ()


@settings(max_examples=examples(25, 6), deadline=None)
@given(some_interests, seeds)
def test_repairs_report_what_the_paper_plots(interest: Interest, seed: int) -> None:
    """The shadow set is neighbours and backups, with a newcomer itself; ratios are shares of the links."""
    chance = np.random.default_rng(seed)
    live = LiveOverlay(grow(interest, rules.low(3)), Policy.letter(), seed=seed)
    node = int(chance.integers(interest.num_nodes))
    topics, links = interest.topics_of(node), live.num_edges
    shadows = {*live.neighbours(node), *live.backups(node)}
    repair = live.leave(node)
    assert repair.shadow_size == len(shadows)
    assert repair.edges_before == links
    assert repair.ratio == (len(repair.added) + len(repair.removed)) / max(links, 1)
    assert 0 <= repair.greedy_seconds <= repair.seconds
    if topics:
        assert live.join(node, topics).shadow_size == 1 + len(live.backups(node))
    rows = {row["node"]: row for row in live.node_table().to_pylist()}
    for each in live.nodes:
        assert rows[each]["topics"] == len(live.topics_of(each))
        assert rows[each]["links"] == len(live.neighbours(each))
        assert rows[each]["backups"] == len(live.backups(each))
        assert rows[each]["primaries"] == len(live.primaries(each))


def test_the_letter_is_three_choices_and_no_newcomers() -> None:
    """Policy.letter sets what the paper says, keeps other parameters, and knows no policy of ours."""
    letter = Policy.letter("naive", rho=2)
    assert (letter.name, letter.rho, letter.window) == ("naive", 2, None)
    assert (letter.rebuild_backups, letter.local_degree, letter.newcomers) == (True, False, False)
    with pytest.raises(InputError, match="tidy is not in the paper"):
        Policy.letter("tidy")


def test_gaps_to_low_oda_from_scratch() -> None:
    """At regular intervals there is Low-ODA from scratch; replays of the same events share it."""
    interest = unif(60, 12, min_size=2, max_size=6, seed=1)
    rounds = list(random_churn(interest, 12, seed=1))
    scratch = FromScratch(5)
    runs = {
        name: replay(LiveOverlay(grow(interest, rules.low(3)), name), rounds, scratch=scratch)
        for name in ("shadow", "rebuild")
    }
    rows = runs["shadow"].rounds.to_pylist()
    assert [row["round"] for row in rows if row["scratch_max_degree"] is not None] == [4, 9]
    assert runs["shadow"].scratches[4] is runs["rebuild"].scratches[4]
    figures = runs["rebuild"].figures
    # After a rebuild there is no gap to a rebuild.
    assert (figures["mean_max_degree_gap"], figures["mean_average_degree_gap"]) == (0, 0)
    assert (figures["scratch_rounds"], figures["mean_backups"], figures["mean_shadow_size"]) == (
        2,
        None,
        None,
    )
    gaps = [row["max_degree"] - row["scratch_max_degree"] for row in rows if row["scratch_max_degree"]]
    assert runs["shadow"].figures["mean_max_degree_gap"] == pytest.approx(np.mean(gaps))
    ratios = [row["repair_ratio"] for row in rows if row["event"] == "join"]
    assert runs["shadow"].figures["mean_join_repair_ratio"] == pytest.approx(np.mean(ratios))
    assert runs["rebuild"].repairs[0].greedy_seconds > 0
    assert replay(LiveOverlay(grow(interest, rules.low(3))), rounds).figures["mean_max_degree_gap"] is None
    with pytest.raises(InputError, match="every 0 rounds"):
        FromScratch(0)
