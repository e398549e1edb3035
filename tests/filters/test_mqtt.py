"""Topic filters: invalid ones are refused, and overlap and cover agree with the definition of matching."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.filters.mqtt import LONGEST, check_filters, covers, example, overlap, overlapping, widest

LEVELS = ("a", "b", "")
TOPICS = ["/".join(levels) for depth in (1, 2, 3, 4) for levels in product(LEVELS, repeat=depth)]

filters = st.tuples(
    st.lists(st.sampled_from([*LEVELS, "+"]), max_size=2), st.sampled_from([*LEVELS, "+", "#"])
).map(lambda parts: "/".join([*parts[0], parts[1]]))


def matches(wild: str, topic: str) -> bool:
    """Return whether a topic matches a filter, level by level: the definition."""
    levels, parts = wild.split("/"), topic.split("/")
    for place, level in enumerate(levels):
        if level == "#":
            return True
        if place >= len(parts) or level not in ("+", parts[place]):
            return False
    return len(levels) == len(parts)


def matching(wild: str) -> set[str]:
    """Return the topics that match a filter; `a/#` also matches its parent `a`."""
    parent = wild.removesuffix("/#")
    return {topic for topic in TOPICS if matches(wild, topic) or (parent != wild and matches(parent, topic))}


@given(filters, filters)
def test_overlap_and_cover_follow_from_matching(one: str, other: str) -> None:
    """Filters overlap if a topic matches both; one covers another if it matches all topics of the other."""
    assert overlap(one, other) == overlap(other, one) == bool(matching(one) & matching(other))
    assert covers(one, other) == (matching(other) <= matching(one))


@given(st.lists(filters, unique=True, max_size=8))
def test_groups_agree_with_all_pairs(listed: list[str]) -> None:
    """Groups are those that a comparison of all pairs gives, and are sorted."""
    groups = {name: {name} for name in listed}
    for one in listed:
        for other in listed:
            if overlap(one, other) and groups[one] is not groups[other]:
                joined = groups[one] | groups[other]
                groups.update(dict.fromkeys(joined, joined))
    expected = {tuple(sorted(group)) for group in groups.values() if len(group) > 1}
    assert sorted(map(tuple, overlapping(listed))) == sorted(expected)


@given(filters.filter(bool))
def test_an_example_matches(wild: str) -> None:
    """A filter matches its example, which has no wildcard."""
    assert matches(wild, example(wild))
    assert not {"+", "#"} & set(example(wild))


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("a b", "spaces"),
        ("a\tb", "spaces"),
        ("a\x00", "control"),
        ("a\ud800", "control"),
        ("a/#/b", "# must be the whole last level"),
        ("a#", "# must be the whole last level"),
        ("a/b+", r"\+ must be a whole level"),
        ("", "empty"),
        ('""', "empty"),
        ("$SYS/x", "itself"),
        ("x" * (LONGEST + 1), "65535"),
        ("ü" * (LONGEST // 2 + 1), "65535"),
        ("a/" * 200 + "b", "more than 200 levels"),
    ],
)
def test_invalid_filters_are_refused(topic: str, reason: str) -> None:
    """An invalid filter is refused with the reason, wherever it is in the list."""
    with pytest.raises(InputError, match=reason) as caught:
        check_filters(["fine", topic])
    assert "rename it" in str(caught.value)


def test_valid_filters_pass() -> None:
    """Wildcards that are whole levels, empty levels, quotes and the longest topic are valid."""
    check_filters(["#", "+", "+/+/#", "a//b", "/", 'a"b', "a$", "x" * LONGEST])


def test_the_widest_filter_covers_its_group() -> None:
    """The widest filter covers all others; a group without one is refused."""
    assert widest(["a/b", "a/#", "a/+"]) == "a/#"
    with pytest.raises(InputError, match="no one of them covers"):
        widest(["a/+/c", "a/b/+"])
