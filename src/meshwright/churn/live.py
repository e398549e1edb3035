"""The live overlay: it changes in place, and every change is repaired before the call returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from meshwright import measure
from meshwright.churn.audit import audit
from meshwright.churn.events import CRASH, JOIN, LEAVE, SUBSCRIBE, UNSUBSCRIBE, Event, check_batch, distinct
from meshwright.churn.kernels.backups import GREEDY, PRIMAL_DUAL
from meshwright.churn.kernels.changes import Rule, topics_of
from meshwright.churn.policy import EVERYBODY, Policy
from meshwright.churn.rebuild import rebuild
from meshwright.churn.repair import Repair, net_links
from meshwright.churn.state import Body
from meshwright.errors import InputError, first_five
from meshwright.jit.announce import working_seconds

if TYPE_CHECKING:
    from meshwright.churn.repair import Links
    from meshwright.interest import Interest
    from meshwright.names import Name
    from meshwright.overlay import Overlay


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


BATCH = "batch"


class LiveOverlay:
    """An overlay with its interest that nodes join and leave, every topic connected after every change.

    Parameters
    ----------
    overlay
        What is there at first; every topic must be connected in it.
    policy
        How changes are repaired: a `Policy`, or the name of one with its usual parameters.
    seed
        The same seed and the same changes give the same overlay.

    Raises
    ------
    InputError
        If a topic is split, or a change names an unknown node, a node that is there already, a topic that is
        not held, no topic, or contradicts itself. A change that is refused changes nothing.

    Examples
    --------
    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"x", "y"}})
    >>> live = LiveOverlay(Overlay(interest, [0], [1], [1]))
    >>> live.join("c", ["x", "y"]).added
    (('b', 'c'),)
    >>> live.leave("b").added
    (('a', 'c'),)
    >>> live.audit()
    ()
    """

    def __init__(self, overlay: Overlay, policy: Policy | str = "shadow", *, seed: int = 0) -> None:
        self.policy = Policy(policy) if isinstance(policy, str) else policy
        pieces = measure.components(overlay).of_topic
        if (pieces > 1).any():
            split = overlay.interest.topic_names.take(np.flatnonzero(pieces > 1)).to_pylist()
            raise InputError(
                f"topics {first_five(split)} are split: begin with an overlay that connects them"
            )
        self._body = Body(overlay, _rule(self.policy), seed)

    # -- changing -----------------------------------------------------------------------------------

    def join(self, node: Name, topics: Iterable[Name]) -> Repair:
        """Let a new node in."""
        return self._happen((Event(JOIN, node, distinct(topics)),), JOIN)

    def leave(self, node: Name) -> Repair:
        """Let a node go."""
        return self._happen((Event(LEAVE, node),), LEAVE)

    def crash(self, nodes: Iterable[Name]) -> Repair:
        """Lose several nodes at once."""
        return self._happen([Event(CRASH, node) for node in distinct(nodes)], CRASH)

    def subscribe(self, node: Name, topics: Iterable[Name]) -> Repair:
        """Let a node have more topics."""
        return self._happen((Event(SUBSCRIBE, node, distinct(topics)),), SUBSCRIBE)

    def unsubscribe(self, node: Name, topics: Iterable[Name]) -> Repair:
        """Let a node have fewer topics."""
        return self._happen((Event(UNSUBSCRIBE, node, distinct(topics)),), UNSUBSCRIBE)

    def apply(self, batch: Iterable[Event]) -> Repair:
        """Let several things happen at once: all of them, or none if one cannot.

        All nodes that leave do so together; then come topics given up, then the rest, in order.
        """
        return self._happen(tuple(batch), BATCH)

    def copy(self) -> LiveOverlay:
        """Return another live overlay, as this one is now."""
        other = LiveOverlay.__new__(LiveOverlay)
        other.policy, other._body = self.policy, self._body.copy()
        return other

    # -- looking ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._body.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._body.nodes.number

    @property
    def nodes(self) -> list[Name]:
        """The nodes that are there, in the order of their slots."""
        return [name for name in self._body.nodes.of if name is not None]

    @property
    def num_edges(self) -> int:
        """How many links there are."""
        return self._body.num_links

    @property
    def max_degree(self) -> int:
        """The largest number of links of a node."""
        return self._body.max_degree

    @property
    def average_degree(self) -> float:
        """The mean number of links of a node."""
        return self._body.average_degree

    @property
    def nbytes(self) -> int:
        """The memory of its arrays and tables of names, in bytes; the names themselves are not counted."""
        return self._body.nbytes

    def topics_of(self, node: Name) -> list[Name]:
        """Return the topics of a node."""
        return list(self._body.topic_names(topics_of(self._body.live, self._slot(node))))

    def neighbours(self, node: Name) -> list[Name]:
        """Return the nodes that a node is linked with."""
        return self._body.node_names(self._body.neighbours(self._slot(node)))

    def backups(self, node: Name) -> list[Name]:
        """Return the backups of a node: those who stand in for it when it leaves."""
        return self._body.node_names(self._body.backups(self._slot(node)))

    def primaries(self, node: Name) -> list[Name]:
        """Return the nodes that a node is a backup of."""
        return self._body.node_names(self._body.primaries(self._slot(node)))

    def interest(self) -> Interest:
        """Return who subscribes to what now; topics that nobody has any more are kept."""
        return self._body.snapshot()[0]

    def overlay(self) -> Overlay:
        """Return the overlay as it is now, in the order of its pairs."""
        return self._body.overlay()

    def audit(self) -> tuple[str, ...]:
        """Recompute from nothing all that must hold, and return what does not: nothing, if all is well."""
        return audit(self._body)

    # -- inside -------------------------------------------------------------------------------------

    def _slot(self, node: Name) -> int:
        return self._body.nodes.find([node])[0]

    def _happen(self, events: Sequence[Event], what: str) -> Repair:
        """Check some events, let them happen, and tell what that did."""
        began, body = working_seconds(), self._body
        if what in (BATCH, CRASH):
            check_all(body, events)
        else:
            check(body, events[0])
        added, removed, topics, fragments, tidied = self._repair(events)
        return Repair(
            what,
            tuple([event.node for event in events]),
            added,
            removed,
            topics,
            fragments,
            body.max_degree,
            body.average_degree,
            working_seconds() - began,
            tidied,
        )

    def _repair(self, events: Sequence[Event]) -> tuple[Links, Links, tuple[Name, ...], int, int]:
        """Let events happen; return links added and removed, topics, fragments and links tidied."""
        body, (first, *others) = self._body, _steps(events)
        change = body.change(first)
        topics = events[0].topics or body.topic_names(change.topics)
        fragments = int(change.fragments)
        made, lost = body.links(change.made), body.links(change.lost)
        ends = {*change.made.ravel().tolist(), *change.lost.ravel().tolist()}
        self._say_goodbye(first)
        if not others and self.policy.name in ("naive", "shadow"):
            return tuple(made), tuple(lost), topics, fragments, 0
        story = [(link, False) for link in lost] + [(link, True) for link in made]
        for step in others:
            change = body.change(step)
            topics += step[0].topics
            fragments += int(change.fragments)
            story += [(link, True) for link in body.links(change.made)]
            ends |= set(change.made.ravel().tolist())
        tidied = 0
        if self.policy.name == "tidy":
            tidying, tidied = body.tidy(ends, self.policy.steps, self.policy.moves, self.policy.lose)
            story += tidying
        if self.policy.name == "rebuild":
            built, unbuilt = rebuild(body)
            story += [(link, False) for link in body.links(unbuilt)]
            story += [(link, True) for link in body.links(built)]
        return *net_links(story), tuple(dict.fromkeys(topics)), fragments, tidied

    def _say_goodbye(self, step: Sequence[Event]) -> None:
        """Forget the names of nodes that left, now that their links have been told."""
        if step[0].event in (LEAVE, CRASH):
            for event in step:
                self._body.nodes.remove(event.node)


def _rule(policy: Policy) -> Rule:
    return Rule(
        k=float(policy.rho),
        local=policy.local_degree and policy.keeps_backups,
        everybody=not policy.keeps_backups,
        coverage=policy.coverage if policy.keeps_backups else 0,
        method=GREEDY if policy.backups == "greedy" else PRIMAL_DUAL,
        window=EVERYBODY if policy.window is None else policy.window,
        anew=policy.rebuild_backups,
        mends=policy.name != "rebuild",
        spares=policy.name == "tidy",
        slack=policy.slack,
    )


def _steps(events: Sequence[Event]) -> list[Sequence[Event]]:
    """Return the steps of a batch: all leaves at once, then topics given up, then the rest, one by one."""
    if len(events) == 1:
        return [events]
    leaves = [event for event in events if event.event in (LEAVE, CRASH)]
    parts = [[event] for event in events if event.event == UNSUBSCRIBE]
    rest = [[event] for event in events if event.event in (JOIN, SUBSCRIBE)]
    return [*([leaves] if leaves else []), *parts, *rest]
