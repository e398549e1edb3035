"""Events of churn, and whether some of them can happen together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
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
    """The topics that a node joins with, subscribes to or unsubscribes from; none for leaves and crashes."""

    def __post_init__(self) -> None:
        if self.event not in EVENTS:
            raise InputError(f"no event {self.event!r}: choose one of {', '.join(EVENTS)}")
        if not isinstance(self.topics, tuple) or len(set(self.topics)) < len(self.topics):
            object.__setattr__(self, "topics", distinct(self.topics))
        if self.event in WITH_TOPICS and not self.topics:
            raise InputError(f"{self.event} of {self.node!r} names no topic: name at least one")
        if self.event not in WITH_TOPICS and self.topics:
            raise InputError(f"{self.event} of {self.node!r} names topics: leave them out")


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
