"""MQTT topic filters: which are valid, which overlap, and which one covers others."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import zip_longest

from meshwright.errors import InputError, first_five

LONGEST = 65_535
"""The most bytes of UTF-8 in a topic."""
MOST_LEVELS = 200
"""The most levels of a topic that Mosquitto accepts."""


def check_filters(topics: Iterable[str]) -> None:
    """Refuse filters that a broker refuses, or accepts and never matches.

    >>> check_filters(["a/+/b", "a/#", "#"])
    >>> check_filters(["a/#/b"])
    Traceback (most recent call last):
    ...
    meshwright.errors.InputError: topic 'a/#/b': # must be the whole last level; rename it
    """
    for topic in topics:
        reason = _why_invalid(topic)
        if reason:
            raise InputError(f"topic {topic!r}: {reason}; rename it")


def _why_invalid(topic: str) -> str | None:
    """Return the reason why a filter is invalid, or None if it is valid."""
    levels = topic.split("/")
    if not topic or topic == '""':
        return "it is empty"
    if len(topic.encode(errors="surrogatepass")) > LONGEST:
        return f"it is longer than {LONGEST} bytes"
    if len(levels) > MOST_LEVELS:
        return f"it has more than {MOST_LEVELS} levels"
    if any(letter.isspace() or unicodedata.category(letter) in ("Cc", "Cs", "Cn") for letter in topic):
        return "it contains spaces or control characters, which brokers refuse in the topics of bridges"
    if topic.startswith("$"):
        return "topics that begin with $ belong to the broker itself"
    if any("#" in level for level in levels[:-1]) or ("#" in levels[-1] and levels[-1] != "#"):
        return "# must be the whole last level"
    if any("+" in level and level != "+" for level in levels):
        return "+ must be a whole level"
    return None


def overlap(one: str, other: str) -> bool:
    """Return whether some topic matches both filters.

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
    """Return whether every topic that matches `narrow` also matches `wide`.

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

    Two different filters without wildcards never overlap. So only filters with wildcards are compared with
    others: with all if their first level is a wildcard, else with those of the same first level or a wildcard
    there.

    >>> overlapping(["a/#", "a/b", "c", "+/b", "d/e"])
    [['+/b', 'a/#', 'a/b']]
    """
    listed = sorted(set(topics))
    parent = {topic: topic for topic in listed}

    def root(topic: str) -> str:
        while parent[topic] != topic:
            topic = parent[topic]
        return topic

    by_first_level: dict[str, list[str]] = {}
    for topic in listed:
        by_first_level.setdefault(topic.split("/")[0], []).append(topic)
    wild_first = [*by_first_level.get("+", []), *by_first_level.get("#", [])]
    for wild in (topic for topic in listed if {"+", "#"} & set(topic.split("/"))):
        first = wild.split("/")[0]
        for other in listed if first in ("+", "#") else [*by_first_level[first], *wild_first]:
            if other != wild and overlap(wild, other):
                low, high = sorted((root(wild), root(other)))
                parent[high] = low
    groups: dict[str, list[str]] = {}
    for topic in listed:
        groups.setdefault(root(topic), []).append(topic)
    return [members for members in groups.values() if len(members) > 1]


def widest(group: Iterable[str]) -> str:
    """Return the filter of a group that covers all others.

    Raises
    ------
    InputError
        If no filter covers all others.
    """
    members = list(group)
    for wide in members:
        if all(covers(wide, narrow) for narrow in members):
            return wide
    raise InputError(
        f"topics {first_five(members)} overlap, and no one of them covers the others: "
        "subscribe to one filter that covers all"
    )


def example(wild: str) -> str:
    """Return a topic that matches a filter, and few others.

    >>> example("a/+/b"), example("a/#"), example("a")
    ('a/any/b', 'a/any', 'a')
    """
    return "/".join("any" if level in ("+", "#") else level for level in wild.split("/"))
