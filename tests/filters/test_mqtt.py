"""Topic filters: sound or refused, and overlaps found as matching finds them."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.deploy import Routed, Way
from meshwright.errors import InputError
from meshwright.filters.mqtt import check_filters, covers, example, overlap, overlapping, widest

LEVELS = ("a", "b", "")
TOPICS = ["/".join(levels) for depth in (1, 2, 3, 4) for levels in product(LEVELS, repeat=depth)]

filters = st.tuples(
    st.lists(st.sampled_from([*LEVELS, "+"]), max_size=2), st.sampled_from([*LEVELS, "+", "#"])
).map(lambda parts: "/".join([*parts[0], parts[1]]))


def matches(wild: str, topic: str) -> bool:
    """Say whether a topic matches a filter, level by level: the definition."""
    levels, parts = wild.split("/"), topic.split("/")
    for place, level in enumerate(levels):
        if level == "#":
            return True
        if place >= len(parts) or level not in ("+", parts[place]):
            return False
    return len(levels) == len(parts)


def matching(wild: str) -> set[str]:
    """Return the topics that match; `a/#` matches its parent `a` too."""
    found = {topic for topic in TOPICS if matches(wild, topic)}
    return (
        found
        | ({wild[:-2]} & set(TOPICS) if wild.endswith("/#") else set())
        | ({topic for topic in TOPICS if matches(wild[:-2], topic)} if wild.endswith("/#") else set())
    )


@given(filters, filters)
def test_overlap_and_cover_are_those_of_topics(one: str, other: str) -> None:
    """Two filters overlap if a topic matches both; one covers another if it matches all of its topics."""
    assert overlap(one, other) == overlap(other, one) == bool(matching(one) & matching(other))
    assert covers(one, other) == (matching(other) <= matching(one))


@given(st.lists(filters, unique=True, max_size=8))
def test_groups_are_those_of_all_pairs(listed: list[str]) -> None:
    """Groups are what comparing each filter with each other gives."""
    groups = {name: {name} for name in listed}
    for one in listed:
        for other in listed:
            if overlap(one, other) and groups[one] is not groups[other]:
                joined = groups[one] | groups[other]
                groups.update(dict.fromkeys(joined, joined))
    expected = {frozenset(group) for group in groups.values() if len(group) > 1}
    assert {frozenset(group) for group in overlapping(listed)} == expected


@given(filters.filter(bool))
def test_an_example_matches(wild: str) -> None:
    """A filter's example is a topic that it matches."""
    assert matches(wild, example(wild))


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("a b", "spaces"),
        ("a\tb", "spaces"),
        ("a\x00", "control"),
        ("a/#/b", "# must be"),
        ("a#", "# must be"),
        ("a/b+", r"\+ must"),
        ("", "empty"),
        ("$SYS/x", "itself"),
        ("x" * 70_000, "65535"),
    ],
)
def test_unsound_filters(topic: str, why: str) -> None:
    """Spaces, a # in the middle, a + beside letters and what belongs to the broker are refused."""
    with pytest.raises(InputError, match=why):
        check_filters(["fine", topic])


def chain(*brokers: str) -> Way:
    """Return a way along some brokers."""
    return Way(tuple(pairwise(brokers)), frozenset(brokers))


def test_overlaps_are_refused_or_merged() -> None:
    """Filters that overlap are refused, or get one tree under the one that covers the others."""
    routed = Routed(
        ("p", "q", "r", "s"), {"a/#": chain("p", "q", "r"), "a/b": chain("r", "s"), "c": chain("p", "q")}
    )
    with pytest.raises(InputError, match="overlap"):
        routed.checked()
    merged = routed.checked(overlaps="merge")
    assert list(merged.ways) == ["a/#", "c"]
    way = merged.ways["a/#"]
    assert len(way.links) == 3
    assert way.subscribers == {"p", "q", "r", "s"}
    assert way.merged == ("a/#", "a/b")
    apart = Routed(("p", "q", "r", "s"), {"a/#": chain("p", "q"), "a/b": chain("r", "s")})
    with pytest.raises(InputError, match="no broker has part in all"):
        apart.checked(overlaps="merge")
    with pytest.raises(InputError, match="none covers"):
        widest(["a/+/c", "a/b/+"])
    with pytest.raises(InputError, match="refuse or merge"):
        routed.checked(overlaps="ignore")


def test_relays_are_refused_unless_allowed() -> None:
    """A tree with relays is deployed only if that was asked for."""
    routed = Routed(("p", "q", "r"), {"a": Way((("p", "q"), ("q", "r")), frozenset("pr"), frozenset("q"))})
    with pytest.raises(InputError, match="not topic-connected"):
        routed.checked()
    assert routed.checked(relays=True) == routed
