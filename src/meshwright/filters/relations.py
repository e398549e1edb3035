"""Relations of MQTT filters: which topics they match, which filters cover or overlap others.

A wildcard at the first level matches no topic that begins with `$`: such topics belong to brokers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meshwright.filters.syntax import ONE, REST, has_wildcard, levels_of, unshared, written_out

ANY = "any"
"""The level that stands for a wildcard in an example."""


def matches(held: str, topic: str) -> bool:
    """Return whether a topic, without wildcards, matches a filter.

    >>> matches("a/+", "a/b"), matches("a/#", "a"), matches("+", "a/b"), matches("#", "$SYS/x")
    (True, True, False, False)
    """
    return _covers(written_out(held), topic.split("/"))


def covers(wide: str, narrow: str) -> bool:
    """Return whether every topic that matches `narrow` also matches `wide`.

    >>> covers("a/#", "a/b/+"), covers("a/+", "a/#"), covers("+/b", "a/b"), covers("a/#", "a")
    (True, False, True, True)
    """
    return _covers(written_out(wide), written_out(narrow))


def _covers(wide: list[str], narrow: list[str]) -> bool:
    if narrow[0].startswith("$") and wide[0] in (ONE, REST):
        return False
    if narrow[0] == REST:
        # Every topic has a first level, so `#` and `+/#` match the same topics.
        narrow = [ONE, REST]
    for place, level in enumerate(wide):
        if level == REST:
            return True
        if place == len(narrow) or narrow[place] == REST:
            return False
        if level not in (ONE, narrow[place]):
            return False
    return len(wide) == len(narrow)


def overlaps(one: str, other: str) -> bool:
    """Return whether some topic matches both filters.

    >>> overlaps("a/+", "a/b"), overlaps("a/#", "a"), overlaps("a/+/c", "a/b/+"), overlaps("a/+", "b/+")
    (True, True, True, False)
    """
    return meet(one, other) is not None


def meet(one: str, other: str) -> str | None:
    """Return the filter that matches exactly the topics that match both filters; None if there are none.

    >>> meet("a/+/c", "+/b/#"), meet("a/#", "a"), meet("a", "b")
    ('a/b/c', 'a', None)
    """
    here, there = written_out(one), written_out(other)
    if (here[0].startswith("$") and there[0] in (ONE, REST)) or (
        there[0].startswith("$") and here[0] in (ONE, REST)
    ):
        return None
    both: list[str] = []
    for place in range(max(len(here), len(there)) + 1):
        a = here[place] if place < len(here) else None
        b = there[place] if place < len(there) else None
        if REST in (a, b):
            longer = there if a == REST else here
            both += longer[place:]
            break
        if a is None or b is None:
            return None if a is not b else "/".join(both)
        if ONE not in (a, b) and a != b:
            return None
        both.append(b if a == ONE else a)
    return "/#" if both == ["", ONE, REST] else "/".join(both)


def without_covered(filters: Iterable[str]) -> tuple[str, ...]:
    """Return the filters that no other one covers, sorted; together they match the same topics.

    >>> without_covered(["a/b", "a/#", "$share/g/a/b", "c"])
    ('a/#', 'c')
    """
    listed = sorted({unshared(held) for held in filters})
    trie: dict[str, Any] = {}
    for held in filter(has_wildcard, listed):
        node, *levels = trie, *written_out(held)
        for level in levels[:-1] if levels[-1] == REST else levels:
            node = node.setdefault(level, {})
        # Of `/#` and `/+/#`, which match the same topics, the first and shorter one counts as the wider.
        node.setdefault(REST if levels[-1] == REST else END, held)
    return tuple(held for held in listed if not _is_covered(held, trie))


END = "/"
"""The key of a filter that ends at a node of a trie; no level contains it."""


def _is_covered(held: str, trie: dict[str, Any]) -> bool:
    """Return whether a trie of filters with wildcards has another one that covers a filter.

    `#` and `+/#` match the same topics; of these, `#` counts as the wider one.
    """
    levels = written_out(held)
    is_open = levels[-1] == REST
    nodes = [trie]
    for place, level in enumerate(levels[:-1] if is_open else levels):
        private = place == 0 and level.startswith("$")
        if not private and any(node.get(REST, held) != held for node in nodes):
            return True
        names = (level,) if private or level == ONE else (level, ONE)
        nodes = [node[name] for node in nodes for name in names if name in node]
    ends = (REST,) if is_open else (REST, END)
    return any(node.get(end, held) != held for node in nodes for end in ends)


def example(held: str, level: str = ANY) -> str:
    """Return a topic that matches a filter, with `level` in the place of each wildcard.

    >>> example("a/+/b"), example("a/#"), example("a", "x")
    ('a/any/b', 'a/any', 'a')
    """
    return "/".join(level if part in (ONE, REST) else part for part in levels_of(held))


def examples(held: str) -> tuple[str, ...]:
    """Return topics that match a filter: one with a level for each wildcard, and the shortest and a deep one.

    >>> examples("a/+"), examples("a/#"), examples("#")
    (('a/any',), ('a/any', 'a', 'a/any/any'), ('any', 'any/any'))
    """
    topic = example(held)
    levels = levels_of(held)
    if levels[-1] != REST:
        return (topic,)
    shortest = example("/".join(levels[:-1]))
    return (topic, *((shortest,) if shortest else ()), f"{topic}/{ANY}")
