"""Derive the groups of a plan's MQTT filters again, by other code than made them.

Cover is decided by regular expressions. Overlap is decided by beginnings: the set of filters that are
compatible with the first levels of a filter shrinks level by level, and those that are left overlap it. A set
is the bits of an integer, so that a step takes as long as copying it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa

from meshwright.errors import first_five
from meshwright.interest import Interest
from meshwright.plan_tables import GroupTables


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
    return group_holders(holders, [str(name) for name in interest.node_names.to_pylist()])


def group_holders(holders: frozenset[tuple[str, str]], brokers: Iterable[str]) -> DerivedGroups:
    """Derive groups from who holds which filter; `brokers` are all that there are."""
    groups = _groups({topic for _, topic in holders})
    grouped = Interest.from_pairs(
        [broker for broker, _ in holders],
        [groups[topic] for _, topic in holders],
        all_nodes=brokers,
    )
    return DerivedGroups(groups, holders, grouped)


def group_faults(derived: DerivedGroups, tables: GroupTables) -> Iterator[str]:
    """Yield a line for each way in which the tables of a plan differ from what was derived."""
    groups = list(_rows(tables.groups, "filter", "group"))
    wrong = sorted(set(groups) ^ set(derived.groups.items()))
    if wrong or len(groups) != len(derived.groups):
        yield f"the groups of the filters {first_five({held for held, _ in wrong})} are not as stated"
    holders = stated_holders(tables)
    wrong = sorted(set(holders) ^ derived.holders)
    if wrong or len(holders) != len(derived.holders):
        yield f"the filters of the brokers {first_five({broker for broker, _ in wrong})} are not as stated"


def stated_holders(tables: GroupTables) -> list[tuple[str, ...]]:
    """Return who holds which filter, as a plan states it."""
    return list(_rows(tables.holders, "broker", "filter"))


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


def _groups(filters: Collection[str]) -> dict[str, str]:
    """Return the group of each filter: the first filter, by its bytes, that it overlaps in any way."""
    wild = [held for held in filters if "+" in held or "#" in held]
    beginnings = Beginnings(wild)
    group: dict[str, int] = {}
    left = beginnings.all
    for seed, first in enumerate(wild):
        if first in group:
            continue
        queue = [seed]
        while queue:
            here = queue.pop()
            group[wild[here]] = seed
            left &= ~(1 << here)
            new = beginnings.overlapping(wild[here], left)
            left &= ~new
            queue += _members(new)
    ordered = sorted(filters, key=str.encode)
    for held in ordered:
        if held not in group:
            # It overlaps only filters with wildcards, which are all in one group already.
            found = beginnings.overlapping(held, beginnings.all)
            group[held] = group[wild[found.bit_length() - 1]] if found else -1 - len(group)
    named: dict[int, str] = {}
    return {held: named.setdefault(group[held], held) for held in ordered}


class Beginnings:
    """Which filters are compatible with a beginning; sets of filters are the bits of integers."""

    def __init__(self, filters: Sequence[str]) -> None:
        self.all = (1 << len(filters)) - 1
        self.at: dict[tuple[int, str], list[int]] = {}
        """By place: the filters that have a level there; behind their last level, they have `/`."""
        for number, held in enumerate(filters):
            for place, level in enumerate(_closed(held)):
                self.at.setdefault((place, level), []).append(number)
        dollar = [
            number
            for (place, level), own in self.at.items()
            if not place and level[:1] == "$"
            for number in own
        ]
        self.dollar = sum(1 << number for number in dollar)
        self.holding = lru_cache(2**14)(self._holding)

    def _holding(self, place: int, level: str) -> int:
        numbers = self.at.get((place, level), [])
        if len(numbers) < 16:
            return sum(1 << number for number in numbers)
        marked = bytearray(numbers[-1] // 8 + 1)
        for number in numbers:
            marked[number // 8] |= 1 << number % 8
        return int.from_bytes(marked, "little")

    def overlapping(self, held: str, among: int) -> int:
        """Return the filters among some that match a topic that a filter matches."""
        found, open_ = 0, among
        for place, level in enumerate(_closed(held)):
            if not open_:
                break
            rest = self.holding(place, "#") if place or not level.startswith("$") else 0
            found |= open_ & rest
            if level == "#":
                return found | open_ & ~self._private(place)
            if level == "+":
                open_ &= ~(rest | self.holding(place, "/") | self._private(place))
            else:
                ones = self.holding(place, "+") if place or not level.startswith("$") else 0
                open_ &= self.holding(place, level) | (ones if level != "/" else 0)
        return found | open_

    def covered(self, held: str) -> int:
        """Return the filters that match only topics which a filter matches, too."""
        open_ = self.all
        for place, level in enumerate(_closed("+/#" if held == "#" else held)):
            if level == "#":
                return open_
            if level == "+":
                shorter = self.holding(place, "/") | self.holding(place, "#") | self.holding(0, "#")
                open_ &= ~(shorter if place else self._private(place))  # `#` is `+/#`
            else:
                open_ &= self.holding(place, level)
        return open_

    def _private(self, place: int) -> int:
        """Return the filters that no wildcard at the first level is compatible with."""
        return 0 if place else self.dollar


def _closed(held: str) -> list[str]:
    """Return the levels of a filter, and `/` behind them unless `#` is the last one."""
    levels = _levels(held)
    return levels if levels[-1] == "#" else [*levels, "/"]


def _members(bits: int) -> Iterator[int]:
    """Yield the numbers of a set."""
    for place, byte in enumerate(bits.to_bytes(-(-bits.bit_length() // 8), "little")):
        if byte:
            yield from (8 * place + bit for bit in range(8) if byte >> bit & 1)
