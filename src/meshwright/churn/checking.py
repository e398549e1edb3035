"""Whether events can happen now: told before anything changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshwright.churn.events import JOIN, SUBSCRIBE, UNSUBSCRIBE, Event, check_batch
from meshwright.churn.kernels.changes import topics_of
from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from meshwright.churn.body import Body


def check(body: Body, event: Event) -> None:
    """Refuse an event that cannot happen."""
    if event.event == JOIN:
        body.nodes.check_new(event.node)
        if event.node in body.nodes.number:
            raise InputError(f"node {event.node!r} is there already: let it leave first, or subscribe")
    else:
        body.nodes.find([event.node])
    if event.event in (JOIN, SUBSCRIBE):
        for topic in event.topics:
            if topic not in body.topics.number:
                body.topics.check_new(topic)
    if event.event == UNSUBSCRIBE:
        body.topics.find(event.topics)
    if event.event in (SUBSCRIBE, UNSUBSCRIBE):
        held = set(body.topic_names(topics_of(body.live, body.nodes.number[event.node])))
        wrong = [topic for topic in event.topics if (topic in held) == (event.event == SUBSCRIBE)]
        if wrong:
            already = "already has" if event.event == SUBSCRIBE else "does not have"
            raise InputError(f"node {event.node!r} {already} the topics {first_five(wrong)}: leave them out")


def check_all(body: Body, events: Sequence[Event]) -> None:
    """Refuse events that cannot all happen at once."""
    if not events:
        raise InputError("nothing happens in this batch: give at least one event")
    check_batch(events)
    for event in events:
        check(body, event)
