"""Relations of filters agree with an enumeration of topics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.filters.mqtt import covers, example, examples, matches, meet, overlaps, without_covered
from naive_filters import ROOTED, TOPICS, filters, matching, naive_covers, naive_matches, naive_overlaps


@given(filters, st.sampled_from(TOPICS))
def test_matching_is_as_defined(held: str, topic: str) -> None:
    """A topic matches a filter as the MQTT specification says."""
    assert matches(held, topic) == naive_matches(held, topic)


@given(filters, filters)
def test_cover_and_overlap_follow_from_matching(one: str, other: str) -> None:
    """Filters overlap if a topic matches both; one covers another if it matches all topics of the other."""
    assert overlaps(one, other) == overlaps(other, one) == naive_overlaps(one, other)
    assert covers(one, other) == naive_covers(one, other)


@pytest.mark.parametrize("one", ROOTED)
def test_no_topic_is_empty(one: str) -> None:
    """What `/#` covers, overlaps and meets takes into account that the empty topic does not exist."""
    for other in ROOTED:
        assert covers(one, other) == naive_covers(one, other), other
        assert overlaps(one, other) == naive_overlaps(one, other), other
        both = meet(one, other)
        assert (frozenset() if both is None else matching(both)) == matching(one) & matching(other), other
        left = without_covered([one, other])
        assert frozenset().union(*map(matching, left)) == matching(one) | matching(other), other
        assert len(left) == 1 or not (covers(one, other) or covers(other, one)), other


@given(filters, filters)
def test_the_meet_matches_what_both_match(one: str, other: str) -> None:
    """The meet of two filters matches exactly the topics that match both."""
    both = meet(one, other)
    assert (frozenset() if both is None else matching(both)) == matching(one) & matching(other)


@given(st.lists(filters, max_size=6))
def test_without_covered_ones_the_same_topics_match(held: list[str]) -> None:
    """Dropping covered filters changes no topic, and no filter that is left covers another."""
    left = without_covered(held)
    assert frozenset().union(*map(matching, left)) == frozenset().union(*map(matching, held))
    assert not any(naive_covers(one, other) for one in left for other in left if one != other)


@given(filters)
def test_examples_match(held: str) -> None:
    """Every example of a filter is a topic that matches it."""
    for topic in (example(held), *examples(held)):
        assert topic
        assert naive_matches(held, topic)
        assert "+" not in topic
        assert "#" not in topic


def test_dollar_topics_need_a_literal_first_level() -> None:
    """Wildcards at the first level leave out the topics of the broker itself."""
    assert not matches("#", "$SYS/uptime")
    assert not overlaps("+/uptime", "$SYS/uptime")
    assert matches("$SYS/#", "$SYS/uptime")
    assert not covers("#", "$SYS/#")
