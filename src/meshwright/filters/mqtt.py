"""MQTT filters: their syntax, which topics they match, and which filters cover or overlap others.

A filter is a topic whose levels may be wildcards: `+` stands for one level, `#` for all further levels,
including none. A wildcard at the first level matches no topic that begins with `$`: such topics belong to
brokers. `$share/GROUP/FILTER` is a shared subscription to FILTER. Some filters cannot be carried by bridges.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from meshwright.errors import InputError

ONE, REST = "+", "#"
"""The wildcards: one level, and all further levels."""
MOST_BYTES = 65_535
"""The most bytes of UTF-8 in a filter."""
MOST_LEVELS = 200
"""The most levels of a filter; Mosquitto disconnects clients that use more."""
SHARED = re.compile(r"\$share/(?P<group>[^/]*)/(?P<filter>.*)|\$queue/(?P<queued>.*)", re.DOTALL)


def unshared(held: str) -> str:
    """Return the filter of a shared subscription, and any other filter as it is.

    >>> unshared("$share/workers/jobs/+"), unshared("$queue/jobs"), unshared("a/b")
    ('jobs/+', 'jobs', 'a/b')
    """
    if not held.startswith("$"):
        return held
    shared = SHARED.fullmatch(held)
    return held if shared is None else shared["filter"] or shared["queued"] or ""


def levels_of(held: str) -> list[str]:
    """Return the levels of a filter, without the group of a shared subscription.

    >>> levels_of("$share/workers/jobs/+")
    ['jobs', '+']
    """
    return unshared(held).split("/")


def written_out(held: str) -> list[str]:
    """Return the levels of a filter, those of `/#` as `/+/#`: no topic is empty, so they match the same ones.

    >>> written_out("/#"), written_out("a/#")
    (['', '+', '#'], ['a', '#'])
    """
    levels = levels_of(held)
    return ["", ONE, REST] if levels == ["", REST] else levels


def has_wildcard(held: str) -> bool:
    """Return whether a valid filter contains a wildcard.

    >>> has_wildcard("a/+/b"), has_wildcard("a/b")
    (True, False)
    """
    return ONE in held or REST in held


def why_invalid(held: str) -> str | None:
    """Return the reason why no broker matches a filter, or None if it is valid.

    >>> why_invalid("a/#/b"), why_invalid("a/+")
    ('# must be the whole last level', None)
    """
    bare = unshared(held)
    if not bare:
        return "it is empty"
    if len(held) > MOST_BYTES // 4 and len(held.encode(errors="surrogatepass")) > MOST_BYTES:
        return f"it is longer than {MOST_BYTES} bytes"
    if not held.isascii() and any("\ud800" <= letter <= "\udfff" for letter in held):
        return "it contains half a surrogate pair"
    if "\0" in held:
        return "it contains a null character"
    if bare.count("/") >= MOST_LEVELS:
        return f"it has more than {MOST_LEVELS} levels"
    if bare is not held and (not SHARED.fullmatch(held) or _bad_group(held)):
        return "the group of a shared subscription must be a name without wildcards"
    if not has_wildcard(bare):
        return None
    levels = bare.split("/")
    if any(REST in level for level in levels[:-1]) or (REST in levels[-1] and levels[-1] != REST):
        return "# must be the whole last level"
    if any(ONE in level and level != ONE for level in levels):
        return "+ must be a whole level"
    return None


def _bad_group(held: str) -> bool:
    """Return whether the group of a shared subscription is empty or has a wildcard."""
    shared = SHARED.fullmatch(held)
    group = None if shared is None else shared["group"]
    return group is not None and (not group or has_wildcard(group))


def why_unusable(held: str) -> str | None:
    """Return the reason why no line of a Mosquitto bridge can carry a filter, or None if one can.

    >>> why_unusable("a b"), why_unusable("$share/workers/a")
    ('it contains spaces or control characters, which brokers refuse in the topics of bridges', None)
    """
    reason = why_invalid(held)
    if reason is not None:
        return reason
    bare = unshared(held)
    if bare == '""':
        return "it is empty"
    if bare.startswith("$"):
        return "topics that begin with $ belong to the broker itself"
    if not (bare.isascii() and bare.isprintable() and " " not in bare) and any(
        letter.isspace() or unicodedata.category(letter) in ("Cc", "Cs", "Cn") for letter in bare
    ):
        return "it contains spaces or control characters, which brokers refuse in the topics of bridges"
    return None


def check_filters(filters: Iterable[str]) -> None:
    """Refuse filters that a bridge cannot carry, or that no topic matches.

    >>> check_filters(["a/+/b", "a/#", "#"])
    >>> check_filters(["a/#/b"])
    Traceback (most recent call last):
    ...
    meshwright.errors.InputError: topic 'a/#/b': # must be the whole last level; rename it, or plan with \
--exclude-topic unusable
    """
    for held in filters:
        reason = why_unusable(held)
        if reason:
            raise InputError(f"topic {held!r}: {reason}; rename it, or plan with --exclude-topic unusable")


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
