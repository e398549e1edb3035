"""RandomA and RandomM take contributing links only, within their budget, each equally likely."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, restless_engine, seeds, triples
from meshwright import Interest, measure
from meshwright.designs import chance
from meshwright.designs.chance import randoma, randomm
from meshwright.errors import InputError
from meshwright.greedy import engine
from meshwright.verify import verify_overlay
from meshwright.workloads import zipf
from strategies import interests

any_interest = st.one_of(interests(most_nodes=10, most_topics=6), crowds())


@settings(max_examples=examples(150, 40))
@given(any_interest, st.integers(0, 40), seeds)
def test_randoma_keeps_its_budget(interest: Interest, budget: int, seed: int) -> None:
    """Each link contributes as it claims; they are as many as allowed, or nothing contributes any more."""
    overlay = randoma(interest, max_edges=budget, seed=seed)
    components = naive.Components(interest)
    assert all(0 < gain == components.link(u, v) for u, v, gain in triples(overlay))
    assert len(overlay) <= budget
    assert len(overlay) == budget or verify_overlay(overlay).connected


@settings(max_examples=examples(150, 40))
@given(any_interest, st.integers(0, 6), seeds)
def test_randomm_keeps_its_budget(interest: Interest, limit: int, seed: int) -> None:
    """Each link contributes as it claims, no node exceeds the limit, and no further link would do so."""
    overlay = randomm(interest, max_degree=limit, seed=seed)
    components = naive.Components(interest)
    assert all(0 < gain == components.link(u, v) for u, v, gain in triples(overlay))
    degrees = measure.degrees(overlay).of_node
    assert all(degrees <= limit)
    for u, v in combinations(range(interest.num_nodes), 2):
        assert degrees[u] == limit or degrees[v] == limit or not components.merged_topics(u, v)


@settings(max_examples=examples(30, 8))
@given(any_interest, st.integers(0, 6), seeds)
def test_pauses_change_no_link(interest: Interest, limit: int, seed: int) -> None:
    """The driver may pause the kernel and enlarge its columns after every link: the links stay the same."""
    whole = randomm(interest, max_degree=limit, seed=seed), randoma(interest, max_edges=9, seed=seed)
    with pytest.MonkeyPatch.context() as patch, restless_engine():
        patch.setattr(engine, "ROOM", 1)
        paused = randomm(interest, max_degree=limit, seed=seed), randoma(interest, max_edges=9, seed=seed)
    assert [triples(overlay) for overlay in paused] == [triples(overlay) for overlay in whole]


def test_seeds() -> None:
    """The same seed gives the same links, another one others."""
    interest = zipf(60, 20, size=5, seed=3)
    once, again, other = (triples(randoma(interest, max_edges=30, seed=seed)) for seed in (1, 1, 2))
    assert once == again != other
    once, again, other = (triples(randomm(interest, max_degree=3, seed=seed)) for seed in (1, 1, 2))
    assert once == again != other


UNEVEN = Interest.from_dict(
    {"a": {"x", "y", "z"}, "b": {"x", "y", "z"}, "c": {"x", "y"}, "d": {"x"}, "e": {"z"}, "f": {"w"}}
)
"""Pairs that contribute one, two or three topics, and pairs that contribute nothing."""


def spread(counts: Counter[naive.Edge], expected: set[naive.Edge]) -> float:
    """Return χ² of the counts over the expected pairs, which must be all there are."""
    assert set(counts) == expected
    mean = counts.total() / len(expected)
    return sum((counts[pair] - mean) ** 2 / mean for pair in expected)


def contributing(components: naive.Components, degree: Counter[int], limit: int) -> set[naive.Edge]:
    pairs = combinations(range(UNEVEN.num_nodes), 2)
    open_pairs = (pair for pair in pairs if max(degree[v] for v in pair) < limit)
    return {pair for pair in open_pairs if components.merged_topics(*pair)}


def test_the_first_pick_is_uniform() -> None:
    """Whatever it contributes, each contributing pair is the first pick equally often."""
    counts = Counter(triples(randoma(UNEVEN, max_edges=1, seed=seed))[0][:2] for seed in range(2000))
    expected = contributing(naive.Components(UNEVEN), Counter(), 99)
    assert len(expected) == 8
    assert spread(counts, expected) < 24.32  # χ² with seven degrees of freedom: once in a thousand times


@pytest.mark.parametrize("limit", [1, 2])
def test_later_picks_are_uniform(limit: int) -> None:
    """After any first pick, each pair that contributes then and is within the limit follows equally often."""
    seconds: dict[naive.Edge, Counter[naive.Edge]] = {}
    for seed in range(3_000):
        first, second = (edge[:2] for edge in triples(randomm(UNEVEN, max_degree=limit, seed=seed))[:2])
        seconds.setdefault(first, Counter())[second] += 1
    assert len(seconds) == 8
    for first, counts in seconds.items():
        components = naive.Components(UNEVEN)
        components.link(*first)
        expected = contributing(components, Counter(first), limit)
        assert len(expected) == 1 or spread(counts, expected) < 24.32  # at most seven degrees of freedom


@settings(max_examples=examples(40, 20))
@given(any_interest, st.integers(0, 40), st.integers(0, 6), seeds)
def test_arbitrary_links_keep_their_budget(interest: Interest, budget: int, limit: int, seed: int) -> None:
    """Any pairs may be linked: as many as allowed, or until no unused pair is within the limit."""
    nodes = interest.num_nodes
    for overlay in (
        randoma(interest, max_edges=budget, arbitrary=True, seed=seed),
        randomm(interest, max_degree=limit, arbitrary=True, seed=seed),
    ):
        components = naive.Components(interest)
        assert all(gain == components.link(u, v) for u, v, gain in triples(overlay))
    assert len(randoma(interest, max_edges=budget, arbitrary=True, seed=seed)) == min(
        budget, nodes * (nodes - 1) // 2
    )
    degrees, linked = measure.degrees(overlay).of_node, {edge[:2] for edge in triples(overlay)}
    assert all(degrees <= limit)
    for pair in combinations(range(nodes), 2):
        assert pair in linked or max(degrees[v] for v in pair) == limit


@pytest.mark.parametrize("patience", [64, 0])
@pytest.mark.parametrize("limit", [1, 2, 9])
def test_arbitrary_picks_are_uniform(limit: int, patience: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pick is any pair, the second any other within the limit, each equally often.

    This holds for draws of two nodes and, without patience, for draws from the list of what is left.
    """
    if patience == 0:
        # A compiled kernel keeps its constant, so the draws of two nodes are left out as a whole.
        monkeypatch.setattr(chance, "draw_links", lambda *arguments: None)
    every = set(combinations(range(UNEVEN.num_nodes), 2))
    seconds: dict[naive.Edge, Counter[naive.Edge]] = {}
    for seed in range(3_000):
        drawn = randomm(UNEVEN, max_degree=limit, arbitrary=True, seed=seed)
        first, second = (edge[:2] for edge in triples(drawn)[:2])
        seconds.setdefault(first, Counter())[second] += 1
    assert spread(Counter({first: counts.total() for first, counts in seconds.items()}), every) < 36.12
    for first, counts in seconds.items():
        expected = {pair for pair in every - {first} if limit > 1 or not set(pair) & set(first)}
        assert spread(counts, expected) < 45  # at most 13 degrees of freedom: once in 20,000 times


def test_arbitrary_links_depend_on_the_seed() -> None:
    """The same seed gives the same links, another one others; they are not those of contributing draws."""
    interest = zipf(60, 20, size=5, seed=3)
    given = ((1, True), (1, True), (2, True), (1, False))
    once, again, other, useful = (
        triples(randoma(interest, max_edges=30, arbitrary=arbitrary, seed=seed)) for seed, arbitrary in given
    )
    assert once == again
    assert once not in (other, useful)


def test_bad_budgets_are_rejected() -> None:
    """A value that is not a whole number of zero or more is named."""
    with pytest.raises(InputError, match="max_edges is -1: give a whole number of 0 or more"):
        randoma(UNEVEN, max_edges=-1)
    with pytest.raises(InputError, match=r"max_degree is 1\.5: give a whole number of 0 or more"):
        randomm(UNEVEN, max_degree=1.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="max_edges is -1: give"):
        randoma(UNEVEN, max_edges=-1, arbitrary=True)
    with pytest.raises(InputError, match="arbitrary is 1: give True or False"):
        randomm(UNEVEN, max_degree=1, arbitrary=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seed is -1: give"):
        randomm(UNEVEN, max_degree=1, seed=-1)
