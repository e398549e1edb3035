"""Events on MQTT filters, as events on the groups that were planned.

The groups stay as planned. Of a new filter there are three kinds: one that overlaps filters of one group
belongs to it, one that overlaps none is a group of its own, and one that joins several groups needs a new
plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from meshwright.churn.events import CRASH, JOIN, LEAVE, SUBSCRIBE, UNSUBSCRIBE, Event, check_batch
from meshwright.errors import InputError, first_five
from meshwright.filters import overlaps, unshared, why_invalid, why_unusable

if TYPE_CHECKING:
    from meshwright.filters import PlannedFilters
    from meshwright.names import Name


class FilterEvents:
    """Which broker holds which filters while events happen, and what that means for groups.

    >>> events = FilterEvents({"x/#": "x/#", "x/y": "x/#", "z": "z"}, {"a": {"x/#"}, "b": {"x/y", "z"}})
    >>> events.on_groups([Event("subscribe", "a", ("x/y", "x/new", "z"))])
    [Event(event='subscribe', node='a', topics=('z',))]
    >>> events.on_groups([Event("unsubscribe", "a", ("x/#",))])
    []
    """

    def __init__(
        self,
        group_of: Mapping[str, str],
        held: Mapping[str, Iterable[str]],
        *,
        left_out: Iterable[str] = (),
        instead: Mapping[str, Iterable[str]] | None = None,
        skip_unusable: bool = False,
    ) -> None:
        self.group_of = dict(group_of)
        """The group of each filter, by the group's name; new filters are added."""
        self.held: dict[str, set[str]] = {broker: set(own) for broker, own in held.items()}
        """The filters of each broker that is there."""
        self._linked = set(self.held)
        """The brokers that the overlay has: one that joins without any planned filter comes later."""
        self._left_out = set(left_out)
        self._instead = {wide: set(by) for wide, by in (instead or {}).items()}
        self._skip_unusable = skip_unusable

    @classmethod
    def from_planned(cls, planned: PlannedFilters) -> FilterEvents:
        """Return the filters of a plan: what it leaves out or replaces is left out or replaced here too."""
        table = planned.table()
        group_of = dict(
            zip(table.column("filter").to_pylist(), table.column("group").to_pylist(), strict=True)
        )
        names = planned.held.topic_names.to_pylist()
        held: dict[str, set[str]] = {str(name): set() for name in planned.held.node_names.to_pylist()}
        brokers = list(held)
        for node, topic in zip(
            planned.held.node_of_slot.tolist(), planned.held.node_topics.tolist(), strict=True
        ):
            held[brokers[node]].add(names[topic])
        return cls(
            group_of,
            held,
            left_out=planned.choice.excluded,
            instead={made.filter: made.by for made in planned.expansions},
            skip_unusable=planned.choice.skip_unusable,
        )

    def on_groups(self, batch: Sequence[Event]) -> list[Event]:
        """Let events happen together, and return what changes for groups; nothing may change.

        Raises
        ------
        InputError
            If the batch contradicts itself, names a broker that is not there, or one that joins and is there
            already, or a new filter is invalid or joins several groups. Then nothing happens.
        """
        check_batch(batch)
        self._check_brokers(batch)
        wanted = [(event, self._planned(event.topics)) for event in batch]
        before = {str(event.node): (event.node, self._groups(str(event.node))) for event in batch}
        gone: dict[str, Event] = {}
        for event, filters in wanted:
            broker = str(event.node)
            if event.event in (LEAVE, CRASH):
                gone[broker] = event
                del self.held[broker]
            elif event.event == UNSUBSCRIBE:
                self.held[broker] = self.held[broker] - filters
            else:
                self.held[broker] = self.held.get(broker, set()) | filters
        made: list[Event] = []
        for broker, (node, groups) in before.items():
            if broker in gone:
                if broker in self._linked:
                    self._linked.remove(broker)
                    made.append(gone[broker])
                continue
            after = self._groups(broker)
            kind = SUBSCRIBE if broker in self._linked else JOIN
            if after:
                self._linked.add(broker)
            made += [
                Event(what, node, tuple(sorted(names)))
                for what, names in ((kind, after - groups), (UNSUBSCRIBE, groups - after))
                if names
            ]
        return made

    def _check_brokers(self, batch: Sequence[Event]) -> None:
        """Refuse a join of a broker that is there, and any other event of one that is not."""
        there = sorted(
            str(event.node) for event in batch if event.event == JOIN and str(event.node) in self.held
        )
        if there:
            raise InputError(f"{first_five(there)} cannot join: they are there already")
        unknown = sorted(
            str(event.node) for event in batch if event.event != JOIN and str(event.node) not in self.held
        )
        if unknown:
            raise InputError(f"there are no brokers {first_five(unknown)}: let them join first")

    def _groups(self, broker: str) -> set[str]:
        return {self.group_of[one] for one in self.held.get(broker, ())}

    def _planned(self, topics: Iterable[Name]) -> set[str]:
        """Return the filters that stand for those of an event."""
        found: set[str] = set()
        for topic in map(str, topics):
            bare = unshared(topic)
            if topic in self._left_out or bare in self._left_out:
                continue
            if self._skip_unusable and why_unusable(topic):
                continue
            for one in self._instead.get(bare, (bare,)):
                if one not in self.group_of:
                    self.group_of[one] = self._group_of_new(one)
                found.add(one)
        return found

    def _group_of_new(self, one: str) -> str:
        reason = why_invalid(one)
        if reason is not None:
            raise InputError(f"topic {one!r} is no MQTT filter: {reason}")
        groups = sorted({group for other, group in self.group_of.items() if overlaps(one, other)})
        if len(groups) > 1:
            raise InputError(
                f"filter {one!r} joins {len(groups)} groups of the plan, {first_five(groups)}: plan again "
                "with this filter, or plan with --exclude-topic or --expand"
            )
        return groups[0] if groups else one
