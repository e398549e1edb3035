"""Derive the groups of a plan's MQTT filters again, by other code than made them.

Cover is decided by regular expressions. Overlap is decided by shapes: the *shape* of a filter is its number
of levels, whether `#` follows, and the places of `+`. Two filters of given shapes overlap if and only if they
have the same levels at the places that both fix. So one pass over the filters of two shapes, with these
levels as keys of a dictionary, joins all of them that overlap.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import pyarrow as pa

from meshwright.errors import first_five
from meshwright.interest import Interest


class GroupTables(NamedTuple):
    """What a plan states of its filters, by name."""

    groups: pa.Table
    """`filter, group`."""
    holders: pa.Table
    """`broker, filter`."""


@dataclass(frozen=True, eq=False)
class DerivedGroups:
    """The groups of filters, and the interest in them."""

    groups: Mapping[str, str]
    """The group of each filter."""
    holders: frozenset[tuple[str, str]]
    """Which broker holds which filter."""
    interest: Interest
    """The brokers and the groups that they are interested in."""


def derive_groups(interest: Interest, stated: Mapping[str, Any]) -> DerivedGroups:
    """Derive groups from a dataset and the choice that a plan states: excluded, expanded, and so on."""
    relation = interest.to_arrow()
    pairs = zip(
        map(str, relation.column("node").to_pylist()),
        map(str, relation.column("topic").to_pylist()),
        strict=True,
    )
    out = set(stated["excluded"])
    kept = [
        (broker, _bare(topic))
        for broker, topic in pairs
        if topic not in out
        and _bare(topic) not in out
        and not (stated["skip_unusable"] and not _fits_a_bridge(_bare(topic)))
    ]
    replaced = set(stated["expanded"])
    rest = {topic for _, topic in kept} - replaced
    instead = {wide: _covered(wide, rest, stated["published"]) for wide in replaced}
    holders = frozenset((broker, other) for broker, topic in kept for other in instead.get(topic, (topic,)))
    groups = _groups({topic for _, topic in holders})
    grouped = Interest.from_pairs(
        [broker for broker, _ in holders],
        [groups[topic] for _, topic in holders],
        all_nodes=[str(name) for name in interest.node_names.to_pylist()],
    )
    return DerivedGroups(groups, holders, grouped)


def group_faults(derived: DerivedGroups, tables: GroupTables) -> Iterator[str]:
    """Yield a line for each way in which the tables of a plan differ from what was derived."""
    groups = list(_rows(tables.groups, "filter", "group"))
    wrong = sorted(set(groups) ^ set(derived.groups.items()))
    if wrong or len(groups) != len(derived.groups):
        yield f"the groups of the filters {first_five({held for held, _ in wrong})} are not as stated"
    holders = list(_rows(tables.holders, "broker", "filter"))
    wrong = sorted(set(holders) ^ derived.holders)
    if wrong or len(holders) != len(derived.holders):
        yield f"the filters of the brokers {first_five({broker for broker, _ in wrong})} are not as stated"


def _rows(table: pa.Table, *columns: str) -> Iterator[tuple[str, ...]]:
    return zip(*(table.column(column).to_pylist() for column in columns), strict=True)


def _bare(topic: str) -> str:
    """Return the filter of a shared subscription.

    >>> _bare("$share/group/a/b"), _bare("$share/group"), _bare("$queue/a/b")
    ('a/b', '$share/group', 'a/b')
    """
    if topic.startswith("$share/") and topic.count("/") > 1:
        return topic.split("/", 2)[2]
    return topic.removeprefix("$queue/")


VALID = re.compile(r"(?:[^+#/]*|\+)(?:/(?:[^+#/]*|\+))*(?:/#)?|#", re.DOTALL)


def _fits_a_bridge(bare: str) -> bool:
    """Return whether a filter is valid and a line of a bridge can carry it."""
    return (
        bare not in ("", '""')
        and not bare.startswith("$")
        and bare.count("/") < 200
        and len(bare.encode(errors="surrogatepass")) < 2**16
        and VALID.fullmatch(bare) is not None
        and not any(letter.isspace() or unicodedata.category(letter) in {"Cc", "Cs", "Cn"} for letter in bare)
    )


def _levels(held: str) -> list[str]:
    """Return the levels of a filter; those of `/#` are those of `/+/#`, since no topic is empty."""
    return ("/+/#" if held == "/#" else held).split("/")


@cache
def _cover(wide: str) -> re.Pattern[str]:
    """Return the pattern of the filters and topics that a filter covers; `+` in them is a level as any."""
    private = "" if wide.startswith("$") else r"(?!\$)" if wide[0] in "+#" else ""
    levels = ["[^/#]*" if level == "+" else re.escape(level) for level in _levels(wide)]
    if levels[-1] == re.escape("#"):
        below = "/".join(levels[:-1])
        return re.compile(f"{private}{below}(?:/.*)?" if below else f"{private}.*", re.DOTALL)
    return re.compile(private + "/".join(levels), re.DOTALL)


def _covered(wide: str, others: Iterable[str], published: Iterable[str]) -> tuple[str, ...]:
    """Return the filters that stand for a catch-all, and the published topics that none of them matches."""
    pattern = _cover(wide)
    by = [other for other in others if pattern.fullmatch("+/#" if other == "#" else "/".join(_levels(other)))]
    wild = [_cover(other) for other in by if "+" in other or "#" in other]
    more = {
        topic
        for topic in published
        if pattern.fullmatch(topic) and not any(one.fullmatch(topic) for one in wild)
    }
    return (*by, *(more - set(by)))


class _Shape(NamedTuple):
    """What filters of one shape have in common."""

    length: int
    """The number of levels before `#`, or of all levels."""
    rest: bool
    """Whether `#` follows."""
    ones: frozenset[int]
    """The places of `+`."""
    private: bool
    """Whether the first level begins with `$`."""

    @property
    def wild_first(self) -> bool:
        return 0 in self.ones or (self.rest and not self.length)


def _shape(held: str) -> _Shape:
    levels = _levels(held)
    rest = levels[-1] == "#"
    ones = frozenset(place for place, level in enumerate(levels) if level == "+")
    return _Shape(len(levels) - rest, rest, ones, held.startswith("$"))


def _groups(filters: Collection[str]) -> dict[str, str]:
    """Return the group of each filter: the first filter, by its bytes, that it overlaps in any way."""
    leader = {held: held for held in filters}

    def lead(held: str) -> str:
        while leader[held] != held:
            leader[held] = leader[leader[held]]
            held = leader[held]
        return held

    shapes: dict[_Shape, list[tuple[str, list[str]]]] = {}
    for held in sorted(filters):
        shapes.setdefault(_shape(held), []).append((held, _levels(held)))
    for one, other in combinations_with_replacement(shapes, 2):
        fixed = _common_places(one, other)
        if fixed is None:
            continue
        # A filter of one shape overlaps all filters of the other shape with the same key.
        found: dict[tuple[str, ...], list[str]] = {}
        for held, levels in shapes[one]:
            found.setdefault(tuple([levels[place] for place in fixed]), []).append(held)
        for held, levels in shapes[other]:
            same = found.get(tuple([levels[place] for place in fixed]), [])
            for overlapped in same:
                leader[lead(overlapped)] = lead(held)
            # All of them are in one group now: one is enough for the next filter with this key.
            del same[1:]
    named: dict[str, str] = {}
    for held in sorted(filters, key=str.encode):
        named.setdefault(lead(held), held)
    return {held: named[lead(held)] for held in filters}


def _common_places(one: _Shape, other: _Shape) -> list[int] | None:
    """Return the places that filters of both shapes fix; None if no two of them can overlap."""
    if not (one.ones or one.rest or other.ones or other.rest):
        return None
    if (one.wild_first and other.private) or (other.wild_first and one.private):
        return None
    longer_fits = (one.rest or one.length >= other.length) and (other.rest or other.length >= one.length)
    if not longer_fits:
        return None
    both = min(one.length, other.length)
    return [place for place in range(both) if place not in one.ones and place not in other.ones]
