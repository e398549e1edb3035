"""Repairs add the links of the greedy engine, with the overlay as its start and the shadows as candidates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, overlay_of, seeds
from meshwright.churn import LiveOverlay, Policy, Repair
from meshwright.greedy import candidates, grow, rules
from meshwright.greedy.candidates import Candidates
from meshwright.interest import Interest
from meshwright.overlay import Overlay

some_interests = crowds(nodes=(2, 30), topics=(1, 90), subscriptions=150)
ids = {"overlay": False, "shadows": True}


def without(interest: Interest, gone: set[int], lost: dict[int, set[int]] | None = None) -> Interest:
    """Return the interest without the topics of some nodes and some topics of others; ids stay."""
    own = dict(enumerate(naive.topic_sets(interest)))
    kept = [(v, t) for v, has in own.items() if v not in gone for t in has - (lost or {}).get(v, set())]
    nodes, topics = np.array(sorted(kept), dtype=np.int64).reshape(-1, 2).T
    return Interest.from_ids(interest.node_names, interest.topic_names, nodes, topics)


def numbers(names: Iterable[Any]) -> set[int]:
    """Return names, which are integers here, as a set."""
    return set(names)


def added_links(repair: Repair) -> list[Any]:
    return list(repair.added)


def edges_of(overlay: Overlay, gone: set[int]) -> list[naive.Edge]:
    pairs = zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)
    return [(u, v) for u, v in pairs if not {u, v} & gone]


def expected(
    interest: Interest, start: list[naive.Edge], among: Candidates, topics: set[int], rho: float, local: bool
) -> list[naive.Edge]:
    """Return the links that the engine adds; with the maximum degree of the candidates, in plain Python."""
    if not local:
        grown = grow(
            interest, rules.low(rho), start=overlay_of(interest, start), candidates=among, topics=topics
        )
        return list(zip(grown.u.tolist(), grown.v.tolist(), strict=True))[len(start) :]
    pairs = naive.candidate_pairs(among, interest.num_nodes)
    shadows = {v for pair in pairs for v in pair}
    components = naive.Components(interest, topics)
    degree = [0] * interest.num_nodes
    for u, v in start:
        components.link(u, v)
        degree[u] += 1
        degree[v] += 1
    added: list[naive.Edge] = []
    while True:
        top = max((degree[v] for v in shadows), default=0)
        gains = {pair: len(components.merged_topics(*pair)) for pair in pairs}
        best = max(gains, key=gains.__getitem__, default=(0, 0))
        if not gains.get(best):
            return added
        below = [pair for pair in pairs if max(degree[pair[0]], degree[pair[1]]) < top]
        sparing = max(below, key=gains.__getitem__, default=best)
        if gains[sparing] and gains[sparing] * rho >= gains[best]:
            best = sparing
        components.link(*best)
        added.append(best)
        degree[best[0]] += 1
        degree[best[1]] += 1


def random_policy(chance: np.random.Generator, local: bool) -> Policy:
    return Policy(
        "shadow",
        backups=str(chance.choice(["greedy", "primal-dual"])),
        coverage=int(chance.integers(1, 4)),
        rho=float(chance.choice([1, 1.5, 3, 10])),
        window=int(chance.integers(1, 10)),
        local_degree=local,
    )


@pytest.mark.parametrize("local", ids.values(), ids=ids)
@settings(max_examples=examples(40, 8), deadline=None)
@given(some_interests, seeds, st.integers(1, 4))
def test_leaves_add_the_links_of_the_engine(local: bool, interest: Interest, seed: int, count: int) -> None:
    """When nodes leave, the links added are the engine's among their neighbours and backups, in order."""
    chance = np.random.default_rng(seed)
    before = grow(interest, rules.low(3))
    live = LiveOverlay(before, random_policy(chance, local), seed=seed)
    gone = set(chance.permutation(interest.num_nodes)[:count].tolist())
    shadows = numbers(other for v in gone for other in (*live.neighbours(v), *live.backups(v))) - gone
    topics = numbers(t for v in gone for t in interest.topics_of(v))
    repair = live.crash(gone)
    after = without(interest, gone)
    assert added_links(repair) == expected(
        after, edges_of(before, gone), candidates.among(shadows), topics, live.policy.rho, local
    )


@pytest.mark.parametrize("local", ids.values(), ids=ids)
@settings(max_examples=examples(40, 8), deadline=None)
@given(some_interests, seeds)
def test_joins_add_the_links_of_the_engine(local: bool, interest: Interest, seed: int) -> None:
    """When a node joins, the links added are the engine's between it and its backups, in order."""
    chance = np.random.default_rng(seed)
    new = interest.num_nodes - 1
    topics = numbers(interest.topics_of(new))
    if not topics:
        return
    rest = grow(without(interest, {new}), rules.low(3))
    live = LiveOverlay(rest, random_policy(chance, local), seed=seed)
    live.leave(new)
    repair = live.join(new, topics)
    star = candidates.star(new, numbers(live.backups(new)))
    assert added_links(repair) == expected(
        interest, edges_of(rest, set()), star, topics, live.policy.rho, local
    )


@settings(max_examples=examples(40, 8), deadline=None)
@given(some_interests, seeds)
def test_unsubscribes_add_the_links_of_the_engine(interest: Interest, seed: int) -> None:
    """When a node unsubscribes, the links added are the engine's among its neighbours and backups."""
    chance = np.random.default_rng(seed)
    before = grow(interest, rules.low(3))
    live = LiveOverlay(before, random_policy(chance, False), seed=seed)
    node = int(chance.integers(interest.num_nodes))
    held = sorted(numbers(interest.topics_of(node)))
    if not held:
        return
    topics = set(chance.choice(held, size=int(chance.integers(1, len(held) + 1)), replace=False).tolist())
    shadows = numbers([*live.neighbours(node), *live.backups(node)])
    repair = live.unsubscribe(node, topics)
    after = without(interest, set(), {node: topics})
    assert added_links(repair) == expected(
        after, edges_of(before, set()), candidates.among(shadows), topics, live.policy.rho, False
    )


@settings(max_examples=examples(40, 6), deadline=None)
@given(some_interests, seeds)
def test_naive_repairs_add_the_links_of_the_engine(interest: Interest, seed: int) -> None:
    """Naive repairs add the engine's links among all nodes after a leave, and from the newcomer to all."""
    chance = np.random.default_rng(seed)
    before = grow(interest, rules.low(3))
    live = LiveOverlay(before, "naive", seed=seed)
    node = int(chance.integers(interest.num_nodes))
    topics = numbers(interest.topics_of(node))
    repair = live.leave(node)
    left = edges_of(before, {node})
    anyone = candidates.among(set(range(interest.num_nodes)) - {node})
    assert added_links(repair) == expected(without(interest, {node}), left, anyone, topics, 3.0, False)
    if topics:
        star = candidates.star(node, range(interest.num_nodes))
        start = left + added_links(repair)
        assert added_links(live.join(node, topics)) == expected(interest, start, star, topics, 3.0, False)
