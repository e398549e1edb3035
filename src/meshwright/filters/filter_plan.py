"""What a plan makes of the filters of a dataset: which it leaves out or replaces, and their groups.

A group of overlapping filters is planned as one topic: a broker is interested in it if it holds one of its
filters. A group is named after its first filter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrow import from_numpy, from_strings
from meshwright.errors import InputError, first_five
from meshwright.filters.groups import group_numbers
from meshwright.filters.index import FilterIndex, positions
from meshwright.filters.mqtt import (
    has_wildcard,
    matches,
    unshared,
    why_invalid,
    why_unusable,
)
from meshwright.formatting import counted
from meshwright.interest import Interest, unchecked_from_ids
from meshwright.names import MQTT

AUTO = "auto"
"""The name that expands every catch-all."""
CATCH_ALL_SHARE = 0.5
"""A filter that covers more than this share of all filters is a catch-all."""
MOST_COMPARED = 3_000_000
"""The most pairs of filters that are compared to find the one that joins the most."""


@dataclass(frozen=True)
class FilterChoice:
    """What the operator chose at `plan`; the plan keeps it."""

    excluded: tuple[str, ...] = ()
    """Filters that are left out."""
    expanded: tuple[str, ...] = ()
    """Catch-alls that are replaced by the filters that they cover; `auto` for all catch-alls."""
    skip_unusable: bool = False
    """Whether filters that no bridge can carry are left out."""
    published: tuple[str, ...] = ()
    """Topics that are published; a catch-all is replaced by these, too."""

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain data, as `plan.json` keeps it."""
        return {
            "excluded": list(self.excluded),
            "expanded": list(self.expanded),
            "skip_unusable": self.skip_unusable,
            "published": list(self.published),
        }


@dataclass(frozen=True)
class Expansion:
    """A catch-all, and what stands in its place."""

    filter: str
    by: tuple[str, ...]
    """The filters and published topics that it covers."""
    partly: tuple[str, ...]
    """Filters that it overlaps without covering them: what they share is missed."""


@dataclass(frozen=True, eq=False)
class PlannedFilters:
    """The filters of a dataset as a plan sees them, and the groups of those that overlap."""

    source: Interest
    """The interest of the dataset, with its topics as they are."""
    choice: FilterChoice
    held: Interest
    """Which broker holds which filter, after all replacements, without shared groups."""
    group_of: NDArray[np.int64]
    """By filter of `held`: the topic of `groups`."""
    groups: Interest
    """Which broker is interested in which group: what is planned, by plain names."""
    skipped: Mapping[str, str]
    """The unusable filters that are left out, with reasons."""
    unusable: Mapping[str, str]
    """The unusable filters that are still there, with reasons."""
    expansions: tuple[Expansion, ...] = ()

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of filters of each group."""
        return np.bincount(self.group_of, minlength=self.groups.num_topics)

    @property
    def overlapping(self) -> int:
        """The number of filters that overlap others."""
        return int(self.sizes[self.sizes > 1].sum())

    @property
    def shared_groups(self) -> int:
        """The number of groups of more than one filter."""
        return int((self.sizes > 1).sum())

    @cached_property
    def widest(self) -> tuple[str, int, int] | None:
        """The filter that overlaps the most others of the largest group, how many, and the group's size."""
        if not self.shared_groups:
            return None
        largest = int(np.argmax(self.sizes))
        names = self.held.topic_names.to_pylist()
        members = [names[place] for place in np.flatnonzero(self.group_of == largest)]
        wild = [held for held in members if has_wildcard(held)]
        # The fewer levels are fixed, the more a filter can join: compare these first, if not all.
        wild.sort(key=lambda held: (_fixed_levels(held), held))
        compared = wild[: max(8, MOST_COMPARED // len(members))]
        index = FilterIndex(members)
        found = {held: index.overlapping(held).bit_count() - 1 for held in compared}
        most = max(compared, key=found.__getitem__)
        return most, found[most], len(members)

    def table(self) -> pa.Table:
        """Return `filter, group` for each filter, as the plan keeps it."""
        groups = self.groups.topic_names.take(from_numpy(self.group_of))
        return pa.table({"filter": self.held.topic_names, "group": groups})

    def groups_of(self, topics: Iterable[str]) -> dict[str, int]:
        """Return the group that each topic belongs to: that of the filters that it matches, if any."""
        listed = [
            topic for topic in dict.fromkeys(topics) if not why_invalid(topic) and not has_wildcard(topic)
        ]
        filters: list[str] = self.held.topic_names.to_pylist()
        names = list(dict.fromkeys([*filters, *listed]))  # a topic may also be a filter
        first = dict(zip(names, group_numbers(names), strict=True))
        group = {first[held]: number for held, number in zip(filters, self.group_of.tolist(), strict=True)}
        return {topic: group[first[topic]] for topic in listed if first[topic] in group}

    def figures(self) -> dict[str, Any]:
        """Return the figures for a JSON answer."""
        return {
            "filters": self.held.num_topics,
            "groups": self.groups.num_topics,
            "overlapping": self.overlapping,
            "overlap_groups": self.shared_groups,
            "joins_most": None if self.widest is None else self.widest[0],
            "excluded": list(self.choice.excluded),
            "skipped": dict(self.skipped),
            "unusable": dict(self.unusable),
            "expanded": {
                made.filter: {"filters": len(made.by), "partly": len(made.partly)} for made in self.expansions
            },
        }

    def report(self) -> list[str]:
        """Return lines for people: groups, what is left out, what is replaced and then missed."""
        lines = []
        if self.widest is not None:
            widest, others, size = self.widest
            if others == size - 1:
                how = f"{widest!r} joins {size:,} filters into one group"
            else:
                largest = "" if self.shared_groups == 1 else f"the largest has {size:,} filters, and there "
                how = f"{largest}{widest!r} overlaps the most others, {others:,}"
            lines.append(
                f"{self.overlapping:,} of {self.held.num_topics:,} filters overlap, in "
                f"{counted(self.shared_groups, 'group')}: {how}; use --exclude-topic or --expand to part them"
            )
        if self.choice.excluded:
            excluded = counted(len(self.choice.excluded), "filter")
            lines.append(f"excluded: {excluded}, {first_five(self.choice.excluded)}")
        for topics, what in (
            (self.skipped, "skipped"),
            (self.unusable, "no bridge can carry these; leave them out with --exclude-topic unusable"),
        ):
            if topics:
                first = next(iter(topics))
                why = topics[first] if len(topics) == 1 else f"{first!r}: {topics[first]}"
                lines.append(f"{what}: {first_five(topics)} ({why})")
        for made in self.expansions:
            partly = f", and part of {first_five(made.partly)}" if made.partly else ""
            lines.append(
                f"expanded: {made.filter!r} stands for {counted(len(made.by), 'filter')}; its brokers miss "
                f"topics that nobody else asked for{partly}"
            )
        return lines


def _fixed_levels(held: str) -> int:
    return sum(not has_wildcard(level) for level in held.split("/"))


def plan_filters(interest: Interest, choice: FilterChoice | None = None) -> PlannedFilters:
    """Derive what is planned from the filters of a dataset.

    Raises
    ------
    InputError
        If a filter is invalid and not skipped, or an excluded or expanded one is not in the dataset.

    Examples
    --------
    >>> made = plan_filters(Interest.from_dict({"a": ["x/#"], "b": ["x/y"], "c": ["z"]}))
    >>> made.groups.topic_names.to_pylist(), made.report()[0][:45]
    (['x/#', 'z'], "2 of 3 filters overlap, in 1 group: 'x/#' joi")
    """
    choice = choice or FilterChoice()
    source = interest.canonical().with_kind(MQTT)
    topics: list[str] = source.topic_names.to_pylist()
    known = {*topics, *map(unshared, topics), AUTO}
    _require_known(choice.excluded, known, "exclude")
    _require_known(choice.expanded, known, "expand")
    excluded = {topic for topic in topics if topic in choice.excluded or unshared(topic) in choice.excluded}
    reasons = {topic: reason for topic in topics if (reason := why_unusable(topic)) and topic not in excluded}
    invalid = [topic for topic in reasons if why_invalid(topic)]
    if invalid and not choice.skip_unusable:
        raise InputError(
            f"topic {invalid[0]!r} is no MQTT filter: {reasons[invalid[0]]} "
            f"({counted(len(invalid), 'such topic')}); "
            "leave them out with --exclude-topic unusable, or plan plain names with --topic-kind plain"
        )
    skipped = reasons if choice.skip_unusable else {}
    # Topics that are left out have no name.
    names = [None if topic in excluded or topic in skipped else unshared(topic) for topic in topics]
    kept = sorted({name for name in names if name is not None}, key=str.encode)
    expansions = _expand(kept, choice)
    choice = replace(choice, expanded=tuple(made.filter for made in expansions))
    held = _replace(source, names, {made.filter: made.by for made in expansions})
    first = np.array(group_numbers(held.topic_names.to_pylist()), dtype=np.int64)
    leaders, group_of = np.unique(first, return_inverse=True)
    groups = unchecked_from_ids(
        held.node_names,
        held.topic_names.take(from_numpy(leaders)),
        held.node_of_slot,
        group_of[held.node_topics],
    )
    unusable = {} if choice.skip_unusable else reasons
    return PlannedFilters(source, choice, held, group_of, groups, skipped, unusable, tuple(expansions))


def _require_known(asked: Iterable[str], known: Collection[str], what: str) -> None:
    unknown = sorted(set(asked).difference(known))
    if unknown:
        raise InputError(
            f"cannot {what} the filters {first_five(unknown)}: the dataset does not have them; "
            "give them as the dataset spells them"
        )


def _expand(kept: list[str], choice: FilterChoice) -> list[Expansion]:
    """Return what stands in the place of each catch-all."""
    wide = {unshared(held) for held in choice.expanded if held != AUTO}.intersection(kept)
    if AUTO in choice.expanded:
        wide.update(catch_alls(kept))
    for held in wide:
        if not has_wildcard(held):
            raise InputError(f"cannot expand {held!r}: it has no wildcard; expand a filter such as '#'")
    others = [held for held in kept if held not in wide]
    index, made = FilterIndex(others), []
    for held in sorted(wide):
        covered = index.covered(held)
        by = [others[place] for place in positions(covered)]
        published = {topic for topic in choice.published if matches(held, topic)}.difference(by)
        already = FilterIndex(list(filter(has_wildcard, by)))
        by += [topic for topic in sorted(published) if not already.overlapping(topic)]
        partly = [others[place] for place in positions(index.overlapping(held) & ~covered)]
        made.append(Expansion(held, tuple(by), tuple(partly)))
    return made


def catch_alls(filters: Iterable[str]) -> list[str]:
    """Return the filters that cover more than half of the others.

    >>> catch_alls(["#", "a/#", "a/b", "a/c", "b/+", "b/c"])
    ['#']
    """
    listed = list(filters)
    index = FilterIndex(listed)
    wanted = CATCH_ALL_SHARE * (len(listed) - 1)
    # Each fixed level of a catch-all is a level of more than half of the others: one name for each place.
    frequent: list[str | None] = []
    for level in zip_longest(*(held.split("/") for held in listed)):
        name, count = Counter(level).most_common(1)[0]
        frequent.append(name if count > wanted else None)
    return [
        held
        for held in listed
        if has_wildcard(held)
        and all(
            has_wildcard(level) or level == frequent[place] for place, level in enumerate(held.split("/"))
        )
        and index.covered(held).bit_count() - 1 > wanted
    ]


def _replace(source: Interest, names: list[str | None], expanded: Mapping[str, tuple[str, ...]]) -> Interest:
    """Return the interest with other topic names: None drops a topic, and catch-alls become their filters."""
    made = {name for name in names if name is not None and name not in expanded}
    made.update(*expanded.values())
    listed = sorted(made, key=str.encode)
    place = {name: number for number, name in enumerate(listed)}
    # The new number of each topic; -1 for one that is dropped or replaced.
    new = np.array(
        [place.get(name or "", -1) if name not in expanded else -1 for name in names], dtype=np.int64
    )
    slots = source.node_of_slot.astype(np.int64)
    renamed = new[source.node_topics]
    nodes, topics = [slots[renamed >= 0]], [renamed[renamed >= 0]]
    for topic, name in enumerate(names):
        if name is not None and name in expanded:
            targets = np.array([place[other] for other in expanded[name]], dtype=np.int64)
            holders = slots[source.node_topics == topic]
            nodes.append(np.repeat(holders, len(targets)))
            topics.append(np.tile(targets, len(holders)))
    return unchecked_from_ids(
        source.node_names, from_strings(listed), np.concatenate(nodes), np.concatenate(topics)
    ).with_kind(MQTT)
