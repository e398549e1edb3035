"""The slow, obvious twins of `meshwright.filters`: they enumerate a small space of topics."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from hypothesis import strategies as st

LEVELS = ("a", "b", "", "$s")
TOPICS = ["/".join(levels) for depth in (1, 2, 3, 4) for levels in product(LEVELS, repeat=depth)]
TOPICS.remove("")
"""All topics of up to four of these levels; they distinguish filters of up to three levels."""


def naive_matches(held: str, topic: str) -> bool:
    """Match as MQTT defines it (4.7): level by level, `#` also matches its parent, `$` needs a literal."""
    if held.startswith("$share/"):
        held = held.split("/", 2)[2]
    levels, parts = held.split("/"), topic.split("/")
    if parts[0].startswith("$") and levels[0] in ("+", "#"):
        return False
    if levels[-1] == "#":
        fixed = levels[:-1]
        return len(parts) >= len(fixed) and all(
            level in ("+", part) for level, part in zip(fixed, parts, strict=False)
        )
    return len(levels) == len(parts) and all(
        level in ("+", part) for level, part in zip(levels, parts, strict=True)
    )


def matching(held: str) -> frozenset[str]:
    """Return the topics of the space that match a filter."""
    return frozenset(topic for topic in TOPICS if naive_matches(held, topic))


def naive_covers(wide: str, narrow: str) -> bool:
    """Compare the topics that match."""
    return matching(narrow) <= matching(wide)


def naive_overlaps(one: str, other: str) -> bool:
    """Look for a topic that matches both."""
    return bool(matching(one) & matching(other))


def naive_groups(filters: Iterable[str]) -> list[list[str]]:
    """Join every two filters that overlap, until nothing changes."""
    groups = [{held} for held in sorted(set(filters))]
    while True:
        pair = next(
            (
                (one, other)
                for place, one in enumerate(groups)
                for other in groups[place + 1 :]
                if any(naive_overlaps(a, b) for a in one for b in other)
            ),
            None,
        )
        if pair is None:
            return sorted(sorted(group) for group in groups)
        groups.remove(pair[1])
        pair[0].update(pair[1])


def _filter(parts: tuple[list[str], str, bool]) -> str:
    levels, last, shared = parts
    held = "/".join([*levels, last])
    return f"$share/g/{held}" if shared else held


filters = (
    st.tuples(
        st.lists(st.sampled_from([*LEVELS, "+"]), max_size=2),
        st.sampled_from([*LEVELS, "+", "#"]),
        st.integers(0, 9).map(lambda number: number == 0),
    )
    .map(_filter)
    .filter(lambda held: held not in ("", "$share/g/"))
)
"""Valid filters of up to three levels, one in ten of them shared."""

ROOTED = (
    "#",
    "+",
    "+/#",
    "+/+",
    "+/+/#",
    "/",
    "/#",
    "/+",
    "/+/#",
    "/a",
    "/a/#",
    "a",
    "a/#",
    "$s/#",
    "$share/g//#",
)
"""Filters around `/#`: it would match the empty topic, but no topic is empty."""
