"""Topic filters by the rules of MQTT: which are sound, which overlap, which one covers others."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import zip_longest

from meshwright.errors import InputError, first_five

LONGEST = 65_535
"""Bytes of UTF-8 that a topic may have."""


def check_filters(topics: Iterable[str]) -> None:
    """Refuse filters that a broker refuses, or takes and never matches.

    >>> check_filters(["a/+/b", "a/#", "#"])
    >>> check_filters(["a/#/b"])
    Traceback (most recent call last):
    ...
    meshwright.errors.InputError: topic 'a/#/b': # must be the last level, and stand alone in it; rename it
    """
    for topic in topics:
        reason = _fault(topic)
        if reason:
            raise InputError(f"topic {topic!r}: {reason}; rename it")


def _fault(topic: str) -> str | None:
    levels = topic.split("/")
    if not topic or topic == '""':
        return "it is empty"
    if len(topic.encode()) > LONGEST:
        return f"it is longer than {LONGEST} bytes"
    if any(letter.isspace() or unicodedata.category(letter) in ("Cc", "Cs", "Cn") for letter in topic):
        return "it holds spaces or control characters, which brokers refuse in the topics of bridges"
    if topic.startswith("$"):
        return "what begins with $ belongs to the broker itself"
    if any("#" in level for level in levels[:-1]) or ("#" in levels[-1] and levels[-1] != "#"):
        return "# must be the last level, and stand alone in it"
    if any("+" in level and level != "+" for level in levels):
        return "+ must stand alone in its level"
    return None


def overlap(one: str, other: str) -> bool:
    """Say whether some topic matches both filters.

    >>> overlap("a/+", "a/b"), overlap("a/#", "a"), overlap("a/+/c", "a/b/+"), overlap("a/+", "b/+")
    (True, True, True, False)
    """
    for here, there in zip_longest(one.split("/"), other.split("/")):
        if here == "#" or there == "#":
            return True
        if here is None or there is None:
            return here is there
        if "+" not in (here, there) and here != there:
            return False
    return True


def covers(wide: str, narrow: str) -> bool:
    """Say whether every topic that matches `narrow` matches `wide` too.

    >>> covers("a/#", "a/b/+"), covers("a/+", "a/#"), covers("+/b", "a/b"), covers("a/#", "a")
    (True, False, True, True)
    """
    for here, there in zip_longest(wide.split("/"), narrow.split("/")):
        if here == "#":
            return True
        if here is None or there is None or there == "#":
            return here is there
        if here not in ("+", there):
            return False
    return True


def overlapping(topics: Iterable[str]) -> list[list[str]]:
    """Return the groups of filters that overlap, directly or through others, each sorted.

    Two filters without wildcards overlap only if they are the same; so filters with wildcards are compared
    with the rest, by their first level where that has none.

    >>> overlapping(["a/#", "a/b", "c", "+/b", "d/e"])
    [['+/b', 'a/#', 'a/b']]
    """
    listed = sorted(set(topics))
    group = {topic: topic for topic in listed}

    def top(topic: str) -> str:
        while group[topic] != topic:
            topic = group[topic]
        return topic

    by_level: dict[str, list[str]] = {}
    for topic in listed:
        by_level.setdefault(topic.split("/")[0], []).append(topic)
    loose = [*by_level.get("+", []), *by_level.get("#", [])]
    for wild in (topic for topic in listed if {"+", "#"} & set(topic.split("/"))):
        level = wild.split("/")[0]
        for other in listed if level in ("+", "#") else [*by_level[level], *loose]:
            if other != wild and overlap(wild, other):
                low, high = sorted((top(wild), top(other)))
                group[high] = low
    groups: dict[str, list[str]] = {}
    for topic in listed:
        groups.setdefault(top(topic), []).append(topic)
    return [members for members in groups.values() if len(members) > 1]


def widest(group: Iterable[str]) -> str:
    """Return the filter of a group that covers all others.

    Raises
    ------
    InputError
        If none does.
    """
    members = list(group)
    for wide in members:
        if all(covers(wide, narrow) for narrow in members):
            return wide
    raise InputError(
        f"topics {first_five(members)} overlap and none covers the others: "
        "subscribe to one filter that covers them all"
    )


def example(filter_: str) -> str:
    """Return a topic that matches a filter, and as few others as possible.

    >>> example("a/+/b"), example("a/#"), example("a")
    ('a/any/b', 'a/any', 'a')
    """
    return "/".join("any" if level in ("+", "#") else level for level in filter_.split("/"))
