"""Events of churn: what can happen to a node, which events fit into one batch, and random churn.

`FilterEvents` turns events on MQTT filters into events on the groups that were planned. The groups stay as
planned. Of a new filter there are three kinds: one that overlaps filters of one group belongs to it, one that
overlaps none is a group of its own, and one that joins several groups needs a new plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meshwright.arrow import is_text
from meshwright.errors import InputError, first_five
from meshwright.filters.filter_plan import PlannedFilters
from meshwright.filters.mqtt import overlaps, unshared, why_invalid, why_unusable
from meshwright.interest import Interest
from meshwright.names import Name

JOIN, LEAVE, CRASH, SUBSCRIBE, UNSUBSCRIBE = EVENTS = "join", "leave", "crash", "subscribe", "unsubscribe"
"""The kinds of events. A crash is a leave; in a batch, all nodes that leave do so at once."""

WITH_TOPICS = (JOIN, SUBSCRIBE, UNSUBSCRIBE)


@dataclass(frozen=True, slots=True)
class Event:
    """One event at one node.

    >>> Event("join", "oslo", ("rain", "wind"))
    Event(event='join', node='oslo', topics=('rain', 'wind'))
    """

    event: str
    """One of `EVENTS`."""
    node: Name
    """The node that joins, leaves or changes its topics."""
    topics: tuple[Name, ...] = ()
    """The topics that a node joins with, subscribes to or unsubscribes from; empty for leaves and crashes."""

    def __post_init__(self) -> None:
        event, topics = self.event, self.topics
        if event not in EVENTS:
            raise InputError(f"no event {event!r}: choose one of {', '.join(EVENTS)}")
        if not isinstance(topics, tuple) or len(set(topics)) < len(topics):
            topics = distinct(topics)
            object.__setattr__(self, "topics", topics)
        if (event in WITH_TOPICS) != bool(topics):
            fix = "names topics: leave them out" if topics else "names no topic: name at least one"
            raise InputError(f"{event} of {self.node!r} {fix}")


def distinct(names: Iterable[Name]) -> tuple[Name, ...]:
    """Return each name once; those of a set are sorted, so that nothing depends on the order of hashes.

    >>> distinct(["b", "a", "b"]), distinct({"b", "a"})
    (('b', 'a'), ('a', 'b'))
    """
    if isinstance(names, str):
        raise InputError(f"{names!r} is one string: give a list or set of names")
    if isinstance(names, (set, frozenset)):
        return tuple(sorted(names, key=lambda name: (str(name), isinstance(name, str))))
    return tuple(dict.fromkeys(names))


def check_batch(batch: Sequence[Event]) -> None:
    """Reject a batch that contradicts itself, so that the order of its events does not matter.

    A node may join, or leave, or change its topics. It may not both subscribe to and unsubscribe from a
    topic.
    """
    kinds: dict[Name, list[str]] = {}
    for event in batch:
        if not isinstance(event, Event):
            raise InputError(f"{event!r} is not an event: give a list of churn.Event")
        kinds.setdefault(event.node, []).append(event.event)
    final = (JOIN, LEAVE, CRASH)
    both = [node for node, found in kinds.items() if len(found) > 1 and any(kind in final for kind in found)]
    if both:
        raise InputError(
            f"the batch contradicts itself: {first_five(both)} join or leave, and have another event too; "
            "put that into a batch of its own"
        )
    topics: dict[tuple[Name, Name], str] = {}
    for event in batch:
        for topic in event.topics:
            if topics.setdefault((event.node, topic), event.event) != event.event:
                raise InputError(
                    f"the batch contradicts itself: {event.node!r} both subscribes to and unsubscribes from "
                    f"{topic!r}; keep one of the two"
                )


def random_churn(interest: Interest, rounds: int, *, seed: int = 0, burst: int = 1) -> Iterator[list[Event]]:
    """Yield rounds of random churn (shadows, section VI): in each, a node joins or leaves, at even odds.

    A newcomer has as many topics as a random node of the interest. Its topics are drawn so that each is about
    as popular among newcomers as it is in the interest. The node that leaves is drawn from all that are
    there. With `burst`, that many nodes join or crash at once.

    >>> from meshwright.workloads import unif
    >>> for events in random_churn(unif(3, 4, size=2, seed=1), 2, seed=3):
    ...     print(events)
    [Event(event='join', node='new-0', topics=('t2', 't3'))]
    [Event(event='join', node='new-1', topics=('t0', 't2'))]
    """
    if rounds < 0:
        raise InputError(f"{rounds} rounds: give zero or more")
    if burst < 1:
        raise InputError(f"a burst of {burst} nodes: give 1 or more")
    if not interest.num_subscriptions:
        raise InputError(
            "nobody subscribes to anything, so newcomers cannot be drawn: give some subscriptions"
        )
    chance = np.random.Generator(np.random.PCG64(seed))
    there: list[Name] = interest.node_names.to_pylist()
    names = _new_names(interest)
    sizes = np.diff(interest.node_ptr)
    sizes = sizes[sizes > 0]
    drawable, rates = _rates(interest)
    topic_names = interest.topic_names.to_pylist()
    for _ in range(rounds):
        if chance.random() < 0.5 or len(there) <= burst:
            events = []
            for _ in range(burst):
                size = int(sizes[chance.integers(len(sizes))])
                # Independent exponential clocks: the topics of the first to ring are a weighted draw
                # without replacement.
                rings = chance.standard_exponential(len(drawable)) / rates
                chosen = np.sort(drawable[np.argsort(rings, kind="stable")[:size]])
                events.append(Event(JOIN, next(names), tuple(topic_names[topic] for topic in chosen)))
            there += [event.node for event in events]
        else:
            events = []
            for _ in range(burst):
                place = int(chance.integers(len(there)))
                there[place], there[-1] = there[-1], there[place]
                events.append(Event(LEAVE if burst == 1 else CRASH, there.pop()))
        yield events


def _rates(interest: Interest) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the topics that have subscribers, and the rates at which they are drawn.

    A clock of rate w has rung by time τ with probability 1 − exp(−w·τ). For this to be the share of nodes
    that have the topic at τ = 1, the rate is −log(1 − share), far above the share for the most popular
    topics.
    """
    subscribers = np.diff(interest.topic_ptr)
    drawable = np.flatnonzero(subscribers)
    share = np.minimum(subscribers[drawable] / interest.num_nodes, 1 - 0.5 / interest.num_nodes)
    return drawable, -np.log1p(-share)


def _new_names(interest: Interest) -> Iterator[Name]:
    """Yield names that no node has: new-0, new-1 and so on, or the next integers."""
    if is_text(interest.node_names.type):
        taken = set(interest.node_names.to_pylist())
        number = 0
        while True:
            name = f"new-{number}"
            number += 1
            if name not in taken:
                yield name
    number = max(interest.node_names.to_pylist(), default=-1) + 1
    while True:
        yield number
        number += 1


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
