"""The syntax of filters: what is invalid, what bridges cannot carry, and shared subscriptions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

from meshwright.errors import InputError
from meshwright.filters.mqtt import (
    MOST_BYTES,
    MOST_LEVELS,
    check_filters,
    unshared,
    why_invalid,
    why_unusable,
)
from meshwright.names import MQTT, PLAIN, guess_topic_kind
from naive_filters import filters


@given(filters)
def test_filters_that_match_something_are_valid(held: str) -> None:
    """A filter made of whole levels and whole wildcards is valid."""
    assert why_invalid(held) is None


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        ("", "is empty"),
        ("$share/g/", "is empty"),
        ("a/#/b", "# must be"),
        ("a#", "# must be"),
        ("a+/b", r"\+ must be"),
        ("a/\0", "null character"),
        ("x" * (MOST_BYTES + 1), "longer than"),
        ("ü" * (MOST_BYTES // 2 + 1), "longer than"),
        ("/" * MOST_LEVELS, "more than 200 levels"),
        ("$share//a", "group of a shared"),
        ("$share/+/a", "group of a shared"),
        ("\ud800", "surrogate"),
    ],
)
def test_invalid_filters_have_a_reason(held: str, reason: str) -> None:
    """A filter that no broker matches is refused with the reason."""
    with pytest.raises(InputError, match=reason):
        check_filters([held])
    assert why_invalid(held) is not None


@pytest.mark.parametrize("held", ["a b", "a\tb", "a\nb", "\x85", "$SYS/x", "$x", '""'])
def test_valid_filters_that_bridges_cannot_carry(held: str) -> None:
    """Spaces and control characters break the line of a bridge; `$` topics stay at their broker."""
    assert why_invalid(held) is None
    assert why_unusable(held) is not None


def test_the_limits_themselves_are_allowed() -> None:
    """200 levels and 65,535 bytes are valid."""
    check_filters(["x" * MOST_BYTES, "/".join("x" * MOST_LEVELS)])


def test_shared_subscriptions_stand_for_their_filter() -> None:
    """The group of a shared subscription is no level."""
    assert unshared("$share/g/a/#") == "a/#"
    assert unshared("$share/g") == "$share/g"
    assert why_unusable("$share/g/a/#") is None


def test_filters_are_recognised_by_whole_wildcards() -> None:
    """`C#` and `a+b` are plain names; a level that is `+`, or a last level `#`, makes a filter."""
    assert guess_topic_kind(pa.array(["C#", "a+b", "#1/x", "+1"])) == PLAIN
    for held in ("#", "a/#", "+", "+/b", "a/+/b", "a/+"):
        assert guess_topic_kind(pa.array(["x", held])) == MQTT
    assert guess_topic_kind(pa.array(["a", "b/#"])) == MQTT
