"""The syntax of MQTT filters: levels, wildcards, shared subscriptions, and what bridges cannot carry.

A filter is a topic whose levels may be wildcards: `+` stands for one level, `#` for all further levels,
including none. `$share/GROUP/FILTER` is a shared subscription to FILTER.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from meshwright.errors import InputError

ONE, REST = "+", "#"
"""The wildcards: one level, and all further levels."""
MOST_BYTES = 65_535
"""The most bytes of UTF-8 in a filter."""
MOST_LEVELS = 200
"""The most levels of a filter; Mosquitto disconnects clients that use more."""
SHARED = re.compile(r"\$share/(?P<group>[^/]*)/(?P<filter>.*)|\$queue/(?P<queued>.*)", re.DOTALL)
WILD = re.compile(r"(?:^|/)(?:\+(?:/|$)|#$)")


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


def looks_like_filters(topics: Iterable[str]) -> bool:
    """Return whether some topic has a level that is a wildcard.

    >>> looks_like_filters(["a", "b/#"]), looks_like_filters(["C#", "a+b"])
    (True, False)
    """
    return any((ONE in topic or REST in topic) and WILD.search(topic) is not None for topic in topics)


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
--skip-unusable
    """
    for held in filters:
        reason = why_unusable(held)
        if reason:
            raise InputError(f"topic {held!r}: {reason}; rename it, or plan with --skip-unusable")
