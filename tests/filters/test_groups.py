"""Overlap groups: a partition, equal to the comparison of all pairs, also where much overlaps."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.filters.groups import group_numbers, overlap_groups
from meshwright.filters.mqtt import matches, overlaps
from naive_filters import ROOTED, TOPICS, filters, naive_groups


@settings(max_examples=100)
@given(st.lists(filters, max_size=9))
def test_groups_agree_with_all_pairs(held: list[str]) -> None:
    """Groups are those that a comparison of all pairs over all topics gives."""
    assert overlap_groups(held) == naive_groups(held)


@pytest.mark.parametrize("one", ROOTED)
def test_an_empty_first_level_is_a_level(one: str) -> None:
    """`/#` and `+` are not one group: what they would share is the empty topic."""
    for other in ROOTED:
        assert overlap_groups([one, other]) == naive_groups([one, other])


@given(st.lists(filters, max_size=12))
def test_no_topic_matches_filters_of_two_groups(held: list[str]) -> None:
    """Groups are a partition, and a topic matches filters of at most one."""
    groups = overlap_groups(held)
    assert sorted(name for group in groups for name in group) == sorted(set(held))
    for topic in TOPICS:
        assert sum(any(matches(name, topic) for name in group) for group in groups) <= 1


def _random_filters(count: int, seed: int, *, names: int, depth: int, wild: float) -> list[str]:
    """Return distinct filters of random levels; a share `wild` of them has wildcards."""
    rng = random.Random(seed)
    made: set[str] = set()
    while len(made) < count:
        levels = [str(rng.randrange(names)) for _ in range(rng.randint(max(1, depth - 1), depth))]
        if rng.random() < wild:
            for place in rng.sample(range(len(levels)), rng.randint(1, min(3, len(levels)))):
                levels[place] = "+"
            if rng.random() < 0.3:
                levels[-1] = "#"
        made.add("/".join(levels))
    return sorted(made)


@pytest.mark.parametrize("seed", range(6))
def test_groups_of_many_filters_agree_with_all_pairs(seed: int) -> None:
    """The pruning of uniform nodes loses no overlap: 300 filters of up to five levels, compared in pairs."""
    held = _random_filters(300, seed, names=(3, 8, 30)[seed % 3], depth=5, wild=(0.05, 0.5)[seed % 2])
    leader = {name: name for name in held}

    def root(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for place, one in enumerate(held):
        for other in held[place + 1 :]:
            if overlaps(one, other):
                leader[root(one)] = root(other)
    expected: dict[str, set[str]] = {}
    for name in held:
        expected.setdefault(root(name), set()).add(name)
    assert {frozenset(group) for group in overlap_groups(held)} == {*map(frozenset, expected.values())}


@pytest.mark.slow
@pytest.mark.parametrize("names", [20, 1000])
def test_a_million_filters(names: int) -> None:
    """A million filters, 1% with wildcards, take at most 10 s of CPU."""
    held = _random_filters(1_000_000, 1, names=names, depth=6, wild=0.01)
    began = time.process_time()
    group_numbers(held)
    assert time.process_time() - began < 10
