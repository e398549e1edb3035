"""Counts of pairs: used where they pay, dropped where a byte is too small, and the links stay the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import Call, crowds, examples, triples
from meshwright import Interest
from meshwright.greedy import Tuning, candidates, grow, rules
from meshwright.greedy.layout import counted_below, popular_first
from meshwright.greedy.rules import Rule
from meshwright.jit.compiler import compiled
from meshwright.jit.simd import bits_of_bytes
from meshwright.workloads import unif, zipf

BY_DEGREES = pytest.mark.parametrize("rule", [rules.minmax, rules.low(3)], ids=lambda rule: rule.name)


@pytest.mark.parametrize("common", [254, 255, 256, 300])
@BY_DEGREES
def test_more_common_topics_than_a_byte_holds(rule: Rule, common: int) -> None:
    """Up to 255 common topics fit a byte; beyond, pairs are not counted; the links are always the twin's."""
    topics = {v: set(range(common)) for v in range(3)} | {3: {0, 1}, 4: set(range(7))}
    call = Call(Interest.from_dict(topics), rule, tuning=Tuning(counted=1000))
    assert call.twin()[0] == (0, 1, common)
    assert triples(call.grown()) == call.twin()


@BY_DEGREES
def test_counting_is_chosen_for_many_small_topics(rule: Rule) -> None:
    """Pairs are counted where topics are many and have few subscribers; the links stay the same."""
    interest = zipf(400, 2600, min_size=5, max_size=80, alpha=1.0, seed=5)
    below = counted_below(interest, rule, candidates.everything, Tuning())
    popularity = np.diff(interest.topic_ptr)
    # Some topics are counted, some are not.
    assert popularity.min() < below < popularity.max()
    assert triples(grow(interest, rule)) == triples(grow(interest, rule, tuning=Tuning(counted=0)))


def test_counting_is_not_chosen_where_it_does_not_pay() -> None:
    """Pairs are not counted for GM, for fixed pairs, with few topics, or with too many nodes."""
    many = unif(400, 2600, size=10, seed=5)
    everything = candidates.everything
    assert counted_below(many, rules.minmax, everything, Tuning()) > 0
    assert counted_below(many, rules.gm, everything, Tuning()) == 0
    assert counted_below(many, rules.minmax, candidates.pairs([(0, 1)]), Tuning()) == 0
    assert counted_below(unif(400, 1000, size=10, seed=5), rules.minmax, everything, Tuning()) == 0
    assert counted_below(unif(12_000, 12_000, size=2, seed=5), rules.minmax, everything, Tuning()) == 0


@given(crowds())
def test_popular_topics_first(interest: Interest) -> None:
    """Topics are reordered by falling popularity; the subscriptions stay the same."""
    ordered = popular_first(interest)
    popularity = np.diff(ordered.topic_ptr)
    assert (popularity[1:] <= popularity[:-1]).all()
    for node in interest.node_names.to_pylist():
        assert set(ordered.topics_of(node)) == set(interest.topics_of(node))


@compiled
def gathered(array: np.ndarray, begin: np.uint64, k: np.uint8) -> np.uint64:
    """Call the intrinsic from compiled code."""
    return bits_of_bytes(array, begin, k)  # type: ignore[no-any-return]


@settings(max_examples=examples(50, 50))
@given(st.binary(min_size=64, max_size=200), st.integers(0, 7), st.data())
def test_bits_of_bytes(data: bytes, k: int, draw: st.DataObject) -> None:
    """Bit i of the word is bit k of the i-th byte, wherever the bytes begin."""
    begin = draw.draw(st.integers(0, len(data) - 64))
    word = gathered(np.frombuffer(data, dtype=np.uint8).copy(), np.uint64(begin), np.uint8(k))
    assert [int(word) >> i & 1 for i in range(64)] == [byte >> k & 1 for byte in data[begin : begin + 64]]
