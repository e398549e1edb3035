"""Divide and conquer: a divided plan is topic-connected, through few representatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import RULES, crowds, examples, triples
from meshwright import Interest, measure
from meshwright.greedy import candidates, grow, rules
from meshwright.greedy.rules import Rule
from meshwright.overlay import Overlay
from meshwright.pipeline.plans import parts as dividing
from meshwright.pipeline.plans.parts import Loss, divide, loss, representatives, restrict, solve, split
from meshwright.verify import verify_overlay
from meshwright.workloads import zipf

any_rule = st.sampled_from([rules.gm, rules.minmax, rules.low(3)])


def naive_representatives(interest: Interest, coverage: int) -> list[int]:
    """Evaluate every node in every step."""
    demand = np.minimum(np.bincount(interest.node_topics, minlength=interest.num_topics), coverage)
    topics = [
        interest.node_topics[a:b] for a, b in zip(interest.node_ptr, interest.node_ptr[1:], strict=False)
    ]
    chosen: list[int] = []
    while demand.any():
        met = [0 if v in chosen else int((demand[own] > 0).sum()) for v, own in enumerate(topics)]
        best = int(np.argmax(met))
        chosen.append(best)
        demand[topics[best]] = np.maximum(demand[topics[best]] - 1, 0)
    return sorted(chosen)


@given(crowds(), st.integers(1, 4))
def test_representatives_are_those_of_greedy_cover(interest: Interest, coverage: int) -> None:
    """The kernel chooses the same nodes as evaluating every node in every step."""
    assert representatives(interest, coverage).tolist() == naive_representatives(interest, coverage)


@settings(max_examples=examples(40, 5))
@given(crowds(), any_rule, st.integers(1, 5), st.integers(1, 3), st.integers(0, 9))
def test_every_topic_is_connected(
    interest: Interest, rule: Rule, parts: int, coverage: int, seed: int
) -> None:
    """For any parts, every topic is connected, and every stated contribution is correct."""
    found = verify_overlay(divide(interest, rule, parts=parts, coverage=coverage, seed=seed))
    assert found.connected
    assert found.contributions_agree


@settings(max_examples=examples(40, 5))
@given(crowds(), st.sampled_from(list(RULES.values())), st.integers(2, 4), st.integers(1, 3))
def test_parts_are_joined_as_the_engine_would(
    interest: Interest, rule: Rule, parts: int, coverage: int
) -> None:
    """The last step adds the links that the engine, which knows all nodes, adds among representatives."""
    whole = divide(interest, rule, parts=parts, coverage=coverage, seed=1)
    division = split(interest, parts, 1)
    solved = [(nodes, solve(restrict(interest, nodes), rule, coverage)) for nodes in division.parts]
    allowed = [division.bulk, *(nodes[part.representatives] for nodes, part in solved)]
    u, v = (np.concatenate([nodes[getattr(part, end)] for nodes, part in solved]) for end in "uv")
    start = Overlay(interest, u, v, measure.contributions(interest, u, v))
    joined = grow(interest, rule, start=start, candidates=candidates.among(np.concatenate(allowed)))
    assert triples(whole) == triples(joined)


def test_bulk_nodes_belong_to_no_part() -> None:
    """A node with very many topics is in no part; every other node is in exactly one."""
    interest = Interest.from_pairs([0] * 40 + list(range(1, 31)), [*range(40), *range(30)])
    division = split(interest, 3, seed=5)
    assert division.bulk.tolist() == [0]
    assert sorted(np.concatenate(division.parts).tolist()) == list(range(1, 31))
    assert {len(part) for part in division.parts} == {10}


def test_another_seed_gives_other_parts() -> None:
    """The parts depend on the seed, and on nothing else."""
    interest = zipf(60, 10, size=3, seed=1)
    parts = [split(interest, 2, seed).parts[0].tolist() for seed in (0, 0, 1)]
    assert parts[0] == parts[1] != parts[2]


def test_one_part_is_the_exact_design() -> None:
    """Without bulk nodes, one part gives the exact design."""
    interest = zipf(80, 20, size=4, seed=1)
    assert triples(divide(interest, rules.gm, parts=1)) == triples(grow(interest, rules.gm))


def test_the_loss_is_that_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample is planned both ways, and dividing it takes more links."""
    monkeypatch.setattr(dividing, "SAMPLE_NODES", 200)
    found = loss(zipf(400, 40, size=6, seed=1), rules.gm, parts=4, coverage=1, seed=0)
    assert found.nodes == 200
    assert 0 < found.share < 1
    assert found.share == found.divided / found.exact - 1
    assert Loss(0, 0, 0).share == 0
