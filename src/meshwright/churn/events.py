"""Events of churn, and whether some of them can happen together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from meshwright.names import Name

JOIN, LEAVE, CRASH, SUBSCRIBE, UNSUBSCRIBE = EVENTS = "join", "leave", "crash", "subscribe", "unsubscribe"
"""What can happen to a node. A crash is a leave; in a batch, all nodes that leave do so at once."""

WITH_TOPICS = (JOIN, SUBSCRIBE, UNSUBSCRIBE)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens to one node.

    >>> Event("join", "oslo", ("rain", "wind"))
    Event(event='join', node='oslo', topics=('rain', 'wind'))
    """

    event: str
    node: Name
    topics: tuple[Name, ...] = ()

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
    """Return names as a tuple, each once; sets have no order of their own, so theirs are sorted."""
    if isinstance(names, str):
        raise InputError(f"{names!r} is one string: give a list or set of names")
    if isinstance(names, (set, frozenset)):
        return tuple(sorted(names, key=lambda name: (str(name), isinstance(name, str))))
    return tuple(dict.fromkeys(names))


def check_batch(batch: Sequence[Event]) -> None:
    """Refuse a batch that contradicts itself, so that its order does not matter.

    A node may join, or leave, or change its topics; and it may not both take and give up a topic.
    """
    kinds: dict[Name, list[str]] = {}
    topics: dict[tuple[Name, Name], str] = {}
    for event in batch:
        if not isinstance(event, Event):
            raise InputError(f"{event!r} is no event: give a list of churn.Event")
        kinds.setdefault(event.node, []).append(event.event)
    final = (JOIN, LEAVE, CRASH)
    both = [node for node, found in kinds.items() if len(found) > 1 and any(kind in final for kind in found)]
    if both:
        raise InputError(
            f"the batch contradicts itself: {first_five(both)} join or leave and do something else too; "
            "put that into a batch of its own"
        )
    for event in batch:
        for topic in event.topics:
            if topics.setdefault((event.node, topic), event.event) != event.event:
                raise InputError(
                    f"the batch contradicts itself: {event.node!r} both takes and gives up {topic!r}; "
                    "keep one of the two"
                )
